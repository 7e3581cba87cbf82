"""Where a curve of goodput against the rate crosses a level or peaks, with as few evaluations as can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError

__all__ = ["Search", "find_knee"]

Floats = NDArray[np.float64]
_LEAST_BAD, _MOST_BAD = 1e-6, 1 - 1e-4  # shares of late requests beyond these are all alike
_N_GRID, _MOST_DOUBLINGS = 600, 40
_STEPS = (0.5, 1.5)  # from a known rate to the next
_ASIDE, _GAP = (0.95, 0.88), 0.995  # shares of a rate without an answer


def _link(good: ArrayLike) -> Floats:
    """Logarithm of late over good requests: tails are exponential in what is left of the capacity."""
    bad = np.clip(1 - np.asarray(good, dtype=float), _LEAST_BAD, _MOST_BAD)
    return np.asarray(np.log(bad / (1 - bad)))


def _unlink(link: Floats) -> Floats:
    """Goodput of such a logarithm."""
    return np.asarray(1 / (1 + np.exp(np.clip(link, *_link([1.0, 0.0])))))


class Search:
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
    >>> search = Search(lambda rate: 1 - rate**4, guide=([0.1, 0.5, 0.9, 0.99], [1.0, 0.9, 0.3, 0.05]))
    >>> print(f"{search.crossing(0.9):.3f}", search.n_asked)
    0.562 3
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
        self._rates, self._base = rates, _link([] if guide is None else guide[1])

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
        seen = _link(list(self.known.values()))
        if self._rates.size:
            link = np.interp(rates, self._rates, self._base)
            if places.size:
                link += np.interp(rates, places, seen - np.interp(places, self._rates, self._base))
        elif places.size:
            link = np.interp(rates, places, seen)
        else:
            raise ConfigError("between: nothing is known of the curve; ask for a rate first")
        return np.where(rates >= self.limit_rps, 0.0, _unlink(link))

    def grid(self) -> Floats:
        """Rates, increasing, that reach over everything that is known, close together near the limit."""
        ends = np.concatenate([self._rates, list(self._known)])
        top = min(float(ends.max()), self.limit_rps)
        even = np.linspace(float(ends.min()), top, _N_GRID)
        closer = top * (1 - np.geomspace(1e-4, 0.2, 100)) if math.isfinite(self.limit_rps) else even
        last = [self.limit_rps] if math.isfinite(self.limit_rps) else []
        inside = closer[closer > ends.min()]
        return np.unique(np.concatenate([even, inside, ends[ends <= top], last]))

    def crossing(self, level: float, *, rtol: float = 2e-3, most: int = 8) -> float | None:
        """Largest rate at which goodput is at least ``level``; None if it never is.

        Parameters
        ----------
        level : float
            Share in (0, 1).
        rtol : float
            Relative error of the rate.
        most : int
            Evaluations of the curve at most; 0: what is known must do.

        Raises
        ------
        ConvergenceError
            If the curve has no answer where the crossing is.
        """
        for n in count():
            root = self._root(level)
            if root is None or n == most:
                return root
            place = self._next(root, level, rtol, n)
            if place is None:
                return root
            if self.at(place) is None:
                self._step_aside(place, level)
        return None

    def _next(self, root: float, level: float, rtol: float, n: int) -> float | None:
        """Where to ask; None if the root is known well enough.

        With a guide that is so where the curve was asked close by. Without one there must be known rates to
        both sides close by: every third time the middle is asked, so that the bracket does shrink.
        """
        if self._rates.size:
            return None if self._is_settled(root, rtol) else self._beyond(root, level)
        low = max(
            (rate for rate, good in self._known.items() if rate <= root and good >= level), default=root
        )
        high = min((r for r, good in self._known.items() if r > low and good < level), default=self.limit_rps)
        if high <= low * (1 + rtol) or math.isinf(high):
            return None
        if n % 3 == 2:
            return (low + high) / 2
        edge = min(0.4 * rtol * low, (high - low) / 3)
        return min(max(root, low + edge), high - edge)

    def _beyond(self, root: float, level: float) -> float:
        """The root; beyond all known points that of the line through two: a guide may be far off."""
        rates = list(self.known)
        if len(rates) < 2 or rates[0] < root < rates[-1]:
            return root
        first, second = rates[:2] if root <= rates[0] else rates[:-3:-1]
        y1, y2, target = _link([self._known[first], self._known[second], level])
        found = first + float(target - y1) * (second - first) / float(y2 - y1) if y1 != y2 else root
        return min(max(found, _STEPS[0] * first), _STEPS[1] * first, _GAP * self.limit_rps)

    def _step_aside(self, missing: float, level: float) -> None:
        """Ask at lower rates where there is no answer; more is lost if the crossing does not move away."""
        for share in _ASIDE:
            if self.at(share * missing) is not None:
                root = self._root(level)
                if root is None or root < _GAP * missing:
                    return
                break
        raise ConvergenceError(f"no answer at {missing:.5g} req/s: {self._missing[missing]}")

    def _root(self, level: float) -> float | None:
        rates = self.grid()
        good = self.between(rates)
        above = np.flatnonzero(good >= level)
        if not above.size:
            return None
        i = int(above[-1])
        if i + 1 == rates.size:
            return float(rates[i])
        y0, y1, target = _link([good[i], good[i + 1], level])
        share = (target - y0) / (y1 - y0) if y1 > y0 else 0.0
        return float(rates[i] + min(max(share, 0.0), 1.0) * (rates[i + 1] - rates[i]))

    def _is_settled(self, root: float, rtol: float) -> bool:
        """Whether the curve itself was asked close by."""
        return any(abs(root / rate - 1) <= rtol for rate in self._known)

    def peak(self, *, rtol: float = 0.01, most: int = 4) -> tuple[float, float]:
        """Rate at which most requests a second are good, and how many; parameters as in `crossing`."""
        for n in count():
            rates = self.grid()
            flow = rates * self.between(rates)
            best = float(rates[int(flow.argmax())])
            if n == most or self._is_settled(best, rtol) or self.at(best) is None:
                break
        return best, float(flow.max())


def find_knee(
    goodput: Callable[[float], float],
    *,
    goodput_frac: float = 0.9,
    start_rps: float = 1.0,
    limit_rps: float = math.inf,
    rtol: float = 1e-3,
) -> float | None:
    """Largest rate at which a function of the rate is at least ``goodput_frac``.

    Works on any function: a formula, a chain, a simulation with fixed random numbers. From ``start_rps`` the
    rate is doubled until goodput is below the level, halved until it is not; then the crossing is closed in
    on. Where a function is not monotone at low rates, the last crossing is the one that counts.

    Parameters
    ----------
    goodput : callable (float) -> float
        Share of good requests at a rate, in 0..1; it may raise as in `Search`.
    goodput_frac : float
        The level, in (0, 1).
    start_rps : float
        Where to begin, requests per second, > 0.
    limit_rps : float
        Stability limit, if it is known.
    rtol : float
        Relative error of the rate.

    Returns
    -------
    float or None
        Requests per second; None if goodput is below the level at every rate that was tried.

    Raises
    ------
    ConfigError
        If a number is out of its range, or no rate is high enough to be too high.
    ConvergenceError
        If the function has no answer where the knee is.

    Examples
    --------
    >>> print(f"{find_knee(lambda rate: min(1.0, 2 - rate / 8)):.3f}")
    8.800
    """
    checks.inner_fraction(goodput_frac=goodput_frac)
    checks.positive(start_rps=start_rps, limit_rps=min(limit_rps, 1e300))
    search = Search(goodput, limit_rps=limit_rps)
    rate = start_rps if start_rps < limit_rps else limit_rps / 2
    tried = [rate]
    good = [value for value in (search.at(rate),) if value is not None]
    while rate < limit_rps and not any(value < goodput_frac for value in good):
        rate *= 2
        tried.append(rate)
        _check_number(tried, "no rate is too high", goodput_frac)
        good += [value for value in (search.at(rate),) if value is not None]
    rate = min(tried)
    while not any(value >= goodput_frac for value in search.known.values()):
        rate /= 2
        if len(tried) > _MOST_DOUBLINGS:
            return None
        tried.append(rate)
        search.at(rate)
    return search.crossing(goodput_frac, rtol=rtol, most=60)


def _check_number(tried: list[float], what: str, level: float) -> None:
    if len(tried) > _MOST_DOUBLINGS:
        raise ConfigError(
            f"goodput_frac: {level:g} is reached up to {max(tried):.4g} req/s: {what}; give tighter limits"
        )
