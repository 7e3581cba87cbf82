"""Earliest deadline first: exact for equal lead times, checked against simulation for others."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import UnstableError
from qtheory.laws import Constant, Exponential, Gamma, Law, Uniform
from qtheory.queues.priority import EDF
from qtheory.queues.single import MG1
from tests.qtheory.queues.ranked import serve_by_rank


def test_equal_lead_times_are_first_come_first_served() -> None:
    law = Gamma(mean=1.0, cv=0.8)
    answer = EDF(rate_rps=0.85, service=law, lead=Constant(value=7.0)).solve()
    plain = MG1(rate_rps=0.85, service=law).solve()
    assert answer.late_start_frac == pytest.approx(float(plain.wait.sf(7.0)))
    assert answer.late_end_frac == pytest.approx(float(plain.response.sf(7.0)))
    assert answer.lateness_sf([-3.0, 2.0]) == pytest.approx(plain.wait.sf([4.0, 9.0]))


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.8, 0.9])
def test_the_profile_predicts_the_late_share(load: float) -> None:
    service: Law = Exponential(mean=1.0)
    lead = Uniform(low=4.0, high=16.0)
    late = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n = 60_000
        arrivals = np.cumsum(rng.exponential(1 / load, n))
        due = arrivals + lead.sample(rng, n)
        starts, _ = serve_by_rank(
            arrivals, service.sample(rng, n), lambda i, left, due=due: due[i], preempt=True
        )
        late.append((starts[n // 10 :] > due[n // 10 :]).mean())
    answer = EDF(rate_rps=load, service=service, lead=lead).solve()
    error = np.std(late, ddof=1) / 4
    assert abs(np.mean(late) - answer.late_start_frac) < 0.15 * np.mean(late) + 4 * error


def test_more_room_is_later_less_often_and_the_curve_falls() -> None:
    tight = EDF(rate_rps=0.9, service=Exponential(mean=1.0), lead=Uniform(low=1.0, high=3.0)).solve()
    loose = EDF(rate_rps=0.9, service=Exponential(mean=1.0), lead=Uniform(low=2.0, high=6.0)).solve()
    assert loose.late_start_frac < tight.late_start_frac
    assert np.all(np.diff(tight.lateness_sf(np.linspace(-3, 5, 40))) <= 1e-9)
    assert float(tight.lateness_sf(0.0)) == pytest.approx(tight.late_start_frac)
    with pytest.raises(UnstableError):
        EDF(rate_rps=1.0, service=Exponential(mean=1.0), lead=Constant(value=1.0)).solve()
