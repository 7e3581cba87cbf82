"""Closed networks: enumeration, mean values, convolution, bounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.queues.network import (
    ClassNetwork,
    ClosedNetwork,
    DelayStation,
    RateStation,
    ServerStation,
    Station,
    StepStation,
    load_dependent_mva,
)

STATIONS: list[Station] = [
    ServerStation(demand_s=0.3),
    ServerStation(demand_s=0.9, n_servers=3),
    StepStation(base_s=0.01, slope_s=0.004, mean_steps=10, max_running=4),
    DelayStation(delay_s=0.7),
    RateStation(rate_rps=lambda n: 2.0 + n**0.5),
]


def _enumerated(stations: list[Station], population: int, think_s: float) -> tuple[float, list[float]]:
    """Throughput and mean numbers by listing all states."""
    places = [*stations, DelayStation(delay_s=think_s)] if think_s else stations
    rates = [place.rates(population) for place in places]
    weights = [np.append(1.0, np.cumprod(1 / rate)) for rate in rates]
    total, through, numbers = 0.0, 0.0, np.zeros(len(places))
    for state in product(range(population + 1), repeat=len(places)):
        if sum(state) == population:
            p = float(np.prod([w[n] for w, n in zip(weights, state, strict=True)]))
            total += p
            through += p * (rates[0][state[0] - 1] if state[0] else 0.0)
            numbers += p * np.array(state)
    return through / total, (numbers / total)[: len(stations)].tolist()


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(STATIONS), min_size=1, max_size=3),
    st.integers(1, 6),
    st.sampled_from([0.0, 1.3]),
)
def test_convolution_and_mean_values_are_the_sum_over_all_states(
    stations: list[Station], population: int, think_s: float
) -> None:
    through, numbers = _enumerated(stations, population, think_s)
    answer = ClosedNetwork(stations=stations, population=population, think_s=think_s).solve()
    assert answer.throughput_rps == pytest.approx(through, rel=1e-11)
    assert answer.mean_number_by_station == pytest.approx(numbers, rel=1e-10)
    by_means, means = load_dependent_mva(stations=stations, population=population, think_s=think_s)
    assert by_means == pytest.approx(through, rel=1e-9)
    assert means == pytest.approx(numbers, rel=1e-9)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.01, 2.0), min_size=1, max_size=5),
    st.integers(1, 60),
    st.just(0.0) | st.floats(1e-280, 5),
    st.floats(1e-6, 1e6),
)
def test_throughput_keeps_its_asymptotic_bounds_in_any_unit(
    demands: list[float], population: int, think_s: float, c: float
) -> None:
    def through(unit: float) -> float:
        stations = [ServerStation(demand_s=unit * demand) for demand in demands]
        return (
            ClosedNetwork(stations=stations, population=population, think_s=unit * think_s)
            .solve()
            .throughput_rps
        )

    found = through(1.0)
    assert found <= min(1 / max(demands), population / (think_s + sum(demands))) * (1 + 1e-9)
    assert found >= population / (think_s + population * sum(demands)) * (1 - 1e-9)
    assert through(c) * c == pytest.approx(found, rel=1e-9)


def test_a_delay_whose_rate_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"delay_s: 1e-308 must be >= 1e-290"):
        ClosedNetwork(stations=[ServerStation(demand_s=1.0)], population=2, think_s=1e-308).solve()


def test_thousands_of_customers_do_not_overflow() -> None:
    stations = [
        ServerStation(demand_s=0.001),
        ServerStation(demand_s=0.5, n_servers=600),
        ServerStation(demand_s=1e-4),
    ]
    answer = ClosedNetwork(stations=stations, population=5000, think_s=2.0).solve()
    assert answer.throughput_rps == pytest.approx(1000.0, rel=1e-9)
    assert sum(answer.mean_number_by_station) + 2.0 * answer.throughput_rps == pytest.approx(5000.0)
    assert answer.utilization_by_station[1] == pytest.approx(500 / 600, rel=1e-6)


def test_more_customers_never_lower_the_throughput() -> None:
    through = [
        ClosedNetwork(stations=STATIONS, population=n, think_s=0.5).solve().throughput_rps
        for n in range(1, 40)
    ]
    assert through == sorted(through)


def test_mean_values_say_where_rounding_wins() -> None:
    stations = [ServerStation(demand_s=1.0, n_servers=40), ServerStation(demand_s=0.024)]
    with pytest.raises(ConvergenceError, match="use ClosedNetwork"):
        load_dependent_mva(stations=stations, population=400)
    assert ClosedNetwork(stations=stations, population=400).solve().throughput_rps == pytest.approx(
        40.0, rel=1e-3
    )


def _classes_enumerated(population: list[int], demand: np.ndarray, think: list[float]) -> list[float]:
    """Throughput of each class at single-server processor sharing stations, by listing all states."""
    demand = np.hstack([demand, np.array(think)[:, None]])  # the last place is a delay
    places = range(demand.shape[1])
    spread = [[s for s in product(range(n + 1), repeat=len(places)) if sum(s) == n] for n in population]

    def total(counts: list[int]) -> float:
        found = 0.0
        kept = [[s for s in product(range(n + 1), repeat=len(places)) if sum(s) == n] for n in counts]
        for state in product(*kept):
            p = 1.0
            for i in places:
                here = [state[r][i] for r in range(len(counts))]
                together = 1.0 if i == places[-1] else float(np.prod(np.arange(1, sum(here) + 1)))
                for r, n in enumerate(here):
                    p *= demand[r, i] ** n / float(np.prod(np.arange(1, n + 1)))
                p *= together
            found += p
        return found

    assert spread
    whole = total(population)
    return [total([n - (i == r) for i, n in enumerate(population)]) / whole for r in range(len(population))]


def test_classes_are_the_sum_over_all_states() -> None:
    demand = np.array([[0.2, 0.4], [0.5, 0.1]])
    for think in ([0.0, 1.0], [0.6, 0.3]):
        answer = ClassNetwork(population=[3, 2], demand_s=demand.tolist(), think_s=think).solve()
        wanted = _classes_enumerated([3, 2], demand, think)
        assert answer.throughput_rps_by_class == pytest.approx(wanted, rel=1e-10)


@given(st.integers(1, 30), st.integers(1, 30))
def test_equal_classes_are_one_class(first: int, second: int) -> None:
    both = ClassNetwork(population=[first, second], demand_s=[[0.3, 0.2]] * 2, think_s=[1.0, 1.0]).solve()
    one = ClosedNetwork(
        stations=[ServerStation(demand_s=0.3), ServerStation(demand_s=0.2)],
        population=first + second,
        think_s=1.0,
    ).solve()
    assert sum(both.throughput_rps_by_class) == pytest.approx(one.throughput_rps, rel=1e-9)
    assert both.mean_response_s_by_class == pytest.approx([one.mean_response_s] * 2, rel=1e-9)


def test_a_class_without_customers_has_no_throughput() -> None:
    answer = ClassNetwork(population=[0, 4], demand_s=[[0.3], [0.2]]).solve()
    assert answer.throughput_rps_by_class == pytest.approx([0.0, 5.0])


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ConfigError, match="stations: empty"):
        ClosedNetwork(stations=[], population=2)
    with pytest.raises(ConfigError, match="population"):
        ClosedNetwork(stations=STATIONS, population=0)
    with pytest.raises(ConfigError, match="demand_s"):
        ServerStation(demand_s=0.0)
    with pytest.raises(ConfigError, match="rate_rps"):
        ClosedNetwork(stations=[RateStation(rate_rps=lambda n: 1.0 - n)], population=2).solve()
    with pytest.raises(ConfigError, match="one row of station demands"):
        ClassNetwork(population=[1, 1], demand_s=[[0.3]])
    with pytest.raises(ConfigError, match="needs no time at all"):
        ClassNetwork(population=[1, 1], demand_s=[[0.3], [0.0]])
    with pytest.raises(ConfigError, match="think_s: 1 given"):
        ClassNetwork(population=[1, 1], demand_s=[[0.3], [0.1]], think_s=[1.0])
    with pytest.raises(ConvergenceError, match="combinations"):
        ClassNetwork(population=[300, 300, 300], demand_s=[[0.3]] * 3).solve()
