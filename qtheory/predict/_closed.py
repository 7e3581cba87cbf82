"""Closed tier: formulas for many rates at once, without a grid of the state.

A step of n decodes takes V(n); each prompt token adds what it costs at a full budget. The number running
follows from Little's law, its variance from the index of dispersion of the arrivals counted in decode steps,
waits from batches that close at a step, and percentiles from gamma laws with the right two moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo
from qtheory.system.workload import Arrivals, OpenArrivals

from ._closed_gaps import behind_s, gap_percentiles, per_token, placed_frac
from ._clumps import Clumps
from ._costs import Costs, costs_of
from ._first_waits import FirstWaits
from ._mixture import Mixture
from ._percentiles import LEVELS
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["Formulas", "formulas_of"]

Floats = NDArray[np.float64]

_ROUNDS, _HALVINGS, _STEPS = 30, 6, 3
_NONE = 1e-9  # who runs where outputs have one token


@dataclass(frozen=True, kw_only=True, eq=False)
class Formulas:
    """Everything that does not depend on the rate."""

    costs: Costs
    waits: FirstWaits
    groups: tuple[Floats, Floats]  # decode steps and weights

    @property
    def limit(self) -> Limit:
        """Stability limit."""
        return self.waits.limit

    def columns(
        self, rates_rps: Floats, slo: Slo, *, stretch: tuple[Floats, Floats] | None = None
    ) -> dict[str, Floats]:
        """Columns of a prediction, an array over the rates each.

        ``stretch``: factors of the wait of kinds of requests, and their shares.
        """
        state = self.state(rates_rps)
        ttft, tpot = self.waits.first_token(rates_rps, state), per_token(self, rates_rps, state)
        if stretch is not None:
            ratios, shares = stretch  # the step under way is the same for all
            ttft = ttft.stretched(np.stack([np.ones_like(ratios), ratios, ratios]), shares)
        laws = {"ttft": ttft, "tpot": tpot, "e2e": self._whole(state, ttft)}
        found = {"mean_decoding": state["n"], "mean_itl_s": state["mean_gap"]} | gap_percentiles(
            self, rates_rps, state
        )
        for name, law in laws.items():
            found[f"mean_{name}_s"] = law.mean
            found |= {f"{key}_{name}_s": law.quantile(level) for key, level in LEVELS.items()}
        one = self.costs.engine.demand.one_token_prob
        found["ttft_good_frac"] = ttft.within(slo.ttft_s)
        found["tpot_good_frac"] = one + (1 - one) * tpot.within(slo.tpot_s)
        both = found["ttft_good_frac"] * found["tpot_good_frac"]
        found["goodput_frac"] = both * laws["e2e"].within(slo.e2e_s)
        return found

    def for_place(self, rates_rps: Floats) -> Floats:
        """Share of the waits that is for a slot or memory."""
        state = self.state(rates_rps)
        late, held = self.waits.slot_wait(rates_rps, state)
        wait = self.waits.wait_s(rates_rps, state)
        return np.asarray(late * held / np.maximum(late * held + wait, 1e-12))

    def state(self, rate: Floats) -> dict[str, Floats]:
        """Number running and the seconds around it."""
        demand = self.costs.engine.demand
        n = np.ones_like(rate)
        for _ in range(_ROUNDS):
            alone, token = self.costs.at(n)
            work = np.minimum(rate * demand.mean_prompt * token, 0.98)
            gap = alone / (1 - work)
            if not self.costs.rule.mixed:
                batches = 1 - np.exp(
                    -rate * alone
                )  # steps of prompts for each decode, those that follow left out
                gap = (alone + batches * self.costs.start_s / (1 - work)) / (1 - work)
            grows = rate * demand.mean_decode * self.costs.slope(n, 0.02 * n + 0.1) / (1 - work)
            wanted = np.minimum(rate * demand.mean_decode * gap, self.costs.engine.slots)
            n = np.clip(n + 0.5 * (wanted - n) / (1 - np.minimum(grows, 0.98)), 0.0, self.costs.engine.slots)
        slope = self.costs.slope(n, 0.02 * n + 0.1) / (1 - work)
        stalls, pieces = gap - alone / (1 - work), {"n": n, "alone": alone, "token": token, "work": work}
        bursts = self.waits.bursts(rate, pieces | {"gap": gap})
        stall = behind_s(self, rate, pieces | {"gap": gap} | bursts)
        number = stall / np.maximum(token * demand.mean_prompt, 1e-12)
        each = stall / max(demand.mean_decode, 1e-9)
        high = np.clip(rate * demand.mean_decode * self._most_gap_s, _NONE, self.costs.engine.slots)
        low = np.minimum(0.9 * n, high)
        n = (low + high) / 2
        for turn in range(_HALVINGS + _STEPS):
            slope = self.costs.slope(n, 0.02 * n + 0.1) / (1 - work)
            rough = self._noise(rate, (n, token, work, slope), bursts["lasting"])
            slope = self.costs.slope(n, np.sqrt(rough["var"])) / (1 - work)
            noise = self._noise(rate, (n, token, work, slope), bursts["lasting"])
            behind = each * placed_frac(self, number, n)
            seen = self.costs.decode_seen_s(n, noise["var"]) / (1 - work) + stalls + behind
            more = rate * demand.mean_decode * seen - n
            low, high = np.where(more > 0, n, low), np.where(more > 0, high, n)
            step = more / (1 - np.minimum(rate * demand.mean_decode * slope, 0.9))
            n = (low + high) / 2 if turn < _HALVINGS else np.clip(n + step, low, high)
        bursts = self.waits.bursts(rate, pieces | {"n": n, "gap": seen})
        return pieces | {"slope": slope} | noise | bursts | self._within(rate, seen, behind, alone)

    def _within(self, rate: Floats, seen: Floats, behind: Floats, alone: Floats) -> dict[str, Floats]:
        """Who runs in the places that there are, and their gaps."""
        mean = np.minimum(seen, self._most_gap_s)
        n = np.minimum(rate * self.costs.engine.demand.mean_decode * mean, self.costs.engine.slots)
        alone = np.minimum(alone, self.costs.at(n)[0])
        return {"n": n, "alone": alone, "gap": np.maximum(mean - behind, alone), "mean_gap": mean}

    @property
    def _most_gap_s(self) -> float:
        """Mean gap at the limit, where all is taken all the time."""
        found = self.limit
        return found.running / found.rate_rps / max(self.costs.engine.demand.mean_decode, 1e-9)

    def _noise(self, rate: Floats, at: tuple[Floats, ...], lasting: Floats) -> dict[str, Floats]:
        """Variance of the number running: arrivals come in clumps if time is counted in decode steps."""
        demand, (n, token, work, slope) = self.costs.engine.demand, at
        square = token**2 * demand.prompt_moment(2)
        dispersion = 1 / (1 - work) + (work * (1 - work) + rate**2 * square) / (1 - work) ** 2
        dispersion = dispersion + (lasting - 1) / (1 - work) ** 2
        unit = np.sqrt(max(demand.mean_remaining * demand.mean_decode, 0.25))
        feedback = np.minimum(rate * demand.mean_decode * slope, 0.97)
        each = demand.mean_decode / (2 * unit)
        clumps = 1 + (dispersion - 1) * each
        bunched = clumps / (1 + (lasting - 1) * each)  # what the prompts do to it
        back = (1 - feedback) / max(demand.mean_decode, 1e-9)  # of what is too much, a decode step
        found = {"var": n * clumps / (1 - feedback), "memory": unit / (1 - feedback), "back": back}
        return found | {"square": square, "bunched": bunched}

    def _whole(self, state: dict[str, Floats], ttft: Mixture) -> Mixture:
        """Time to the last token: in the mean the decodes take their number of mean gaps.

        Those who are behind at the first token stall a request once, whatever the length of its output.
        """
        steps, probs = self.groups
        demand = self.costs.engine.demand
        one, some = demand.one_token_prob, max(1 - demand.one_token_prob, 1e-9)
        once = (state["mean_gap"] - state["gap"]) * demand.mean_decode / some
        d, weights = np.append(steps, 0.0)[:, None], np.append(probs, one)
        kept = weights > 0
        d, weights = d[kept], weights[kept] / weights.sum()
        spread = d**2 * state["slope"] ** 2 * state["var"] / 2 + d * state["gap"] * state["square"]
        mean = ttft.mean + 0 * d
        base = d * state["gap"] + (d > 0) * once
        return Mixture(weights, base, 0 * mean, mean, ttft.var + spread + mean**2)


def formulas_of(
    engine: Engine, rule: Rule, arrivals: Arrivals | None = None, *, kept_frac: float = 1.0
) -> Formulas:
    """What the formulas need, computed once; of the arrivals a share may be kept."""
    clumps = Clumps(
        arrivals=arrivals if isinstance(arrivals, OpenArrivals) else None,
        dispersion=engine.demand.burstiness,
        kept_frac=kept_frac,
    )
    costs = costs_of(engine, rule)
    waits = FirstWaits(costs=costs, limit=limit_of(engine, rule), clumps=clumps)
    return Formulas(costs=costs, waits=waits, groups=engine.demand.decode_groups[:2])
