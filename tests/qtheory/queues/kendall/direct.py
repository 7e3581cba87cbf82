"""Each model of the registry, built by hand from its class, with the values of its example."""

from __future__ import annotations

import math
from collections.abc import Callable

from qtheory.laws import Constant, Erlang, Exponential, Gamma, Lognormal, Uniform, fit_two_moments
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.queues import batch, multi, network, priority, single

ONE = Exponential(mean=1.0)
SKEWED = Lognormal(mean=1.0, cv=1.5)
SHORT = {"rate_rps": 0.8, "service": SKEWED}
SMALL = {"rate_rps": 0.8, "service": ONE}
TWO = {"rate_rps": [0.3, 0.4], "service": [Constant(value=0.8), Exponential(mean=1.2)]}
TEN = {"rate_rps": 8.0, "service_rate_rps": 1.0, "n_servers": 10}
IMPATIENT = {"rate_rps": 12.0, "service_rate_rps": 1.0, "n_servers": 10}
STEPS = {"base_s": 0.02, "slope_s": 0.0005, "mean_steps": 200.0}
LINE = {"base_s": 0.1, "slope_s": 0.01}
SPREAD = batch.AffineService(**LINE, scv=0.5)


def m_h2_1() -> single.MHk1:
    law = fit_two_moments(1.0, 4.0)
    return single.MHk1(rate_rps=0.8, probs=law.probs, service_rates_rps=[1 / m for m in law.means])


