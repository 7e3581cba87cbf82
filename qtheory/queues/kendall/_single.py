"""One server, first come first served, under Kendall's names."""

from __future__ import annotations

from .model import KendallModel

__all__ = ["SINGLE"]

_BUSY = "a busy period is not a queue that a customer sees: M/G/1 gives waits and numbers"
_MOMENTS = (
    "two moments do not decide a law; PH/PH/1 gives laws where intervals and services are made of phases"
)
_AT_A_TIME = "the model tells the number present at a time; times of customers are those of M/M/1"
_SHORT = {"rate_rps": 0.8, "service": "lognormal(mean=1, cv=1.5)"}

SINGLE: tuple[KendallModel, ...] = (
    KendallModel(
        name="M/M/1",
        model="single.MM1",
        takes=("rate_rps", "service_rate_rps"),
        example={"rate_rps": 0.8, "service_rate_rps": 1.0},
    ),
    KendallModel(
        name="M/D/1",
        model="single.MD1",
        takes=("rate_rps", "service_s"),
        example={"rate_rps": 0.8, "service_s": 1.0},
    ),
    KendallModel(
        name="M/E_k/1",
        model="single.MEk1",
        takes=("rate_rps", "n_phases", "mean_service_s"),
        fields={"n_phases": "service_phases"},
        example={"rate_rps": 0.8, "n_phases": 2, "mean_service_s": 1.0},
    ),
    KendallModel(
        name="M/H_k/1",
        model="single.MHk1",
        takes=("rate_rps", "service"),
        make="hyperexponential",
        example={"rate_rps": 0.8, "service": "hyperexponential(mean=1, cv=2)"},
    ),
    KendallModel(
        name="M/G/1",
        model="single.MG1",
        takes=("rate_rps", "service"),
        also=("M/G/1-FCFS", "M/G/1-FIFO"),
        example=_SHORT,
    ),
    KendallModel(
        name="M/G/1/K",
        model="single.MG1K",
        takes=("rate_rps", "service", "capacity"),
        example={**_SHORT, "capacity": 10},
    ),
    KendallModel(
        name="G/M/1",
        model="single.GM1",
        takes=("interval", "service_rate_rps"),
        also=("GI/M/1",),
        example={"interval": "gamma(mean=1.25, cv=0.5)", "service_rate_rps": 1.0},
    ),
    KendallModel(
        name="GI/G/1",
        model="single.GG1",
        takes=("interval", "service"),
        may=("formula",),
        also=("G/G/1",),
        by_moments=True,
        lacks={"law": _MOMENTS, "prob_wait": _MOMENTS},
        example={
            "interval": "gamma(mean=1.25, cv=0.5)",
            "service": "lognormal(mean=1, cv=1.5)",
            "formula": "kingman",
        },
    ),
    KendallModel(
        name="M^X/G/1",
        model="single.BatchArrivals",
        takes=("rate_rps", "service", "group_pmf"),
        example={"rate_rps": 0.4, "group_pmf": [0.5, 0.3, 0.2], "service": "exponential(mean=1)"},
    ),
    KendallModel(
        name="M/G/1 multiple vacations",
        model="single.MultipleVacations",
        takes=("rate_rps", "service", "vacation"),
        also=("M/G/1 vacations",),
        example={**_SHORT, "vacation": "exponential(mean=0.5)"},
    ),
    KendallModel(
        name="M/G/1 single vacation",
        model="single.SingleVacation",
        takes=("rate_rps", "service", "vacation"),
        also=("M/G/1 vacation",),
        example={**_SHORT, "vacation": "exponential(mean=0.5)"},
    ),
    KendallModel(
        name="M/G/1 setup",
        model="single.SetupQueue",
        takes=("rate_rps", "service", "setup"),
        example={**_SHORT, "setup": "constant(0.5)"},
    ),
    KendallModel(
        name="M/G/1 N-policy",
        model="single.NPolicy",
        takes=("rate_rps", "service", "threshold"),
        example={**_SHORT, "threshold": 3},
    ),
    KendallModel(
        name="M/G/1 bounded workload",
        model="single.BoundedWorkload",
        takes=("rate_rps", "service", "limit_s"),
        may=("rule", "n_points"),
        example={"rate_rps": 1.2, "service": "exponential(mean=1)", "limit_s": 5.0, "rule": "wait"},
    ),
    KendallModel(
        name="M/G/1 busy period",
        model="single.BusyPeriod",
        takes=("rate_rps", "service"),
        may=("initial",),
        lacks={"wait": _BUSY, "response": _BUSY, "number": _BUSY, "queue": _BUSY},
        example=_SHORT,
    ),
    KendallModel(
        name="M/M/1 transient",
        model="single.MM1Transient",
        takes=("rate_rps", "service_rate_rps", "time_s"),
        may=("initial_number",),
        lacks={"wait": _AT_A_TIME, "response": _AT_A_TIME, "prob_wait": _AT_A_TIME, "queue": _AT_A_TIME},
        example={"rate_rps": 0.8, "service_rate_rps": 1.0, "time_s": 5.0},
    ),
)
