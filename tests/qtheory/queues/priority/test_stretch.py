"""Taylor sums of exponentials against the sums themselves."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.queues.priority._larger import LargerSizes
from qtheory.queues.priority._stretch import left_of, near

RNG = np.random.default_rng(5)
SIZES, MASSES = np.sort(RNG.exponential(1.0, 60)), RNG.dirichlet(np.ones(60))
CENTER = (11 + 1j * np.pi * np.arange(45)) / 20.0


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("reach", [1e-6, 0.1, 2.0])
def test_a_series_gives_sums_and_slopes_within_its_reach(unit: float, reach: float) -> None:
    center, y = CENTER / unit, SIZES * unit
    top = float(y[-1])
    weights = RNG.random((9, 60)) * MASSES
    sigma = center[:, None] + reach / top * np.exp(1j * RNG.uniform(-1.5, 1.5, (45, 9)))
    about = near(center, top, reach)
    assert about is not None
    assert about.is_enough(sigma)
    value, slope = about.at(sigma, about.series(y, weights))
    terms = np.exp(-sigma[..., None] * y) * weights
    assert value == pytest.approx((weights - terms).sum(axis=-1), abs=1e-12)
    assert slope == pytest.approx((terms * y).sum(axis=-1), abs=1e-11 * unit)


def test_a_series_says_where_it_is_not_enough() -> None:
    about = near(CENTER, 1.0, 0.1)
    assert about is not None
    assert not about.is_enough(CENTER[:, None] + 3.0)
    assert near(CENTER, 1.0, 50.0) is None


@pytest.mark.parametrize("reach", [0.01, 0.5, 5.0])
def test_larger_sizes_near_far_and_gone_are_summed_alike(reach: float) -> None:
    x, mass = SIZES[:40].reshape(5, 8), MASSES[:40].reshape(5, 8)
    above = np.append(SIZES[40:], [30.0, 60.0, 400.0]), np.append(MASSES[40:], [0.1, 0.1, 0.1])
    strictly = np.append(np.arange(8), 8)[:, None] < np.arange(
        8
    )  # (n + 1, n) above a size, none above the end
    pieces = LargerSizes(x=x, mass=mass, larger=strictly * mass[:, None, :], above=above)
    sigma = CENTER[:, None, None] + reach * RNG.random((45, 5, 9))
    found = pieces.sums(sigma)
    y, weight = np.append(x, above[0]), np.append(mass, above[1])
    for i in range(5):
        for k in range(9):
            later = np.arange(y.size) > 8 * i + min(k, 7)
            wanted = (-np.expm1(-sigma[:, i, k, None] * y) * (weight * later)).sum(axis=-1)
            assert found[:, i, k] == pytest.approx(wanted, abs=1e-13)


def test_what_is_left_of_one_has_all_its_digits() -> None:
    z = np.array([1e-300 + 1e-300j, 1e-12 - 3e-11j, 0.3 + 2.0j, 5.0 - 40.0j])
    assert left_of(z) == pytest.approx(-np.expm1(-z), rel=1e-14)
    assert left_of(z[:2]) == pytest.approx(z[:2], rel=1e-10)


def test_sums_at_times_far_beyond_all_sizes_have_all_their_digits() -> None:
    x, mass = SIZES[:40].reshape(5, 8), MASSES[:40].reshape(5, 8)
    pieces = LargerSizes(x=x, mass=mass, larger=np.zeros((5, 9, 8)), above=(SIZES[40:], MASSES[40:]))
    sigma = 1e-12 * CENTER[:, None, None] * np.ones((1, 5, 9))
    later = [float((SIZES * MASSES)[8 * (i + 1) :].sum()) for i in range(5)]
    wanted = sigma * np.array(later)[:, None]
    assert pieces.sums(sigma) == pytest.approx(wanted, rel=1e-10)
