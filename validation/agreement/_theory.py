"""What each tier of the theory, and each baseline, says of a question; and why it says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qtheory.basics.errors import ServingError, UnstableError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, limit_rps, predict

from ._simulate import Asked
from .baselines import BASELINES, baseline

__all__ = ["ABOVE_LIMIT", "ANSWERERS", "NO_MODEL", "Said", "say"]

ANSWERERS = (*TIERS, *BASELINES)
"""Tiers of the theory, and the baselines beside them."""

ABOVE_LIMIT = "above the limit"
NO_MODEL = "no model"
_KEPT = (str, int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer: numbers, or why there are none."""

    row: dict[str, Any]
    refusal: str = ""


def say(answerer: str, asked: Asked, *, n_requests: int | None = None) -> Said:
    """Ask one of `ANSWERERS`; ``n_requests`` of a run are the horizon of an overload."""
    scheduler = asked.replica.scheduler.name
    if scheduler not in MODELLED_SCHEDULERS:
        return Said(row={}, refusal=NO_MODEL)
    try:
        if answerer in BASELINES:
            row: dict[str, Any] = baseline(answerer, asked.replica, asked.workload, asked.rate_rps)
            return Said(row=row, refusal="" if row else ABOVE_LIMIT)
        found = predict(
            asked.replica, asked.workload, rate_rps=asked.rate_rps, tier=answerer, n_requests=n_requests
        )
    except UnstableError:
        return Said(row=_limit(asked), refusal=ABOVE_LIMIT)
    except ServingError as error:
        return Said(row=_limit(asked), refusal=str(error))
    return Said(row={name: value for name, value in found.row().items() if isinstance(value, _KEPT)})


def _limit(asked: Asked) -> dict[str, Any]:
    try:
        return {"limit_rps": limit_rps(asked.replica, asked.workload)}
    except ServingError:
        return {}
