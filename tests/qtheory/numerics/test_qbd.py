"""Quasi-birth-death chains: two algorithms, and loads close to 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import Erlang, Hyperexponential, MarkovianArrivals, PhaseType
from qtheory.numerics.markov import stationary
from qtheory.numerics.qbd import (
    QuasiBirthDeath,
    cyclic_reduction,
    logarithmic_reduction,
    perron_root,
    time_until_exit,
)
from qtheory.queues.multi import MapPhC


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


@pytest.mark.parametrize("load", [0.3, 0.9, 0.999])
@pytest.mark.parametrize(
    "arrivals",
    [
        MarkovianArrivals.modulated_poisson(rates_rps=[1.9, 0.1], leave_per_s=[0.2, 0.2]),
        MarkovianArrivals.renewal(Hyperexponential(probs=[0.9, 0.1], means=[0.5, 5.5])),
    ],
    ids=["mmpp", "renewal"],
)
def test_queues_of_phases_with_one_server_agree_by_both_reductions(
    arrivals: MarkovianArrivals, load: float
) -> None:
    service = Erlang(k=3, mean=load / arrivals.rate_rps)
    answer = MapPhC(arrivals=arrivals, service=service).solve()
    phases = PhaseType.of(service)
    inner, start, out = phases.generator, phases.start_vector, phases.exit_rates
    same, d0, d1 = np.eye(2), arrivals.d0, arrivals.d1
    up, down = np.kron(d1, np.eye(3)), np.kron(same, np.outer(out, start))
    local = np.kron(d0, np.eye(3)) + np.kron(same, inner)
    enter, leave = np.kron(d1, start[None, :]), np.kron(same, out[:, None])  # from and to the empty queue
    for reduction in (logarithmic_reduction, cyclic_reduction):
        g = reduction(up, local, down)
        r = np.linalg.solve((-(local + up @ g)).T, up.T).T
        assert perron_root(r) == pytest.approx(answer.caudal_characteristic, rel=1e-9)
        generator = local + r @ down + leave @ np.linalg.solve(-d0, enter)
        values, vectors = np.linalg.eig(generator.T)
        first = np.real(vectors[:, np.argmin(np.abs(values))])
        level = np.linalg.solve(np.eye(len(r)) - r, np.ones(len(r)))  # all levels from this one on
        first *= load / (first @ level)
        assert first.sum() == pytest.approx(answer.number_pmf(1), rel=1e-7)
        queue = first @ r @ np.linalg.solve(np.eye(len(r)) - r, level)
        assert queue == pytest.approx(answer.mean_queue, rel=1e-6)


def test_the_time_until_exit_is_the_same_by_elimination_and_by_a_plain_solution() -> None:
    rng = np.random.default_rng(4)
    moves, exits, start = rng.random((140, 140)), rng.random(140), rng.random((3, 140))
    np.fill_diagonal(moves, 0.0)
    plain = time_until_exit(start, moves, exits)
    assert plain @ (np.diag(moves.sum(axis=1) + exits) - moves) == pytest.approx(start, abs=1e-10)
    rare = time_until_exit(start, moves, 1e-30 * exits)  # the plain solution fails there
    assert np.all(rare > 0)
    assert (rare * (1e-30 * exits)).sum(axis=1) == pytest.approx(start.sum(axis=1), rel=1e-10)
    with pytest.raises(ConvergenceError, match="no way out"):
        time_until_exit(np.ones((1, 2)), np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2))


def test_light_loads_of_phases_keep_their_digits() -> None:
    # two servers, Erlang-2 intervals of rate a: P(wait) is of order a^4
    answers = [
        MapPhC(arrivals=Erlang(k=2, mean=x), service=Erlang(k=2, mean=1.0), n_servers=2).solve()
        for x in (1e6, 1e8)
    ]
    assert answers[0].prob_wait == pytest.approx(1e8 * answers[1].prob_wait, rel=1e-4)
