"""Numbers that wait when a batch is formed, at many rates: who comes in it by mean and variance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._clumps import Clumps
from ._round_come import come_after
from ._rounds import Rounds

__all__ = ["RoundSteady"]

Floats = NDArray[np.float64]

_MORE = 8  # numbers listed beyond the largest batch and a full one
_LEAST_INDEX = 1e-6  # of a count, beyond a Poisson one
_NEWTON = 40
_FAR = -np.log1p(-(np.arange(12) + 0.5) / 12)  # of an exponential law of mean 1
_FAR /= _FAR.mean()


@dataclass(frozen=True, eq=False)
class RoundSteady:
    r"""The chain of the numbers waiting at each rate; who comes in a batch is a negative binomial number.

    Its mean and variance are those of the arrivals in the seconds of the batch, :math:`\lambda E[S]` and
    :math:`I\lambda E[S]+\lambda^2 Var[S]` with the index of dispersion I. A batch that ends an idle time is a
    state of its own (the first), as the rest of the clump comes in it. Beyond those listed numbers are
    geometric with the root of the transform of the increments of full batches.
    """

    rounds: Rounds
    rates_rps: Floats  # (r,)
    clumps: Clumps

    @property
    def _n(self) -> int:
        return self.rounds.most + int(self.rounds.full @ np.arange(1, self.rounds.most + 1)) + _MORE

    @cached_property
    def first(self) -> Floats:
        """Mean number (r,) that comes in a batch of one that ends an idle time."""
        seconds, weights = (table[0] for table in self.rounds.decode_laws)
        seconds = seconds + self.rounds.prompt_s[0].mean()
        behind = weights @ self.clumps.following(seconds[:, None], self.rates_rps) / weights.sum()
        return np.asarray(self.rates_rps * (weights @ seconds) / weights.sum() + behind)

    @cached_property
    def _first_index(self) -> Floats:
        """Variance (r,) of that number over its mean: those behind the first one are geometric."""
        rate, mean_s, var_s = self.rates_rps, self.rounds.mean_s()[0], self.rounds.var_s()[0]
        low, seconds, high = mean_s * np.array([[0.75], [1.0], [1.25]])
        behind, within = self.clumps.following(seconds, rate), self.clumps.within(seconds, rate)
        grows = self.clumps.following(high, rate) - self.clumps.following(low, rate)
        slope = rate + 2 * grows / mean_s
        var = rate * mean_s * (1 + 2 * within) + behind * (1 + behind) + slope**2 * var_s
        return np.asarray(var / self.first)

    def _counts(self, mean: Floats, index: Floats) -> Floats:
        """P(k come in a batch) (r, sizes, n), the last holds the rest."""
        return _negative_binomial(mean, index, self._n + self.rounds.most + 1)

    @cached_property
    def come(self) -> Floats:
        """Mean number (r, most) that comes in a batch of each size that took all who came in another."""
        seconds = self.rounds.mean_s()[:, None]
        return come_after(self.clumps, self.rates_rps, seconds, seconds).T

    @cached_property
    def _part(self) -> Floats:
        mean_s, rate = self.rounds.mean_s(), self.rates_rps
        bursts = 1 + 2 * self.clumps.within(mean_s[:, None], rate).T
        return self._counts(self.come, bursts + rate[:, None] * self.rounds.var_s() / mean_s)

    @cached_property
    def _full(self) -> Floats:
        """P(k come in a batch of each size that leaves somebody, and it has that size) (r, most, k)."""
        rounds, rate = self.rounds, self.rates_rps[:, None]
        mean_s = rounds.mean_s(full=True)
        bursts = (
            1 + 2 * self.clumps.following(mean_s[:, None], self.rates_rps).T
        )  # with those of other batches
        counts = self._counts(rate * mean_s, bursts + rate * rounds.var_s(full=True) / mean_s)
        return counts * rounds.full[:, None]

    @cached_property
    def _changes(self) -> Floats:
        """Laws (r, most, most + k) of the change of the number, from - most on, by batches of at most b
        that leave somebody."""
        full, most = self._full, self.rounds.most
        found = np.zeros((len(full), most, most + full.shape[2]))
        for size in range(1, most + 1):
            found[:, size - 1, most - size : most - size + full.shape[2]] = full[:, size - 1]
        return np.cumsum(found, axis=1, out=found)

    @cached_property
    def decay(self) -> Floats:
        """Ratio (r,) of P(q + 1 wait) to P(q wait) for large q."""
        law = self._changes[:, -1]
        k = np.arange(float(law.shape[1])) - self.rounds.most

        def surplus(theta: Floats) -> tuple[Floats, Floats]:
            grown = law * np.exp(np.minimum(theta[:, None] * k, 500.0))
            return grown.sum(axis=1) - 1, grown @ k

        theta = np.maximum(-2 * (law @ k) / (law @ k**2), 1e-9)
        while np.any(under := surplus(theta)[0] < 0):
            theta = np.where(under, 1.5 * theta, theta)
        for _ in range(_NEWTON):  # from above, of a convex function
            value, slope = surplus(theta)
            theta = theta - value / slope
            if np.all(value < 1e-9):
                break
        return np.exp(-theta)

    @cached_property
    def waiting(self) -> Floats:
        """P(q wait when a batch is formed) (r, n + 1); those of q = 0 end an idle time."""
        n, most, part = self._n, self.rounds.most, self._part
        rows = np.zeros((len(part), n + 1 + most, n + 1))
        taken = part * self.rounds.room[:, None]
        rows[:, 1 : most + 1] = taken[..., : n + 1]
        rows[:, 1 : most + 1, -1] += taken[..., n + 1 :].sum(axis=2)
        rows[:, 0] = _negative_binomial(self.first, self._first_index, n + 1)
        for q in range(2, most + 1):
            rows[:, q] += self._changes[:, q - 2, most - q : most - q + n + 1]
        for q in range(most + 1, n + 1 + most):
            rows[:, q, q - most :] += self._changes[:, -1, : n + 1 - q + most]
        beyond = self.decay[:, None] ** np.arange(1.0, most + 1)
        rows[:, n] += np.einsum("rm,rmj->rj", beyond, rows[:, n + 1 :])
        system = np.eye(n + 1) - rows[:, : n + 1]
        weights = np.ones((len(part), n + 1))
        weights[:, -1] = 1 / (1 - self.decay)
        system[:, :, -1] = weights
        right = np.zeros((len(part), n + 1, 1))
        right[:, -1] = 1.0
        found = np.linalg.solve(system.transpose(0, 2, 1), right)[..., 0].clip(0.0)
        return np.asarray(found / (found * weights).sum(axis=1, keepdims=True))

    @cached_property
    def alone(self) -> Floats:
        """P(a batch of b takes all who wait) (r, most), without those that end an idle time."""
        return np.asarray(self.waiting[:, 1 : self.rounds.most + 1] * self.rounds.room)

    @cached_property
    def left(self) -> tuple[Floats, Floats]:
        """Numbers (r, l) that a batch may leave, rising, and their probabilities; of the many, some at their
        mean."""
        n, most, decay = self._n, self.rounds.most, self.decay[:, None]
        more = self.waiting[:, -1:] * decay ** np.arange(1.0, most + 1)
        waiting = np.concatenate([self.waiting, more], axis=1)
        law = np.zeros((len(waiting), n))
        for size in np.flatnonzero(self.rounds.full > 1e-9) + 1:
            law += self.rounds.full[size - 1] * waiting[:, size + 1 : size + 1 + n]
        numbers = np.broadcast_to(np.arange(1.0, n + 1), law.shape)
        far = n + _FAR / -np.log(decay)
        tail = law[:, -1:] * decay / (1 - decay) / len(_FAR)
        return np.concatenate([numbers, far], axis=1), np.concatenate(
            [law, np.broadcast_to(tail, far.shape)], axis=1
        )


def _negative_binomial(mean: Floats, index: Floats, n: int) -> Floats:
    """P(k) (..., n) with this mean and variance over mean; the last holds the rest."""
    index = np.maximum(index, 1 + _LEAST_INDEX)
    shape, more = mean / (index - 1), 1 - 1 / index
    law = np.empty((*np.broadcast(mean, index).shape, n))
    law[..., 0] = np.exp(-shape * np.log(index))
    for k in range(1, n):
        law[..., k] = law[..., k - 1] * ((shape + k - 1) / k * more)
    law[..., -1] += np.maximum(1 - law.sum(axis=-1), 0.0)
    return law
