"""A finite run above the limit: latencies, goodput and backlog from the fluid path and its diffusion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo

from ._astray import Astray
from ._emptying import emptied_s
from ._fluid import Fluid
from ._gridlaw import GridLaw, law_of_atoms
from ._normal import THREE, THREE_WEIGHTS
from ._numeric import statistics
from ._setting import Setting
from ._steps import Rule
from .limits import Limit, gaps_at

__all__ = ["finite"]

Floats = NDArray[np.float64]

_LEVELS = (np.arange(8) + 0.5) / 8  # of the wait


def finite(setting: Setting, limit: Limit, rule: Rule, duration_s: float) -> dict[str, Any]:
    """Columns of all requests that come in a time, from an empty system."""
    fluid = Fluid(
        engine=setting.engine, rule=rule, limit=limit, rate_rps=setting.rate_rps, duration_s=duration_s
    )
    return _Run(Astray(fluid)).columns(setting.slo)


@dataclass(frozen=True, eq=False)
class _Run:
    """Latencies by the moment of arrival."""

    astray: Astray

    @property
    def fluid(self) -> Fluid:
        """The path of means."""
        return self.astray.fluid

    @cached_property
    def waits(self) -> tuple[Floats, Floats, Floats]:
        """Moments (t,), seconds until admission (t, x) and their probabilities."""
        return self.astray.waits()

    def columns(self, slo: Slo) -> dict[str, Any]:
        """Columns of a prediction."""
        times, _, _ = self.waits
        demand, span_s = self.fluid.engine.demand, emptied_s(self.fluid) - 1 / self.fluid.rate_rps
        laws = {"ttft": self._first_token(), "e2e": self._whole()}
        found: dict[str, Any] = {"mean_decoding": 0.0, "makespan_s": span_s}
        if demand.mean_decode > 0:
            steps, probs, seconds = self.decodes
            each = np.broadcast_to(probs[:, None] * THREE_WEIGHTS, seconds.shape)
            laws["tpot"] = law_of_atoms((seconds / steps[:, None]).ravel(), each.ravel())
            gap_s = float((seconds * each).sum()) / len(times) / demand.mean_decode
            laws["itl"] = self._gaps(gap_s)
            total = self.fluid.rate_rps * self.fluid.duration_s * demand.mean_decode * gap_s
            found["mean_decoding"] = total / span_s
        in_time, quick = self._in_time(slo.ttft_s), self._quick(slo.tpot_s)
        whole = laws["e2e"].within(slo.e2e_s)
        return found | statistics(laws) | {
            "goodput_frac": min(float(np.mean(in_time * quick)), whole),
            "ttft_good_frac": float(np.mean(in_time)),
            "tpot_good_frac": float(np.mean(quick)),
            "end_backlog": self._backlog(),
        }  # fmt: skip

    def _backlog(self) -> float:
        """Mean requests not yet admitted when the last one comes."""
        _, x, laws = self.astray.away
        fluid = self.fluid
        present = float(np.interp(fluid.duration_s, fluid.path.times_s, fluid.path.present))
        running = float(np.interp(fluid.duration_s, fluid.path.times_s, fluid.path.running))
        return float(np.maximum(present - running + x, 0.0) @ laws[-1])

    @cached_property
    def own(self) -> tuple[Floats, Floats]:
        """Seconds (k,) of the own prompt and half a step, and their probabilities."""
        fluid, engine, n = self.fluid, self.fluid.engine, self.fluid.full
        sizes, probs = engine.demand.prompt_groups
        room = fluid.rule.room_tokens(engine, n)
        half = engine.decode_s(n) / 2
        if fluid.rule.mixed:
            whole = engine.step_s(room, n)
            own = [t // room * whole + engine.step_s(max(t % room, 1.0), n) for t in sizes]
            half = whole / 2 if fluid.limit.binds == "token budget" else half
        else:
            beside = fluid.per_step * engine.demand.mean_prompt
            own = [engine.step_s(t + min(beside, room), 0.0) for t in sizes]
        return np.array(own) + half, probs

    def _first_token(self) -> GridLaw:
        _, waits, laws = self.waits
        own, probs = self.own
        mass = (laws[:, :, None] * probs).ravel()
        kept = mass > 1e-10
        return law_of_atoms((waits[:, :, None] + own).ravel()[kept], mass[kept])

    def _in_time(self, limit_s: float | None) -> Floats:
        """P(the first token is in time) (t,), by the moment of arrival."""
        times, waits, laws = self.waits
        if limit_s is None:
            return np.ones(len(times))
        own, probs = self.own
        inside = np.zeros(len(times))
        for seconds, prob in zip(own, probs, strict=True):
            inside += prob * ((waits <= limit_s - seconds) * laws).sum(axis=1)
        return inside

    @cached_property
    def decodes(self) -> tuple[Floats, Floats, Floats]:
        """Steps (d,), probabilities, and seconds (t, d, 3) from the first token by the moment of arrival.

        The path gives the mean; prompts that come between, Poisson in number, the variance.
        """
        times, waits, laws = self.waits
        engine = self.fluid.engine
        steps, probs, _ = engine.demand.decode_groups
        first = times + (waits * laws).sum(axis=1) + float(self.own[0] @ self.own[1])
        mean = self.fluid.path.decode_s(first, steps)
        each = self.fluid.per_step
        stall2 = each * self.fluid.token_s(self.fluid.full) ** 2 * engine.demand.prompt_moment(2)
        if self.fluid.rule.mixed:  # no step is longer than one whose budget is spent
            alone = engine.decode_s(self.fluid.full)
            above = self.fluid.seconds(each, self.fluid.full) - alone
            room = self.fluid.rule.room_tokens(engine, self.fluid.full)
            longest = engine.step_s(room, self.fluid.full) - alone
            stall2 = min(stall2, max(above * (longest - above), 0.0))
        spread = np.sqrt(stall2 * steps)
        least = 0.98 * engine.decode_s(1) * steps
        seconds = mean[:, :, None] + THREE * spread[:, None]
        return steps, probs, np.maximum(seconds, least[:, None])

    def _quick(self, limit_s: float | None) -> Floats:
        """P(the time per output token is within its limit) (t,)."""
        steps, probs, seconds = self.decodes
        one = self.fluid.engine.demand.one_token_prob
        if limit_s is None or not len(steps):
            return np.ones(len(seconds))
        inside = (seconds / steps[:, None] <= limit_s) @ THREE_WEIGHTS
        return np.asarray(np.minimum(one + inside @ probs, 1.0))

    def _whole(self) -> GridLaw:
        """Time to the last token."""
        _, waits, laws = self.waits
        own, own_probs = self.own
        _, probs, seconds = self.decodes
        one = self.fluid.engine.demand.one_token_prob
        ends = np.concatenate([seconds[:, :, 1], np.zeros((len(waits), 1))], axis=1)
        weights = np.append(probs, one)
        below = np.cumsum(laws, axis=1)
        levels = np.array([np.interp(_LEVELS, b, w) for b, w in zip(below, waits, strict=True)])
        levels += ((waits * laws).sum(axis=1) - levels.mean(axis=1))[:, None]
        atoms = levels[:, :, None, None] + own[None, None, :, None] + ends[:, None, None, :]
        mass = np.broadcast_to(own_probs[:, None] * weights, atoms.shape)
        return law_of_atoms(np.maximum(atoms, 0.0).ravel(), mass.ravel())

    def _gaps(self, mean_s: float) -> GridLaw:
        """The gap between tokens: that at saturation, with the mean of the run."""
        fluid = self.fluid
        gaps, mass = gaps_at(fluid.engine, fluid.rule, fluid.limit)
        return law_of_atoms(gaps * (mean_s / float(gaps @ mass)), mass)
