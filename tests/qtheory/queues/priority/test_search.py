"""Percentiles from few computed tails: they are those of the tail itself, and are found again for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
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
