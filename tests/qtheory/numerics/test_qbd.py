"""Quasi-birth-death chains: two algorithms, and loads close to 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.numerics.markov import stationary
from qtheory.numerics.qbd import QuasiBirthDeath, cyclic_reduction, logarithmic_reduction, perron_root


def _chain(n: int, seed: int, load: float) -> QuasiBirthDeath:
    rng = np.random.default_rng(seed)
    up, down, inner = np.diag(rng.random(n)), rng.random((n, n)), rng.random((n, n))
    phase = stationary(down + inner)
    up *= load * (phase @ down.sum(axis=1)) / (phase @ up.sum(axis=1))
    np.fill_diagonal(inner, 0.0)
    return QuasiBirthDeath(up=up, local=inner - np.diag((up + down + inner).sum(axis=1)), down=down)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_both_reductions_and_the_shifted_one_give_one_matrix(n: int, seed: int, load: float) -> None:
    chain = _chain(n, seed, load)
    g = chain.first_passage()
    assert logarithmic_reduction(chain.up, chain.local, chain.down) == pytest.approx(g, abs=1e-11)
    assert cyclic_reduction(chain.up, chain.local, chain.down) == pytest.approx(g, abs=1e-11)
    assert g.min() >= -1e-14


@pytest.mark.parametrize("short_of_one", [1e-1, 1e-3, 1e-6, 1e-9])
def test_equations_hold_up_to_a_load_of_one(short_of_one: float) -> None:
    chain = _chain(5, 7, 1 - short_of_one)
    g, r = chain.first_passage(), chain.rate_matrix()
    assert np.abs(chain.down + chain.local @ g + chain.up @ g @ g).max() < 1e-14
    assert np.abs(chain.up + r @ chain.local + r @ r @ chain.down).max() < 1e-13
    assert perron_root(r) < 1
    assert chain.load == pytest.approx(1 - short_of_one, rel=1e-14)


def test_levels_that_drift_up_are_refused() -> None:
    with pytest.raises(UnstableError, match="drift up"):
        _chain(3, 1, 1.0001)


def test_shapes_and_rows_are_checked() -> None:
    one = np.ones((1, 1))
    with pytest.raises(ConfigError, match="shape"):
        QuasiBirthDeath(up=one, local=-np.eye(2), down=one)
    with pytest.raises(ConfigError, match="cancel"):
        QuasiBirthDeath(up=one, local=-one, down=2 * one)
