"""The law on levels is that of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.numerics.markov import stationary
from qtheory.predict._levels import law_on_levels


@pytest.mark.parametrize("reference", [0, 3, 6])
@pytest.mark.parametrize("n_up", [1, 3])
def test_elimination_of_levels_gives_the_law_of_the_whole_chain(reference: int, n_up: int) -> None:
    rng, n_levels, n = np.random.default_rng(5), 7, 4
    moves = rng.random((n_levels, n_up + 2, n, n))
    moves[:, 2:] *= 0.3  # else hardly ever on the lower levels
    moves /= moves.sum(axis=(1, 3), keepdims=True)
    whole = np.zeros((n_levels, n, n_levels, n))
    for j in range(n_levels):
        for k in range(-1, n_up + 1):
            whole[j, :, min(max(j + k, 0), n_levels - 1), :] += moves[j, k + 1]
    exact = stationary(whole.reshape(n_levels * n, n_levels * n))
    found = law_on_levels(lambda j: list(moves[j]), n_levels, reference)
    assert (found / found.sum()).ravel() == pytest.approx(exact, rel=1e-10)
