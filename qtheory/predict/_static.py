"""Batching by request: a batch runs until its longest member is done, and nobody joins it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo
from qtheory.system.workload import OpenArrivals

from ._bursts import burstiness_within
from ._clumps import Clumps
from ._gridlaw import GridLaw, law_of_atoms, mixed_law
from ._numeric import statistics
from ._phased import phased
from ._round_chain import solve_rounds
from ._round_formulas import RoundFormulas
from ._round_waits import RoundLaws
from ._rounds import Rounds
from ._setting import Setting
from .limits import Limit

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]


def limit(setting: Setting) -> Limit:
    """Stability limit: requests of a full batch over the seconds that it lasts."""
    rounds = Rounds(setting.engine)
    sizes = np.arange(1, rounds.most + 1)
    return Limit(
        rate_rps=rounds.limit_rps, running=float(rounds.full @ sizes), binds=rounds.binds, redone_frac=0.0
    )


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns from the chain of the numbers waiting when a batch is formed."""
    demand, slo, rounds = setting.engine.demand, setting.slo, Rounds(setting.engine)
    arrivals = phased(
        setting.workload.arrivals,
        setting.rate_rps,
        shortest_s=float(rounds.mean_s()[0]),
        burstiness=_burstiness(setting, rounds),
    )
    chain = solve_rounds(rounds, setting.rate_rps, arrivals)
    laws, seen = RoundLaws(chain), chain.sizes_seen
    times = {"ttft": laws.first_token, "e2e": laws.last_token}
    found: dict[str, Any] = {"mean_decoding": 0.0}
    if demand.mean_decode > 0:
        steps, probs, seconds = rounds.decodes
        times["tpot"] = law_of_atoms((seconds / steps).ravel(), np.outer(seen, probs).ravel())
        gap_s, counts = laws.gaps
        times["itl"] = law_of_atoms(gap_s.ravel(), np.outer(seen, counts).ravel())
        found["mean_decoding"] = setting.rate_rps * demand.mean_decode * times["itl"].mean_s
    return found | statistics(times) | _good(laws, times, slo)


def _burstiness(setting: Setting, rounds: Rounds) -> float:
    """As bursty as arrivals are while a batch lasts."""
    arrivals = setting.workload.arrivals
    if not isinstance(arrivals, OpenArrivals) or setting.engine.demand.burstiness <= 1:
        return setting.engine.demand.burstiness
    return burstiness_within(arrivals, setting.rate_rps, float(rounds.full @ rounds.mean_s(full=True)))


def _good(laws: RoundLaws, times: dict[str, GridLaw], slo: Slo) -> dict[str, float]:
    """Shares within the limits; the times are independent given the size of the batch."""
    quick = laws.per_token_within(slo.tpot_s)
    shares = np.array([sum(weight for weight, _ in parts) for parts in laws.first_parts])
    shares = shares / shares.sum()
    in_time = np.array([mixed_law(parts).within(slo.ttft_s) for parts in laws.first_parts])
    good = in_time * quick
    if slo.e2e_s is not None:
        good *= np.array([mixed_law(parts).within(slo.e2e_s) for parts in laws.whole_parts])
    return {
        "goodput_frac": float(min(shares @ good, 1.0)),
        "ttft_good_frac": times["ttft"].within(slo.ttft_s),
        "tpot_good_frac": float(min(shares @ quick, 1.0)),
    }


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns from formulas, an array over the rates each."""
    arrivals = setting.workload.arrivals
    clumps = Clumps(
        arrivals=arrivals if isinstance(arrivals, OpenArrivals) else None,
        dispersion=setting.engine.demand.burstiness,
    )
    return RoundFormulas(Rounds(setting.engine)).columns(rates_rps, clumps, setting.slo)
