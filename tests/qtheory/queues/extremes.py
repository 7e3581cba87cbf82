"""All queueing models at the edges of what they must take: a registry, and what every answer owes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law, Lognormal, Pareto
from qtheory.queues.batch import AffineService, BatchQueue, MMb1, UnlimitedBatchQueue
from qtheory.queues.fluid import FiniteHorizon, FluidQueue
from qtheory.queues.multi import (
    ClosedStepServer,
    EkDc,
    ErlangA,
    GGc,
    GMc,
    MapPhC,
    MDc,
    MGInf,
    MMc,
    MMcG,
    MMcK,
    MMcPriority,
    StepServer,
)
from qtheory.queues.network import ClassNetwork, ClosedNetwork, ForkJoin, OpenJackson, ServerStation
from qtheory.queues.priority import (
    EDF,
    LAS,
    MM1PS,
    PSJF,
    SJF,
    SRPT,
    DiscriminatoryPS,
    LimitedProcessorSharing,
    NonpreemptivePriority,
    PredictedSJF,
    PreemptiveRepeatPriority,
    PreemptiveResumePriority,
    ProcessorSharing,
)
from qtheory.queues.single import (
    GG1,
    GM1,
    MD1,
    MG1,
    MG1K,
    MM1,
    BatchArrivals,
    BoundedWorkload,
    BusyPeriod,
    MEk1,
    MHk1,
    MM1Transient,
    MultipleVacations,
    NPolicy,
    SetupQueue,
    SingleVacation,
)

__all__ = ["BATCHES", "GENERAL", "HEAVY", "MANY_SERVERS", "PLAIN", "answer_is_sound"]

Model = Callable[..., object]

HEAVY: Mapping[str, Law] = {
    "pareto1.5": Pareto(alpha=1.5, low=1 / 3),
    "pareto2.5": Pareto(alpha=2.5, low=0.6),
    "lognormal10": Lognormal(mean=1.0, cv=10.0),
}
"""Heavy tails of mean 1: of infinite variance, of infinite third moment, of variance 100."""

GENERAL: Mapping[str, Callable[[float, Law], Model]] = {
    "mg1": lambda rate, law: MG1(rate_rps=rate, service=law),
    "mg1k": lambda rate, law: MG1K(rate_rps=rate, service=law, capacity=10),
    "gm1": lambda rate, law: GM1(interval=law.scaled(1 / rate / law.mean), service_rate_rps=1 / law.mean),
    "group_arrivals": lambda rate, law: BatchArrivals(rate_rps=rate / 2, group_pmf=[0, 1.0], service=law),
    "bounded_wait": lambda rate, law: BoundedWorkload(
        rate_rps=rate, service=law, limit_s=3 * law.mean, rule="wait"
    ),
    "bounded_response": lambda rate, law: BoundedWorkload(rate_rps=rate, service=law, limit_s=3 * law.mean),
    "busy_period": lambda rate, law: BusyPeriod(rate_rps=rate, service=law),
    "multiple_vacations": lambda rate, law: MultipleVacations(
        rate_rps=rate, service=law, vacation=Exponential(mean=law.mean)
    ),
    "single_vacation": lambda rate, law: SingleVacation(
        rate_rps=rate, service=law, vacation=Exponential(mean=law.mean)
    ),
    "setup": lambda rate, law: SetupQueue(rate_rps=rate, service=law, setup=Exponential(mean=law.mean)),
    "n_policy": lambda rate, law: NPolicy(rate_rps=rate, service=law, threshold=5),
    "gmc": lambda rate, law: GMc(
        interval=law.scaled(0.2 / rate / law.mean), service_rate_rps=1 / law.mean, n_servers=5
    ),
    "mginf": lambda rate, law: MGInf(rate_rps=rate, service=law),
    "mmcg": lambda rate, law: MMcG(
        rate_rps=5 * rate, service_rate_rps=1 / law.mean, n_servers=5, patience=law
    ),
    "edf": lambda rate, law: EDF(rate_rps=rate, service=law, lead=Exponential(mean=5 * law.mean)),
    "las": lambda rate, law: LAS(rate_rps=rate, service=law),
    "psjf": lambda rate, law: PSJF(rate_rps=rate, service=law),
    "sjf": lambda rate, law: SJF(rate_rps=rate, service=law),
    "srpt": lambda rate, law: SRPT(rate_rps=rate, service=law),
    "processor_sharing": lambda rate, law: ProcessorSharing(rate_rps=rate, service=law),
    "limited_ps": lambda rate, law: LimitedProcessorSharing(rate_rps=rate, service=law, limit=4),
    "nonpreemptive": lambda rate, law: NonpreemptivePriority(rate_rps=[rate / 2] * 2, service=[law, law]),
    "resume": lambda rate, law: PreemptiveResumePriority(rate_rps=[rate / 2] * 2, service=[law, law]),
    "finite_horizon": lambda rate, law: FiniteHorizon(rate_rps=rate, service=law, horizon_s=50 * law.mean),
}
"""Models of a general law: rate and law (of the mean that gives the load) to a model."""

PLAIN: Mapping[str, Callable[[float, float], Model]] = {
    "mm1": lambda load, s: MM1(rate_rps=load / s, service_rate_rps=1 / s),
    "md1": lambda load, s: MD1(rate_rps=load / s, service_s=s),
    "mek1": lambda load, s: MEk1(rate_rps=load / s, n_phases=4, mean_service_s=s),
    "mhk1": lambda load, s: MHk1(rate_rps=load / s, probs=[0.5, 0.5], service_rates_rps=[2 / s, 2 / 3 / s]),
    "mm1_transient": lambda load, s: MM1Transient(rate_rps=load / s, service_rate_rps=1 / s, time_s=30 * s),
    "gg1": lambda load, s: GG1(rate_rps=load / s, scv_interval=2.0, mean_service_s=s, scv_service=0.5),
    "closed_steps": lambda load, s: ClosedStepServer(
        population=40, base_s=s, slope_s=0.1 * s, mean_steps=20.0, think_s=s / load
    ),
    "ekdc": lambda load, s: EkDc(rate_rps=3 * load / s, k=2, service_s=s, n_servers=3),
    "map_ph_c": lambda load, s: MapPhC(
        arrivals=Erlang(k=2, mean=s / load / 2), service=Erlang(k=2, mean=s), n_servers=2
    ),
    "map_ph_1": lambda load, s: MapPhC(
        arrivals=Hyperexponential(probs=[0.9, 0.1], means=[0.5 * s / load, 5.5 * s / load]),
        service=Erlang(k=3, mean=s),
    ),
    "step_server": lambda load, s: StepServer(
        rate_rps=load * 8 / (20 * 1.8 * s), base_s=s, slope_s=0.1 * s, mean_steps=20.0, max_running=8
    ),
    "mmb1": lambda load, s: MMb1(rate_rps=8 * load / s, service_rate_rps=1 / s, max_batch=8),
    "unlimited_batch": lambda load, s: UnlimitedBatchQueue(rate_rps=load / s, base_s=s, slope_s=s),
    "mm1_ps": lambda load, s: MM1PS(rate_rps=load / s, service_rate_rps=1 / s),
    "discriminatory_ps": lambda load, s: DiscriminatoryPS(
        rate_rps=[load / 2 / s] * 2, service_rate_rps=[1 / s] * 2, weight=[1.0, 3.0]
    ),
    "predicted_sjf": lambda load, s: PredictedSJF(
        rate_rps=load / s, service_s=[0.5 * s, 1.5 * s], predicted_s=[s, 2 * s]
    ),
    "repeat": lambda load, s: PreemptiveRepeatPriority(
        rate_rps=[load / 2 / s] * 2, service=[Exponential(mean=s)] * 2
    ),
    "class_network": lambda load, s: ClassNetwork(
        population=[10, 10], demand_s=[[s, load * s], [load * s, s]]
    ),
    "closed_network": lambda load, s: ClosedNetwork(
        stations=[ServerStation(demand_s=s), ServerStation(demand_s=load * s)], population=50, think_s=s
    ),
    "jackson": lambda load, s: OpenJackson(
        external_rps=[load / s, 0.0], routing=[[0, 0.5], [0, 0]], service_rate_rps=[1 / s, 1 / s]
    ),
    "fork_join": lambda load, s: ForkJoin(rate_rps=load / s, service_rate_rps=1 / s, n_branches=2),
    "fluid": lambda load, s: FluidQueue(
        times_s=[0.0, 10 * s, 20 * s], rates_rps=[2 * load / s, 0.5 * load / s], mean_service_s=s
    ),
}
"""Models without a general law: load, and a time that sets the unit."""

MANY_SERVERS: Mapping[str, Callable[[float, int], Model]] = {
    "mmc": lambda load, c: MMc(rate_rps=load * c, service_rate_rps=1.0, n_servers=c),
    "mdc": lambda load, c: MDc(rate_rps=load * c, service_s=1.0, n_servers=c),
    "dmc": lambda load, c: GMc(interval=Constant(value=1 / (load * c)), service_rate_rps=1.0, n_servers=c),
    "gmc_lognormal": lambda load, c: GMc(
        interval=Lognormal(mean=1 / (load * c), cv=2.0), service_rate_rps=1.0, n_servers=c
    ),
    "mmck": lambda load, c: MMcK(rate_rps=load * c, service_rate_rps=1.0, n_servers=c, capacity=c + 500),
    "erlang_a": lambda load, c: ErlangA(
        rate_rps=load * c, service_rate_rps=1.0, n_servers=c, mean_patience_s=2.0
    ),
    "mmcg": lambda load, c: MMcG(
        rate_rps=load * c, service_rate_rps=1.0, n_servers=c, patience=Constant(value=2.0)
    ),
    "mmc_priority": lambda load, c: MMcPriority(
        rate_rps=[load * c / 2] * 2, service_rate_rps=1.0, n_servers=c
    ),
    "ggc": lambda load, c: GGc(
        rate_rps=load * c, scv_interval=1.5, mean_service_s=1.0, scv_service=0.5, n_servers=c
    ),
    "jackson": lambda load, c: OpenJackson(
        external_rps=[load * c], routing=[[0.0]], service_rate_rps=[1.0], n_servers=[c]
    ),
}
"""Load and servers to a model."""


def _batch(load: float, b: int, scv: float) -> BatchQueue:
    service = AffineService(base_s=1.0, slope_s=0.01, scv=scv)
    capacity = BatchQueue(rate_rps=1e-6, service=service, max_batch=b).capacity_rps
    return BatchQueue(rate_rps=load * capacity, service=service, max_batch=b)


BATCHES: Mapping[str, Callable[[float, int], Model]] = {
    "constant": lambda load, b: _batch(load, b, 0.0),
    "gamma": lambda load, b: _batch(load, b, 0.5),
    "mmb1": lambda load, b: MMb1(rate_rps=load * b, service_rate_rps=1.0, max_batch=b),
    "step_server": lambda load, b: StepServer(
        rate_rps=load * b / (20 * (1 + 0.01 * b)), base_s=1.0, slope_s=0.01, mean_steps=20.0, max_running=b
    ),
}
"""Load and the largest batch to a model."""


def answer_is_sound(answer: object) -> None:
    """No NaN, nothing negative, probabilities in [0, 1], percentiles in order; infinite moments are named."""
    for f in fields(answer):  # type: ignore[arg-type]
        value = getattr(answer, f.name)
        if isinstance(value, float | int | np.ndarray | tuple | list):
            numbers = np.asarray(value, dtype=float) if _is_numeric(value) else np.zeros(0)
            assert np.all(np.isfinite(numbers)), (f.name, value)
            assert np.all(numbers >= 0), (f.name, value)
            if f.name.startswith("prob_") or f.name.endswith("_frac"):
                assert np.all(numbers <= 1 + 1e-9), (f.name, value)
        if f.name in ("wait", "response") and value is not None:
            _law_is_sound(value)


def _is_numeric(value: object) -> bool:
    return np.asarray(value, dtype=object).dtype == object and all(
        isinstance(x, float | int | np.floating | np.integer)
        for x in np.ravel(np.asarray(value, dtype=object))
    )


def _law_is_sound(law: object) -> None:
    low, high = (float(law.ppf(q)) for q in (0.5, 0.99))  # type: ignore[attr-defined]
    assert 0 <= low <= high * (1 + 1e-9) < math.inf
    tail = float(law.sf(high * (1 + 1e-9)))  # type: ignore[attr-defined]  # beyond a jump
    assert 0 <= tail <= 0.0101
    assert _variance(law) >= 0


def _variance(law: object) -> float:
    try:
        return float(law.var_s2)  # type: ignore[attr-defined]
    except ConfigError as error:
        if "infinite" not in str(error):
            raise
        return math.inf
