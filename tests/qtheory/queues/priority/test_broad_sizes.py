"""Laws of the response where sizes are broad, or the load is close to one."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.laws import Gamma, Law, Lognormal, Weibull
from qtheory.queues.priority import SJF, SRPT, ProcessorSharing
from qtheory.queues.priority import _ladders as ladders

BROAD = [Gamma(mean=1.0, cv=5.0), Gamma(mean=1.0, cv=10.0), Lognormal(mean=1.0, cv=10.0)]


def _finer(levels: tuple[float, ...]) -> tuple[float, ...]:
    """Twice as many levels, those between in the middle of the logarithm of what is above."""
    above = 1.0 - np.array(levels[:-1])
    middle = np.sqrt(above * np.append(above[1:], 0.1 * above[-1]))
    return tuple(np.sort(np.concatenate([levels, 1.0 - middle])).tolist())


@pytest.mark.parametrize("law", [Lognormal(mean=1.0, cv=1.5), Weibull(shape=0.5, scale=0.5)], ids=str)
@pytest.mark.parametrize("load", [0.8, 0.99])
def test_finer_pieces_change_nothing(law: Law, load: float, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = SJF(rate_rps=load, service=law)
    t = float(queue.solve().response.ppf(0.999))
    finer = _finer((*ladders._LEVELS, *ladders._ABOVE))
    monkeypatch.setattr(ladders, "_LEVELS", finer[:-6])
    monkeypatch.setattr(ladders, "_ABOVE", finer[-6:])
    assert float(queue.solve().response.sf(t)) == pytest.approx(1e-3, abs=1e-7)


@pytest.mark.parametrize("law", BROAD, ids=str)
@pytest.mark.parametrize("rule", [SJF, SRPT, ProcessorSharing])
def test_a_tail_comes_down_and_holds_the_mean(rule: type, law: Law) -> None:
    answer = rule(rate_rps=0.5, service=law).solve()
    edges = np.geomspace(1e-6, 1e6, 25)
    node, weight = np.polynomial.legendre.leggauss(4)
    half = np.diff(np.log(edges)) / 2
    t = np.exp(np.log(edges[:-1])[:, None] + half[:, None] * (1 + node))
    tail = answer.response.sf(t)
    assert (half[:, None] * weight * t * tail).sum() == pytest.approx(answer.mean_response_s, rel=2e-3)


@pytest.mark.parametrize("law", BROAD, ids=str)
@pytest.mark.parametrize("q", [0.99, 0.99999, 1 - 1e-7])
def test_deep_percentiles_of_broad_laws_go_back_to_their_levels(law: Law, q: float) -> None:
    response = SJF(rate_rps=0.9, service=law).solve().response
    assert float(response.sf(response.ppf(q))) == pytest.approx(1 - q, rel=1e-3, abs=2e-7)


@pytest.mark.parametrize("cv", [10.0, 30.0])
def test_shared_times_too_short_for_a_change_meet_the_others(cv: float) -> None:
    response = ProcessorSharing(rate_rps=0.9, service=Gamma(mean=1.0, cv=cv)).solve().response
    law, n = Gamma(mean=1.0, cv=cv), np.arange(1, 400)
    for t in (0.99e-8, 1.01e-8):
        unchanged = law.sf(t / n) @ (0.1 * 0.9 ** (n - 1.0))
        assert float(response.sf(t)) == pytest.approx(float(unchanged), abs=1e-5)
    assert float(response.ppf(0.5)) < 1e-20


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_a_median_far_above_that_of_the_sizes_is_found(load: float) -> None:
    """Sizes of nearly nothing wait for one another's long services."""
    law = Gamma(mean=1.0, cv=30.0)
    response = SJF(rate_rps=load, service=law).solve().response
    median = float(response.ppf(0.5))
    assert median > 1e200 * law.ppf(0.5)
    assert float(response.sf(median)) == pytest.approx(0.5, abs=2e-6)
