"""Closed tier: formulas for many rates at once, without a grid of the state.

A step of n decodes takes V(n); each prompt token adds what it costs at a full budget. The number running
follows from Little's law, its variance from the index of dispersion of the arrivals counted in decode steps,
waits from batches that close at a step, and percentiles from gamma laws with the right two moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.system.slo import Slo

from ._mixture import Mixture
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["Formulas", "formulas_of"]

Floats = NDArray[np.float64]

_ROUNDS = 60
_JOIN = 2.0  # the one fitted constant: two machines at loads of 0.9 and above
_LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, kw_only=True, eq=False)
class Formulas:
    """Everything that does not depend on the rate."""

    engine: Engine
    rule: Rule
    limit: Limit
    nodes: Floats  # (k,) numbers running
    decode_s: Floats  # (k,) V(n)
    token_s: Floats  # (k,) seconds that a prompt token adds
    start_s: float  # seconds that a step of prompts takes besides
    full_s: Floats  # (k,) a step whose budget is spent
    own_s: Floats  # (m, k) a prompt of each group alone
    groups: tuple[Floats, Floats]  # decode steps and weights

    def columns(
        self, rates_rps: Floats, slo: Slo, *, stretch: tuple[Floats, Floats] | None = None
    ) -> dict[str, Floats]:
        """Columns of a prediction, an array over the rates each.

        ``stretch``: factors of the wait of kinds of requests, and their shares.
        """
        state = self._state(rates_rps)
        ttft, tpot = self._first_token(rates_rps, state), self._per_token(rates_rps, state)
        if stretch is not None:
            ttft = ttft.stretched(*stretch)
        laws = {"ttft": ttft, "tpot": tpot, "e2e": self._whole(state, ttft)}
        found = {"mean_decoding": state["n"], "mean_itl_s": state["gap"]} | self._gaps(rates_rps, state)
        for name, law in laws.items():
            found[f"mean_{name}_s"] = law.mean
            found |= {f"{key}_{name}_s": law.quantile(level) for key, level in _LEVELS.items()}
        one = self.engine.demand.one_token_prob
        found["ttft_good_frac"] = ttft.within(slo.ttft_s)
        found["tpot_good_frac"] = one + (1 - one) * tpot.within(slo.tpot_s)
        both = found["ttft_good_frac"] * found["tpot_good_frac"]
        found["goodput_frac"] = both * laws["e2e"].within(slo.e2e_s)
        return found

    def first_token_within(self, rates_rps: Floats, limit_s: float | None) -> Floats:
        """Share of requests whose first token comes within a limit."""
        return self._first_token(rates_rps, self._state(rates_rps)).within(limit_s)

    def for_place(self, rates_rps: Floats) -> Floats:
        """Share of the waits that is for a slot or memory."""
        state = self._state(rates_rps)
        late, held = self._slot_wait(rates_rps, state)
        wait = self._batch_wait(rates_rps, state) if self._takes_all else self._token_wait(rates_rps, state)
        return np.asarray(late * held / np.maximum(late * held + wait, 1e-12))

    def _state(self, rate: Floats) -> dict[str, Floats]:
        """Number running and the seconds around it."""
        demand = self.engine.demand
        n = np.ones_like(rate)
        for _ in range(_ROUNDS):
            alone, token = (np.interp(n, self.nodes, column) for column in (self.decode_s, self.token_s))
            work = np.minimum(rate * demand.mean_prompt * token, 0.98)
            gap = alone / (1 - work)
            if not self.rule.mixed:
                batches = 1 - np.exp(
                    -rate * alone
                )  # steps of prompts for each decode, those that follow left out
                gap = (alone + batches * self.start_s / (1 - work)) / (1 - work)
            n = n + 0.4 * (np.minimum(rate * demand.mean_decode * gap, self.engine.slots) - n)
        high = np.interp(1.02 * n + 0.1, self.nodes, self.decode_s) / (1 - work)
        slope = np.maximum(high - alone / (1 - work), 0.0) / (0.02 * n + 0.1)
        noise = self._noise(rate, n, token, work, slope)
        excess = noise["var"] / n - 1  # a token is more often produced where many run
        feedback = np.minimum(rate * demand.mean_decode * slope, 0.9)
        gap = gap + slope * np.maximum(excess + 1, 1.0) / (1 - feedback)
        n = np.minimum(rate * demand.mean_decode * gap, self.engine.slots)
        return {"n": n, "alone": alone, "token": token, "work": work, "gap": gap, "slope": slope} | noise

    def _noise(
        self, rate: Floats, n: Floats, token: Floats, work: Floats, slope: Floats
    ) -> dict[str, Floats]:
        """Variance of the number running: arrivals come in clumps if time is counted in decode steps."""
        demand = self.engine.demand
        square = token**2 * demand.prompt_moment(2)
        dispersion = 1 / (1 - work) + (work * (1 - work) + rate**2 * square) / (1 - work) ** 2
        dispersion = dispersion + (demand.burstiness - 1) / (1 - work) ** 2
        unit = np.sqrt(max(demand.mean_remaining * demand.mean_decode, 0.25))
        feedback = np.minimum(rate * demand.mean_decode * slope, 0.97)
        var = n * (1 + (dispersion - 1) * demand.mean_decode / (2 * unit)) / (1 - feedback)
        return {"var": var, "square": square, "memory": unit / (1 - feedback)}

    def _first_token(self, rate: Floats, state: dict[str, Floats]) -> Mixture:
        """Own prompt, the rest of the step found, and those ahead if there are any."""
        demand, alone = self.engine.demand, state["alone"]
        wait = self._batch_wait(rate, state) if self._takes_all else self._token_wait(rate, state)
        busy = np.clip(state["work"] if self._takes_all else self._busy(rate, state), 0.02, 0.999)
        rest = (1 - busy) * alone / 2
        queue = np.maximum(wait - rest, 1e-9)
        third = state["token"] ** 3 * demand.prompt_moment(3)
        square = 2 * queue**2 + rate * third / (3 * (1 - busy))
        late, held = self._slot_wait(rate, state)
        mean, second = queue / busy, square / busy
        mean, second = mean + late * held, second + 2 * late * held * (held + queue)
        base = self._own(state["n"]) + rest
        return Mixture(demand.prompt_groups[1], base, (1 - busy) * (1 - late), mean, second)

    def _busy(self, rate: Floats, state: dict[str, Floats]) -> Floats:
        """Share of time in which steps spend their budget."""
        full = np.interp(state["n"], self.nodes, self.full_s)
        room = np.maximum(self.engine.budget_tokens - state["n"] * self.rule.mixed, 1.0)
        return np.asarray(np.minimum(rate * self.engine.demand.mean_prompt * full / room, 0.98))

    @property
    def _takes_all(self) -> bool:
        """Whether all that waits mostly goes in one step."""
        return self.rule.room_tokens(self.engine, 1.0) > 3 * self.engine.demand.mean_prompt

    def _own(self, n: Floats) -> Floats:
        """Seconds (groups, rates) of the own prompt."""
        low = np.clip(np.searchsorted(self.nodes, n) - 1, 0, len(self.nodes) - 2)
        share = np.clip((n - self.nodes[low]) / (self.nodes[low + 1] - self.nodes[low]), 0.0, 1.0)
        return np.asarray((1 - share) * self.own_s[:, low] + share * self.own_s[:, low + 1])

    def _token_wait(self, rate: Floats, state: dict[str, Floats]) -> Floats:
        """One server that gives prompts what steps of the whole budget leave."""
        full = np.interp(state["n"], self.nodes, self.full_s)
        demand, busy = self.engine.demand, self._busy(rate, state)
        each = busy / (rate * demand.mean_prompt)
        square = each**2 * (demand.prompt_moment(2) + (demand.burstiness - 1) * demand.mean_prompt**2)
        queue = rate * square / (2 * (1 - busy))
        queue = queue + self._slow_queue(rate, state, (full, busy, square, queue))
        return np.asarray((1 - busy) * state["alone"] / 2 + busy * full / 2 + queue)

    def _slow_queue(self, rate: Floats, state: dict[str, Floats], fast: tuple[Floats, ...]) -> Floats:
        """What is added to the queue as the number running grows with it: the more, the longer it lasts."""
        full, busy, square, queue = fast
        demand, budget = self.engine.demand, float(self.engine.budget_tokens)
        load = np.minimum(rate / self.limit.rate_rps, 0.995)
        left = (budget - state["n"]) / budget
        each, token = busy / rate * left, full / budget
        work2 = square * left**2 + 2 * token * demand.mean_decode * each + token**2 * demand.decode_moment(2)
        most = np.minimum(rate * demand.mean_decode * full, 0.9 * budget)
        joint = rate * work2 / (2 * (1 - load)) * budget / (budget - most)
        lasts = square / (2 * busy / rate * (1 - busy) ** 2)
        share = lasts / (lasts + _JOIN * demand.mean_decode * full)
        return np.asarray(share * np.maximum(joint - queue, 0.0))

    def _batch_wait(self, rate: Floats, state: dict[str, Floats]) -> Floats:
        """Batches that close at the start of a step and end with the last of them."""
        demand, work, alone = self.engine.demand, state["work"], state["alone"]
        square = state["square"] + (demand.burstiness - 1) * (state["token"] * demand.mean_prompt) ** 2
        if self.rule.mixed:  # every step decodes as well
            length2 = (alone * alone * (1 + work) / (1 - work) + rate * square * state["gap"]) / (1 - work**2)
            return np.asarray((0.5 + work) * length2 / state["gap"])
        share = np.exp(-rate * alone)  # of decodes, among steps
        for _ in range(30):
            mean = ((1 - share) * self.start_s + share * alone) / (1 - work)
            prompts = (mean - share * alone) / np.maximum(1 - share, 1e-9)
            share = 0.5 * share + 0.5 * (share * np.exp(-rate * alone) + (1 - share) / (1 + rate * prompts))
        fixed2 = (1 - share) * self.start_s**2 + share * alone**2
        second = rate * square + 2 * self.start_s * work + fixed2 / mean
        return np.asarray((0.5 + work) * second / (1 - work**2))

    def _slot_wait(self, rate: Floats, state: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Probability of finding no place, and the mean wait for one."""
        engine, load = self.engine, rate / self.limit.rate_rps
        demand = engine.demand
        spread = np.sqrt(state["var"])
        if engine.is_kv_limited:
            spread = np.sqrt(state["var"] + state["n"] * demand.context_var / demand.mean_context**2)
        late = 1 - ndtr((engine.slots - state["n"]) / np.maximum(spread, 1e-9))
        each = 1 / self.limit.rate_rps
        decode = (demand.decode_moment(2) / max(demand.mean_decode, 1e-9) ** 2 - 1) * each**2
        held = rate * (each**2 + decode) * demand.burstiness / (2 * np.maximum(1 - load, 1e-3))
        return np.asarray(late), np.asarray(held)

    def _per_token(self, rate: Floats, state: dict[str, Floats]) -> Mixture:
        """Gaps by the length of the output: stalls by prompts, and the number running."""
        steps, probs = self.groups
        d, work, alone = steps[:, None], state["work"], state["alone"]
        stay = d / state["memory"]
        kept = -np.expm1(-stay) / stay
        slow = np.clip(2 / stay * (1 - kept), 0.0, 1.0) * state["slope"] ** 2 * state["var"]
        stalls = rate * alone * state["square"] / (1 - work) ** 3 / d
        behind = rate * state["square"] / (1 - work) / d
        above = np.maximum(state["gap"] + behind - alone, 1e-9)
        if self.rule.mixed:  # no step is longer than one whose budget is spent
            longest = np.interp(state["n"], self.nodes, self.full_s) - alone
            above = np.minimum(above, 0.98 * longest)
            stalls = np.minimum(stalls, above * (longest - above))
        var = stalls + slow + np.sqrt(stalls * slow)  # an arrival brings both
        none = np.minimum(np.exp(-rate * alone * d), 1 - 1e-9)
        some = 1 - none
        return Mixture(probs / probs.sum(), alone + 0 * d, none, above / some, (var + above**2) / some)

    def _whole(self, state: dict[str, Floats], ttft: Mixture) -> Mixture:
        """Time to the last token."""
        steps, probs = self.groups
        one = self.engine.demand.one_token_prob
        d, weights = np.append(steps, 0.0)[:, None], np.append(probs, one)
        kept = weights > 0
        d, weights = d[kept], weights[kept] / weights.sum()
        spread = d**2 * state["slope"] ** 2 * state["var"] / 2 + d * state["gap"] * state["square"]
        mean = ttft.mean + 0 * d
        return Mixture(weights, d * state["gap"], 0 * mean, mean, ttft.var + spread + mean**2)

    def _gaps(self, rate: Floats, state: dict[str, Floats]) -> dict[str, Floats]:
        """Percentiles of the gap: a step of decodes, or one with prompts of usual sizes."""
        demand = self.engine.demand
        room = self.rule.room_tokens(self.engine, 1.0)
        sizes, probs = demand.prompt_groups
        order = np.argsort(sizes)
        below = np.cumsum(probs[order])
        steps = np.maximum(1.0, sizes / room) @ probs  # of one prompt
        if self.rule.mixed:
            some = np.clip((1 - np.exp(-rate * state["gap"])) * steps, 1e-9, 0.98)
        else:
            some = np.maximum(1 - np.exp(-rate * state["alone"]), 1e-9)
        found = {}
        for name, level in _LEVELS.items():
            beyond = np.clip((level - (1 - some)) / some, 0.0, 1.0)
            tokens = np.interp(beyond, below, sizes[order])
            if self.rule.mixed:
                stall = state["token"] * np.minimum(tokens, room)
            else:
                stall = (self.start_s + state["token"] * tokens) / (1 - state["work"])
            found[f"{name}_itl_s"] = state["alone"] + np.where(level > 1 - some, stall, 0.0)
        return found


