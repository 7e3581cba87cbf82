"""Wait for the first token in closed form: for the prompts ahead, those of the own clump, and a place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ._clumps import Clumps, clump_seconds
from ._costs import Costs
from ._mixture import Mixture
from .limits import Limit

__all__ = ["FirstWaits"]

Floats = NDArray[np.float64]
State = dict[str, Floats]

_JOIN = 2.0  # the one fitted constant: two machines at loads of 0.9 and above


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstWaits:
    """What is between an arrival and its first token, given the number running and the seconds around it."""

    costs: Costs
    limit: Limit
    clumps: Clumps
    for_places: bool = True  # whether requests wait for a place as long as it takes

    def first_token(self, rate: Floats, state: State) -> Mixture:
        """Own prompt, the rest of the step found, and those ahead if there are any."""
        demand, alone = self.costs.engine.demand, state["alone"]
        wait = self.wait_s(rate, state)
        busy = state["work"] if self.costs.takes_all else self.busy(rate, state)
        if not self.costs.rule.mixed:  # what a step of prompts takes besides is before a decode as well
            busy = np.maximum(busy, 1 - alone / np.maximum(state["gap"], alone))
        busy = np.clip(busy, 0.02, 0.999)
        rest = (1 - busy) * alone / 2
        queue = np.maximum(wait - rest, 1e-9)
        if self.costs.takes_all:
            seen, seen2 = self.steps_seen(rate, state)
            square = (1 / 3 + state["work"] * (1 + state["work"])) * seen2
            square = square + rate * self._clump(state)[0] * seen - rest * (2 * wait - rest)
        else:
            square = 2 * queue**2 + rate * self._clump(state, self._one_s(rate, state))[1] / (3 * (1 - busy))
        square = np.maximum(square, 1.01 * queue**2)
        busy = 1 - (1 - busy) / (1 + np.maximum(state["queueing"] - 1, 0.0) / 2)
        more, more2 = self._mates(rate, state, busy)
        queue, square = queue + more, square + 2 * queue * more + more2
        queue, square = queue + rest, square + 2 * queue * rest + rest**2
        begun = alone / 2  # all that there is if nobody is ahead: the step under way
        behind = np.maximum((queue - (1 - busy) * begun) / busy, begun)
        behind2 = np.maximum((square - (1 - busy) * begun**2 * 4 / 3) / busy, 1.01 * behind**2)
        late, held = self.slot_wait(rate, state)  # who finds no place has those ahead besides
        mean = np.stack([begun, behind, queue + held])
        second = np.stack([begun**2 * 4 / 3, behind2, square + 2 * held * (held + queue)])
        kinds = np.stack([(1 - busy) * (1 - late), busy * (1 - late), late])
        base = self.costs.own_at(state["n"])[:, None]
        return Mixture(demand.prompt_groups[1][:, None, None] * kinds, base, 0 * mean, mean, second)

    def bursts(self, rate: Floats, state: State) -> State:
        """Indices of dispersion while prompts queue and while requests run, as far as both see them."""
        demand = self.costs.engine.demand
        busy = self.busy(rate, state) if self.costs.rule.mixed else state["work"]
        varies = demand.prompt_moment(2) / demand.mean_prompt**2 - 1
        queueing = self.clumps.queueing(rate, busy / rate, varies)
        if not self.clumps.is_bursty:
            return {"queueing": queueing, "lasting": queueing}
        lasting = 1 + 2 * self.clumps.following(demand.mean_decode * state["gap"], rate)
        return {"queueing": queueing, "lasting": np.maximum(lasting, queueing)}

    def _one_s(self, rate: Floats, state: State) -> Floats:
        """Seconds that a prompt takes of those behind it."""
        if self.costs.takes_all:
            return np.asarray(state["token"] * self.costs.engine.demand.mean_prompt)
        return self.busy(rate, state) / rate

    def found_s(self, rate: Floats, state: State) -> Floats:
        """Seconds left of the step that is found by those who do not come first of their clump."""
        first = (
            self._one_s(rate, state) + (state["alone"] if self.costs.rule.mixed else self.costs.start_s)
        ) / 2
        return np.maximum(self.steps_seen(rate, state)[0] / 2, first)

    def _mates(self, rate: Floats, state: State, busy: Floats) -> tuple[Floats, Floats]:
        """Two moments of the seconds of the own clump, ahead or in the same step.

        The first of a clump starts alone if nobody is ahead; the others share the steps that follow.
        """
        demand, zero = self.costs.engine.demand, np.zeros_like(rate)
        if not self.clumps.is_bursty:
            return zero, zero
        one = self._one_s(rate, state)
        varies = demand.prompt_moment(2) / demand.mean_prompt**2
        ahead, beside, step = np.maximum(state["queueing"] - 1, 0.0) / 2, zero, zero
        if self.costs.takes_all:
            room = self.costs.rule.room_tokens(self.costs.engine, 1.0) / demand.mean_prompt
            step = state["alone"] if self.costs.rule.mixed else self.costs.start_s + zero
            beside = np.minimum(self.clumps.following(self.found_s(rate, state), rate), room)
        else:  # a prompt behind others ends anywhere in a step, which is full if there are more behind it
            full = self.costs.full_at(state["n"])
            fixed = state["alone"] if self.costs.rule.mixed else one
            step = (ahead / (1 + ahead) * np.maximum(full - fixed, 0.0) + self.costs.rule.mixed * fixed) / 2
        return clump_seconds((ahead, beside, busy), one, step, varies)

    def busy(self, rate: Floats, state: State) -> Floats:
        """Share of time in which steps spend their budget."""
        full = self.costs.full_at(state["n"])
        room = np.maximum(self.costs.engine.budget_tokens - state["n"] * self.costs.rule.mixed, 1.0)
        return np.asarray(np.minimum(rate * self.costs.engine.demand.mean_prompt * full / room, 0.98))

    def _token_wait(self, rate: Floats, state: State) -> Floats:
        """One server that gives prompts what steps of the whole budget leave."""
        full = self.costs.full_at(state["n"])
        demand, busy = self.costs.engine.demand, self.busy(rate, state)
        each = busy / (rate * demand.mean_prompt)
        square = each**2 * (demand.prompt_moment(2) + (state["queueing"] - 1) * demand.mean_prompt**2)
        queue = rate * square / (2 * (1 - busy))
        queue = queue + self._slow_queue(rate, state, (full, busy, square, queue))
        rest = full if self.costs.rule.mixed else np.maximum(full - each * demand.mean_prompt, 0.0)
        return np.asarray((1 - busy) * state["alone"] / 2 + busy * rest / 2 + queue)

    def _slow_queue(self, rate: Floats, state: State, fast: tuple[Floats, ...]) -> Floats:
        """What is added to the queue as the number running grows with it: the more, the longer it lasts."""
        full, busy, square, queue = fast
        demand, budget = self.costs.engine.demand, float(self.costs.engine.budget_tokens)
        load = np.minimum(rate / self._budget_rps, 1 - 1e-9)
        left = (budget - state["n"]) / budget
        each, token = busy / rate * left, full / budget
        work2 = square * left**2 + 2 * token * demand.mean_decode * each + token**2 * demand.decode_moment(2)
        most = np.minimum(rate * demand.mean_decode * full, 0.9 * budget)
        joint = rate * work2 / (2 * (1 - load)) * budget / (budget - most)
        lasts = square / (2 * busy / rate * (1 - busy) ** 2)
        share = lasts / (lasts + _JOIN * demand.mean_decode * full)
        return np.asarray(share * np.maximum(joint - queue, 0.0))

    @cached_property
    def _budget_rps(self) -> float:
        """Rate at which steps would spend their budget, were there always a place."""
        engine, demand = self.costs.engine, self.costs.engine.demand
        if self.limit.binds == "token budget":
            return self.limit.rate_rps
        budget = float(engine.budget_tokens)
        n = min(demand.mean_decode * budget / (demand.mean_prompt + demand.mean_decode), engine.slots)
        room = max(budget - n, 1.0)
        return max(room / (demand.mean_prompt * engine.step_s(room, n)), self.limit.rate_rps)

    def wait_s(self, rate: Floats, state: State) -> Floats:
        """Mean wait for the prompts ahead and in the own step, own clump left out."""
        if not self.costs.takes_all:
            return self._token_wait(rate, state)
        return np.asarray((0.5 + state["work"]) * self.steps_seen(rate, state)[0])

    def _clump(self, state: State, one_s: Floats | None = None) -> tuple[Floats, Floats]:
        """Second and third moments of the seconds of the prompts of a clump, over its requests."""
        demand, mates = self.costs.engine.demand, np.maximum(state["queueing"] - 1, 0.0) / 2
        one = state["token"] * demand.mean_prompt if one_s is None else one_s
        second, third = (demand.prompt_moment(k) / demand.mean_prompt**k for k in (2, 3))
        return one**2 * (second + state["queueing"] - 1), one**3 * (third + 6 * mates * second + 6 * mates**2)

    def steps_seen(self, rate: Floats, state: State) -> tuple[Floats, Floats]:
        """Mean and mean square of the step that is found, where all that waits goes in the next one.

        With X the step and Y the prompts that come in it, of which each moment follows from those of X.
        """
        work, alone, (square, cube) = state["work"], state["alone"], self._clump(state)
        if self.costs.rule.mixed:  # every step decodes as well
            fixed, mean, rare2, rare3 = alone, alone / (1 - work), alone**2, alone**3
        else:
            fixed, share = self.costs.start_s + 0 * rate, np.exp(-rate * alone)  # of decodes, among steps
            for _ in range(30):
                mean = ((1 - share) * fixed + share * alone) / (1 - work)
                prompts = (mean - share * alone) / np.maximum(1 - share, 1e-9)
                share = 0.5 * share + 0.5 * (
                    share * np.exp(-rate * alone) + (1 - share) / (1 + rate * prompts)
                )
            rare2 = (1 - share) * fixed**2 + share * alone**2
            rare3 = (1 - share) * fixed**3 + share * alone**3
        seen = (rate * square + 2 * fixed * work + rare2 / mean) / (1 - work**2)
        both = rate * cube + 3 * work * rate * square * seen + 3 * fixed * (rate * square + work**2 * seen)
        return seen, (both + 3 * fixed**2 * work + rare3 / mean) / (1 - work**3)

    def slot_wait(self, rate: Floats, state: State) -> tuple[Floats, Floats]:
        r"""Probability of finding no place, and the mean wait for one.

        What is asked for is normal below the places, in units of the time in which one gets free, and the
        wait above them is exponential. Where they end the densities are as one over the noise on each side
        [1]_: below, that of what runs, whose variance is what comes anew before it is forgotten; above, that
        of the work that comes. Prompts keep decodes waiting, and more requests come meanwhile. Such a bunch
        comes one after the other and has the noise of where it has got to, so that by what bunches add
        densities are as one over the root of the noise [2]_.

        References
        ----------
        .. [1] Browne and Whitt (1995), "Piecewise-linear diffusion processes", in "Advances in queueing",
           edited by Dshalalow, CRC Press, 463-480.
        .. [2] Wong and Zakai (1965), "On the convergence of ordinary integrals to stochastic integrals",
           Annals of Mathematical Statistics 36, 1560-1564.
        """
        load, var = rate / self.limit.rate_rps, self._place_work(rate, state)
        above = var / (2 * np.maximum(1 - load, 1e-9))
        held = above / load  # of who waits, as behind one server that is sent the work
        if not self.for_places:
            return np.zeros_like(rate), held
        spread = self._place_spread(state)
        moves = state["var"] / np.sqrt(state["bunched"]) + state["n"] * self._by_tokens(state)[1]
        noise = 2 * moves * state["back"] / state["gap"]  # requests squared a second
        noise = noise / np.maximum(rate * (self._place_scv + state["lasting"]), 1e-12)
        below = self._below_places(state, spread)
        late = 1 / (1 + np.exp(np.minimum(below - np.log(np.maximum(above * noise, 1e-300)), 700.0)))
        return np.asarray(late), np.asarray(held)

    def _below_places(self, state: State, spread: Floats) -> Floats:
        """Logarithm of the mass of a normal number below the places, over its density at them."""
        room = (self.costs.engine.slots - state["n"]) / spread
        return np.asarray(
            np.log(spread / self.limit.rate_rps) + log_ndtr(room) + room**2 / 2 + np.log(2 * np.pi) / 2
        )

    def _place_spread(self, state: State) -> Floats:
        """Standard deviation of the places that are asked for."""
        engine, var = self.costs.engine, state["var"]
        if engine.is_memory_work:
            var = var + state["n"] * self._by_tokens(state)[0]
        elif engine.is_kv_limited:
            var = var + state["n"] * engine.demand.context_var / engine.demand.mean_context**2
        return np.maximum(np.sqrt(var), 1e-9)

    def _by_tokens(self, state: State) -> tuple[Floats, Floats]:
        """Variance that the tokens of each add to that of the number, over its mean, with what comes of
        longer steps, which keep large requests there longer; and the part of it that is drawn anew."""
        engine, zero = self.costs.engine, 0 * state["n"]
        if not engine.is_memory_work:
            return zero, zero
        each = [engine.slower_by(max(n, 1.0)) for n in state["n"].tolist()]
        whole, f = (np.array(part) for part in zip(*each, strict=True))
        grown = 1 + 2 * f / (2 - whole) + f**2 / ((1 - whole) * (2 - whole))
        extra = (engine.work.spread - 1) * grown
        return extra, extra * (1 - whole)

    @property
    def _half_steps(self) -> float:
        """Half the second moment of the work of a request over its mean."""
        engine = self.costs.engine
        return engine.work.unit_full_steps if engine.is_memory_work else engine.demand.mean_remaining

    @cached_property
    def _place_scv(self) -> float:
        """Squared coefficient of variation of what a request takes of the server while all is taken.

        Of that time a part is for its prompt, whatever its output is.
        """
        engine, demand = self.costs.engine, self.costs.engine.demand
        d, given = max(demand.mean_decode, 1e-9), engine.work.given_prompt
        token = float(self.costs.at(np.array([self.limit.running]))[1][0])
        share = min(self.limit.rate_rps * demand.mean_prompt * token, 1.0)
        prompts = demand.prompt_moment(2) / demand.mean_prompt**2 - 1
        places = 2 * self._half_steps / d - 1
        joint = float((demand.prompt_tokens * given) @ demand.prompt_probs) / (demand.mean_prompt * d) - 1
        both = 2 * share * (1 - share) * joint
        return max(share**2 * prompts + (1 - share) ** 2 * places + both, 0.0)

    def _place_work(self, rate: Floats, state: State) -> Floats:
        """Variance a second of the work that comes, in seconds in which all is taken."""
        return np.asarray(rate / self.limit.rate_rps**2 * (self._place_scv + state["lasting"]))

    def no_place(self, rate: Floats, state: State, deadline_s: Floats) -> Floats:
        r"""Share of requests for which no place gets free within a time, if they leave then.

        The number that asks for places is normal below the places. Above them the wait for one is a Brownian
        motion with drift :math:`\rho-1` and variance :math:`v` a second, held below the deadline d: its
        density is :math:`e^{2(\rho-1)x/v}`, and :math:`v/2` times that at d is turned away [1]_.

        References
        ----------
        .. [1] Harrison (1985), "Brownian motion and stochastic flow systems", chapter 5.
        """
        load, var = rate / self.limit.rate_rps, np.maximum(self._place_work(rate, state), 1e-12)
        spread = self._place_spread(state)
        left = 2 * (1 - load) * spread / (var * self.limit.rate_rps)  # as steep there as above
        x = 2 * (load - 1) * deadline_s / var
        x = np.where(np.abs(x) < 1e-6, 1e-6, x)
        below = np.log(spread / self.limit.rate_rps) + log_ndtr(left) + left**2 / 2 + np.log(2 * np.pi) / 2
        there = np.exp(np.clip(below - x, -700, 700)) - deadline_s * np.expm1(np.clip(-x, -700, 700)) / x
        return np.asarray(np.clip(var / (2 * load * there), 0.0, 1.0))
