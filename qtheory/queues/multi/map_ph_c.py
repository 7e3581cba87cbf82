"""MAP/PH/c: correlated arrivals, phase-type service, several servers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws import Law
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.laws.phase_type import PhaseType
from qtheory.numerics.clock import ClockedLaw, count_alive, then_phase_type
from qtheory.numerics.markov import stationary
from qtheory.numerics.qbd import QuasiBirthDeath, perron_root, time_until_exit
from qtheory.queues.result import QueueResult

from ._common import check_little, require_stable
from ._phase_levels import PhaseLevels

__all__ = ["MapPhC", "MapPhResult"]

Floats = NDArray[np.float64]

_MOST_STATES = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPhResult(QueueResult):
    """Steady state of MAP/PH/c.

    Parameters
    ----------
    arrival_rate_rps : float
        Mean arrivals per second.
    caudal_characteristic : float
        Ratio by which the probability of n customers falls as n grows (spectral radius of R).

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> from qtheory.queues.multi import MapPhC
    >>> answer = MapPhC(arrivals=Exponential(mean=2.0), service=Exponential(mean=1.0)).solve()  # M/M/1
    >>> round(answer.arrival_rate_rps, 9), round(answer.caudal_characteristic, 9)
    (0.5, 0.5)
    """

    arrival_rate_rps: float
    caudal_characteristic: float


@dataclass(frozen=True, kw_only=True)
class MapPhC:
    r"""Exact MAP/PH/c, first come first served; M/PH/c, PH/PH/c, MMPP/M/c and MAP/PH/1 among them.

    The level is the number present, the phase is that of the arrivals and how many servers are in which
    phase of service; from c on the levels are matrix-geometric, below they are eliminated one by one [1]_.
    Who finds c + k present waits for k + 1 services to end. With :math:`X(t)=\sum_kR^kE\,Q_k(t)`,
    :math:`Q_k` the matrix of at most k ends, :math:`X'=XS_0+RXS_1` with :math:`S_0, S_1` the rates without
    and with an end: followed on a Poisson clock, all terms positive.

    Parameters
    ----------
    arrivals : MarkovianArrivals or Law
        The arrival process; a law of intervals made of exponential phases stands for a renewal process.
    service : Law
        Service time, made of exponential phases (`PhaseType.of`), seconds.
    n_servers : int
        c, >= 1. The states of a level grow as :math:`\binom{c+m-1}{m-1}` for m phases.

    Raises
    ------
    ConfigError
        If a parameter is out of range or a law has no phases.
    UnstableError
        From `solve` if the work that comes is not below ``n_servers``.
    ConvergenceError
        From `solve` if a level has too many states, or the load is too close to 1.

    References
    ----------
    .. [1] Neuts (1981), "Matrix-Geometric Solutions in Stochastic Models", Johns Hopkins, chapters 3 and 4.

    Examples
    --------
    >>> from qtheory.laws import Erlang
    >>> answer = MapPhC(arrivals=Erlang(k=2, mean=1.25), service=Erlang(k=2, mean=1.0)).solve()
    >>> print(f"{answer.mean_wait_s:.5f} s, p99 {answer.wait.ppf(0.99):.4f} s")
    1.86527 s, p99 10.7921 s
    """

    arrivals: MarkovianArrivals | Law
    service: Law
    n_servers: int = 1

    def __post_init__(self) -> None:
        checks.integer(n_servers=self.n_servers)
        if not isinstance(self.arrivals, MarkovianArrivals | Law):
            raise ConfigError(
                f"arrivals: {self.arrivals!r} is neither MarkovianArrivals nor a law of intervals"
            )
        if not isinstance(self.service, Law):
            raise ConfigError(f"service: {self.service!r} is not a law")
        phases = PhaseType.of(self.service)
        if abs(phases.start_vector.sum() - 1.0) > 1e-9:
            raise ConfigError(f"service: {self.service} must not be zero with a positive probability")
        self._process()

    def _process(self) -> MarkovianArrivals:
        given = self.arrivals
        return given if isinstance(given, MarkovianArrivals) else MarkovianArrivals.renewal(given)

    def solve(self) -> MapPhResult:
        """The steady state."""
        process, service = self._process(), PhaseType.of(self.service)
        require_stable(process.rate_rps, service.mean, self.n_servers)
        n_phases = len(service.start)
        states = len(process.phases) * math.comb(self.n_servers + n_phases - 1, n_phases - 1)
        if states > _MOST_STATES:
            raise ConvergenceError(
                f"n_servers={self.n_servers}: {states} states a level, more than {_MOST_STATES}; "
                "use fewer phases or servers"
            )
        return _Solution.of(process, service, self.n_servers).result()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Solution:
    """Levels 0..c and the matrix R from there on."""

    process: MarkovianArrivals
    service: PhaseType
    levels: PhaseLevels
    below: list[Floats]  # pi_n, n = 0..c - 1
    at: Floats  # pi_c
    rate_matrix: Floats

    @classmethod
    def of(cls, process: MarkovianArrivals, service: PhaseType, c: int) -> _Solution:
        levels = PhaseLevels(service=service, n_servers=c)
        d0, d1, same = process.d0, process.d1, np.eye(len(process.phases))
        size = levels.size(c)
        local = np.kron(d0, np.eye(size)) + np.kron(same, levels.inner(c))
        down = np.asarray(np.kron(same, levels.replaced()), dtype=float)
        up = np.asarray(np.kron(d1, np.eye(size)), dtype=float)
        chain = QuasiBirthDeath(up=up, local=local, down=down)
        r = chain.rate_matrix()
        lower: list[Floats] = []  # pi_n = pi_{n+1} lower[n]
        entered = np.zeros((len(same), len(same)))
        for n in range(c):
            inner = np.kron(d0, np.eye(levels.size(n))) + np.kron(same, levels.inner(n)) + entered
            rise = np.kron(d1, levels.join(n))
            done = np.asarray(np.kron(same, levels.done(n + 1)), dtype=float)
            step = time_until_exit(done, inner, rise.sum(axis=1))
            lower.append(step)
            entered = step @ rise
        at = stationary(np.maximum(local - np.diag(np.diag(local)) + entered + r @ down, 0.0))
        total = float(at @ np.linalg.solve(np.eye(len(r)) - r, np.ones(len(r))))
        below: list[Floats] = []
        row = at
        for step in reversed(lower):
            row = row @ step
            total += float(row.sum())
            below.append(row)
        return cls(
            process=process,
            service=service,
            levels=levels,
            below=[p / total for p in reversed(below)],
            at=at / total,
            rate_matrix=r,
        )

    def result(self) -> MapPhResult:
        """All that the levels say."""
        c, lam, r = self.levels.n_servers, self.process.rate_rps, self.rate_matrix
        above = np.maximum(np.linalg.inv(np.eye(len(r)) - r), 0.0)  # a sum of powers of r
        masses = np.array([p.sum() for p in self.below])
        upper = float((self.at @ above).sum())
        queue = float((self.at @ above @ above @ r).sum())
        busy = float(masses @ np.arange(c)) + c * upper
        check_little(lam, self.service.mean, busy, rtol=1e-7)
        ratio = perron_root(r)
        wait = self._wait(above, ratio)
        check_little(lam, wait.mean_s, queue, rtol=1e-7)
        response = then_phase_type(wait, self.service.start_vector, self.service.generator)
        return MapPhResult(
            exactness="exact",
            route="matrix-geometric levels; laws on a Poisson clock",
            utilization_frac=busy / c,
            mean_wait_s=queue / lam,
            mean_response_s=queue / lam + self.service.mean,
            mean_number=queue + busy,
            mean_queue=queue,
            prob_wait=float(wait.alive[0]),
            prob_empty=float(masses[0]),
            wait=wait,
            response=response,
            number_pmf=self._number_pmf(masses),
            arrival_rate_rps=lam,
            caudal_characteristic=ratio,
        )

    def _number_pmf(self, masses: Floats) -> Callable[[int], float]:
        def pmf(n: int) -> float:
            if n < len(masses):
                return float(masses[n]) if n >= 0 else 0.0
            return float((self.at @ np.linalg.matrix_power(self.rate_matrix, n - len(masses))).sum())

        return pmf

    def _wait(self, above: Floats, ratio: float) -> ClockedLaw:
        """Law of the wait, on a clock as fast as the busiest phase."""
        c, r = self.levels.n_servers, self.rate_matrix
        still, ends = self.levels.inner(c), self.levels.replaced()
        clock = max(float(np.max(-np.diag(still))), float(np.max(-np.diag(self.service.generator))))
        stay, end = np.eye(len(still)) + still / clock, ends / clock
        arrive = np.kron(self.process.d1.sum(axis=1)[:, None], np.eye(len(still))) / self.process.rate_rps

        def advance(y: Floats) -> Floats:
            return np.asarray(y @ stay + r @ (y @ end), dtype=float)

        def alive(y: Floats) -> float:
            return float((self.at @ y).sum())

        decay = 1.0 + perron_root(still + ratio * ends) / clock
        return count_alive(above @ arrive, advance, alive, clock_per_s=clock, decay=decay)
