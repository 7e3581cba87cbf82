"""Errors and warnings; a message holds the name as written, the value, the limit and a way out."""

from __future__ import annotations

__all__ = [
    "ApproximationWarning",
    "ConfigError",
    "ConvergenceError",
    "PlanError",
    "ServingError",
    "UnstableError",
]


class ServingError(Exception):
    """Anything this project refuses to do, with a message of one line meant for a person."""


class ConfigError(ServingError, ValueError):
    """Input that cannot be taken: where it stands, what was given, what is allowed."""


class UnstableError(ServingError, ValueError):
    """A steady state was asked for where there is none; the message says what would make it stable."""


class PlanError(ServingError, RuntimeError):
    """A scheduling policy asked for something impossible: names policy, job and limit."""


class ConvergenceError(ServingError, RuntimeError):
    """A numerical method did not reach its tolerance; the message says what to raise."""


class ApproximationWarning(UserWarning):
    """An approximation is used outside the range in which it was checked; the message names the range."""
