"""A spike that retries keep alive after it is over."""

from __future__ import annotations

import numpy as np

from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim.clients import Attempted, Patience, simulate_retries
from sim.policies import Policy
from sim.replica import Replica
from sim.testing import ConstantStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_STEP_S, _SEQS, _OUTPUT = 0.05, 8, 40  # 2 s of decoding each: the limit is just under 4 requests a second
_CALM_RPS, _SPIKE_RPS = 3.2, 8.0
_BEGIN_S, _END_S, _LATER_S, _LAST_S = 60.0, 90.0, 240.0, 420.0
_TIMEOUT_S, _DELAY_S = 5.0, 1.0


def _requests() -> Requests:
    rng = np.random.default_rng(0)
    spans = ((0.0, _BEGIN_S, _CALM_RPS), (_BEGIN_S, _END_S, _SPIKE_RPS), (_END_S, _LAST_S, _CALM_RPS))
    arrivals = [
        np.sort(rng.uniform(low, high, rng.poisson(rate * (high - low)))) for low, high, rate in spans
    ]
    arrival_s = np.concatenate(arrivals)
    n = len(arrival_s)
    return Requests(arrival_s=arrival_s, prompt_tokens=np.full(n, 64), output_tokens=np.full(n, _OUTPUT))


def _served(retries: int) -> Attempted:
    patience = Patience(
        timeout_s=_TIMEOUT_S, retries=retries, retry_delay_s=_DELAY_S, backoff=1.0, waits_for="answer"
    )
    policy = Policy(name="chunked", budget_tokens=256, max_seqs=_SEQS)
    return simulate_retries(
        _requests(), policy, Replica(step_time=ConstantStep(_STEP_S), n_blocks=512), patience
    )


def _share_good(found: Attempted, low_s: float, high_s: float) -> float:
    """Good requests among those that came in between, each counted once."""
    arrival_s = found.attempts.requests.arrival_s[:: found.n_each]
    inside = (arrival_s >= low_s) & (arrival_s < high_s)
    return float(found.good(Slo(e2e_s=_TIMEOUT_S))[inside].mean())


def _answer() -> Finding:
    parts = []
    for retries in (0, 6):
        found = _served(retries)
        before = _share_good(found, 0.0, _BEGIN_S)
        after = _share_good(found, _LATER_S, _LAST_S)
        who = f"{retries} retries" if retries else "no retries"
        parts.append(
            Measured(
                what=f"{who}: at least 90% good before the spike", found=f"{before:.1%}", holds=before >= 0.9
            )
        )
        what = "at most 50%" if retries else "at least 90%"
        holds = after <= 0.5 if retries else after >= 0.9
        parts.append(
            Measured(what=f"{who}: {what} good from 150 s after its end", found=f"{after:.1%}", holds=holds)
        )
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="retry-storm",
    question="Does an overload outlast the spike that began it if clients retry, and not if they do not?",
    source="Bronson et al. (2021), Metastable failures in distributed systems, HotOS 21",
    calibrated="nothing: a made-up server that takes just under 4 requests a second; 3.2, but 8 for 30 s",
    teaches="cancelled work does not hold up others, or what is cancelled does not come again",
    answer=_answer,
)
