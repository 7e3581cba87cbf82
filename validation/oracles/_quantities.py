"""From a queue's result to the number that a row asks for."""

from __future__ import annotations

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
    if quantity == "p99_number" and answer.number_pmf is not None:
        n, total = 0, answer.number_pmf(0)
        while total < 0.99:
            n += 1
            total += answer.number_pmf(n)
        return float(n)
    name = _SPELLING.get(quantity, quantity)
    value = getattr(answer, name, None) if name in {field.name for field in fields(answer)} else None
    if value is None or not isinstance(value, int | float | np.floating):
        raise ConfigError(f"quantity: {quantity!r} is not in the answer of {type(answer).__name__}")
    return float(value)


def _time_law(answer: QueueResult, quantity: str) -> tuple[TimeLaw | None, float | None]:
    """The law that a percentile, variance or tail speaks of, and the level of a percentile."""
    head, _, time = quantity.partition("_")
    law = {
        "wait": answer.wait,
        "response": answer.response,
        "wait_served": getattr(answer, "wait_served", None),
    }.get(time)
    level = None
    if law is not None and head[:1] == "p" and head[1:].replace(".", "", 1).isdigit():
        level = float(head[1:]) / 100.0
    return (law, level) if level is not None or head in {"var", "tail"} else (None, None)
