"""What other libraries answer, and in what time: run by itself with an interpreter that has one of them.

``python peers.py NAME`` prints a line of JSON a case: its name, the value, seconds, or why there is none.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["PACKAGES"]

PACKAGES = {"most-queue": "most_queue", "pyqueueing": "pyqueueing", "ciw": "ciw"}
"""Distributions, and the modules that they bring."""

Case = Callable[[], float]
_LOGNORMAL = [math.exp(k * (k - 1) / 2 * math.log(1 + 1.5**2)) for k in range(1, 5)]  # mean 1, cv 1.5
_GAMMA_CV = 1.5
_EXPONENTIAL = [1.0, 2.0, 6.0, 24.0]
_CUSTOMERS = 20_000
_LEAST_S = 0.3


def _solved(calculator: Any, sources: Any, servers: Any) -> Any:
    calculator.set_sources(sources)
    if isinstance(servers, tuple):
        calculator.set_servers(*servers)
    else:
        calculator.set_servers(servers)
    return calculator.run()


def most_queue() -> dict[str, Case]:
    """Cases of most-queue."""
    from most_queue.random.utils.params import GammaParams
    from most_queue.theory.batch.bulk_service import BulkServiceMM1Calc
    from most_queue.theory.fifo.erlang import ErlangCCalc
    from most_queue.theory.fifo.m_d_n import MDn
    from most_queue.theory.fifo.mg1 import MG1Calc
    from most_queue.theory.fifo.mg1_ps import MG1PSCalc
    from most_queue.theory.fifo.mmnr import MMnrCalc
    from most_queue.theory.impatience.mmn import MMnImpatienceCalc
    from most_queue.theory.priority.non_preemptive.mg1 import MG1NonPreemptiveCalc
    from most_queue.theory.srpt.mg1_srpt import MG1SrptCalc
    from most_queue.theory.vacations.mg1_vacations import MG1MultipleVacationsCalc

    sizes = GammaParams(mu=1 / _GAMMA_CV**2, alpha=1 / _GAMMA_CV**2)

    def vacations() -> float:
        queue = MG1MultipleVacationsCalc()
        queue.set_vacations([2.0, 8.0, 48.0, 384.0])
        return float(_solved(queue, 0.7, _EXPONENTIAL).w[0])

    return {
        "M/M/10 wait": lambda: _solved(ErlangCCalc(n=10), 9.0, 1.0).w[0],
        "M/M/1000 wait": lambda: _solved(ErlangCCalc(n=1000), 970.0, 1.0).w[0],
        "M/M/4/12 wait": lambda: _solved(MMnrCalc(n=4, r=8), 3.0, 1.0).w[0],
        "M/G/1 wait": lambda: _solved(MG1Calc(), 0.8, _LOGNORMAL).w[0],
        "M/D/5 P(empty)": lambda: _solved(MDn(n=5), 4.0, 1.0).p[0],
        "M/M/10+M wait": lambda: _solved(MMnImpatienceCalc(n=10, theta=0.5), 12.0, 1.0).w[0],
        "M/G/1-PS response": lambda: _solved(MG1PSCalc(), 0.8, _LOGNORMAL).v[0],
        "M/G/1-SRPT response": lambda: _solved(MG1SrptCalc(), 0.8, (sizes, "Gamma")).v[0],
        "M/G/1 vacations wait": vacations,
        "M/G/1 priority wait 2": lambda: _solved(
            MG1NonPreemptiveCalc(), [0.3, 0.4], [_EXPONENTIAL, _EXPONENTIAL]
        ).w[1][0],
        **_by_matrices(),
        "M/M[1,8]/1 response": lambda: _solved(BulkServiceMM1Calc(a=1, b=8), 6.0, 1.0).v[0],
    }


def _by_matrices() -> dict[str, Case]:
    from most_queue.random.map_ph import MAPParams, PHParams
    from most_queue.theory.matrix.map_ph1 import MapPh1Calc
    from most_queue.theory.matrix.map_phc import MapPhCCalc

    arrivals = MAPParams(D0=[[-2.0, 0.5], [0.1, -0.6]], D1=[[1.3, 0.2], [0.1, 0.4]])
    erlang2 = PHParams(alpha=[1.0, 0.0], T=[[-2.0, 2.0], [0.0, -2.0]])
    return {
        "MAP/PH/1 wait": lambda: _solved(MapPh1Calc(), arrivals, erlang2).w[0],
        "MAP/PH/3 wait": lambda: _solved(MapPhCCalc(n=3), _faster(arrivals, MAPParams), erlang2).w[0],
    }


def _faster(arrivals: Any, kind: Any) -> Any:
    return kind(
        D0=[[3 * rate for rate in row] for row in arrivals.D0],
        D1=[[3 * rate for rate in row] for row in arrivals.D1],
    )


def pyqueueing() -> dict[str, Case]:
    """Cases of pyqueueing."""
    import pyqueueing as other

    return {
        "M/M/10 wait": lambda: other.MMC(9.0, 1.0, 10).mean_wait(),
        "M/M/1000 wait": lambda: other.MMC(970.0, 1.0, 1000).mean_wait(),
        "M/M/4/12 wait": lambda: other.MMcK(3.0, 1.0, 4, 12).mean_wait(),
        "M/G/1 wait": lambda: other.MG1(0.8, 1.0, service_cv=1.5).mean_wait(),
        "M/M/10+M wait": lambda: other.ErlangA(12.0, 1.0, 10, 0.5).mean_wait(),
    }


def ciw() -> dict[str, Case]:
    """Cases of ciw, which simulates: means of 20,000 customers after 2,000."""
    import ciw as other

    def mean_wait(arrival: Any, service: Any, servers: int) -> float:
        network = other.create_network(
            arrival_distributions=[arrival], service_distributions=[service], number_of_servers=[servers]
        )
        other.seed(1)
        simulation = other.Simulation(network)
        simulation.simulate_until_max_customers(_CUSTOMERS, progress_bar=False)
        waits = [record.waiting_time for record in simulation.get_all_records()]
        return float(sum(waits[_CUSTOMERS // 10 :]) / len(waits[_CUSTOMERS // 10 :]))

    law = other.dists
    spread = math.log(1 + 1.5**2)
    return {
        "M/M/10 wait": lambda: mean_wait(law.Exponential(9.0), law.Exponential(1.0), 10),
        "M/G/1 wait": lambda: mean_wait(law.Exponential(0.8), law.Lognormal(-spread / 2, spread**0.5), 1),
    }


def _timed(case: Case) -> tuple[float, float]:
    """Value, and CPU seconds of the fastest of the runs that fit in a third of a second, at least one."""
    best, spent, value = math.inf, 0.0, math.nan
    while spent < _LEAST_S:
        start = time.process_time()
        value = float(case())
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
    return value, best


def _lines(name: str) -> Iterator[dict[str, Any]]:
    for case, call in {"most-queue": most_queue, "pyqueueing": pyqueueing, "ciw": ciw}[name]().items():
        try:
            value, seconds = _timed(call)
        except Exception as error:  # another library's, of whatever kind
            yield {"case": case, "error": f"{type(error).__name__}: {error}"}
        else:
            yield {"case": case, "value": value, "seconds": seconds}


if __name__ == "__main__":
    for line in _lines(sys.argv[1]):
        print(json.dumps(line), flush=True)
