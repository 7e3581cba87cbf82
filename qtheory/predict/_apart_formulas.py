"""Pools in closed form: prompts that go together, a link, and the law of the number that decodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.system.slo import Slo
from qtheory.system.workload import OpenArrivals

from ._clumps import Clumps, clump_seconds
from ._mixture import Mixture
from ._pool_decode import erlang_wait
from ._pool_link import SHARES
from ._pools import PoolModel

__all__ = ["ApartFormulas"]

Floats = NDArray[np.float64]

_ROUNDS = 40
_LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, eq=False)
class ApartFormulas:
    r"""The same pools at many rates.

    A step of prompts is as long as what came during the one before: with :math:`X=o+\sum S` its mean and
    second moment follow from those of the work that comes in it [1]_. Who does not fit into a step waits as
    in M/G/1 at the pace of full steps.

    References
    ----------
    .. [1] Inoue (2021), "Queueing analysis of GPU-based inference servers with dynamic batching",
       arXiv:1912.06322 (one size, batches without a limit).
    """

    models: Sequence[PoolModel]  # one a rate

    @cached_property
    def _rates(self) -> Floats:
        return np.array([model.rate_rps for model in self.models])

    @cached_property
    def _bursts(self) -> Floats:
        return np.array([model.bursts for model in self.models])

    @cached_property
    def _costs(self) -> tuple[float, float, float]:
        """Seconds of a step of prompts besides its tokens, seconds of a token, and tokens of a full step."""
        engine = self.models[0].prefill
        demand, room = engine.demand, float(engine.budget_tokens)
        token = (engine.step_s(room, 0.0) - engine.step_s(room / 2, 0.0)) / (room / 2)
        start = max(engine.step_s(demand.mean_prompt, 0.0) - token * demand.mean_prompt, 0.0)
        full = room - demand.prompt_moment(2) / (2 * demand.mean_prompt)
        return start, token, max(full, float(demand.prompt_tokens.max()))

    @cached_property
    def _steps(self) -> dict[str, Floats]:
        """Two moments of a step of prompts, and the probability that it is followed by an idle time."""
        start, token, _ = self._costs
        demand, rate = self.models[0].prefill.demand, self._rates / self.models[0].n_prefill
        group, one = np.maximum((1 + self._bursts) / 2, 1.0), token * demand.mean_prompt
        square = token**2 * demand.prompt_moment(2) + (self._bursts - 1) * one**2
        work = np.minimum(rate * one, 0.995)
        none, mean, second = np.ones_like(rate), start + one + 0 * rate, 0 * rate
        for _ in range(_ROUNDS):
            mean = (start + none * one * group) / (1 - work)
            own = none * group * (square + 2 * start * one)
            second = (start**2 + 2 * start * work * mean + rate * square * mean + own) / (1 - work**2)
            second = np.maximum(second, 1.0001 * mean**2)
            shape = mean**2 / (second - mean**2)
            none = 0.5 * none + 0.5 * (1 + rate / group * mean / shape) ** -shape
        idle = none * group / rate
        return {"mean": mean, "second": second, "idle": idle / (idle + mean), "work": work, "square": square}

    def first_token(self) -> Mixture:
        """Own prompt, the rest of the step found, and the prompts of the own step."""
        model, steps = self.models[0], self._steps
        engine, rate = model.prefill, self._rates / model.n_prefill
        full = self._costs[2]
        sizes, probs = engine.demand.prompt_groups
        own = np.array([engine.step_s(float(size), 0.0) for size in sizes])[:, None] + 0 * rate
        mean, second, work = steps["mean"], steps["second"], steps["work"]
        longest = engine.step_s(full, 0.0)  # of a step whose budget is spent
        seen = np.minimum(second / mean, longest)
        seen2 = np.minimum(seen * (2 * second / mean**2 - 1) * mean, longest**2)
        rest = (0.5 + work) * seen
        rest2 = (1 / 3 + work + work**2) * seen2 + rate * steps["square"] * seen
        late, held = self._beyond(rate, second / mean, full)
        more = np.maximum(held - (1 + work) / 2 * seen, 0.0)  # the rest of it stands in the step seen
        busy = np.clip(1 - steps["idle"] / self._mean_ahead(1.0), 1e-6, 1.0)
        mates, mates2 = self._mates(busy, seen)
        rest, rest2 = rest + mates, rest2 + 2 * rest * mates + mates2
        above = rest + late * more
        above2 = np.maximum(rest2 + 2 * late * more * (more + rest), 2 * late * held**2)
        if model.is_even and model.n_prefill > 1:
            share = np.array([erlang_wait(model.n_prefill, load) for load in self._rates / model.prefill_rps])
            above, above2 = above * share, above2 * share**2
        return Mixture(probs, own, 1 - busy + 0 * own, above + 0 * own, above2 + 0 * own)

    def _mean_ahead(self, besides: float = 0.0) -> Floats:
        """Requests of the own clump ahead."""
        return besides + np.maximum(self._bursts - 1, 0.0) / 2

    def _mates(self, busy: Floats, seen_s: Floats) -> tuple[Floats, Floats]:
        """Two moments of the seconds of the own clump: its first one starts alone if nobody is served."""
        model, (start, token, full) = self.models[0], self._costs
        demand, arrivals = model.prefill.demand, model.arrivals
        dispersion = arrivals.dispersion(model.rate_rps) if isinstance(arrivals, OpenArrivals) else 1.0
        clumps = Clumps(
            arrivals=arrivals if isinstance(arrivals, OpenArrivals) else None,
            dispersion=dispersion,
            kept_frac=1 / model.n_prefill,
        )
        one = token * demand.mean_prompt + 0 * busy
        found = np.maximum(seen_s, one + start) / 2
        beside = np.minimum(clumps.following(found, self._rates / model.n_prefill), full / demand.mean_prompt)
        varies = demand.prompt_moment(2) / demand.mean_prompt**2
        return clump_seconds((self._mean_ahead(), beside, busy), one, start + 0 * busy, varies)

    def _beyond(self, rate: Floats, seen_s: Floats, full: float) -> tuple[Floats, Floats]:
        """Probability that a step does not hold all who wait, and their mean wait for others then."""
        model = self.models[0]
        demand = model.prefill.demand
        tokens = demand.mean_prompt * (1 + rate * seen_s)
        spread = np.sqrt(demand.prompt_moment(2) * (1 + rate * seen_s * self._bursts))
        each = model.n_prefill / model.prefill_rps
        square = each**2 * (demand.prompt_moment(2) / demand.mean_prompt**2 + self._bursts - 1)
        held = rate * square / (2 * np.maximum(1 - rate * each, 1e-9))
        return np.asarray(ndtr((tokens - full) / spread)), np.asarray(held)

    def columns(self, slo: Slo) -> dict[str, Floats]:
        """Columns of a prediction, an array over the rates each."""
        ttft, sent = self.first_token(), self._sent_s
        rows = [_decoding(model, float(each), slo) for model, each in zip(self.models, sent, strict=True)]
        found = {name: np.array([row[name] for row in rows]) for name in rows[0] if not name.startswith("_")}
        if self.models[0].counts_transfer:
            ttft = Mixture(ttft.probs, ttft.base + sent, ttft.none, ttft.above, ttft.second)
            sent = 0 * sent
        laws = {"ttft": ttft, "e2e": self._whole(ttft, sent, rows)}
        for name, law in laws.items():
            found[f"mean_{name}_s"] = law.mean
            found |= {f"{key}_{name}_s": law.quantile(level) for key, level in _LEVELS.items()}
        found["ttft_good_frac"] = ttft.within(slo.ttft_s)
        both = found["ttft_good_frac"] * found["tpot_good_frac"]
        found["goodput_frac"] = np.minimum(both, laws["e2e"].within(slo.e2e_s))
        return found

    @property
    def _sent_s(self) -> Floats:
        """Mean seconds of a transfer with its wait for the link, behind those of the own step as well.

        A link that is quicker than its prefill instance is mostly free when a step ends: what is left is by
        how much the prompts of a step take longer than the next one, with normal densities.
        """
        model, steps = self.models[0], self._steps
        demand, (speed, latency) = model.prefill.demand, model.link
        send = demand.mean_prompt / speed
        load = np.minimum(self._rates * send / (model.n_prefill * model.n_decode), 0.995)
        square = demand.prompt_moment(2) / demand.mean_prompt**2
        rate, mean, var = self._rates / model.n_prefill, steps["mean"], steps["second"] - steps["mean"] ** 2
        seen = np.minimum(steps["second"] / mean, model.prefill.step_s(self._costs[2], 0.0))
        beside = (rate * seen + self._bursts - 1) / 2 / model.n_decode
        left = load * send * (square / 2 + beside) / (1 - load)
        each = send / model.n_decode
        pace = each * model.prefill_rps / model.n_prefill
        if pace < 1:
            spread = np.sqrt(each**2 * (rate * mean * self._bursts + rate**2 * var) + var)
            off = (each * rate * mean - mean) / spread
            late = spread * (off * ndtr(off) + np.exp(-off * off / 2) / np.sqrt(2 * np.pi))
            left = np.minimum(left, late / (1 - pace))
        return np.asarray(latency + send + beside * send + left)

    def _whole(self, ttft: Mixture, sent: Floats, rows: Sequence[dict[str, Floats]]) -> Mixture:
        """Time to the last token."""
        one = self.models[0].prefill.demand.one_token_prob
        weights = np.append(rows[0]["_weights"], one)
        each = np.array([np.append(row["_mean"], 0.0) for row in rows]).T  # (d + 1, rates)
        spread = np.array([np.append(row["_var"], 0.0) for row in rows]).T
        base = each + np.append(np.ones(len(weights) - 1), 0.0)[:, None] * sent
        mean = ttft.mean + 0 * base
        return Mixture(weights / weights.sum(), base, 0 * base, mean, ttft.var + spread + mean**2)


def _decoding(model: PoolModel, sent: float, slo: Slo) -> dict[str, Floats]:
    """Columns of the decode side at one rate; those that begin with _ are of groups of outputs."""
    pool, demand = model.decoding, model.decode.demand
    joining = model.joining_s
    steps, probs, _ = demand.decode_groups
    each = pool.per_token_s()
    before = joining if model.counts_transfer else joining + sent
    per_token = each + (before / steps)[:, None]
    weights = np.outer(probs, SHARES).ravel()
    share = 1 / max(demand.mean_decode, 1.0)
    ways = np.concatenate([pool.gaps, pool.gaps + before])
    mass = np.append((1 - share) * SHARES, share * SHARES)
    some, limit = float(probs.sum()), slo.tpot_s
    quick = some if limit is None else float(weights @ (per_token.ravel() <= limit))
    found = {"mean_decoding": model.mean_running, "tpot_good_frac": min(1 - some + quick, 1.0)}
    found |= _percentiles("tpot", per_token.ravel(), weights) | _percentiles("itl", ways, mass)
    return {name: np.asarray(value) for name, value in found.items()} | {
        "_weights": probs,
        "_mean": steps * (each @ SHARES) + joining,
        "_var": steps**2 * ((each - (each @ SHARES)[:, None]) ** 2 @ SHARES),
    }


def _percentiles(name: str, atoms: Floats, weights: Floats) -> dict[str, float]:
    """Mean and percentiles of atoms."""
    order = np.argsort(atoms)
    below = np.cumsum(weights[order])
    found = {f"mean_{name}_s": float(atoms @ weights / below[-1])}
    for key, level in _LEVELS.items():
        found[f"{key}_{name}_s"] = float(np.interp(level * below[-1], below, atoms[order]))
    return found
