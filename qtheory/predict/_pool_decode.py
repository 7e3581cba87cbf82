"""A decode instance of disaggregated pools: state-dependent processor sharing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ._meeting import together_frac
from .inputs import Engine

__all__ = ["DecodePool"]

Floats = NDArray[np.float64]

_LEVELS = (np.arange(24) + 0.5) / 24  # of the number running
_BEYOND = 6  # numbers listed, in places of all instances


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodePool:
    r"""Requests that decode, ``n_equal`` instances that share them equally (1: each has arrivals of its own).

    All that run get a token in each step, so the number is that of processor sharing at the speed
    :math:`k/(\bar dV(k))`, whose law :math:`\pi(k)\propto\prod_{j\le k}\lambda\bar dV(j)/j` depends on the
    outputs by their mean alone [1]_. Above the places :math:`n_c` the speed stays, and who comes waits.
    Requests that come in bunches are taken as geometric groups that add as much to the variance of the
    number, ``bunch`` times its mean.

    References
    ----------
    .. [1] Kelly (1979), "Reversibility and stochastic networks", chapter 3.
    """

    engine: Engine
    rate_rps: float
    n_equal: int
    bunch: float = 0.0

    @property
    def limit_rps(self) -> float:
        """Requests a second that all places end."""
        return (
            self.n_equal
            * self._places
            / (self.engine.demand.mean_decode * self.engine.decode_s(self._places))
        )

    @property
    def _places(self) -> float:
        """Requests that decode at most: who comes for a free place joins after the step under way."""
        d = self.engine.demand.mean_decode
        return max(self.engine.slots * d / (d + 1), 1.0)

    @cached_property
    def _speeds(self) -> tuple[Floats, Floats]:
        """Numbers (k,) that run on one instance, and seconds of its steps."""
        nodes = np.unique(np.concatenate([np.arange(1.0, 9.0), np.linspace(8.0, max(self._places, 9.0), 40)]))
        return nodes, np.array([self.engine.decode_s(n) for n in nodes])

    @cached_property
    def _law(self) -> tuple[Floats, Floats]:
        """Numbers (k,) in all instances, and their probabilities."""
        places = self.n_equal * self._places
        load = self.rate_rps / self.limit_rps
        top = int(places + min(_BEYOND * places, 40 / max(1 - load, 1e-3)) + 20)
        k = np.arange(1.0, top + 1)
        running = np.minimum(np.maximum(k / self.n_equal, 1.0), self._places)
        ends = np.minimum(k, places) / (self.engine.demand.mean_decode * np.interp(running, *self._speeds))
        return np.arange(top + 1.0), _in_groups(ends / self.rate_rps, 1 + self.bunch)

    @cached_property
    def mean_running(self) -> float:
        """Requests that decode, all instances."""
        k, law = self._law
        return float(np.minimum(k, self.n_equal * self._places) @ law)

    @cached_property
    def gap_s(self) -> float:
        """Mean seconds of the steps that a request sees: by Little's law."""
        return self.mean_running / (self.rate_rps * self.engine.demand.mean_decode)

    @cached_property
    def waits(self) -> tuple[float, float]:
        """Probability of finding no place, and the mean wait then."""
        k, law = self._law
        places = self.n_equal * self._places
        late = float(law[k >= places].sum())
        demand = self.engine.demand
        variable = demand.decode_moment(2) / (2 * demand.mean_decode**2)  # (1 + scv) / 2, exponential 1
        behind = float(np.maximum(k - places + 1, 0.0) @ law)
        return late, variable * behind / self.limit_rps / late if late > 1e-12 else 0.0

    @cached_property
    def together(self) -> float:
        """Share of its stay for which a request that came together with another one is there beside it."""
        return together_frac(self.engine.demand)

    def _beside(self, steps: Floats) -> Floats:
        """Mean share of so many steps for which one that came at once is there."""
        demand = self.engine.demand
        order = np.argsort(demand.decode_steps)
        lengths, probs = demand.decode_steps[order], demand.decode_probs[order]
        below, sums = np.cumsum(probs), np.cumsum(probs * lengths)
        least = sums + lengths * (below[-1] - below)  # E[min(d, length)]
        met = np.interp(steps, np.append(0.0, lengths), np.append(0.0, least))
        return np.asarray(met / steps / below[-1])

    @property
    def half_step_s(self) -> float:
        """Mean seconds until the step under way is over that a request finds."""
        busy = 1 - np.exp(-self.mean_running / self.n_equal)
        return float(busy) * self.gap_s / 2

    @cached_property
    def _seen(self) -> Floats:
        """Seconds of steps at equally likely states, weighted by who sees them."""
        k, law = self._law
        running = np.minimum(np.maximum(k / self.n_equal, 1.0), self._places)
        steps = np.interp(running, *self._speeds)
        weights = law * np.minimum(k, self.n_equal * self._places) / steps
        order = np.argsort(steps)
        below = np.cumsum(weights[order])
        return np.asarray(np.interp(_LEVELS * below[-1], below, steps[order]))

    @cached_property
    def gaps(self) -> Floats:
        """Equally likely gaps between tokens, with the mean of Little's law."""
        return np.asarray(self._seen * (self.gap_s / self._seen.mean()))

    def per_token_s(self, steps: Floats) -> Floats:
        """Equally likely mean gaps (d, levels) of requests of so many steps; the longer, the closer.

        Beside short ones are more of those that came with them.

        The number running forgets in the time t_c, in which a request ends; of its deviations a stay of
        length T keeps the share sqrt(2/z (1 - (1 - exp(-z))/z)), z = T/t_c.
        """
        demand = self.engine.demand
        unit = max(np.sqrt(demand.mean_remaining * demand.mean_decode), 0.5)
        n = self.mean_running / self.n_equal
        nodes, seconds = self._speeds
        slope = (np.interp(1.02 * n + 0.1, nodes, seconds) - np.interp(n, nodes, seconds)) / (0.02 * n + 0.1)
        feedback = min(self.rate_rps / self.n_equal * demand.mean_decode * float(slope), 0.97)
        stay = np.maximum(steps * (1 - feedback) / unit, 1e-9)
        kept = np.sqrt(np.clip(2 / stay * (1 + np.expm1(-stay) / stay), 0.0, 1.0))
        beside = self.bunch / self.n_equal * (self._beside(steps) / self.together - 1)
        shift = np.interp(np.clip(n + beside, 1.0, self._places), nodes, seconds) - np.interp(
            n, nodes, seconds
        )
        return np.asarray(self.gap_s + shift[:, None] + kept[:, None] * (self.gaps - self.gap_s)[None, :])


def _in_groups(ends: Floats, group: float) -> Floats:
    r"""Law (k + 1,) of a number that rises in geometric groups and falls at the rates ``ends`` (k,).

    Up from k go groups that reach beyond it: with q = 1 - 1/g and :math:`s_k=\sum_{i\le k}\pi_i q^{k-i}` the
    balance is :math:`s_k/g=\mu_{k+1}\pi_{k+1}`.
    """
    more, law, reaching = 1 - 1 / group, [1.0], 1.0
    for rate in ends.tolist():
        law.append(reaching / group / rate)
        reaching = more * reaching + law[-1]
        if reaching > 1e200:
            law, reaching = [each / reaching for each in law], 1.0
    return np.array(law) / sum(law)


def erlang_wait(n: int, load: float) -> float:
    """Mean wait for the first of ``n`` servers over that for the own one of n, at the same load (M/M/n)."""
    a = n * load
    k = np.arange(n + 1)
    terms = np.exp(k * np.log(max(a, 1e-12)) - gammaln(k + 1))
    last = float(terms[-1]) / (1 - load)
    return last / (float(terms[:-1].sum()) + last) / (n * load)
