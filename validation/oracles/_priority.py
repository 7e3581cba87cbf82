"""Priority classes, sizes and sharing, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from qtheory.basics.errors import ConfigError
from qtheory.laws import Exponential, Law
from qtheory.queues.priority import (
    LAS,
    MM1PS,
    PSJF,
    SJF,
    SRPT,
    NonpreemptivePriority,
    PreemptiveResumePriority,
    PriorityResult,
    ProcessorSharing,
)
from qtheory.queues.result import QueueResult

from ._dists import law_of
from ._quantities import quantity_of

__all__ = ["MODELS"]

Parameters = dict[str, Any]
Adapter = Callable[[Parameters, str], float]


class _BySize(Protocol):
    """What the models that look at sizes have in common."""

    def solve(self) -> QueueResult: ...
    def mean_response_given_size_s(self, size_s: float) -> float: ...
    def var_response_given_size_s2(self, size_s: float) -> float: ...


def _services(p: Parameters) -> list[Law]:
    if "service" in p:
        return [law_of(given) for given in p["service"]]
    return [Exponential(mean=mean) for mean in p["mean_service"]]


def _of_class(answer: PriorityResult, quantity: str, parameters: Parameters) -> float:
    """A quantity that names a class, or one of all customers."""
    name, found, number = quantity.rpartition("_class")
    if not found:
        return quantity_of(answer, quantity, parameters)
    k = int(number) - 1
    if not 0 <= k < len(answer.mean_response_s_by_class):
        raise ConfigError(f"quantity: {quantity!r} names a class that is not there")
    if name in ("mean_wait", "mean_response"):
        by_class = {
            "mean_wait": answer.mean_wait_s_by_class,
            "mean_response": answer.mean_response_s_by_class,
        }
        return by_class[name][k]
    head, _, time = name.partition("_")
    laws = {"wait": answer.wait_by_class, "response": answer.response_by_class}.get(time)
    if laws is None:
        raise ConfigError(f"quantity: {quantity!r} is not known")
    if head == "var":
        return laws[k].var_s2
    if head == "tail":
        return float(laws[k].sf(float(parameters["t"])))
    return float(laws[k].ppf(float(head[1:]) / 100))


def _nonpreemptive(p: Parameters, quantity: str) -> float:
    answer = NonpreemptivePriority(rate_rps=p["lam"], service=_services(p)).solve()
    return _of_class(answer, quantity, p)


def _preemptive(p: Parameters, quantity: str) -> float:
    answer = PreemptiveResumePriority(rate_rps=p["lam"], service=_services(p)).solve()
    return _of_class(answer, quantity, p)


def _by_size(queue: _BySize, quantity: str, parameters: Parameters) -> float:
    if quantity == "mean_response_given_size":
        return queue.mean_response_given_size_s(parameters["size"])
    if quantity == "var_response_given_size":
        return queue.var_response_given_size_s2(parameters["size"])
    answer = queue.solve()
    if quantity == "var_response" and answer.response is None:
        value = getattr(answer, "var_response_s2", None)
        if value is None and isinstance(queue, ProcessorSharing):
            value = queue.var_response_s2()
        if value is not None:
            return float(value)
    return quantity_of(answer, quantity, parameters)


def _size_rule(rule: Callable[..., _BySize]) -> Adapter:
    def adapter(p: Parameters, quantity: str) -> float:
        return _by_size(rule(rate_rps=p["lam"], service=law_of(p["service"])), quantity, p)

    return adapter


def _mm1_ps(p: Parameters, quantity: str) -> float:
    return _by_size(MM1PS(rate_rps=p["lam"], service_rate_rps=p["mu"]), quantity, p)


MODELS: dict[str, Adapter] = {
    "M/M/1 priority nonpreemptive": _nonpreemptive,
    "M/G/1 priority nonpreemptive": _nonpreemptive,
    "M/M/1 priority preemptive-resume": _preemptive,
    "M/G/1 priority preemptive-resume": _preemptive,
    "M/M/1-PS": _mm1_ps,
    "M/G/1-PS": _size_rule(ProcessorSharing),
    "M/G/1-SRPT": _size_rule(SRPT),
    "M/G/1-PSJF": _size_rule(PSJF),
    "M/G/1-SJF": _size_rule(SJF),
    "M/G/1-LAS": _size_rule(LAS),
}
