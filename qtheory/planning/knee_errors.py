"""Knees that were both predicted and simulated: what is known of the errors of predictions."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from statistics import fmean, stdev
from typing import Any

__all__ = ["KneeError", "KnownError", "known_error", "measured_knees"]

_SHARP_FRAC = 0.05  # half-width from which a simulated knee says nothing
_FEWEST = 3
_BY_REQUEST = ("static",)  # batches to their end: errors of another kind


@dataclass(frozen=True, slots=True, kw_only=True)
class KneeError:
    """One system whose knee was predicted by both tiers and simulated.

    Parameters
    ----------
    scheduler, hardware, model : str
    tp : int
        Accelerators of a replica.
    workload, arrivals, memory : str
    binds : str
        What binds at the knee, by theory; empty where it does not answer.
    closed_rps, numeric_rps : float or None
        Predicted knee, requests per second; None where the tier has no answer.
    simulated_rps, low_rps, high_rps : float or None
        Simulated knee with its 95 % interval; None where there is none.
    n_requests : int
        Simulated for it.

    Examples
    --------
    >>> measured_knees()[0].scheduler
    'fcfs'
    """

    scheduler: str
    hardware: str
    model: str
    tp: int
    workload: str
    arrivals: str
    memory: str
    binds: str
    closed_rps: float | None
    numeric_rps: float | None
    simulated_rps: float | None
    low_rps: float | None
    high_rps: float | None
    n_requests: int

    @property
    def is_sharp(self) -> bool:
        """Whether the simulated knee is known well enough to tell an error."""
        if not (self.simulated_rps and self.low_rps and self.high_rps):
            return False
        return (self.high_rps - self.low_rps) / 2 <= _SHARP_FRAC * self.simulated_rps

    def log_error(self, tier: str) -> float | None:
        """Logarithm of predicted over simulated; None where one is missing or the second is not well known.

        Parameters
        ----------
        tier : str
            ``closed`` or ``numeric``.
        """
        predicted = self.closed_rps if tier == "closed" else self.numeric_rps
        if not predicted or not self.simulated_rps or not self.is_sharp:
            return None
        return math.log(predicted / self.simulated_rps)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownError:
    """Error of a predicted knee on the systems on which it was measured.

    Parameters
    ----------
    n_systems : int
    bias_frac : float
        Predicted over simulated in the (geometric) mean, less one.
    spread_frac : float
        Standard deviation from system to system, the chance in the simulations (some 1 %) included.

    Examples
    --------
    >>> KnownError(n_systems=11, bias_frac=0.015, spread_frac=0.017).n_systems
    11
    """

    n_systems: int
    bias_frac: float
    spread_frac: float


@cache
def measured_knees() -> tuple[KneeError, ...]:
    """All rows of ``knee_errors.csv``, which ``python -m validation.knees.doubt`` writes.

    Examples
    --------
    >>> len({row.scheduler for row in measured_knees()}) > 3
    True
    """
    text = resources.files(__package__).joinpath("knee_errors.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(io.StringIO(text)))


@cache
def known_error(tier: str, scheduler: str | None, is_tight: bool, is_bursty: bool) -> KnownError | None:
    """What was measured of systems like one; None if too few were, or none with its scheduler.

    Systems are pooled over schedulers, since those that go step by step err alike; ``static`` stands alone.

    Parameters
    ----------
    tier : str
        ``closed`` or ``numeric``.
    scheduler : str or None
        None for all that go step by step.
    is_tight : bool
        Whether KV memory binds.
    is_bursty : bool
        Whether arrivals are bursty instead of Poisson.

    Examples
    --------
    >>> known = known_error("numeric", "chunked", is_tight=False, is_bursty=False)
    >>> abs(known.bias_frac) < 0.1, known_error("numeric", "fair", is_tight=False, is_bursty=False)
    (True, None)
    """
    like = [row for row in measured_knees() if is_bursty != (row.arrivals == "poisson")]
    seen = {row.scheduler for row in like if row.log_error(tier) is not None}
    if scheduler is not None and scheduler not in seen:
        return None
    alone = scheduler in _BY_REQUEST
    like = [row for row in like if (row.scheduler in _BY_REQUEST) == alone]
    return _summed(tier, [row for row in like if (row.binds == "KV memory") == is_tight])


def _summed(tier: str, rows: Sequence[KneeError]) -> KnownError | None:
    errors = [error for row in rows if (error := row.log_error(tier)) is not None]
    if len(errors) < _FEWEST:
        return None
    return KnownError(n_systems=len(errors), bias_frac=math.expm1(fmean(errors)), spread_frac=stdev(errors))


def _row(row: dict[str, str]) -> KneeError:
    kinds = {field.name: str(field.type) for field in fields(KneeError)}
    return KneeError(**{name: _value(text, kinds[name]) for name, text in row.items()})


def _value(text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if kind == "int":
        return int(text)
    return float(text) if text else None