def formulas_of(engine: Engine, rule: Rule) -> Formulas:
    """What the formulas need, computed once."""
    demand = engine.demand
    nodes = np.unique(np.concatenate([np.arange(1.0, 9.0), np.linspace(8.0, max(engine.slots, 9.0), 24)]))
    decode = np.array([engine.decode_s(n) for n in nodes])
    rooms = np.array([rule.room_tokens(engine, n) for n in nodes])
    decodes = nodes if rule.mixed else np.zeros_like(nodes)
    full = np.array([engine.step_s(t, n) for t, n in zip(rooms, decodes, strict=True)])
    if rule.mixed:
        token, start = np.maximum(full - decode, 0.0) / rooms, 0.0
    else:
        token = (full - np.array([engine.step_s(t / 2, 0.0) for t in rooms])) / (rooms / 2)
        start = max(engine.step_s(demand.mean_prompt, 0.0) - float(token[0]) * demand.mean_prompt, 0.0)
    sizes = demand.prompt_groups[0]
    own = np.array(
        [
            [t // room * whole + engine.step_s(max(t % room, 1.0), n) for room, n, whole in
             zip(rooms, decodes, full, strict=True)]
            for t in sizes
        ]
    )  # fmt: skip
    return Formulas(
        engine=engine, rule=rule, limit=limit_of(engine, rule), nodes=nodes, decode_s=decode, token_s=token,
        start_s=start, full_s=full, own_s=own, groups=demand.decode_groups[:2],
    )  # fmt: skip
