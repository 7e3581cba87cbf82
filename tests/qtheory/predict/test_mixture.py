"""Percentiles of laws in groups: from few looks at a law, right and in order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qtheory.predict._law_shares import Shares
from qtheory.predict._mixture import Mixture
from qtheory.predict._normal import FIVE, FIVE_WEIGHTS, THREE, THREE_WEIGHTS
from qtheory.predict._percentiles import LEVELS

RATES = 5


@pytest.mark.parametrize("scv", [0.01, 0.3, 1.0, 4.0])
def test_percentiles_of_a_gamma_law_are_its_own(scv: float) -> None:
    one = np.ones((1, RATES))
    law = Mixture(np.ones(1), 0 * one, 0 * one, 2 * one, (1 + scv) * 4 * one)
    for level in LEVELS.values():
        assert law.quantile(level) == pytest.approx(stats.gamma(1 / scv, scale=2 * scv).ppf(level), rel=0.01)


def test_percentiles_of_atoms_are_atoms_and_in_order() -> None:
    base = np.linspace(1.0, 2.0, 7)[:, None] * np.array([1.0, 3.0])
    one = np.ones_like(base)
    law = Mixture(np.array([0.05, 0.3, 0.3, 0.2, 0.12, 0.025, 0.005]), base, one, 1e-9 * one, 2e-18 * one)
    found = [law.quantile(level) for level in LEVELS.values()]
    assert np.array(found)[:, 0] == pytest.approx(base[[2, 4, 4, 5], 0])


def test_percentiles_of_many_groups_are_in_order_and_leave_so_many_below() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        base, above = rng.exponential(1.0, (9, RATES)), rng.exponential(2.0, RATES)
        none, scv = rng.uniform(0, 1, RATES), rng.uniform(0.05, 5.0, RATES)
        law = Mixture(np.full(9, 1 / 9), base, none, above, (1 + scv) * above**2)
        found = np.array([law.quantile(level) for level in LEVELS.values()])
        assert np.all(np.diff(found, axis=0) >= 0)
        for level, times in zip(LEVELS.values(), found, strict=True):  # an atom may be just there
            below, upto = (law._cdf(times * (1 + sign * 0.01), law._shares) for sign in (-1, 1))
            assert np.all(below <= level + 0.005)
            assert np.all(upto >= level - 0.005)


@pytest.mark.parametrize("most", [None, np.full(RATES, 3.0)])
def test_a_table_of_a_law_is_the_law(most: np.ndarray | None) -> None:
    mean = np.linspace(0.1, 2.7, RATES)
    law = Shares("gamma" if most is None else "bounded", mean, mean**2 * 1.05, most)
    times = np.linspace(0.01, 3.5, 60)[:, None] * np.ones(RATES)
    assert law.tabled(times) == pytest.approx(law(times), abs=5e-3)


@pytest.mark.parametrize("atoms", [(THREE, THREE_WEIGHTS), (FIVE, FIVE_WEIGHTS)])
def test_atoms_of_the_normal_law_have_its_moments(atoms: tuple[np.ndarray, np.ndarray]) -> None:
    places, weights = atoms
    found = [float(weights @ places**k) for k in range(6)]
    assert found == pytest.approx([1, 0, 1, 0, 3, 0], abs=1e-12)
