"""Prefill and decode instances apart: a capped batch queue, links, and processor sharing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo
from qtheory.system.workload import Arrivals, PoissonArrivals

from ._gridlaw import GridLaw, law_of_atoms
from ._mates import lags_of
from ._numeric import statistics
from ._phased import phased
from ._pool_decode import DecodePool, erlang_wait
from ._pool_link import LEVELS, SHARES, Transfers
from ._round_chain import RoundChain, solve_rounds
from ._round_output import RoundOutput
from ._round_waits import RoundLaws
from ._rounds import Rounds
from .inputs import Engine

__all__ = ["PoolModel"]

Floats = NDArray[np.float64]

_N_LEVELS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolModel:
    """The two pools and the links between them, each in its own steady state.

    A prefill instance is a queue with batches of prompts, exact for Poisson arrivals; several of them that
    share their queue nearly evenly wait as much less as M/M/n does than n of M/M/1. Prompts that a step has
    completed go over the link one after the other, see `Transfers`; a decode instance is processor sharing
    of requests that come in bunches, see `RoundOutput` and `DecodePool`.
    """

    prefill: Engine
    decode: Engine
    arrivals: Arrivals
    rate_rps: float
    n_prefill: int
    n_decode: int
    link: tuple[float, float]  # tokens a second, and seconds on top
    counts_transfer: bool
    is_even: bool
    notes: tuple[str, ...] = ()

    @cached_property
    def _rounds(self) -> Rounds:
        demand = self.prefill.demand
        alone = replace(
            demand, decode_steps=np.zeros(1), decode_probs=np.ones(1), prompt_decode=0.0, paired_prompts=None
        )
        return Rounds(replace(self.prefill, demand=alone))

    @cached_property
    def decoding(self) -> DecodePool:
        """The decode instances that share requests, if these came one by one at random moments."""
        n = self.n_decode if self.is_even else 1
        rate = self.rate_rps * self._decoded * n / self.n_decode
        demand = self.decode.demand
        kept = replace(self.decode, demand=_decoding(demand))
        return DecodePool(engine=kept, rate_rps=rate, n_equal=n)

    @cached_property
    def _output(self) -> RoundOutput:
        return RoundOutput(self._chain)

    @cached_property
    def bunched(self) -> DecodePool:
        """The same with requests that come as steps of prompts complete them."""
        pool, output = self.decoding, self._output
        together, stay_s = pool.together, pool.gap_s * pool.engine.demand.mean_decode
        per_s = 2 * together / stay_s
        apart_s = self.transfers.send_s * (output.mates + 1) / 3  # of two of a step, on the link
        later = output.following(per_s) - self._chain.own_rate_rps / per_s
        many = output.mates * float(np.exp(-per_s * apart_s)) + 2 * later
        share = self._decoded * pool.n_equal / self.n_decode
        longest_s = stay_s * float(pool.engine.demand.decode_steps.max()) / pool.engine.demand.mean_decode
        bursts = (self.prefill.demand.burstiness, self.rate_rps, longest_s)
        lags_s, weights = lags_of(self.arrivals, *bursts)
        mates = pool.mates_of(lags_s / pool.gap_s, weights)
        counted = float(weights @ np.exp(-per_s * lags_s))
        return replace(
            pool,
            n_mates=max(many * share / counted, 0.0),
            mates=mates,
            most_frac=self.prefill_rps / self.rate_rps,
        )

    @cached_property
    def _decoded(self) -> float:
        """Share of the requests that decode at all."""
        return 1 - self.prefill.demand.one_token_prob

    @cached_property
    def _limits(self) -> dict[str, float]:
        demand = self.prefill.demand
        decode = self.decoding.limit_rps / self.decoding.n_equal
        return {
            "prefill pool": self.n_prefill * self._rounds.limit_rps,
            "decode pool": self.n_decode * decode / self._decoded,
            "link": self.n_prefill * self.n_decode * self.link[0] / demand.mean_prompt / self._decoded,
        }

    @property
    def limit_rps(self) -> float:
        """Stable below this rate."""
        return min(self._limits.values())

    @property
    def binds(self) -> str:
        """The pool or link that sets the limit."""
        return min(self._limits, key=lambda name: self._limits[name])

    @property
    def prefill_rps(self) -> float:
        """Rate that the prefill pool can take."""
        return self._limits["prefill pool"]

    @property
    def mean_running(self) -> float:
        """Requests that decode, all instances."""
        return self.decoding.mean_running * self.n_decode / self.decoding.n_equal

    @property
    def most_running(self) -> float:
        """Places of all instances that decode."""
        return self.n_decode * self.decode.slots

    @cached_property
    def _chain(self) -> RoundChain:
        return self._chain_of(self.arrivals)

    def _chain_of(self, arrivals: Arrivals) -> RoundChain:
        """One of the prefill instances, with its part of such arrivals."""
        phases = phased(
            arrivals,
            self.rate_rps,
            shortest_s=float(self._rounds.mean_s()[0]),
            burstiness=1.0 if isinstance(arrivals, PoissonArrivals) else self.prefill.demand.burstiness,
            n_equal=self.n_prefill,
        )
        return solve_rounds(self._rounds, self.rate_rps / self.n_prefill, phases)

    @property
    def bursts(self) -> float:
        """Index of dispersion of the arrivals of one instance that computes prompts."""
        return 1 + (self.prefill.demand.burstiness - 1) / self.n_prefill

    @cached_property
    def prefilled(self) -> GridLaw:
        """Time until the prompt is computed."""
        law = RoundLaws(self._chain).first_token
        if not self.is_even or self.n_prefill == 1:
            return law
        own = self._rounds.prompt_s[0]
        shares = (np.arange(200) + 0.5) / 200
        waits = np.array([law.quantile(share) for share in shares]) - np.quantile(own, shares)
        waits = np.maximum(waits, 0.0) * self._shared(law.mean_s - float(own.mean()))
        return law_of_atoms(waits + np.quantile(own, shares), np.full(200, 1 / 200))

    def _shared(self, wait_s: float) -> float:
        """What the mean wait before one instance is to be multiplied with, as several share their queue.

        They share what chance brings together as M/M/n does. A burst stays, but it is dealt out in turn while
        they are idle: of a geometric number, each n-th is behind another one, and not one in n by chance.
        """
        n, load = self.n_prefill, self.rate_rps / self.prefill_rps
        apart, burstiness = erlang_wait(n, load), self.prefill.demand.burstiness
        if burstiness <= 1:
            return apart
        even = RoundLaws(self._chain_of(PoissonArrivals())).first_token.mean_s
        chance = min((even - float(self._rounds.prompt_s[0].mean())) / wait_s, 1.0)
        mates = (burstiness - 1) / 2
        whole = (mates / (1 + mates)) ** n
        in_turn = n * whole / (1 - whole) / mates
        return chance * apart + (1 - chance) * (load + (1 - load) * in_turn)

    @cached_property
    def transfers(self) -> Transfers:
        """The way from the end of the prefill to the decode instance."""
        speed, latency = self.link
        return Transfers(
            demand=self.prefill.demand,
            tokens_per_s=speed,
            latency_s=latency,
            rate_rps=self.rate_rps * self._decoded / (self.n_prefill * self.n_decode),
            output=self._output,
            n_links=self.n_decode,
            bursts=1 + (self.bursts - 1) / self.n_decode,
        )

    @cached_property
    def joining_s(self) -> float:
        """Mean seconds at the decode instance until the first step: for a place, and half a step."""
        late, held = self.decoding.waits
        return late * held + self.decoding.half_step_s

    @cached_property
    def _waits(self) -> tuple[Floats, Floats]:
        """Seconds (w,) at the decode instance until the first step, and their probabilities."""
        late, held = self.bunched.waits
        half = self.bunched.half_step_s
        if late * held <= 0:
            return np.full(1, half), np.ones(1)
        more = -np.log1p(-LEVELS)
        more *= held / float(more @ SHARES)
        return half + np.append(0.0, more), np.append(1 - late, late * SHARES)

    def columns(self, slo: Slo) -> dict[str, Any]:
        """Columns of a prediction."""
        first = _levels(self.prefilled)
        sent, joined, chances = self.transfers.seconds, *self._waits
        one = 1 - self._decoded
        before = sent + joined if joined.size == 1 else _sums(sent, joined, chances)  # of the decode side
        ttft, gap_from, gap_mass = self.prefilled, before, SHARES
        if self.counts_transfer:
            moved = np.append((first[:, None] + sent).ravel(), first)
            mass = np.append(
                (self._decoded * np.broadcast_to(SHARES, (first.size, sent.size))).ravel(),
                np.full(first.size, one),
            )
            ttft, gap_from, gap_mass = law_of_atoms(moved, mass), joined, chances
        steps, probs, _ = self.decode.demand.decode_groups
        tokens = steps[:, None] * self.bunched.per_token_s()  # (d, levels)
        each = tokens[:, :, None] + gap_from
        mass_d = probs[:, None, None] * SHARES[:, None] * gap_mass
        laws = {
            "ttft": ttft,
            "tpot": law_of_atoms((each / steps[:, None, None]).ravel(), mass_d.ravel()),
            "itl": self._gaps(gap_from, gap_mass),
        }
        whole = ((tokens @ SHARES)[:, None] + before)[None] + first[:, None, None]
        whole_mass = np.broadcast_to(probs[:, None] * SHARES, whole.shape)
        laws["e2e"] = law_of_atoms(
            np.append(whole.ravel(), first), np.append(whole_mass.ravel(), np.full(first.size, one))
        )
        quick = float(((each / steps[:, None, None] <= (slo.tpot_s or np.inf)) * mass_d).sum())
        quick = min(one + quick, 1.0)
        in_time = ttft.within(slo.ttft_s)
        return statistics(laws) | {
            "goodput_frac": min(in_time * quick, laws["e2e"].within(slo.e2e_s)),
            "ttft_good_frac": in_time,
            "tpot_good_frac": quick,
            "mean_decoding": self.bunched.mean_running * self.n_decode / self.bunched.n_equal,
        }

    def _gaps(self, first_s: Floats, chances: Floats) -> GridLaw:
        """The gap between tokens: steps, and before the first of them the way to the decode side."""
        gaps = self.bunched.gaps
        share = 1 / max(self.decode.demand.mean_decode, 1.0)
        ways = first_s[:, None] + gaps
        atoms = np.append(gaps, ways.ravel())
        mass = np.append((1 - share) * SHARES, (share * np.outer(chances, SHARES)).ravel())
        return law_of_atoms(atoms, mass)


def _decoding(demand: Any) -> Any:
    """The demand of those with more than one token."""
    some = demand.decode_steps >= 1
    probs = demand.decode_probs[some]
    total = float(probs.sum())
    if total <= 0:
        return demand
    paired = None if demand.paired_prompts is None else demand.paired_prompts[some]
    return replace(
        demand,
        decode_steps=demand.decode_steps[some],
        decode_probs=probs / total,
        prompt_decode=demand.prompt_decode / total,
        paired_prompts=paired,
    )


def _sums(sent: Floats, joined: Floats, chances: Floats) -> Floats:
    """Times for `SHARES` of the sum of one of these and, with these chances, one of those."""
    mean = float(sent @ SHARES + joined @ chances)
    law = law_of_atoms((sent[:, None] + joined).ravel(), np.outer(SHARES, chances).ravel())
    atoms = np.array([law.quantile(level) for level in LEVELS])
    return np.asarray(atoms * (mean / float(atoms @ SHARES)))


def _levels(law: GridLaw) -> Floats:
    """Equally likely atoms with the mean of the law."""
    atoms = np.array([law.quantile(level) for level in (np.arange(_N_LEVELS) + 0.5) / _N_LEVELS])
    return np.asarray(np.maximum(atoms + law.mean_s - atoms.mean(), 0.0))
