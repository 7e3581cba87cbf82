"""Who comes in a time, and just after one in which somebody came, beside drawn gamma gaps."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import limit_rps, sweep
from qtheory.predict._clumps import Clumps
from qtheory.predict._round_come import come_after
from qtheory.system.workload import GammaArrivals, PoissonArrivals
from tests.qtheory.predict.worlds import world

RATE = np.array([1.0])
CLUMPS = Clumps(arrivals=GammaArrivals(cv=2.0), dispersion=4.0)


@pytest.mark.parametrize("time_s", [0.2, 1.0, 4.0])
def test_counts_of_drawn_gaps_have_these_moments(time_s: float) -> None:
    times_s = np.cumsum(np.random.default_rng(1).gamma(0.25, 4.0, size=1_000_000))
    counts = np.bincount((times_s / time_s).astype(int))[:-1]
    at = np.array([time_s])
    assert float(CLUMPS.none(at, RATE)[0]) == pytest.approx(np.mean(counts == 0), rel=0.02)
    index = 1 + 2 * float(CLUMPS.within(at, RATE)[0])
    assert index == pytest.approx(counts.var() / counts.mean(), rel=0.03)
    after = counts[1:][counts[:-1] > 0].mean()
    assert after > 1.02 * time_s
    assert float(come_after(CLUMPS, RATE, at, at)[0]) == pytest.approx(after, rel=0.04)


def test_poisson_arrivals_do_not_know_who_came_before() -> None:
    poisson, at = Clumps(arrivals=PoissonArrivals(), dispersion=1.0), np.array([0.3])
    assert come_after(poisson, RATE, at, 2 * at) == pytest.approx([0.6])
    assert poisson.none(at, RATE) == pytest.approx([np.exp(-0.3)])


@pytest.mark.parametrize(
    ("arrivals", "within", "share_within"), [("poisson", 0.002, 0.001), ("gamma(cv=2)", 0.03, 0.025)]
)
def test_waits_of_batches_are_those_of_their_chain(arrivals: str, within: float, share_within: float) -> None:
    asked = world(
        hardware="a100", model="llama-3.1-8b", workload="code", scheduler="static", arrivals=arrivals
    )
    rates = [0.2 * limit_rps(*asked)]
    closed, numeric = (sweep(*asked, rates, tier=tier)[0] for tier in ("closed", "numeric"))
    assert closed.mean_ttft_s == pytest.approx(numeric.mean_ttft_s, rel=within)
    assert closed.ttft_good_frac == pytest.approx(numeric.ttft_good_frac, abs=share_within)
