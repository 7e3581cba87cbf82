"""Where a curve of goodput against the rate crosses a level or peaks, with as few evaluations as can be."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from qtheory.basics.errors import ConvergenceError

from .asked_curve import AskedCurve, log_odds

__all__ = ["Search"]

_STEPS = (0.5, 1.5)  # from a known rate to the next
_ASIDE, _GAP = (0.95, 0.88), 0.995  # shares of a rate without an answer
_ON, _BEYOND = (0.03, 0.25), 1.1  # from the last rate that is known, or guided to, to one beyond the crossing


class Search(AskedCurve):
    """A curve that is asked where its crossing with a level, or its peak, seems to be.

    Parameters
    ----------
    ask, guide, limit_rps
        As in `AskedCurve`.

    Raises
    ------
    ConfigError
        As in `AskedCurve`.

    Examples
    --------
    >>> search = Search(lambda rate: 1 - rate**4, guide=([0.1, 0.5, 0.9, 0.99], [1.0, 0.9, 0.3, 0.05]))
    >>> print(f"{search.crossing(0.9):.3f}", search.n_asked)
    0.562 3
    """

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

    def reach(self, level: float, *, most: int = 6) -> None:
        """Ask beyond the last rate that is known or guided to, until goodput is below ``level`` there.

        Parameters
        ----------
        level : float
            Share in (0, 1).
        most : int
            Evaluations of the curve at most.

        Raises
        ------
        ConvergenceError
            If the curve has no answer there, or goodput is high enough at the last rate that was asked.
        """
        before, last = (float(rate) for rate in self.grid()[[-2, -1]])
        near, here = log_odds(self.between([before, last]))
        target = float(log_odds(level))
        for _ in range(most):
            if here > target or last >= self.limit_rps:
                return
            further = (target - here) * (last - before) / max(here - near, 1e-9)
            place = last + min(max(_BEYOND * further, _ON[0] * last), _ON[1] * last)
            if self.at(place) is None and self.at(place := (last + place) / 2) is None:
                raise ConvergenceError(f"no answer at {place:.5g} req/s: {self._missing[place]}")
            before, near, last = last, here, max(self._known)
            here = float(log_odds(self._known[last]))
        if here <= target:
            raise ConvergenceError(f"goodput is still at least {level:g} at {last:.4g} req/s; simulate it")

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
        y1, y2, target = log_odds([self._known[first], self._known[second], level])
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
        y0, y1, target = log_odds([good[i], good[i + 1], level])
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
