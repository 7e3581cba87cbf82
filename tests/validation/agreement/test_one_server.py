"""The law of the wait at one server has the moments and shares that are known of it."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import UnstableError
from sim.statistics import estimate_mean
from validation.agreement._one_server import wait_law
from validation.agreement._surrogate import waits_of


def works(load: float, n: int = 20_000) -> np.ndarray:
    drawn = np.random.default_rng(3).lognormal(0.0, 1.0, n)
    return np.asarray(drawn * load / drawn.mean())


@pytest.mark.parametrize("load", [0.05, 0.9, 0.985])
def test_with_poisson_arrivals_it_has_two_moments_of_pollaczek_and_khinchine(load: float) -> None:
    works_s = works(load)
    law = wait_law(gap_s=1.0, gap_scv=1.0, works_s=works_s)
    waits_s = law.step_s * np.arange(len(law.pmf))
    mean_s = (works_s**2).mean() / 2 / (1 - load)
    square = 2 * mean_s**2 + (works_s**3).mean() / 3 / (1 - load)
    assert law.mean_s == pytest.approx(mean_s, rel=1e-3)
    assert law.pmf @ waits_s**2 == pytest.approx(square, rel=1e-3)
    assert law.pmf.sum() == pytest.approx(1.0, rel=1e-9)


def test_with_constant_works_the_share_that_waits_is_the_load() -> None:
    law = wait_law(gap_s=2.0, gap_scv=1.0, works_s=np.full(5, 1.4))
    assert law.above(1e-9) == pytest.approx(0.7, rel=1e-3)
    at_s = law.quantile_s(0.9)
    assert law.above(at_s) == pytest.approx(0.1, rel=1e-3)
    assert law.excess_s(at_s) < law.mean_s - 0.1 * at_s / 2


def test_with_bursty_arrivals_it_is_what_a_long_recursion_gives() -> None:
    rng = np.random.default_rng(4)
    works_s = works(0.8)
    law = wait_law(gap_s=1.0, gap_scv=4.0, works_s=works_s)
    runs = [waits_of(rng.gamma(0.25, 4.0, 100_000), rng.choice(works_s, 100_000)) for _ in range(6)]
    at_s = law.quantile_s(0.99)
    for seen, known in (
        (runs, law.mean_s),
        ([each > at_s for each in runs], law.above(at_s)),
        ([np.maximum(each - at_s, 0.0) for each in runs], law.excess_s(at_s)),
    ):
        found = estimate_mean(seen)
        assert abs(found.estimate - known) < 2 * found.half_width


def test_a_server_that_is_asked_too_much_has_no_law() -> None:
    with pytest.raises(UnstableError, match="no steady state"):
        wait_law(gap_s=1.0, gap_scv=1.0, works_s=np.ones(3))
