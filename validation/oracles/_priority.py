"""Priority classes, sizes and sharing, of the oracle table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from qtheory.laws import Exponential, Law
from qtheory.queues.priority import (
    LAS,
    MM1PS,
    PSJF,
    SJF,
    SRPT,
    NonpreemptivePriority,
    PreemptiveResumePriority,
    ProcessorSharing,
)
from qtheory.queues.result import QueueResult

from ._dists import law_of
from ._per_class import class_quantity
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


def _nonpreemptive(p: Parameters, quantity: str) -> float:
    return _classes(NonpreemptivePriority(rate_rps=p["lam"], service=_services(p)), p, quantity)


def _preemptive(p: Parameters, quantity: str) -> float:
    return _classes(PreemptiveResumePriority(rate_rps=p["lam"], service=_services(p)), p, quantity)


def _classes(queue: NonpreemptivePriority | PreemptiveResumePriority, p: Parameters, quantity: str) -> float:
    means = tuple(law.mean for law in _services(p))
    if quantity.startswith("utilization_class") and quantity[17:].isdigit():
        k = int(quantity[17:]) - 1
        if 0 <= k < len(means):
            return float(p["lam"][k] * means[k])
    return class_quantity(queue.solve(), quantity, p, tuple(p["lam"]), means)


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
