"""From a queue's result to the number that a row asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.queues.result import QueueResult, TimeLaw

__all__ = ["quantity_of"]

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


def quantity_of(answer: QueueResult, quantity: str, parameters: dict[str, object]) -> float:
    """The value of a quantity; `ConfigError` if the result does not have it."""
    law, level = _time_law(answer, quantity)
    if law is not None:
        if quantity.startswith("var_"):
            return law.var_s2
        if quantity.startswith("tail_"):
            return float(law.sf(float(str(parameters["t"]))))
        if level is not None:
            return float(law.ppf(level))
    name = _SPELLING.get(quantity, quantity)
    value = getattr(answer, name, None) if name in {field.name for field in fields(answer)} else None
    if value is None:
        value = _derived(answer, quantity)
    if value is None or not isinstance(value, int | float | np.floating):
        raise ConfigError(f"quantity: {quantity!r} is not in the answer of {type(answer).__name__}")
    return float(value)


def _derived(answer: QueueResult, quantity: str) -> float | None:
    """What follows from other quantities: the throughput by Little's law, the number from its law."""
    if quantity == "throughput" and answer.mean_number and answer.mean_response_s:
        return answer.mean_number / answer.mean_response_s
    pmf = answer.number_pmf
    if pmf is None:
        return None
    if quantity == "prob_empty":
        return pmf(0)
    head, _, what = quantity.partition("_")
    if what != "number":
        return None
    level = _level(head)
    if level is not None:
        n, total = 0, pmf(0)
        while total < level:
            n += 1
            total += pmf(n)
        return float(n)
    if head == "var" and answer.mean_number is not None:
        return _var_number(pmf, answer.mean_number)
    return None


def _var_number(pmf: Callable[[int], float], mean: float) -> float:
    """Sum of (n - mean)^2 P(n) until what is left no longer counts."""
    total, n = 0.0, 0
    while True:
        term = (n - mean) ** 2 * pmf(n)
        total += term
        if n > mean and term * (n - mean) < 1e-13 * total:
            return total
        n += 1


def _level(head: str) -> float | None:
    """0.99 for ``p99``."""
    if head[:1] == "p" and head[1:].replace(".", "", 1).isdigit():
        return float(head[1:]) / 100.0
    return None


def _time_law(answer: QueueResult, quantity: str) -> tuple[TimeLaw | None, float | None]:
    """The law that a percentile, variance or tail speaks of, and the level of a percentile."""
    head, _, time = quantity.partition("_")
    law = {
        "wait": answer.wait,
        "response": answer.response,
        "wait_served": getattr(answer, "wait_served", None),
    }.get(time)
    level = _level(head) if law is not None else None
    return (law, level) if level is not None or head in {"var", "tail"} else (None, None)
