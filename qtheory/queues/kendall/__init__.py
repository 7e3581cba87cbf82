"""The front door: queueing models by their names in Kendall's notation, and what they answer."""

from __future__ import annotations

from .answer import NotGivenError, QueueAnswer, answer
from .condition import Condition, parse_condition
from .front import NamedQueue, queue
from .model import KendallModel, QueueModel, find_model, kendall_models, register, unregister
from .notation import Notation, read_notation
from .own import load_models
from .parameters import PARAMETERS, Parameter
from .quantity import percentile_name, variance_name
from .rates import over_rates, rate_range
from .search import Solution, solve_for, stability_limit

__all__ = [
    "PARAMETERS",
    "Condition",
    "KendallModel",
    "NamedQueue",
    "NotGivenError",
    "Notation",
    "Parameter",
    "QueueAnswer",
    "QueueModel",
    "Solution",
    "answer",
    "find_model",
    "kendall_models",
    "load_models",
    "over_rates",
    "parse_condition",
    "percentile_name",
    "queue",
    "rate_range",
    "read_notation",
    "register",
    "solve_for",
    "stability_limit",
    "unregister",
    "variance_name",
]
