"""A curve of goodput against the rate: known where it was asked for, interpolated between."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError

__all__ = ["AskedCurve", "log_odds"]

Floats = NDArray[np.float64]
_LEAST_BAD, _MOST_BAD = 1e-6, 1 - 1e-4  # shares of late requests beyond these are all alike
_N_GRID = 600


def log_odds(good: ArrayLike) -> Floats:
    """Logarithm of late over good requests: tails are exponential in what is left of the capacity.

    Parameters
    ----------
    good : array_like
        Shares of good requests, in 0..1; beyond 1e-6 and 1 - 1e-4 of late ones all are alike.

    Examples
    --------
    >>> log_odds([0.5, 0.9]).round(3).tolist()
    [0.0, -2.197]
    """
    bad = np.clip(1 - np.asarray(good, dtype=float), _LEAST_BAD, _MOST_BAD)
    return np.asarray(np.log(bad / (1 - bad)))


def _share(odds: Floats) -> Floats:
    """Goodput of such a logarithm."""
    return np.asarray(1 / (1 + np.exp(np.clip(odds, *log_odds([1.0, 0.0])))))


class AskedCurve:
    r"""A curve of goodput against the rate, known where it was asked for, and between by a cheaper guide.

    The tail of a wait is nearly exponential with a decay proportional to what is left of the capacity [1]_,
    so the logarithm of :math:`(1-g(\lambda))/g(\lambda)` is nearly a straight line near the cliff: that is
    what is interpolated. With a guide (a cheap curve of about the same shape) it is the difference to that.

    Parameters
    ----------
    ask : callable (float) -> float
        Goodput at a rate, share in 0..1. `UnstableError` counts as 0; another `ConfigError` or a
        `ConvergenceError` means that there is no answer at this rate.
    guide : pair of arrays, optional
        Rates (k,), increasing, > 0, and goodput there.
    limit_rps : float
        Stability limit, requests per second: goodput is 0 from there on; inf without one.

    Raises
    ------
    ConfigError
        If the guide has no rates, or its rates do not increase.

    References
    ----------
    .. [1] Abate, Choudhury and Whitt (1995), "Exponential approximations for tail probabilities in queues,
       I: waiting times", Operations Research 43, 885-901.

    Examples
    --------
    >>> curve = AskedCurve(lambda rate: 1 - rate**4)
    >>> curve.at(0.5), curve.at(0.5), curve.n_asked
    (0.9375, 0.9375, 1)
    """

    def __init__(
        self,
        ask: Callable[[float], float],
        *,
        guide: tuple[ArrayLike, ArrayLike] | None = None,
        limit_rps: float = math.inf,
    ) -> None:
        self._ask, self.limit_rps = ask, limit_rps
        self._known: dict[float, float] = {}
        self._missing: dict[float, str] = {}
        rates = np.array([] if guide is None else guide[0], dtype=float)
        if guide is not None and (not rates.size or np.any(np.diff(rates) <= 0) or rates[0] <= 0):
            raise ConfigError("guide: give rates above zero, in increasing order")
        self._rates, self._base = rates, log_odds([] if guide is None else guide[1])

    @property
    def n_asked(self) -> int:
        """How often the curve itself was evaluated."""
        return len(self._known) + len(self._missing)

    @property
    def known(self) -> dict[float, float]:
        """Goodput where it was asked for, by the rate, increasing."""
        return dict(sorted(self._known.items()))

    def at(self, rate_rps: float) -> float | None:
        """Goodput of the curve itself at a rate; None where it has no answer."""
        if rate_rps in self._known:
            return self._known[rate_rps]
        if rate_rps >= self.limit_rps:
            return 0.0
        if rate_rps in self._missing:
            return None
        try:
            self._known[rate_rps] = float(self._ask(rate_rps))
        except UnstableError:
            self._known[rate_rps] = 0.0
        except (ConfigError, ConvergenceError) as error:
            self._missing[rate_rps] = str(error)
            return None
        return self._known[rate_rps]

    def between(self, rates_rps: ArrayLike) -> Floats:
        """Goodput at any rates: that of the curve where it is known, else interpolated."""
        rates = np.asarray(rates_rps, dtype=float)
        places = np.array(list(self.known), dtype=float)
        seen = log_odds(list(self.known.values()))
        if self._rates.size:
            odds = np.interp(rates, self._rates, self._base)
            if places.size:
                odds += np.interp(rates, places, seen - np.interp(places, self._rates, self._base))
        elif places.size:
            odds = np.interp(rates, places, seen)
        else:
            raise ConfigError("between: nothing is known of the curve; ask for a rate first")
        return np.where(rates >= self.limit_rps, 0.0, _share(odds))

    def grid(self) -> Floats:
        """Rates, increasing, that reach over everything that is known, close together near the limit."""
        ends = np.concatenate([self._rates, list(self._known)])
        top = min(float(ends.max()), self.limit_rps)
        even = np.linspace(float(ends.min()), top, _N_GRID)
        closer = top * (1 - np.geomspace(1e-4, 0.2, 100)) if math.isfinite(self.limit_rps) else even
        last = [self.limit_rps] if math.isfinite(self.limit_rps) else []
        inside = closer[closer > ends.min()]
        return np.unique(np.concatenate([even, inside, ends[ends <= top], last]))
