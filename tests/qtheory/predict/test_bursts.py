"""Bursts as batches that make the same queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.predict import limit_rps, predict
from qtheory.predict._bursts import Following, batches_like
from qtheory.predict._models import prepared
from qtheory.predict._numeric import steady
from qtheory.predict._steps import Rule
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.system.workload import GammaArrivals
from tests.qtheory.predict.worlds import world


@pytest.mark.parametrize("busy", [0.1, 0.6, 0.97])
def test_poisson_arrivals_are_single(busy: float) -> None:
    assert batches_like(1.0, busy) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("cv", "busy"), [(2.0, 0.3), (2.0, 0.8), (3.0, 0.6)])
def test_batches_wait_as_long_as_the_gamma_gaps_that_they_stand_for(cv: float, busy: float) -> None:
    means = []
    for run in range(24):
        rng, wait, waits = np.random.default_rng([7, run]), 0.0, []
        for gap in rng.gamma(1 / cv**2, cv**2, 20_000):
            waits.append(wait)
            wait = max(wait + busy - float(gap), 0.0)
        means.append(np.mean(waits[2_000:]))
    error = float(np.std(means, ddof=1)) / len(means) ** 0.5
    batches = batches_like(cv**2, busy)
    assert abs(busy * (busy + batches - 1) / (2 * (1 - busy)) - float(np.mean(means))) < 4 * error
    assert 1 < batches < cv**2


def test_in_a_burst_short_outputs_decode_beside_the_prompts_of_longer_ones() -> None:
    machine = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "rag", "kv_blocks": 100_000}
    gaps = {}
    for arrivals in ("poisson", "gamma(cv=2)"):
        replica, workload = world(**machine, arrivals=arrivals)
        rate_rps = 0.5 * limit_rps(replica, workload)
        plain, shortest = (
            predict(replica, workload, rate_rps=rate_rps, scheduler=k) for k in ("chunked", "sjf")
        )
        assert plain.mean_decoding == pytest.approx(shortest.mean_decoding)
        assert shortest.mean_tpot_s is not None
        assert plain.mean_tpot_s is not None
        gaps[arrivals] = shortest.mean_tpot_s / plain.mean_tpot_s
    assert gaps["poisson"] == pytest.approx(1.008, abs=0.01)  # as 40,000 requests of each have, simulated
    assert gaps["gamma(cv=2)"] > 1.03


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("dispersion", [1.0, 2.0, 4.0])
def test_at_vanishing_load_the_first_of_a_batch_starts_alone_and_the_others_share_the_next_step(
    mixed: bool, dispersion: float
) -> None:
    base_s, slope_s, prompt = 0.02, 0.01, 16
    scheduler = "chunked" if mixed else "fcfs"
    replica, workload = world(
        hardware="a100",
        model="llama-3.1-8b",
        kv_blocks=1_000_000,
        max_seqs=4096,
        scheduler=scheduler,
        step_time=f"linear(base_s={base_s},per_token_s={slope_s / prompt})",
        prompt=f"constant({prompt})",
        output="constant(1)",
        budget_tokens=2**18,
    )
    engine = engine_of(replica, replace(demand_of(workload), burstiness=dispersion))
    found = steady(engine, Rule(mixed=mixed), 1e-4 / slope_s).first.law.mean_s
    batch = (1 + dispersion) / 2
    others = base_s + slope_s * (2 * batch - 1)  # those on both sides of one that is not the first
    assert found == pytest.approx(base_s + slope_s + (1 - 1 / batch) * others, rel=2e-3)


def test_gamma_arrivals_follow_each_other_as_often_as_is_counted() -> None:
    arrivals, rate_rps, windows_s = GammaArrivals(cv=2.0), 3.0, np.array([0.02, 0.3, 2.0])
    counts = []
    for run in range(24):
        times_s = arrivals.arrival_times(np.random.default_rng([9, run]), rate_rps, n=20_000)
        inner = times_s[times_s < times_s[-1] - windows_s.max()]
        places = np.searchsorted(times_s, inner[:, None] + windows_s[None, :], side="right")
        counts.append((places - np.arange(1, len(inner) + 1)[:, None]).mean(axis=0) - rate_rps * windows_s)
    error = np.std(counts, axis=0, ddof=1) / len(counts) ** 0.5
    found = Following(arrivals=arrivals, rate_rps=rate_rps)(windows_s)
    assert np.all(np.abs(found - np.mean(counts, axis=0)) < 4 * error)
    assert np.all(np.diff(found) > 0)
    assert found[-1] < 1.5


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs"])
def test_seldom_bursts_on_a_server_that_is_mostly_idle_have_a_law_without_negative_parts(
    scheduler: str,
) -> None:
    replica, workload = world(
        hardware="a10g", model="llama-3.2-3b", workload="code", arrivals="gamma(cv=2)", scheduler=scheduler
    )
    model, setting = prepared(replica, workload, None)
    setting = setting.at_rate(0.2, model.limit(setting).rate_rps)
    found = steady(setting.engine, Rule(mixed=scheduler == "chunked"), 0.2).backlog
    assert found.decoded_share == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("tier", ["closed", "numeric"])
def test_phases_that_are_an_overload_are_refused(tier: str) -> None:
    arrivals = "mmpp(rates=[1, 5], mean_s=[60, 20])"  # the second is 2.5 times the mean
    replica, workload = world(hardware="a100", model="llama-3.1-8b", workload="chat", arrivals=arrivals)
    with pytest.raises(ConfigError, match=r"phases of 15 req/s, above the limit of 9\.0.* simulate it"):
        predict(replica, workload, rate_rps=6.0, tier=tier)
    assert predict(replica, workload, rate_rps=3.0, tier=tier).mean_ttft_s > 0


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked"])
def test_even_arrivals_are_answered_at_any_low_load(scheduler: str) -> None:
    machine = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat", "scheduler": scheduler}
    replica, workload = world(**machine, arrivals="gamma(cv=0.2)")
    limit = limit_rps(replica, workload)
    found = [predict(replica, workload, rate_rps=load * limit) for load in (0.001, 0.02, 0.1)]
    waits = [each.mean_ttft_s for each in found]
    assert waits == sorted(waits)
    assert found[0].mean_decoding == pytest.approx(found[2].mean_decoding / 100, rel=0.2)
