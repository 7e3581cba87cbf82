"""Servers in parallel and servers that work in steps, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
    GGc,
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
from qtheory.queues.single.gg1 import GG1

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
    return quantity_of(_steps_result(server), quantity, parameters)


_SINGLE_SERVER: dict[str, Any] = {
    "approx_kingman_mean_wait": "kingman",
    "bound_kingman_mean_wait": "kingman_bound",
    "approx_klb_mean_wait": "klb",
}


def _formula(rate: float, scv_interval: float, service: Law, n_servers: int, quantity: str) -> float:
    """A two-moment formula for the mean wait."""
    moments = {
        "rate_rps": rate,
        "scv_interval": scv_interval,
        "mean_service_s": service.mean,
        "scv_service": service.scv,
    }
    if quantity == "approx_allen_cunneen_mean_wait":
        return GGc(**moments, n_servers=n_servers, formula="allen_cunneen").mean_wait_s()
    if quantity == "approx_cosmetatos_mean_wait":
        return GGc(**moments, n_servers=n_servers, formula="cosmetatos").mean_wait_s()
    return float(GG1(**moments, formula=_SINGLE_SERVER[quantity]).mean_wait_s())


def _is_formula(quantity: str) -> bool:
    return quantity.startswith(("approx_", "bound_"))


def _renewal(parameters: Parameters, quantity: str) -> float:
    lam, mu, c = parameters["lam"], parameters["mu"], parameters["c"]
    interval = Erlang(k=parameters["k"], mean=1.0 / lam) if "k" in parameters else Constant(value=1.0 / lam)
    if _is_formula(quantity):
        return _formula(lam, interval.scv, Exponential(mean=1.0 / mu), c, quantity)
    return quantity_of(GMc(interval=interval, service_rate_rps=mu, n_servers=c).solve(), quantity, parameters)


def _erlang(parameters: Parameters, quantity: str) -> float:
    servers = {
        "rate_rps": parameters["lam"],
        "service_rate_rps": parameters["mu"],
        "n_servers": parameters["c"],
    }
    answer: QueueResult
    if "K" in parameters:
        answer = MMcK(**servers, capacity=parameters["K"]).solve()
    else:
        answer = MMc(**servers).solve()
    return quantity_of(answer, quantity, parameters)


def _everybody(parameters: Parameters, quantity: str) -> float:
    queue = MGInf(rate_rps=parameters["lam"], service=Exponential(mean=1.0 / parameters["mu"]))
    return quantity_of(queue.solve(), quantity, parameters)


@lru_cache(maxsize=64)
def _constant_result(queue: MDc | EkDc) -> QueueResult:
    return queue.solve()


def _constant(parameters: Parameters, quantity: str) -> float:
    if _is_formula(quantity):
        return _formula(parameters["lam"], 1.0, Constant(value=parameters["D"]), parameters["c"], quantity)
    queue = MDc(rate_rps=parameters["lam"], service_s=parameters["D"], n_servers=parameters["c"])
    return quantity_of(_constant_result(queue), quantity, parameters)


def _constant_erlang(parameters: Parameters, quantity: str) -> float:
    if _is_formula(quantity):
        return _formula(
            parameters["lam"], 1.0 / parameters["k"], Constant(value=parameters["D"]), 1, quantity
        )
    queue = EkDc(rate_rps=parameters["lam"], k=parameters["k"], service_s=parameters["D"])
    return quantity_of(_constant_result(queue), quantity, parameters)


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
    if quantity == "scv_interarrival":
        return interval.scv
    if quantity == "scv_service":
        return service.scv
    if _is_formula(quantity):
        return _formula(1.0 / interval.mean, interval.scv, service, c, quantity)
    return quantity_of(
        _matrix_result(MapPhC(arrivals=interval, service=service, n_servers=c)), quantity, parameters
    )


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
    service = Exponential(mean=1.0 / parameters["mu"])
    return quantity_of(_matrix_result(MapPhC(arrivals=arrivals, service=service)), quantity, parameters)


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
    queue = MMcPriority(
        rate_rps=parameters["lam"], service_rate_rps=parameters["mu"], n_servers=parameters["c"]
    )
    answer = queue.solve()
    name, mark, which = quantity.partition("_class")
    if not mark:
        return quantity_of(answer, quantity, parameters)
    if not which.isdigit() or not 1 <= int(which) <= len(answer.mean_wait_s_by_class):
        raise ConfigError(
            f"quantity: {quantity!r} names no class; there are {len(answer.mean_wait_s_by_class)}"
        )
    k = int(which) - 1
    one = replace(
        answer,
        mean_wait_s=answer.mean_wait_s_by_class[k],
        mean_response_s=answer.mean_response_s_by_class[k],
        wait=answer.wait_by_class[k] if answer.wait_by_class else None,
        response=answer.response_by_class[k] if answer.response_by_class else None,
    )
    return quantity_of(one, name, parameters)


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
