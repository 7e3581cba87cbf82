"""Servers in parallel and servers that work in steps, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.queues.multi import (
    AbandonmentResult,
    ClosedStepServer,
    EkDc,
    ErlangA,
    GMc,
    MapPhC,
    MapPhResult,
    MDc,
    MGInf,
    MMc,
    MMcG,
    MMcK,
    MMcPriority,
    StepServer,
    StepServerResult,
)
from qtheory.queues.result import QueueResult

from ._formulas import moments_of
from ._per_class import class_quantity
from ._quantities import quantity_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]


@lru_cache(maxsize=64)
def _steps_result(server: StepServer) -> StepServerResult:
    return server.solve()


def _steps(parameters: Parameters, quantity: str) -> float:
    server = StepServer(
        rate_rps=parameters["lam"],
        base_s=parameters["alpha"],
        slope_s=parameters["beta"],
        mean_steps=parameters["mean_tokens"],
        max_running=parameters["max_batch"],
        capacity=parameters.get("K"),
    )
    if quantity == "max_arrival_rate":
        return server.capacity_rps
    return _one_server(_steps_result(server), quantity, parameters)


def _one_server(answer: QueueResult, quantity: str, parameters: Parameters) -> float:
    """With one server, the share of the time in which it is idle follows from the load."""
    idle = quantity == "prob_server_idle"
    return 1.0 - answer.utilization_frac if idle else quantity_of(answer, quantity, parameters)


def _renewal(parameters: Parameters, quantity: str) -> float:
    lam, mu, c = parameters["lam"], parameters["mu"], parameters["c"]
    interval = Erlang(k=parameters["k"], mean=1.0 / lam) if "k" in parameters else Constant(value=1.0 / lam)
    moments = moments_of(lam, Exponential(mean=1.0 / mu), scv_interval=interval.scv, n_servers=c)
    found = moments.answer(quantity)
    if found is not None:
        return found
    return quantity_of(GMc(interval=interval, service_rate_rps=mu, n_servers=c).solve(), quantity, parameters)


def _erlang(parameters: Parameters, quantity: str) -> float:
    lam, mu, c = parameters["lam"], parameters["mu"], parameters["c"]
    answer: QueueResult
    if "K" in parameters:
        answer = MMcK(rate_rps=lam, service_rate_rps=mu, n_servers=c, capacity=parameters["K"]).solve()
    else:
        found = moments_of(lam, Exponential(mean=1.0 / mu), n_servers=c).answer(quantity)
        if found is not None:
            return found
        answer = MMc(rate_rps=lam, service_rate_rps=mu, n_servers=c).solve()
    return quantity_of(answer, quantity, parameters)


def _everybody(parameters: Parameters, quantity: str) -> float:
    queue = MGInf(rate_rps=parameters["lam"], service=Exponential(mean=1.0 / parameters["mu"]))
    return quantity_of(queue.solve(), quantity, parameters)


@lru_cache(maxsize=64)
def _constant_result(queue: MDc | EkDc) -> QueueResult:
    return queue.solve()


def _constant(parameters: Parameters, quantity: str) -> float:
    lam, time_s, c = parameters["lam"], parameters["D"], parameters["c"]
    found = moments_of(lam, Constant(value=time_s), n_servers=c).answer(quantity)
    if found is not None:
        return found
    return quantity_of(
        _constant_result(MDc(rate_rps=lam, service_s=time_s, n_servers=c)), quantity, parameters
    )


def _constant_erlang(parameters: Parameters, quantity: str) -> float:
    lam, k, time_s = parameters["lam"], parameters["k"], parameters["D"]
    found = moments_of(lam, Constant(value=time_s), scv_interval=1.0 / k).answer(quantity)
    if found is not None:
        return found
    answer = _constant_result(EkDc(rate_rps=lam, k=k, service_s=time_s))
    return _one_server(answer, quantity, parameters)


def _phases(given: dict[str, Any]) -> Law:
    """A law of the table that is made of exponential phases."""
    if given["dist"] == "exp":
        return Exponential(mean=given["mean"])
    if given["dist"] == "erlang":
        return Erlang(k=given["k"], mean=given["mean"])
    if given["dist"] == "hyperexp2":
        p1 = given["p1"]
        return Hyperexponential(probs=[p1, 1.0 - p1], means=[1.0 / given["mu1"], 1.0 / given["mu2"]])
    raise ConfigError(f"dist: {given['dist']!r} is not made of phases; one of exp, erlang, hyperexp2")


@lru_cache(maxsize=64)
def _matrix_result(queue: MapPhC) -> MapPhResult:
    return queue.solve()


def _renewal_phases(parameters: Parameters, quantity: str) -> float:
    interval, service = _phases(parameters["arrival"]), _phases(parameters["service"])
    c = parameters.get("c", 1)
    moments = moments_of(1.0 / interval.mean, service, scv_interval=interval.scv, n_servers=c)
    found = moments.answer(quantity)
    if found is not None:
        return found
    answer = _matrix_result(MapPhC(arrivals=interval, service=service, n_servers=c))
    return (_one_server if c == 1 else quantity_of)(answer, quantity, parameters)


def _correlated(parameters: Parameters, quantity: str) -> float:
    if "D0" in parameters:
        arrivals = MarkovianArrivals(without=parameters["D0"], with_arrival=parameters["D1"])
    else:
        arrivals = MarkovianArrivals.modulated_poisson(
            rates_rps=parameters["rates"], leave_per_s=parameters["switch"]
        )
    if quantity == "scv_interarrival":
        return arrivals.scv
    if quantity == "lag1_autocorrelation":
        return arrivals.correlation(1)
    if quantity in ("max_arrival_rate", "scv_service"):
        return float(parameters["mu"]) if quantity == "max_arrival_rate" else 1.0
    service = Exponential(mean=1.0 / parameters["mu"])
    answer = _matrix_result(MapPhC(arrivals=arrivals, service=service))
    return _one_server(answer, quantity, parameters)


@lru_cache(maxsize=64)
def _impatient_result(queue: ErlangA | MMcG) -> AbandonmentResult:
    return queue.solve()


def _impatient(parameters: Parameters, quantity: str) -> float:
    servers = {
        "rate_rps": parameters["lam"],
        "service_rate_rps": parameters["mu"],
        "n_servers": parameters["c"],
    }
    queue: ErlangA | MMcG
    if "theta" in parameters:
        queue = ErlangA(**servers, mean_patience_s=1.0 / parameters["theta"])
    else:
        queue = MMcG(**servers, patience=Constant(value=parameters["patience"]))
    return quantity_of(_impatient_result(queue), quantity, parameters)


def _classes(parameters: Parameters, quantity: str) -> float:
    lam, mu, c = tuple(parameters["lam"]), parameters["mu"], parameters["c"]
    queue = MMcPriority(rate_rps=lam, service_rate_rps=mu, n_servers=c)
    return class_quantity(queue.solve(), quantity, parameters, lam, (1.0 / mu,) * len(lam))


def _closed_steps(parameters: Parameters, quantity: str) -> float:
    server = ClosedStepServer(
        population=parameters["population"],
        base_s=parameters["alpha"],
        slope_s=parameters["beta"],
        mean_steps=parameters["mean_tokens"],
        think_s=parameters.get("think", 0.0),
        max_running=parameters.get("max_batch"),
    )
    return quantity_of(server.solve(), quantity, parameters)


MODELS: dict[str, Callable[[Parameters, str], float]] = {
    "M/M/c": _erlang,
    "M/M/c/K": _erlang,
    "M/M/inf": _everybody,
    "M/D/c": _constant,
    "M/PH/c": _renewal_phases,
    "PH/PH/1": _renewal_phases,
    "PH/PH/c": _renewal_phases,
    "MMPP/M/1": _correlated,
    "MAP/M/1": _correlated,
    "D/M/c": _renewal,
    "E_k/M/c": _renewal,
    "E_k/D/1": _constant_erlang,
    "M/M/c+M": _impatient,
    "M/M/c+D": _impatient,
    "M/M/c priority nonpreemptive": _classes,
    "closed M(n)/1 token-step": _closed_steps,
    "M/M(n)/1 token-step": _steps,
    "M/M(n)/1 token-step/K": _steps,
}
