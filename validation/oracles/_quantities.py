"""From a queue's result to the number that a row asks for."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.numerics.numberlaw import NumberLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._vocabulary import level_of

__all__ = ["of_law", "quantity_of", "seconds"]

# names of the table that are spelled otherwise in a result
_SPELLING = {
    "utilization": "utilization_frac",
    "throughput": "throughput_rps",
    "arrival_rate": "arrival_rate_rps",
    "max_arrival_rate": "capacity_rps",
    "mean_wait": "mean_wait_s",
    "mean_wait_served": "mean_wait_served_s",
    "mean_response": "mean_response_s",
    "mean_busy_period": "mean_busy_period_s",
    "var_busy_period": "var_busy_period_s2",
    "mean_time_per_token": "mean_time_per_step_s",
}


def seconds(parameters: dict[str, object], name: str = "t") -> float:
    """A time among the parameters."""
    value = parameters[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"parameters: {name}: {value!r} is not a number")
    return float(value)


def quantity_of(answer: QueueResult, quantity: str, parameters: dict[str, object]) -> float:
    """The value of a quantity; `ConfigError` if the result does not have it."""
    head, _, time = quantity.partition("_")
    laws = {"wait": answer.wait, "response": answer.response}
    law = laws.get(time, getattr(answer, "wait_served", None) if time == "wait_served" else None)
    value = None if law is None else of_law(law, head, parameters)
    if value is None:
        name = _SPELLING.get(quantity, quantity)
        value = getattr(answer, name, None) if name in {field.name for field in fields(answer)} else None
    if value is None:
        value = _derived(answer, head, quantity)
    if value is None or not isinstance(value, int | float | np.floating):
        raise ConfigError(f"quantity: {quantity!r} is not in the answer of {type(answer).__name__}")
    return float(value)


def of_law(law: TimeLaw, head: str, parameters: dict[str, object]) -> float | None:
    """The variance, a percentile or the tail of a time; None for other words."""
    level = level_of(head)
    if level is not None:
        return float(law.ppf(level))
    if head == "var":
        return law.var_s2
    return float(law.sf(seconds(parameters))) if head == "tail" else None


def _derived(answer: QueueResult, head: str, quantity: str) -> float | None:
    """What follows from other quantities: by Little's law, as a difference, from the number present."""
    if quantity == "throughput" and answer.mean_number and answer.mean_response_s:
        return answer.mean_number / answer.mean_response_s
    if quantity == "mean_running" and answer.mean_number is not None and answer.mean_queue is not None:
        return answer.mean_number - answer.mean_queue
    pmf = answer.number_pmf
    if pmf is None:
        return None
    if quantity == "prob_empty":
        return pmf(0)
    level = level_of(head)
    if level is not None and quantity.endswith("_number"):
        return float(NumberLaw(pmf).ppf(level))
    if quantity == "var_number" and answer.mean_number is not None:
        return NumberLaw(pmf).var(answer.mean_number)
    return None