DIRECT: dict[str, Callable[[], object]] = {
    "M/M/1": lambda: single.MM1(rate_rps=0.8, service_rate_rps=1.0),
    "M/D/1": lambda: single.MD1(rate_rps=0.8, service_s=1.0),
    "M/E_k/1": lambda: single.MEk1(rate_rps=0.8, n_phases=2, mean_service_s=1.0),
    "M/H_k/1": m_h2_1,
    "M/G/1": lambda: single.MG1(**SHORT),
    "M/G/1/K": lambda: single.MG1K(**SHORT, capacity=10),
    "G/M/1": lambda: single.GM1(interval=Gamma(mean=1.25, cv=0.5), service_rate_rps=1.0),
    "GI/G/1": lambda: single.GG1(
        rate_rps=0.8, scv_interval=0.25, mean_service_s=1.0, scv_service=SKEWED.scv, formula="kingman"
    ),
    "M^X/G/1": lambda: single.BatchArrivals(rate_rps=0.4, group_pmf=[0.5, 0.3, 0.2], service=ONE),
    "M/G/1 multiple vacations": lambda: single.MultipleVacations(**SHORT, vacation=Exponential(mean=0.5)),
    "M/G/1 single vacation": lambda: single.SingleVacation(**SHORT, vacation=Exponential(mean=0.5)),
    "M/G/1 setup": lambda: single.SetupQueue(**SHORT, setup=Constant(value=0.5)),
    "M/G/1 N-policy": lambda: single.NPolicy(**SHORT, threshold=3),
    "M/G/1 bounded workload": lambda: single.BoundedWorkload(
        rate_rps=1.2, service=ONE, limit_s=5.0, rule="wait"
    ),
    "M/G/1 busy period": lambda: single.BusyPeriod(**SHORT),
    "M/M/1 transient": lambda: single.MM1Transient(rate_rps=0.8, service_rate_rps=1.0, time_s=5.0),
    "M/M/c": lambda: multi.MMc(**TEN),
    "M/M/c/K": lambda: multi.MMcK(**TEN, capacity=20),
    "M/M/c/c": lambda: multi.MMcK(**TEN, capacity=10),
    "M/G/c/c": lambda: multi.MGcc(rate_rps=8.0, service=SKEWED, n_servers=10),
    "M/G/inf": lambda: multi.MGInf(rate_rps=8.0, service=SKEWED),
    "M/D/c": lambda: multi.MDc(rate_rps=3.0, service_s=1.0, n_servers=4),
    "E_k/D/c": lambda: multi.EkDc(rate_rps=3.0, k=2, service_s=1.0, n_servers=4),
    "G/M/c": lambda: multi.GMc(interval=Gamma(mean=0.25, cv=0.5), service_rate_rps=1.0, n_servers=5),
    "MAP/PH/c": lambda: multi.MapPhC(
        arrivals=MarkovianArrivals(without=[[-1.0, 0.2], [0.1, -0.6]], with_arrival=[[0.8, 0.0], [0.0, 0.5]]),
        service=Erlang(k=2, mean=2.0),
        n_servers=2,
    ),
    "MMPP/PH/c": lambda: multi.MapPhC(
        arrivals=MarkovianArrivals.modulated_poisson(rates_rps=[0.5, 1.1], leave_per_s=[0.1, 0.2]),
        service=ONE,
    ),
    "PH/PH/c": lambda: multi.MapPhC(
        arrivals=Erlang(k=2, mean=1.25), service=Erlang(k=3, mean=2.0), n_servers=2
    ),
    "GI/G/c": lambda: multi.GGc(
        rate_rps=3.0, scv_interval=0.5, mean_service_s=1.0, scv_service=2.0, n_servers=4
    ),
    "M/M/c+M": lambda: multi.ErlangA(**IMPATIENT, mean_patience_s=2.0),
    "M/M/c+D": lambda: multi.MMcG(**IMPATIENT, patience=Constant(value=0.5)),
    "M/M/c+G": lambda: multi.MMcG(**IMPATIENT, patience=Uniform(low=0.2, high=1.0)),
    "M/M/c priority nonpreemptive": lambda: multi.MMcPriority(
        rate_rps=[1.0, 1.5], service_rate_rps=1.0, n_servers=3
    ),
    "M/M(n)/1": lambda: multi.StepServer(rate_rps=2.0, **STEPS, max_running=64),
    "M/M(n)/1/K": lambda: multi.StepServer(rate_rps=4.0, **STEPS, max_running=64, capacity=100),
    "closed M(n)/1": lambda: multi.ClosedStepServer(population=32, **STEPS, think_s=5.0),
    "M/M[1,b]/1": lambda: batch.MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3),
    "M/D[1,inf]/1": lambda: batch.UnlimitedBatchQueue(rate_rps=8.0, **LINE),
    "M/D[1,b]/1": lambda: batch.BatchQueue(rate_rps=8.0, service=batch.AffineService(**LINE), max_batch=16),
    "M/D[a,b]/1": lambda: batch.BatchQueue(
        rate_rps=8.0, service=batch.AffineService(**LINE), max_batch=16, min_batch=4, timeout_s=0.3
    ),
    "M/G[1,b]/1": lambda: batch.BatchQueue(rate_rps=8.0, service=SPREAD, max_batch=8),
    "M/G[a,b]/1": lambda: batch.BatchQueue(
        rate_rps=8.0, service=SPREAD, max_batch=8, min_batch=2, timeout_s=math.inf
    ),
    "M/G[1,b]/1 longest member": lambda: batch.BatchQueue(
        rate_rps=1.0,
        service=batch.LongestMemberService(length=Exponential(mean=5.0), unit_s=0.1),
        max_batch=4,
    ),
    "M/M/1-PS": lambda: priority.MM1PS(rate_rps=0.8, service_rate_rps=1.0),
    "M/G/1-PS": lambda: priority.ProcessorSharing(**SMALL),
    "M/G/1-LPS": lambda: priority.LimitedProcessorSharing(**SMALL, limit=4),
    "M/M/1-DPS": lambda: priority.DiscriminatoryPS(
        rate_rps=[0.3, 0.4], service_rate_rps=[1.0, 2.0], weight=[2.0, 1.0]
    ),
    "M/G/1-SRPT": lambda: priority.SRPT(**SMALL),
    "M/G/1-PSJF": lambda: priority.PSJF(**SMALL),
    "M/G/1-SJF": lambda: priority.SJF(**SMALL),
    "M/G/1-LAS": lambda: priority.LAS(**SMALL),
    "M/G/1 predicted SJF": lambda: priority.PredictedSJF(
        rate_rps=0.5, service_s=[0.5, 1.0, 3.0], predicted_s=[1.0, 1.0, 2.0]
    ),
    "M/G/1-EDF": lambda: priority.EDF(**SMALL, lead=Uniform(low=5.0, high=15.0)),
    "M/G/1 priority nonpreemptive": lambda: priority.NonpreemptivePriority(**TWO),
    "M/G/1 priority preemptive-resume": lambda: priority.PreemptiveResumePriority(**TWO),
    "M/G/1 priority preemptive-repeat": lambda: priority.PreemptiveRepeatPriority(**TWO),
    "open Jackson network": lambda: network.OpenJackson(
        external_rps=[2.0, 0.0],
        routing=[[0.0, 1.0], [0.3, 0.0]],
        service_rate_rps=[1.2, 4.0],
        n_servers=[3, 1],
    ),
    "closed network": lambda: network.ClosedNetwork(
        stations=[
            network.ServerStation(demand_s=0.3),
            network.ServerStation(demand_s=0.5, n_servers=2),
            network.ServerStation(demand_s=0.2),
        ],
        population=10,
        think_s=1.0,
    ),
    "fork-join": lambda: network.ForkJoin(rate_rps=0.5, service_rate_rps=1.0, n_branches=8),
}
