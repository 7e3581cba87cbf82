"""A fixed number of requests in flight: each that ends is followed by the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv, gammaln

from qtheory.system.slo import Slo

from ._gridlaw import GridLaw, law_of_atoms
from ._normal import THREE, THREE_WEIGHTS
from ._numeric import statistics
from ._steps import Rule
from .inputs import Engine
from .limits import Limit

__all__ = ["Loop"]

Floats = NDArray[np.float64]

_LEVELS = (np.arange(12) + 0.5) / 12  # of the wait
_N_SIZES = 50
_ROUNDS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class Loop:
    r"""Approximation: a closed network of thinking, waiting, prompts and decodes.

    Time is counted in steps of the decodes, of which a request needs :math:`d` and its prompt
    :math:`s/(B-n)`. Prompts are a queue, decodes a place where all are served at once; the mean queue follows
    from that of one request less, as in mean value analysis [1]_. Prompts begin at the ends of requests, so
    with steps; between two decodes their number is Poisson. What exceeds the slots waits in front.

    References
    ----------
    .. [1] Reiser, Lavenberg (1980), "Mean-value analysis of closed multichain queueing networks", Journal of
       the ACM 27, 313-322.
    """

    engine: Engine
    rule: Rule
    limit: Limit
    concurrency: int
    think_s: float

    @cached_property
    def _state(self) -> dict[str, float]:
        """Running, prompts for each step, seconds of a step, requests a second and those that wait."""
        demand, full = self.engine.demand, max(self.limit.running, 1.0)
        d, n = max(demand.mean_decode, 1e-9), float(min(self.concurrency, full))
        rate, ahead = 0.0, 0.0
        for _ in range(_ROUNDS):
            each = n / d if demand.mean_decode > 0 else self._room(0.0) / demand.mean_prompt
            mean, _ = self._step(each, n)
            rate = min(each / mean, self.limit.rate_rps)
            ahead = self._queue(each, n)
            present = max(self.concurrency - rate * self.think_s, 0.0)
            under_way = (self._own_steps(n) + ahead) * each if self.rule.mixed else 0.0
            n += 0.2 * (min(max(present - under_way, 1e-3), full) - n)
        others = 1 - 1 / self.concurrency
        return {
            "n": n,
            "each": each,
            "others": each * others,  # prompts between the decodes of one that goes on
            "rate": rate,
            "waiting": max(present - under_way - n, 0.0) + ahead * each,
            "busy": min(each * demand.mean_prompt / self._room(n) * others, 1.0) if self.rule.mixed else 0.0,
        }

    def _room(self, n: float) -> float:
        return self.rule.room_tokens(self.engine, n)

    def _own_steps(self, n: float) -> float:
        """Steps of a prompt."""
        demand = self.engine.demand
        return float(np.ceil(demand.prompt_tokens / self._room(n)) @ demand.prompt_probs)

    def _queue(self, each: float, n: float) -> float:
        """Steps that a prompt waits for others that came before."""
        if not self.rule.mixed:
            return 0.0
        demand, room = self.engine.demand, self._room(n)
        size = demand.prompt_moment(2) / demand.mean_prompt / 2 / room
        busy = min(each * demand.mean_prompt / room * (1 - 1 / self.concurrency), 1.0)
        return busy * size / max(1 - busy, size / self.concurrency)

    def _arrivals(self, each: float) -> tuple[Floats, Floats]:
        """Prompt tokens between two decodes, and their probabilities: none, or a gamma law."""
        demand = self.engine.demand
        k = np.arange(int(each + 8 * np.sqrt(each) + 9))
        mass = np.exp(k * np.log(max(each, 1e-12)) - each - gammaln(k + 1))
        scv = max(demand.prompt_moment(2) / demand.mean_prompt**2 - 1, 1e-6)
        edges = np.concatenate([[0.0], np.geomspace(0.05, 4.0, 11)])
        tokens, probs = [np.zeros(1)], [mass[:1]]
        for count, prob in zip(k[1:], mass[1:], strict=True):
            shape = count / scv
            below = gammainc(shape, edges * shape)
            first = gammainc(shape + 1, edges * shape)  # of the mean below
            part = np.diff(np.append(below, 1.0))
            mean = np.diff(np.append(first, 1.0)) / np.maximum(part, 1e-12)
            kept = part > 1e-9
            tokens.append(mean[kept] * count * demand.mean_prompt)
            probs.append(prob * part[kept])
        return np.concatenate(tokens), np.concatenate(probs) / mass.sum()

    @cached_property
    def _prompt_grid(self) -> Floats:
        top = max(self._room(0.0), 2.0)
        return np.concatenate([np.linspace(0.0, top, 40)[:1], np.geomspace(1.0, top, 40)])

    def _seconds(self, tokens: Floats, n: float) -> Floats:
        """A decode of n, and these prompt tokens within it, or in steps before it."""
        room = self._room(n)
        alone = self.engine.decode_s(n)
        if self.rule.mixed:
            grid = np.minimum(self._prompt_grid, room)
            table = [self.engine.step_s(t, max(n, 1.0)) for t in grid]
            return np.asarray(np.interp(np.minimum(tokens, room), grid, table))
        return alone + self._prompts_s(tokens)

    @cached_property
    def _prompt_table(self) -> Floats:
        return np.array([self.engine.step_s(t, 0.0) if t else 0.0 for t in self._prompt_grid])

    def _prompts_s(self, tokens: Floats) -> Floats:
        """Steps of prompts alone."""
        room = self._room(0.0)
        whole = tokens // room
        return np.asarray(
            whole * self._prompt_table[-1] + np.interp(tokens % room, self._prompt_grid, self._prompt_table)
        )

    def _step(self, each: float, n: float) -> tuple[float, float]:
        """Mean and variance of the seconds from decode to decode."""
        tokens, probs = self._arrivals(each)
        seconds = self._seconds(tokens, n)
        mean = float(seconds @ probs)
        if self.rule.mixed:  # tokens that exceed the room go into later steps
            over = float(np.maximum(tokens - self._room(n), 0.0) @ probs) / self._room(n)
            top = float(self._seconds(np.array([self._room(n)]), n)[0])
            mean = min(mean + over * (top - self.engine.decode_s(n)), top)
        return mean, float((seconds - mean) ** 2 @ probs)

    def _first_token(self) -> tuple[Floats, Floats]:
        """Atoms of the time to the first token: the wait for a place, prompts of others and the own one."""
        state, n = self._state, self._state["n"]
        room = self._room(n)
        sizes, size_probs = self._sizes
        others, other_probs = self._arrivals(state["others"])
        tokens = sizes[:, None] + others[None, :]
        if self.rule.mixed:
            top = float(self._seconds(np.array([room]), n)[0])
            own = tokens // room * top + self._seconds(tokens % room, n)
        else:
            own = self._prompts_s(tokens)
        waits = self._waits()
        atoms = waits[:, None, None] + own
        mass = np.outer(size_probs, other_probs) / len(waits)
        return atoms.ravel(), np.broadcast_to(mass, atoms.shape).ravel()

    @property
    def _sizes(self) -> tuple[Floats, Floats]:
        """Prompts in groups of equal probability: mean tokens and probabilities."""
        demand = self.engine.demand
        order = np.argsort(demand.prompt_tokens)
        probs = demand.prompt_probs[order]
        below = np.append(0.0, np.cumsum(probs)) / probs.sum()
        sums = np.append(0.0, np.cumsum(probs * demand.prompt_tokens[order])) / probs.sum()
        edges = np.linspace(0.0, 1.0, _N_SIZES + 1)
        return np.diff(np.interp(edges, below, sums)) * _N_SIZES, np.full(_N_SIZES, 1 / _N_SIZES)

    def _waits(self) -> Floats:
        """Equally likely seconds until a place or a turn is free: a gamma law, perhaps with none."""
        state = self._state
        mean, full = state["waiting"] / state["rate"], state["waiting"] > 1
        some = 1.0 if full else max(state["busy"], 0.05)
        above = mean / some
        shape = max(state["waiting"], 1.0)  # as many ends have to come
        levels = np.maximum((_LEVELS - (1 - some)) / some, 0.0)
        atoms = np.where(1 - some < _LEVELS, gammaincinv(shape, levels) * above / shape, 0.0)
        return np.asarray(atoms * (mean / atoms.mean() if atoms.mean() > 0 else 0.0))

    def _decodes(self) -> tuple[Floats, Floats, Floats]:
        """Steps (d,), probabilities, and seconds (d, 3) from the first token to the last."""
        state = self._state
        steps, probs, _ = self.engine.demand.decode_groups
        mean, var = self._step(state["others"], state["n"])
        alone = self.engine.decode_s(state["n"])
        total = steps * mean if self.rule.mixed else alone * steps + (mean - alone) * (steps - 1)
        seconds = total[:, None] + THREE * np.sqrt(var * steps)[:, None]
        return steps, probs, np.maximum(seconds, alone * steps[:, None] * 0.999)

    def _gaps(self) -> GridLaw:
        """The gap between tokens; where prompts take several steps, more of these are full."""
        state = self._state
        tokens, probs = self._arrivals(state["others"])
        seconds = self._seconds(tokens, state["n"])
        mean, _ = self._step(state["others"], state["n"])
        top, plain = float(seconds.max()), float(seconds @ probs)
        if mean > plain and top > plain:
            share = min((mean - plain) / (top - plain), 1.0)
            seconds, probs = np.append(seconds, top), np.append((1 - share) * probs, share)
        return law_of_atoms(seconds, probs)

    def columns(self, slo: Slo) -> dict[str, Any]:
        """Columns of a prediction, and the rate that the loop has."""
        state, demand = self._state, self.engine.demand
        first, first_mass = self._first_token()
        laws = {"ttft": law_of_atoms(first, first_mass)}
        one = demand.one_token_prob
        found: dict[str, Any] = {
            "mean_decoding": 0.0,
            "rate_rps": state["rate"],
            "in_flight": self.concurrency,
        }
        quick = 1.0
        ends, mass = np.zeros(1), np.ones(1)
        if demand.mean_decode > 0:
            steps, probs, seconds = self._decodes()
            each = probs[:, None] * THREE_WEIGHTS
            laws["tpot"] = law_of_atoms((seconds / steps[:, None]).ravel(), each.ravel())
            laws["itl"] = self._gaps()
            ends, mass = np.append(seconds.ravel(), 0.0), np.append(each.ravel(), one)
            within = seconds / steps[:, None] <= (np.inf if slo.tpot_s is None else slo.tpot_s)
            quick = min(one + float((within * each).sum()), 1.0)
            found["mean_decoding"] = state["rate"] * demand.mean_decode * laws["itl"].mean_s
        levels = _levels(laws["ttft"])
        whole = levels[:, None] + ends[None, :]
        laws["e2e"] = law_of_atoms(
            whole.ravel(), np.outer(np.full(len(levels), 1 / len(levels)), mass).ravel()
        )
        in_time = laws["ttft"].within(slo.ttft_s)
        good = min(in_time * quick, laws["e2e"].within(slo.e2e_s))
        shares = {"goodput_frac": good, "ttft_good_frac": in_time, "tpot_good_frac": quick}
        return found | statistics(laws) | shares


def _levels(law: GridLaw, n: int = 40) -> Floats:
    """Equally likely atoms with the mean of the law."""
    atoms = np.array([law.quantile(level) for level in (np.arange(n) + 0.5) / n])
    return np.asarray(np.maximum(atoms + law.mean_s - atoms.mean(), 0.0))
