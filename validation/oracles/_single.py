"""One server, first come first served, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtheory.laws import Constant, Erlang, Exponential, Law
from qtheory.queues.result import QueueResult
from qtheory.queues.single import (
    MD1,
    MG1,
    MG1K,
    MM1,
    BatchArrivals,
    MEk1,
    MHk1,
    MM1Transient,
    MultipleVacations,
    NPolicy,
    SetupQueue,
    SingleVacation,
)

from ._dists import law_of
from ._quantities import quantity_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]
Adapter = Callable[[Parameters, str], float]


def _of(model: Callable[[Parameters], QueueResult]) -> Adapter:
    """An adapter from a function that solves the model."""
    return lambda parameters, quantity: quantity_of(model(parameters), quantity, parameters)


def _mm1(p: Parameters) -> QueueResult:
    return MM1(rate_rps=p["lam"], service_rate_rps=p["mu"]).solve()


def _mm1_transient(p: Parameters) -> QueueResult:
    return MM1Transient(rate_rps=p["lam"], service_rate_rps=p["mu"], time_s=p["t"]).solve()


def _md1(p: Parameters) -> QueueResult:
    return MD1(rate_rps=p["lam"], service_s=p["D"]).solve()


def _mek1(p: Parameters) -> QueueResult:
    return MEk1(rate_rps=p["lam"], n_phases=p["k"], mean_service_s=p["mean_service"]).solve()


def _mh21(p: Parameters) -> QueueResult:
    queue = MHk1(rate_rps=p["lam"], probs=[p["p1"], 1 - p["p1"]], service_rates_rps=[p["mu1"], p["mu2"]])
    return queue.solve()


def _mg1(p: Parameters) -> QueueResult:
    return MG1(rate_rps=p["lam"], service=law_of(p["service"])).solve()


def _finite(p: Parameters, service: Law) -> QueueResult:
    return MG1K(rate_rps=p["lam"], service=service, capacity=p["K"]).solve()


def _md1k(p: Parameters) -> QueueResult:
    return _finite(p, Constant(value=p["D"]))


def _mek1k(p: Parameters) -> QueueResult:
    return _finite(p, Erlang(k=p["k"], mean=p["mean_service"]))


def _groups(p: Parameters) -> QueueResult:
    service = Exponential(mean=1 / p["mu"])
    return BatchArrivals(rate_rps=p["lam"], group_pmf=p["batch_pmf"], service=service).solve()


def _vacations(p: Parameters) -> QueueResult:
    service, vacation = law_of(p["service"]), law_of(p["vacation"])
    return MultipleVacations(rate_rps=p["lam"], service=service, vacation=vacation).solve()


def _vacation(p: Parameters) -> QueueResult:
    service, vacation = law_of(p["service"]), law_of(p["vacation"])
    return SingleVacation(rate_rps=p["lam"], service=service, vacation=vacation).solve()


def _setup(p: Parameters) -> QueueResult:
    return SetupQueue(rate_rps=p["lam"], service=law_of(p["service"]), setup=law_of(p["setup"])).solve()


def _n_policy(p: Parameters) -> QueueResult:
    service = Exponential(mean=1 / p["mu"])
    return NPolicy(rate_rps=p["lam"], service=service, threshold=p["N"]).solve()


MODELS: dict[str, Adapter] = {
    "M/M/1": _of(_mm1),
    "M/M/1 transient": _of(_mm1_transient),
    "M/D/1": _of(_md1),
    "M/E_k/1": _of(_mek1),
    "M/H2/1": _of(_mh21),
    "M/G/1": _of(_mg1),
    "M/D/1/K": _of(_md1k),
    "M/E_k/1/K": _of(_mek1k),
    "M^[X]/M/1": _of(_groups),
    "M/G/1 multiple vacations": _of(_vacations),
    "M/G/1 single vacation": _of(_vacation),
    "M/G/1 setup": _of(_setup),
    "M/M/1 N-policy": _of(_n_policy),
}
