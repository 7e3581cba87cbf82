"""Open arrivals at rates given window by window."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most, number_between

from ._limits import CV_RANGE, FASTEST_RPS, LONGEST_S
from ._steps import moments_of_work
from ._text import quoted
from .arrivals import spelled
from .modulated import ModulatedArrivals
from .readers import read_rates

__all__ = ["ProfileArrivals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileArrivals(ModulatedArrivals):
    """A rate for each window of time; after the last one the profile begins anew.

    Parameters
    ----------
    rates : sequence of float
        Requests per second in each window, 0 .. 1e12, not all 0. Their mean is the rate if no other is given;
        else they are scaled to it.
    lengths_s : sequence of float
        Lengths of the windows, seconds, > 0, as many; 1e9 at most together.
    start_s : float
        Time within the profile at which the arrivals begin, seconds, 0 .. 1e9.
    cv : float
        Coefficient of variation of the gaps while the rate does not change, 1e-6 .. 1e3 (default 1: Poisson).
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.
    source : str
        Where the numbers are from, as in ``profile(SOURCE)``; empty: nowhere but here.

    Raises
    ------
    ConfigError
        If a parameter is out of range or there are more of the one than of the other.

    Examples
    --------
    >>> steps = ProfileArrivals(rates=[2.0, 0.0, 4.0], lengths_s=[10.0, 20.0, 10.0])
    >>> steps.own_rate_rps, str(steps)
    (1.5, 'profile(rates=[2, 0, 4], lengths_s=[10, 20, 10])')
    >>> steps.arrival_times(np.random.default_rng(1), 0.3, n=4).round(2).tolist()
    [2.68, 3.45, 33.45, 33.9]
    """

    rates: tuple[float, ...]
    lengths_s: tuple[float, ...]
    start_s: float = 0.0
    cv: float = 1.0
    client_cap: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("rates", "lengths_s"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        checks.non_negative(**{f"rates[{i}]": rate for i, rate in enumerate(self.rates)})
        checks.positive(**{f"lengths_s[{i}]": length for i, length in enumerate(self.lengths_s)})
        checks.positive(cv=self.cv)
        number_between("cv", self.cv, *CV_RANGE)
        checks.non_negative(start_s=self.start_s)
        at_most(LONGEST_S, start_s=self.start_s)
        checks.at_least(0, client_cap=self.client_cap)
        if len(self.rates) != len(self.lengths_s) or not self.rates:
            raise ConfigError(
                f"rates, lengths_s: {len(self.rates)} and {len(self.lengths_s)} numbers; give one or more of "
                "each, as many of the one as of the other"
            )
        if not any(self.rates):
            raise ConfigError("rates: all are 0; one must be > 0")
        at_most(FASTEST_RPS, rates=max(self.rates))
        number_between("lengths_s", sum(self.lengths_s), 1e-6, LONGEST_S)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        workload: str | None = None,
        client: str | None = None,
        start_s: float = 0.0,
        cv: float = 1.0,
        client_cap: int = 0,
    ) -> ProfileArrivals:
        """The profile of a file (`read_rates`), of one workload and client of it if it has several."""
        lengths_s, rates = read_rates(path, workload=workload, client=client)
        chosen = {"workload": workload, "client": client}
        named = [f"{key}={quoted(value)}" for key, value in chosen.items() if value is not None]
        return cls(
            rates=tuple(rates.tolist()),
            lengths_s=tuple(lengths_s.tolist()),
            start_s=start_s,
            cv=cv,
            client_cap=client_cap,
            source=", ".join([quoted(os.fspath(path)), *named]),
        )

    @property
    def own_rate_rps(self) -> float:
        """Mean rate of the profile, requests per second."""
        return float(np.average(self.rates, weights=self.lengths_s))

    @property
    def _clock_cv(self) -> float:
        return self.cv

    def _inverse(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        lengths_s = np.array(self.lengths_s, dtype=np.float64)  # (m,)
        relative = np.array(self.rates, dtype=np.float64) / self.own_rate_rps  # (m,)
        edges_s = np.concatenate([[0.0], np.cumsum(lengths_s)])  # (m+1,)
        done = np.concatenate([[0.0], np.cumsum(lengths_s * relative)])  # (m+1,)
        start_s = math.fmod(self.start_s, float(edges_s[-1]))
        before = float(np.interp(start_s, edges_s, done))

        def inverse(work: Floats) -> Floats:
            rounds, rest = np.divmod(work + before, done[-1])
            moments = rounds * edges_s[-1] + moments_of_work(rest, lengths_s, relative) - start_s
            return np.asarray(np.maximum(moments, 0.0), dtype=np.float64)  # -1e-17 becomes 0

        return inverse

    def __str__(self) -> str:
        numbers = {"start_s": self.start_s, "cv": self.cv if self.cv != 1 else 0.0}
        rest = spelled("", **numbers, client_cap=self.client_cap)[1:-1]
        if not self.source:
            return spelled(
                "profile", rates=self.rates, lengths_s=self.lengths_s, **numbers, client_cap=self.client_cap
            )
        return f"profile({', '.join(part for part in (self.source, rest) if part)})"
