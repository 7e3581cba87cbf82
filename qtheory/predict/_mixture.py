"""Laws of the closed tier: groups of requests with a fixed and a random part each, at many rates at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._law_shares import Law, Shares
from ._percentiles import LEVELS

__all__ = ["Mixture"]

Floats = NDArray[np.float64]

_FIRST = np.array([-1.0, -0.65, -0.3, 0.05, 0.5, 1.1, 1.9, 3.0, 5.0, 9.95])  # standard deviations
_LEVELS = np.array(list(LEVELS.values()))
_MOST_ROUNDS, _EDGE, _LEAST = 16, 0.08, 1e-6
_NEAR, _CURVED = 0.002, 5.0  # where a line will do: of the time, times what is between in logarithms


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups (g,) or (g, r): nothing above the ``base`` (g, r) with probability ``none``, else a law.

    There may be several axes of groups; laws that are the same along one have the length 1 there.
    """

    probs: Floats
    base: Floats
    none: Floats
    above: Floats  # mean and second moment of the law
    second: Floats
    law: Law = "gamma"  # "passage" of a Brownian motion, "bounded", a beta law up to ``most``, or "even"
    most: Floats | None = None

    @cached_property
    def mean(self) -> Floats:
        """Means (r,)."""
        return self._over_groups(self.base + (1 - self.none) * self.above)

    @cached_property
    def var(self) -> Floats:
        """Variances (r,)."""
        both = self.base**2 + (1 - self.none) * (2 * self.base * self.above + self.second)
        return np.asarray(np.maximum(self._over_groups(both) - self.mean**2, 0.0))

    def _over_groups(self, values: Floats) -> Floats:
        """Means (..., r) of values (..., groups, r)."""
        n_axes = self.base.ndim - 1
        if self.probs.ndim == 1 == n_axes:
            return np.asarray(self.probs @ values)
        probs = self.probs if self.probs.ndim > n_axes else self.probs[..., None]
        return np.asarray((probs * values).sum(axis=tuple(range(-1 - n_axes, -1))))

    def _cdf(self, times_s: Floats, law: Callable[[Floats], Floats]) -> Floats:
        """Shares (..., r) that are no longer than times (..., r)."""
        if np.all(self.none >= 1):
            law = np.zeros_like  # there is nothing but the bases
        over = times_s.reshape(*times_s.shape[:-1], *[1] * (self.base.ndim - 1), -1) - self.base
        tail = self.none + (1 - self.none) * law(np.maximum(over, 1e-12))
        return self._over_groups((over >= 0) * tail)

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.law, self.above, self.second, self.most)

    def stretched(self, factors: Floats, shares: Floats) -> Mixture:
        """Every group in kinds (k, r) whose random part is longer or shorter; or (g, k, r) by the last axis
        of groups."""
        none, above, second = (part[..., None, :] if part.ndim > 1 else part for part in
                               (self.none, self.above, self.second))  # fmt: skip
        by_rate = self.probs.ndim == self.base.ndim
        probs = (
            self.probs[..., None, :] * shares[:, None] if by_rate else np.multiply.outer(self.probs, shares)
        )
        return Mixture(probs, self.base[..., None, :], none, above * factors, second * factors**2)

    @cached_property
    def _known(self) -> tuple[Floats, Floats]:
        """Times and shares (k, r) that are no longer, both rising, and close where percentiles are.

        The same for all percentiles, so that none is above a higher one.
        """
        if np.all(self.none >= 1):
            return self._atoms()
        is_few = 2 * self.above.size <= np.broadcast(self.base, self.above).size
        law = self._shares.tabled if is_few and self.law in ("gamma", "bounded") else self._shares
        times = np.maximum(self.mean + np.sqrt(self.var) * _FIRST[:, None], 0.0)
        times[-1] += 1e-9 + 1e-9 * times[-1]
        shares = np.sort(self._cdf(times, law), axis=0)
        for turn in range(_MOST_ROUNDS):
            (low, high), (part, width) = self._around(times, shares, _LEVELS)
            if np.all((high - low) * np.minimum(width, _CURVED) <= _NEAR * high):
                break
            part = np.full_like(part, 0.5) if turn % 2 else np.clip(part, _EDGE, 1 - _EDGE)
            more = low + part * (high - low)
            times = np.sort(np.concatenate([times, more]), axis=0)
            shares = np.sort(np.concatenate([shares, self._cdf(more, law)]), axis=0)
        return times, shares

    def _atoms(self) -> tuple[Floats, Floats]:
        """The same where there is nothing but the bases."""
        probs = self.probs if self.probs.ndim == self.base.ndim else self.probs[..., None]
        base = self.base.reshape(-1, self.base.shape[-1])
        if not len(base):  # no request has such a time
            return np.zeros((2, base.shape[1])), np.repeat([[0.0], [1.0]], base.shape[1], axis=1)
        weights = np.broadcast_to(probs, self.base.shape).reshape(base.shape)
        order = np.argsort(base, axis=0)
        shares = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
        times = np.take_along_axis(base, order, axis=0)
        below = np.concatenate([np.zeros_like(shares[:1]), shares[:-1]])
        return np.repeat(times, 2, axis=0), np.stack([below, shares], axis=1).reshape(-1, base.shape[1])

    def quantile(self, level: float) -> Floats:
        """Seconds (r,) not exceeded with probability ``level``, one of the usual percentiles."""
        (low, high), (part, _) = self._around(*self._known, np.array([level]))
        return np.asarray((low + part * (high - low))[0])

    @staticmethod
    def _around(times: Floats, shares: Floats, levels: Floats) -> tuple[tuple[Floats, Floats], ...]:
        """Known times (levels, r) below and above each level; how far between them it is, and how much there
        is between them. Longer times are rarer by about the same factor for each second."""
        above = (shares[:, None] < levels[:, None]).sum(axis=0).clip(1, len(shares) - 1)
        ends = [np.take_along_axis(times, place, axis=0) for place in (above - 1, above)]
        at_low, at_high = (
            np.log(np.maximum(1 - np.take_along_axis(shares, place, axis=0), _LEAST))
            for place in (above - 1, above)
        )
        width = at_low - at_high
        part = (at_low - np.log(1 - levels)[:, None]) / np.maximum(width, 1e-12)
        return (ends[0], ends[1]), (np.clip(part, 0.0, 1.0), width)

    def within(self, limit_s: float | None) -> Floats:
        """Probability (r,) of at most ``limit_s``; of anything if there is no limit."""
        if limit_s is None:
            return np.ones_like(self.mean)
        return self._cdf(np.full_like(self.mean, limit_s), self._shares)
