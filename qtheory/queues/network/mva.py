"""Mean value analysis of closed networks: several classes, and load-dependent stations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.queues.result import QueueResult

from .stations import Station

__all__ = ["ClassNetwork", "ClassNetworkResult", "load_dependent_mva"]

Floats = NDArray[np.float64]

_MOST_STATES = 4_000_000


def load_dependent_mva(
    *, stations: Sequence[Station], population: int, think_s: float = 0.0
) -> tuple[float, Floats]:
    r"""Exact throughput and mean numbers of a closed network with one class, by mean value analysis [1]_.

    With n customers the marginal laws follow from those with n - 1:
    :math:`p_i(j|n)=\frac{X(n)}{\mu_i(j)}p_i(j-1|n-1)`, :math:`R_i(n)=\sum_j\frac j{\mu_i(j)}p_i(j-1|n-1)`,
    :math:`X(n)=n/(Z+\sum_iR_i)`. :math:`p_i(0|n)` is a difference and loses digits near saturation of
    stations with many servers; then `ClosedNetwork` is the better way, and an error says so.

    Parameters
    ----------
    stations : sequence of Station
        At least one.
    population : int
        Customers, >= 1.
    think_s : float
        Mean think time per cycle, seconds, >= 0.

    Returns
    -------
    throughput_rps : float
        Cycles per second.
    mean_number : array
        Mean customers at each station.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        If rounding makes a probability negative.

    References
    ----------
    .. [1] Reiser, Lavenberg (1980), "Mean-value analysis of closed multichain queueing networks", J. ACM 27,
       313-322.

    Examples
    --------
    >>> from qtheory.queues.network import ServerStation
    >>> stations = [ServerStation(demand_s=0.1), ServerStation(demand_s=0.25)]
    >>> through, number = load_dependent_mva(stations=stations, population=20, think_s=2.0)
    >>> print(f"{through:.6f}", number.round(4).tolist())
    3.997598 [0.665, 11.3398]
    """
    checks.integer(population=population)
    checks.non_negative(think_s=think_s)
    if not len(stations):
        raise ConfigError("stations: empty; give at least one")
    rates = np.array([station.rates(population) for station in stations])  # (m, n)
    j = np.arange(1, population + 1)
    pmf = np.zeros((len(stations), population + 1))
    pmf[:, 0] = 1.0
    through, number = 0.0, np.zeros(len(stations))
    for n in range(1, population + 1):
        stay = (j / rates * pmf[:, :-1]).sum(axis=1)
        through = n / (think_s + float(stay.sum()))
        number = through * stay
        pmf[:, 1:] = through / rates * pmf[:, :-1]
        pmf[:, 0] = 1.0 - pmf[:, 1:].sum(axis=1)
        if pmf[:, 0].min() < -1e-9:
            raise ConvergenceError(
                f"P(station empty) came out as {pmf[:, 0].min():.1g} with {n} customers; use ClosedNetwork"
            )
        pmf[:, 0] = np.maximum(pmf[:, 0], 0.0)
    return through, number


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNetworkResult(QueueResult):
    """Steady state of a closed network with classes; response is the time per cycle without thinking.

    Parameters
    ----------
    throughput_rps_by_class, mean_response_s_by_class : tuple of float
        Cycles per second and mean time per cycle, seconds.
    mean_number_by_class : tuple of tuples of float
        Mean customers of each class (rows) at each station.
    utilization_by_station : tuple of float
        Busy shares.

    Examples
    --------
    >>> from qtheory.queues.network import ClassNetwork
    >>> answer = ClassNetwork(population=[2, 2], demand_s=[[1.0], [1.0]]).solve()  # one station, all alike
    >>> [round(x, 6) for x in answer.throughput_rps_by_class], answer.utilization_by_station
    ([0.5, 0.5], (1.0,))
    """

    throughput_rps_by_class: tuple[float, ...]
    mean_response_s_by_class: tuple[float, ...]
    mean_number_by_class: tuple[tuple[float, ...], ...]
    utilization_by_station: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNetwork:
    r"""Exact closed network with classes: single-server processor-sharing stations, by mean value analysis.

    A customer of class r finds the network as if it were not in it:
    :math:`R_{ri}(\mathbf n)=D_{ri}(1+Q_i(\mathbf n-\mathbf e_r))` [1]_. All populations with one total are
    computed together.

    Parameters
    ----------
    population : sequence of int
        Customers of each class, >= 0, at least one in all.
    demand_s : sequence of sequences of float
        Service that a class (row) needs at a station (column) per cycle, seconds, >= 0.
    think_s : sequence of float
        Mean think time of each class, seconds, >= 0; default none.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        From `solve` if there are too many combinations of populations.

    References
    ----------
    .. [1] Reiser, Lavenberg (1980), "Mean-value analysis of closed multichain queueing networks", J. ACM 27,
       313-322.

    Examples
    --------
    >>> network = ClassNetwork(population=[3, 2], demand_s=[[0.2, 0.4], [0.5, 0.1]], think_s=[0.0, 1.0])
    >>> print(", ".join(f"{x:.5f}" for x in network.solve().throughput_rps_by_class))
    1.98966, 0.81015
    """

    population: Sequence[int]
    demand_s: Sequence[Sequence[float]]
    think_s: Sequence[float] = ()

    def __post_init__(self) -> None:
        for count in self.population:
            checks.at_least(0, population=count)
        if not len(self.population) or sum(self.population) == 0:
            raise ConfigError("population: empty; give at least one customer")
        demand = np.array([list(row) for row in self.demand_s], dtype=object)
        if demand.ndim != 2 or len(demand) != len(self.population) or not demand.shape[1]:
            raise ConfigError(
                f"demand_s: give one row of station demands for each of {len(self.population)} classes"
            )
        for value in demand.ravel():
            checks.non_negative(demand_s=value)
        think = tuple(self.think_s) or (0.0,) * len(self.population)
        if len(think) != len(self.population):
            raise ConfigError(f"think_s: {len(think)} given, {len(self.population)} classes")
        for value in think:
            checks.non_negative(think_s=value)
        for r, row in enumerate(demand):
            if think[r] + sum(row) <= 0:
                raise ConfigError(f"demand_s: class {r + 1} needs no time at all; give it some")
        object.__setattr__(self, "population", tuple(self.population))
        object.__setattr__(self, "demand_s", tuple(tuple(float(d) for d in row) for row in demand))
        object.__setattr__(self, "think_s", think)

    def solve(self) -> ClassNetworkResult:
        """The steady state."""
        counts = np.array(self.population)
        shape = tuple(counts + 1)
        size = int(np.prod(shape))
        if size > _MOST_STATES:
            raise ConvergenceError(
                f"population: {size} combinations, more than {_MOST_STATES}; use fewer classes"
            )
        demand, think = np.array(self.demand_s), np.array(self.think_s)
        cells = np.array(list(product(*[range(n) for n in shape])))  # (size, classes)
        totals = cells.sum(axis=1)
        strides = np.array([int(np.prod(shape[r + 1 :])) for r in range(len(shape))])
        queue = np.zeros((size, demand.shape[1]))  # mean customers at each station
        for total in range(1, int(counts.sum()) + 1):
            here = np.flatnonzero(totals == total)
            found = np.zeros((len(here), demand.shape[1]))
            for r in range(len(counts)):
                some = cells[here, r] > 0
                stay = demand[r] * (1.0 + queue[here[some] - strides[r]])
                found[some] += (cells[here[some], r] / (think[r] + stay.sum(axis=1)))[:, None] * stay
            queue[here] = found
        stay = np.array(
            [
                demand[r] * (1.0 + queue[-1 - strides[r]]) if n else 0.0 * demand[r]
                for r, n in enumerate(counts)
            ]
        )
        through = np.array([n / (think[r] + stay[r].sum()) if n else 0.0 for r, n in enumerate(counts)])
        return self._result(through, stay, demand)

    def _result(self, through: Floats, stay: Floats, demand: Floats) -> ClassNetworkResult:
        number = through[:, None] * stay
        busy = through @ demand
        if busy.max() > 1.0 + 1e-9:
            raise ConvergenceError(f"a station is {busy.max():.9g} busy; the recursion is off")
        return ClassNetworkResult(
            exactness="exact",
            route="mean value analysis",
            utilization_frac=float(busy.max()),
            mean_response_s=float(number.sum() / through.sum()),
            mean_number=float(number.sum()),
            throughput_rps_by_class=tuple(through.tolist()),
            mean_response_s_by_class=tuple(stay.sum(axis=1).tolist()),
            mean_number_by_class=tuple(tuple(row) for row in number.tolist()),
            utilization_by_station=tuple(busy.tolist()),
        )
