"""One server, first come first served, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law
from qtheory.numerics.numberlaw import poisson_ppf
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
from ._formulas import moments_of
from ._quantities import quantity_of
from ._vocabulary import level_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]
Adapter = Callable[[Parameters, str], float]


def _of(model: Callable[[Parameters], QueueResult]) -> Adapter:
    """An adapter from a function that solves the model."""
    return lambda parameters, quantity: quantity_of(model(parameters), quantity, parameters)


_MANY = 40  # present on average: from there on percentiles follow from the response


def _in_order(
    model: Callable[[Parameters], QueueResult], service: Callable[[Parameters], Law], *, pauses: bool = False
) -> Adapter:
    """The same for Poisson arrivals, one server, first come first served, and no limit on the number."""

    def adapter(parameters: Parameters, quantity: str) -> float:
        lam = parameters["lam"]
        found = moments_of(lam, service(parameters)).answer(quantity)
        if found is not None and not (pauses and quantity.startswith(("approx_", "bound_"))):
            return found
        answer = model(parameters)
        if quantity == "prob_server_idle" and not pauses:
            return 1 - answer.utilization_frac
        level = level_of(quantity.removesuffix("_number"))
        if level is not None and answer.response and (answer.mean_number or 0.0) > _MANY:
            return float(poisson_ppf(lam, answer.response, level))
        return quantity_of(answer, quantity, parameters)

    return adapter


def _limited(model: Callable[[Parameters], QueueResult], service: Callable[[Parameters], Law]) -> Adapter:
    """The same where only so many customers find room: no limit of stability, no formula."""

    def adapter(parameters: Parameters, quantity: str) -> float:
        if quantity in ("arrival_rate", "scv_interarrival", "scv_service"):
            return float(moments_of(parameters["lam"], service(parameters)).answer(quantity) or 0.0)
        answer = model(parameters)
        if quantity == "prob_server_idle":
            return 1 - answer.utilization_frac
        return quantity_of(answer, quantity, parameters)

    return adapter


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


def _finite(p: Parameters) -> QueueResult:
    service = Constant(value=p["D"]) if "D" in p else _erlang(p)
    return MG1K(rate_rps=p["lam"], service=service, capacity=p["K"]).solve()


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


def _exponential(p: Parameters) -> Law:
    return Exponential(mean=1 / p["mu"])


def _constant(p: Parameters) -> Law:
    return Constant(value=p["D"])


def _erlang(p: Parameters) -> Law:
    return Erlang(k=p["k"], mean=p["mean_service"])


def _two_rates(p: Parameters) -> Law:
    return Hyperexponential(probs=[p["p1"], 1 - p["p1"]], means=[1 / p["mu1"], 1 / p["mu2"]])


def _given(p: Parameters) -> Law:
    return law_of(p["service"])


def _batches(p: Parameters, quantity: str) -> float:
    if quantity == "max_arrival_rate":
        return float(p["mu"] / sum(size * prob for size, prob in enumerate(p["batch_pmf"], start=1)))
    answer = _groups(p)
    return 1 - answer.utilization_frac if quantity == "prob_server_idle" else quantity_of(answer, quantity, p)


MODELS: dict[str, Adapter] = {
    "M/M/1": _in_order(_mm1, _exponential),
    "M/M/1 transient": _of(_mm1_transient),
    "M/D/1": _in_order(_md1, _constant),
    "M/E_k/1": _in_order(_mek1, _erlang),
    "M/H2/1": _in_order(_mh21, _two_rates),
    "M/G/1": _in_order(_mg1, _given),
    "M/D/1/K": _limited(_finite, _constant),
    "M/E_k/1/K": _limited(_finite, _erlang),
    "M^[X]/M/1": _batches,
    "M/G/1 multiple vacations": _in_order(_vacations, _given, pauses=True),
    "M/G/1 single vacation": _in_order(_vacation, _given, pauses=True),
    "M/G/1 setup": _in_order(_setup, _given, pauses=True),
    "M/M/1 N-policy": _of(_n_policy),
}
