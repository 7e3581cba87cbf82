"""Knees of schedulers: by theory where there is a model, else by simulation that says so."""

from .ask import Asked, asked_of, knees
from .covered import why_not_covered

__all__ = ["Asked", "asked_of", "knees", "why_not_covered"]
