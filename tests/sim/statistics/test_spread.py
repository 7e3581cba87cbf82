"""Batches pooled over replications, and what they say of the effective number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from sim.statistics._spread import spread_of


def _autoregressions(seed, n_runs, n, correlation):
    rng = np.random.default_rng(seed)
    return [signal.lfilter([1.0], [1.0, -correlation], rng.normal(size=n)) for _ in range(n_runs)]


@pytest.mark.parametrize("n_runs", [2, 5, 10])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_pooled_batches_find_the_effective_number_of_an_autoregression(n_runs, correlation):
    n = 20_000 // n_runs
    seen = [1 / spread_of(_autoregressions(seed, n_runs, n, correlation)).n_effective for seed in range(60)]
    want = (1 + correlation) / (1 - correlation) / (n * n_runs)
    # the correction for what correlation is left never narrows, so 10 % are allowed above
    error = 4 * np.std(seen) / np.sqrt(len(seen))
    assert want - error < np.mean(seen) < 1.1 * want + error


def test_batches_know_the_effective_number_better_than_five_means_do():
    found = {}
    for whole in (True, False):
        seen = [
            np.log(spread_of(_autoregressions(seed, 5, 4_000, 0.9), whole=whole).n_effective)
            for seed in range(100)
        ]
        found[whole] = np.std(seen)
    assert found[False] < found[True] / 2


def test_whole_replications_are_not_cut():
    runs = [np.arange(200.0) + shift for shift in (0.0, 0.1, 0.3)]  # all grow alike
    whole, cut = spread_of(runs, whole=True), spread_of(runs)
    assert (whole.n_batches, len(whole.parts)) == (0, 3)
    assert whole.variance == pytest.approx(np.var([0.0, 0.1, 0.3], ddof=1) / 3)
    assert cut.variance >= whole.variance


def test_correlated_batches_leave_the_replications_as_parts():
    rng = np.random.default_rng(1)
    runs = [level + 0.1 * rng.normal(size=2_000) for level in range(5)]  # each keeps a level of its own
    spread = spread_of(runs)
    assert spread.n_batches == 0
    assert spread.parts == pytest.approx([run.mean() for run in runs])


def test_short_replications_are_not_cut():
    runs = [np.random.default_rng(i).normal(size=15) for i in range(5)]
    assert spread_of(runs).n_batches == 0


def test_parts_of_unequal_runs_have_the_mean_of_all_as_theirs():
    runs = [np.random.default_rng(i).exponential(size=n) for i, n in enumerate((1_000, 3_000, 2_000))]
    spread = spread_of(runs)
    assert spread.n_batches == len(spread.parts) > 3
    assert spread.parts.mean() == pytest.approx(np.concatenate(runs).mean(), rel=1e-3)
