"""The engine that was measured, as the simulator has it, with other efficiencies each time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws import parse_law
from qtheory.system.hardware import Hardware
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Roofline
from qtheory.system.workload import LawLengths
from qtheory.system.workload.arrivals import GammaArrivals
from qtheory.system.workload.request import Requests
from sim.engine import simulate
from sim.policies import Policy, make_policy
from sim.record import Records, Status
from sim.replica import Replica
from validation.readers import BenchPoint, EngineRun

__all__ = ["OUTSIDE", "Server"]

Array = NDArray[np.float64]
OUTSIDE = "outside_s"
"""Seconds of a request outside the engine (network, HTTP, tokeniser), in its TTFT; no part of a card."""
_MOST, _LEAST = 500, 60  # requests of a simulated point
_MOVED_S = 0.01
_ROUNDS = 20  # of a closed loop whose length is not told


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One replica of a scenario.

    Parameters
    ----------
    scenario : Scenario
        What was measured: model, precision, scheduler, limits; laws of the lengths where they are given.
    spec : ReplicaSpec
        The same with every default filled in.
    hardware : Hardware
        Its accelerator; the efficiencies are set anew each time.
    policy : Policy
        Its scheduler.
    """

    scenario: Scenario
    spec: ReplicaSpec
    hardware: Hardware
    policy: Policy

    @classmethod
    def of(cls, scenario: Scenario, hardware: Hardware) -> Server:
        """The replica of a scenario, on this accelerator."""
        spec = replica_of(scenario)
        return cls(scenario=scenario, spec=spec, hardware=hardware, policy=make_policy(spec.scheduler))

    def roofline(self, values: Mapping[str, float]) -> Roofline:
        """Step times with these efficiencies and overheads; shares above 1 are those of a faster card."""
        own = {name: value for name, value in values.items() if name != OUTSIDE}
        card = self.hardware
        wider = max(1.0, own["mbu_frac"], own["attention_mbu_frac"])
        faster = max(1.0, own["mfu_frac"])
        moved = None if card.activation_mbu_frac is None else card.activation_mbu_frac / wider
        card = replace(
            card,
            bandwidth_bytes_per_s=card.bandwidth_bytes_per_s * wider,
            peak_flops_per_s={name: rate * faster for name, rate in card.peak_flops_per_s.items()},
            activation_mbu_frac=moved,
        )
        own |= {"mbu_frac": own["mbu_frac"] / wider, "attention_mbu_frac": own["attention_mbu_frac"] / wider}
        own["mfu_frac"] /= faster
        return replace(self.spec.roofline, hardware=replace(card, **own))  # type: ignore[arg-type]

    def _run(self, requests: Requests, values: Mapping[str, float], *, cap: int = 0) -> Records:
        spec = self.spec
        replica = Replica(
            step_time=self.roofline(values),
            n_blocks=spec.n_blocks,
            block_tokens=spec.block_tokens,
            max_model_len_tokens=spec.max_model_len_tokens,
            prefix_cache=False,
        )
        records = simulate(requests, self.policy, replica, client_cap=cap)
        if np.any(records.status != Status.FINISHED):
            raise ConfigError(
                "kv_blocks: some requests do not fit into this replica; is it the one measured?"
            )
        return records

    def point(self, point: BenchPoint, values: Mapping[str, float], *, seed: int) -> dict[str, float]:
        """Mean TTFT and TPOT, and requests per second, of a finite run like that of the point."""
        requests = self.requests_of(point, seed=seed)
        records = self._run(requests, values, cap=point.in_flight)
        ttft, tpot = _times(records)
        took_s = float(np.max(records.finish_s)) - float(np.min(records.sent_s))
        outside_s, tpot = values.get(OUTSIDE, 0.0), tpot[~np.isnan(tpot)]
        return {
            "ttft_s": float(np.mean(ttft)) + outside_s,
            "ttft_p50_s": float(np.median(ttft)) + outside_s,
            "tpot_s": float(np.mean(tpot)) if len(tpot) else math.nan,
            "tpot_p50_s": float(np.median(tpot)) if len(tpot) else math.nan,
            "throughput_rps": len(requests) / took_s,
        }

    def requests_of(self, point: BenchPoint, *, seed: int) -> Requests:
        """Requests like those of the point: as many, as long, as often; a law of lengths if one is given."""
        rounds = _ROUNDS * max(point.in_flight, 1) if point.rate_rps is None else _MOST
        n = min(point.n_completed or rounds, max(_MOST, 10 * point.in_flight))
        rng = np.random.default_rng(seed)
        prompts, outputs = self._lengths(point, max(n, _LEAST), rng)
        arrival_s = np.zeros(len(prompts))
        if point.load == "open" and point.rate_rps is not None:
            gaps = GammaArrivals(cv=point.arrival_cv) if point.arrival_cv > 0 else None
            arrival_s = (
                gaps.arrival_times(rng, point.rate_rps, n=len(prompts))
                if gaps is not None
                else np.arange(len(prompts)) / point.rate_rps
            )
        return Requests(arrival_s=arrival_s, prompt_tokens=prompts, output_tokens=outputs)

    def _lengths(
        self, point: BenchPoint, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.scenario.prompt is None and math.isnan(point.prompt_tokens):
            raise ConfigError(f"{point.where}: the lengths of the prompts are missing; give --prompt")
        prompt = self.scenario.prompt or f"{max(1, round(point.prompt_tokens))}"
        output = self.scenario.output or f"{max(1, round(point.output_tokens))}"
        lengths = LawLengths(
            prompt=parse_law(prompt, where="prompt"), output=parse_law(output, where="output")
        )
        return lengths.sample(rng, n)

    def run(self, run: EngineRun, values: Mapping[str, float], *, seed: int) -> dict[str, Array]:
        """TPOT and seconds from schedule to first token of each request of a run, and when the last ends.

        Arrivals are moved by less than a step: who shares steps with whom hangs on that, in the measured run
        as well, so single runs tell the parameters less than they seem to.
        """
        moved_s = np.random.default_rng(seed).uniform(0, _MOVED_S, len(run.arrival_s))
        order = np.argsort(run.arrival_s + moved_s, kind="stable")
        requests = Requests(
            arrival_s=(run.arrival_s + moved_s)[order],
            prompt_tokens=run.prompt_tokens[order],
            output_tokens=run.output_tokens[order],
        )
        records = self._run(requests, values)
        back = np.argsort(order)  # as the run has them
        return {
            "prefill_s": (records.first_token_s - records.first_scheduled_s)[back],
            "tpot_s": _times(records)[1][back],
            "end_s": np.array([float(np.max(records.finish_s))]),
        }


def _times(records: Records) -> tuple[Array, Array]:
    """TTFT and TPOT of each request; TPOT is NaN for outputs of one token."""
    more = records.requests.output_tokens - 1
    took = records.finish_s - records.first_token_s
    tpot: Array = np.where(more > 0, took / np.maximum(more, 1), np.nan)
    return records.first_token_s - records.sent_s, tpot
