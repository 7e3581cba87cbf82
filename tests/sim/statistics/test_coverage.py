"""Do nominal 95 % intervals hold the truth? Waits of M/M/1 and M/G/1 queues, from empty, warm-up cut."""

from __future__ import annotations

import numpy as np
import pytest

from sim.statistics import estimate_mean, estimate_percentile, estimate_share, warm_up


def _estimates(known, rng, n, n_runs):
    """Whether each interval holds its truth, and whether it calls itself reliable."""
    runs = [known.waits(rng, n // n_runs) for _ in range(n_runs)]
    n_cut = warm_up(runs).n_cut
    runs = [run[n_cut:] for run in runs]
    limit = known.percentile(90)
    found = {
        "mean": (estimate_mean(runs), known.mean),
        "p99": (estimate_percentile(runs, 99), known.percentile(99)),
        "share": (estimate_share([run <= limit for run in runs], like=runs), 0.9),
    }
    return {name: (interval.contains(truth), interval.reliable) for name, (interval, truth) in found.items()}


def _coverage(known, n, n_runs, n_studies):
    """For each quantity the share of studies that hold the truth, and that call themselves reliable."""
    seen = [_estimates(known, np.random.default_rng([5, i]), n, n_runs) for i in range(n_studies)]
    return {name: np.mean([one[name] for one in seen], axis=0) for name in seen[0]}


@pytest.mark.parametrize(
    ("rho", "n"),
    [(0.5, 10_000), (0.8, 20_000), pytest.param(0.95, 400_000, marks=pytest.mark.slow)],
)
def test_two_hundred_studies_of_five_runs_hold_the_truth_as_often_as_they_say(queue, rho, n):
    for name, (covered, _) in _coverage(queue(rho), n, 5, 200).items():
        assert 0.9 <= covered <= 0.99, name


@pytest.mark.parametrize("rho", [0.5, 0.8])
@pytest.mark.parametrize("n_runs", [1, 10])
def test_a_small_study_covers_within_four_standard_errors(queue, rho, n_runs):
    least = 0.95 - 4 * np.sqrt(0.95 * 0.05 / 40)
    for name, (covered, _) in _coverage(queue(rho), 20_000, n_runs, 40).items():
        assert covered > least, name


@pytest.mark.slow
@pytest.mark.parametrize("cv2", [1.0, 4.0], ids=["M/M/1", "M/H2/1"])
@pytest.mark.parametrize("rho", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("n_runs", [1, 5, 10])
def test_fifty_thousand_requests_cover_or_say_that_they_do_not(queue, cv2, rho, n_runs):
    for name, (covered, reliable) in _coverage(queue(rho, cv2), 50_000, n_runs, 200).items():
        if rho < 0.95:
            assert 0.9 <= covered <= 0.99, name
        else:
            assert covered >= 0.75, name
            assert covered >= 0.9 or reliable <= 0.05, name


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [1, 5, 10])
def test_a_busy_queue_covers_and_is_reliable_once_the_run_is_long_enough(queue, n_runs):
    for name, (covered, reliable) in _coverage(queue(0.95), 1_000_000, n_runs, 50).items():
        assert covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 50), name
        assert reliable > (0.5 if name == "p99" else 0.9), name  # its stretches are fewer by a hundred
