"""A decode instance of disaggregated pools: state-dependent processor sharing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ._beside import Beside, Echo, skewed, third_of
from ._mates import Mates
from ._meeting import together_frac
from ._pool_link import LEVELS, SHARES
from .inputs import Engine
from .limits import redone_frac

__all__ = ["DecodePool"]

Floats = NDArray[np.float64]

_ROUNDS, _NEAR = 3, 0.1  # of a root, and what a slope is taken over
_BEYOND = 6  # numbers listed, in places of all instances


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodePool:
    r"""Requests that decode, ``n_equal`` instances that share them equally (1: each has arrivals of its own).

    All that run get a token in each step, so the number is that of processor sharing at the speed
    :math:`k/(\bar dV(k))`, whose law :math:`\pi(k)\propto\prod_{j\le k}\lambda\bar dV(j)/j` depends on the
    outputs by their mean alone [1]_. Above the places :math:`n_c` the speed stays, and who comes waits.
    Requests that come in bunches are taken as geometric groups that add as much to the variance of the
    number, and for the steps to its covariance with the load: who has just come holds little.

    References
    ----------
    .. [1] Kelly (1979), "Reversibility and stochastic networks", chapter 3.
    """

    engine: Engine
    rate_rps: float
    n_equal: int
    n_mates: float = 0.0  # that come with one, before and after it
    mates: Mates | None = None
    most_frac: float = np.inf  # rate at which bursts come at most, to that of all

    @cached_property
    def limit_rps(self) -> float:
        """Requests a second that all places end; where memory is scarce some prompts are computed again."""
        engine, places = self.engine, self._places
        each_s = engine.demand.mean_decode * engine.decode_s(places) / places
        again_s = engine.step_s(engine.demand.mean_prompt, places) - engine.decode_s(places)
        return self.n_equal / (each_s + redone_frac(engine) * again_s)

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
    def _bunch(self) -> tuple[float, float]:
        """Mates beside a request in the mean, and their load."""
        mates = self.mates
        return (0.0, 0.0) if mates is None else (self.n_mates * mates.numbers, self.n_mates * mates.together)

    def _law(self, bunch: float) -> tuple[Floats, Floats]:
        """Numbers (k,) in all instances, and their probabilities."""
        places = self.n_equal * self._places
        load = self.rate_rps / self.limit_rps
        top = int(places + min(_BEYOND * places, 40 / max(1 - load, 1e-3)) + 20)
        k = np.arange(1.0, top + 1)
        running = np.minimum(np.maximum(k / self.n_equal, 1.0), self._places)
        ends = np.minimum(k, places) / (self.engine.demand.mean_decode * np.interp(running, *self._speeds))
        ends = np.minimum(ends, np.where(k < places, np.inf, self.limit_rps))
        return np.arange(top + 1.0), _in_groups(ends / self.rate_rps, 1 + bunch)

    @cached_property
    def _number(self) -> tuple[float, float, float]:
        """Cumulants of the load of an instance, in requests that hold as much as all."""
        k, law = self._law(self._bunch[1])
        running = np.minimum(k / self.n_equal, self._places)
        mean = float(running @ law)
        return mean, float((running - mean) ** 2 @ law), float((running - mean) ** 3 @ law)

    @cached_property
    def _growth(self) -> tuple[float, float]:
        """Relative growth of a step with what runs, and the part of it that is by tokens."""
        n = self._number[0]
        whole, by_tokens = self.engine.slower_by(max(n, 1.0))  # a step has one at least
        return whole * min(n, 1.0), by_tokens / whole if whole > 0 else 0.0

    @cached_property
    def _echo_growth(self) -> float:
        """The growth as far as the number follows: not where all places are always taken."""
        mean, var, _ = self._number
        whole = self._growth[0]
        return whole * min(self.n_equal * var * (1 - whole) / (1 + self._bunch[1]) / max(mean, 1e-12), 1.0)

    @cached_property
    def _load(self) -> Beside:
        return Beside(demand=self.engine.demand, by_tokens=self._growth[1])

    @cached_property
    def _echo(self) -> Echo:
        return self._load.echo(self._echo_growth)

    @cached_property
    def mean_running(self) -> float:
        """Requests that decode, all instances. They are more since long ones hold more: they slow down just
        those beside whom others gather."""
        mean, growth = self._number[0], self._echo_growth
        more = self._echo.together - 1 / (1 - growth)
        return self.n_equal * (mean + self._growth[0] * more)

    @cached_property
    def gap_s(self) -> float:
        """Mean seconds of the steps that a request sees: by Little's law."""
        return self.mean_running / (self.rate_rps * self.engine.demand.mean_decode)

    @cached_property
    def waits(self) -> tuple[float, float]:
        """Probability of finding no place, and the mean wait then."""
        k, law = self._law(self._bunch[0])
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

    def mates_of(self, apart: Floats, weights: Floats) -> Mates:
        """Mates that begin so many steps apart."""
        return Mates(demand=self.engine.demand, by_tokens=self._growth[1], apart=apart, weights=weights)

    @property
    def half_step_s(self) -> float:
        """Mean seconds until the step under way is over that a request finds."""
        busy = 1 - np.exp(-self.mean_running / self.n_equal)
        return float(busy) * self.gap_s / 2

    @cached_property
    def gaps(self) -> Floats:
        """Gaps between tokens for `SHARES`, with the mean of Little's law."""
        demand = self.engine.demand
        second, third = self._cumulants(np.ones(1))
        own = self._growth[1] ** 2 * demand.context_var / demand.mean_context**2
        return np.asarray(self._steps_s(second + own, third, np.zeros(1))[0])

    def per_token_s(self) -> Floats:
        """Mean gaps (d, `SHARES`) of requests of each group of outputs; the longer, the closer.

        A request sees what it holds itself and, once this has let others gather, them. Beside short ones are
        more of those that came with them.
        """
        demand, growth = self.engine.demand, self._echo_growth
        steps, _, prompts = demand.decode_groups
        stay = steps * (1 - growth) / self._load.age
        kept = -np.expm1(-stay) / stay
        own = (self._load.own(steps, prompts) - 1) * (1 + growth / (1 - growth) * (1 - kept))
        if self.mates is not None:
            own = own + self.n_mates / self.n_equal * (self.mates.beside(steps) - self.mates.together)
        return self._steps_s(*self._cumulants(steps), own)

    def _cumulants(self, steps: Floats) -> tuple[Floats, Floats]:
        """Second and third (d,) of the load beside a request, in the mean over so many steps."""
        growth, echo, (mean, var, third) = self._echo_growth, self._echo, self._number
        load, number = self._load.cumulants(steps * (1 - growth))
        alone = 1 / (1 - growth)  # of the number
        held2 = echo.load_var * load[0] - alone * number[0]
        held3 = third_of(echo.load_var) * load[1] - third_of(alone) * number[1]
        second, third = number[0], third * number[1]
        if self.mates is not None:
            second = second + self.n_mates * self.mates.kept(steps * (1 - growth))
            third = third * self._skew_kept * (second / number[0] / (1 + self._bunch[1])) ** 2
        return var / (1 + self._bunch[1]) * second + mean * held2, third + mean * held3

    @property
    def _skew_kept(self) -> float:
        """Third cumulant where bursts come no faster than prompts are computed, to that of the law of groups.

        The mean number by the rate of the moment has a beta law up to that of the fastest, not a gamma law.
        """
        bunch, mean = self._bunch[1], self.n_equal * self._number[0]
        room = max((self.most_frac - 1) * mean, bunch, 1e-12)
        bound = (1 - mean / room) / (1 + bunch / room)
        return (1 + 3 * bunch + 2 * bunch**2 * bound) / (1 + 3 * bunch + 2 * bunch**2)

    def _steps_s(self, second: Floats, third: Floats, more: Floats) -> Floats:
        """Seconds of steps (d, `SHARES`) at a load of these cumulants and so much more than usual."""
        nodes, seconds = self._speeds
        usual = np.interp(self._number[0] + more, nodes, seconds) - np.interp(self._number[0], nodes, seconds)
        mean = self.gap_s + usual
        load = self._number[0] + more[:, None] + skewed(LEVELS, second, third)
        steps = self._at(load)
        for _ in range(_ROUNDS):  # who runs sees more than there are at a moment
            slope = (self._at(load + _NEAR) - steps) @ SHARES / _NEAR
            load += np.where(slope > 0, (mean - steps @ SHARES) / np.maximum(slope, 1e-300), 0.0)[:, None]
            steps = self._at(load)
        return np.asarray(steps * (mean / (steps @ SHARES))[:, None])

    def _at(self, load: Floats) -> Floats:
        """Seconds of steps at loads, which may hold more than places of mean tokens do."""
        nodes, seconds = self._speeds
        slope = (seconds[-1] - seconds[-2]) / (nodes[-1] - nodes[-2])
        return np.asarray(np.interp(load, nodes, seconds) + slope * np.maximum(load - nodes[-1], 0.0))


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
