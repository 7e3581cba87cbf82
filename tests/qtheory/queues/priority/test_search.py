"""Percentiles from few computed tails: they are those of the tail itself, and are found again for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws import Discrete, Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.numerics.window import window_around
from qtheory.queues.priority import SJF, SRPT, PredictedSJF, ProcessorSharing
from qtheory.queues.priority._search import KnownPoints, Near

LAWS = [
    Lognormal(mean=1.0, cv=1.5),
    Exponential(mean=1.0),
    Gamma(mean=1.0, cv=0.4),
    Uniform(low=0.5, high=1.5),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("model", "tol"), [(ProcessorSharing, 2e-7), (SRPT, 2e-5), (SJF, 2e-5)])
def test_the_tail_at_a_percentile_is_what_was_asked_for(law: Law, model: type, tol: float) -> None:
    response = model(rate_rps=0.8, service=law).solve().response
    for q in (0.9, 0.99):
        assert float(response.sf(response.ppf(q))) == pytest.approx(1 - q, abs=tol)


@pytest.mark.parametrize("q", [1e-3, 1e-6])
def test_times_below_every_size_have_a_tail(q: float) -> None:
    """Where hardly any job is as small as the first guess, the tail there is one and the search goes on."""
    response = ProcessorSharing(rate_rps=0.8, service=Lognormal(mean=1.0, cv=0.1)).solve().response
    assert float(response.sf(response.ppf(q))) == pytest.approx(1 - q, abs=2e-7)


class _Counted:
    """The tail of exp(-t), with or without windows, that counts how often it is computed."""

    def __init__(self, *, windows: bool) -> None:
        self.n, self.windows = 0, windows

    def near(self, t: float) -> Near:
        self.n += 1
        if not self.windows:
            return Near(t=t, tail=lambda at: np.exp(-at))
        window = window_around(lambda s: 1 / (s + 1), t, tol=1e-8, worst=1e-6)
        return Near(t=t, tail=window.at, window=window, span=(0.5, 1.3), tol=1e-7)


@pytest.mark.parametrize(("windows", "most"), [(True, 3), (False, 12)])
@pytest.mark.parametrize("scale", [0.3, 3.0, 40.0])
def test_few_tails_are_computed(windows: bool, most: int, scale: float) -> None:
    tail, known = _Counted(windows=windows), KnownPoints()
    for q in (0.99, 0.9, 0.5):
        before = tail.n
        found = known.quantile(tail.near, q, low=0.0, scale=scale, slack=1e-9)
        assert found == pytest.approx(-np.log1p(-q), rel=1e-7)
        assert tail.n - before <= most
    before = tail.n
    assert known.quantile(tail.near, 0.9, low=0.0, scale=scale, slack=1e-9) == pytest.approx(np.log(10.0))
    assert tail.n == before


def test_a_level_that_is_none_is_said() -> None:
    with pytest.raises(ConfigError, match="q: 1 must lie strictly between 0 and 1"):
        KnownPoints().quantile(_Counted(windows=True).near, 1.0, low=0.0, scale=1.0, slack=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PredictedSJF(rate_rps=0.999999, service_s=[0.5, 1.5], predicted_s=[1.0, 2.0]),
        SJF(rate_rps=0.999999, service=Discrete(values=[0.5, 1.5], probs=[0.5, 0.5])),
    ],
    ids=["predicted", "known"],
)
def test_a_tail_next_to_full_load_is_no_noise(model: PredictedSJF | SJF) -> None:
    """Its transform is a difference of nearly equal numbers there."""
    law = model.solve().wait
    at = float(law.ppf(0.99))
    tails = law.sf(at * np.array([0.999, 1.0, 1.001]))
    assert tails == pytest.approx([0.01] * 3, rel=1e-2)
    assert tails[0] > tails[1] > tails[2]


DEEP = [
    (0.999, Lognormal(mean=1.0, cv=1.5)),
    (0.9999, Exponential(mean=1.0)),
    (0.999999, Exponential(mean=1.0)),
    (0.999999, Lognormal(mean=1.0, cv=0.1)),
]


@pytest.mark.parametrize(("rate_rps", "law"), DEEP, ids=str)
def test_deep_percentiles_next_to_full_load_are_no_noise(rate_rps: float, law: Law) -> None:
    """A wait and a response differ by a service there, they rise, and nothing else asked moves them."""
    levels = [0.9999, 0.99999, 0.999999]
    result = SJF(rate_rps=rate_rps, service=law).solve()
    assert result.wait is not None
    wait, response = result.wait.ppf(levels), result.response.ppf(levels)
    assert wait == pytest.approx(response, rel=3e-3)
    assert (np.diff(wait) > 0).all()
    assert (np.diff(response) > 0).all()
    alone = SJF(rate_rps=rate_rps, service=law).solve().response.ppf(levels[1])
    assert response[1] == pytest.approx(alone, rel=1e-3)


def test_the_last_in_line_are_late_alike_under_both_rules() -> None:
    """Who is larger than nearly all waits for them all, interrupted or not."""
    law, q = Exponential(mean=1.0), 0.999999
    found = [float(model(rate_rps=0.999999, service=law).solve().response.ppf(q)) for model in (SJF, SRPT)]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_a_percentile_may_be_no_time_at_all() -> None:
    """Half of the sizes are smaller than the smallest number."""
    law = Gamma(mean=1.0, cv=30.0)
    response = ProcessorSharing(rate_rps=0.9, service=law).solve().response
    assert float(response.ppf(0.01)) == 0.0
    late = float(response.ppf(0.99))
    assert float(response.sf(late)) == pytest.approx(0.01, abs=1e-6)


@pytest.mark.parametrize("model", [SJF, SRPT])
def test_a_time_too_short_for_a_transform_is_said(model: type) -> None:
    response = model(rate_rps=0.9, service=Gamma(mean=1.0, cv=30.0)).solve().response
    with pytest.raises(ConvergenceError, match="too short a time"):
        response.ppf(0.01)
