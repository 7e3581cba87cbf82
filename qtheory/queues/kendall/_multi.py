"""Several servers, and a server that works in steps, under Kendall's names."""

from __future__ import annotations

from .model import KendallModel

__all__ = ["MULTI"]

_MOMENTS = "two moments do not decide it; PH/PH/c gives it where intervals and services are made of phases"
_LOST = {"rate_rps": 8.0, "service_rate_rps": 1.0}

MULTI: tuple[KendallModel, ...] = (
    KendallModel(
        name="M/M/c",
        model="multi.MMc",
        takes=("rate_rps", "service_rate_rps", "n_servers"),
        also=("Erlang C",),
        example={**_LOST, "n_servers": 10},
    ),
    KendallModel(
        name="M/M/c/K",
        model="multi.MMcK",
        takes=("rate_rps", "service_rate_rps", "n_servers", "capacity"),
        example={**_LOST, "n_servers": 10, "capacity": 20},
    ),
    KendallModel(
        name="M/M/c/c",
        model="multi.MMcK",
        takes=("rate_rps", "service_rate_rps", "n_servers"),
        also=("Erlang B",),
        fields={"capacity": "n_servers"},
        example={**_LOST, "n_servers": 10},
    ),
    KendallModel(
        name="M/G/c/c",
        model="multi.MGcc",
        takes=("rate_rps", "service", "n_servers"),
        example={"rate_rps": 8.0, "service": "lognormal(mean=1, cv=1.5)", "n_servers": 10},
    ),
    KendallModel(
        name="M/G/inf",
        model="multi.MGInf",
        takes=("rate_rps", "service"),
        example={"rate_rps": 8.0, "service": "lognormal(mean=1, cv=1.5)"},
    ),
    KendallModel(
        name="M/D/c",
        model="multi.MDc",
        takes=("rate_rps", "service_s", "n_servers"),
        example={"rate_rps": 3.0, "service_s": 1.0, "n_servers": 4},
    ),
    KendallModel(
        name="E_k/D/c",
        model="multi.EkDc",
        takes=("rate_rps", "n_phases", "service_s", "n_servers"),
        fields={"k": "arrival_phases"},
        example={"rate_rps": 3.0, "n_phases": 2, "service_s": 1.0, "n_servers": 4},
    ),
    KendallModel(
        name="G/M/c",
        model="multi.GMc",
        takes=("interval", "service_rate_rps", "n_servers"),
        also=("GI/M/c",),
        example={"interval": "gamma(mean=0.25, cv=0.5)", "service_rate_rps": 1.0, "n_servers": 5},
    ),
    KendallModel(
        name="MAP/PH/c",
        model="multi.MapPhC",
        takes=("arrivals", "service", "n_servers"),
        example={
            "without": [[-1.0, 0.2], [0.1, -0.6]],
            "with_arrival": [[0.8, 0.0], [0.0, 0.5]],
            "service": "erlang(k=2, mean=2)",
            "n_servers": 2,
        },
    ),
    KendallModel(
        name="MMPP/PH/c",
        model="multi.MapPhC",
        takes=("arrivals", "service", "n_servers"),
        example={
            "rates_rps": [0.5, 1.1],
            "leave_per_s": [0.1, 0.2],
            "service": "exponential(mean=1)",
            "n_servers": 1,
        },
    ),
    KendallModel(
        name="PH/PH/c",
        model="multi.MapPhC",
        takes=("interval", "service", "n_servers"),
        also=("M/PH/c",),
        fields={"arrivals": "interval"},
        example={"interval": "erlang(k=2, mean=1.25)", "service": "erlang(k=3, mean=2)", "n_servers": 2},
    ),
    KendallModel(
        name="GI/G/c",
        model="multi.GGc",
        takes=("interval", "service", "n_servers"),
        may=("formula",),
        also=("G/G/c", "M/G/c"),
        by_moments=True,
        lacks={"law": _MOMENTS, "prob_wait": _MOMENTS, "prob_empty": _MOMENTS},
        example={
            "rate_rps": 3.0,
            "scv_interval": 0.5,
            "mean_service_s": 1.0,
            "scv_service": 2.0,
            "n_servers": 4,
        },
    ),
    KendallModel(
        name="M/M/c+M",
        model="multi.ErlangA",
        takes=("rate_rps", "service_rate_rps", "n_servers", "mean_patience_s"),
        also=("Erlang A",),
        example={"rate_rps": 12.0, "service_rate_rps": 1.0, "n_servers": 10, "mean_patience_s": 2.0},
    ),
    KendallModel(
        name="M/M/c+D",
        model="multi.MMcG",
        takes=("rate_rps", "service_rate_rps", "n_servers", "patience_s"),
        make="constant_patience",
        example={"rate_rps": 12.0, "service_rate_rps": 1.0, "n_servers": 10, "patience_s": 0.5},
    ),
    KendallModel(
        name="M/M/c+G",
        model="multi.MMcG",
        takes=("rate_rps", "service_rate_rps", "n_servers", "patience"),
        example={
            "rate_rps": 12.0,
            "service_rate_rps": 1.0,
            "n_servers": 10,
            "patience": "uniform(low=0.2, high=1)",
        },
    ),
    KendallModel(
        name="M/M/c priority nonpreemptive",
        model="multi.MMcPriority",
        takes=("rate_rps", "service_rate_rps", "n_servers"),
        each=("rate_rps",),
        example={"rate_rps": [1.0, 1.5], "service_rate_rps": 1.0, "n_servers": 3},
    ),
    KendallModel(
        name="M/M(n)/1",
        model="multi.StepServer",
        takes=("rate_rps", "base_s", "slope_s", "mean_steps"),
        may=("max_running",),
        also=("M/M(n)/1 token-step",),
        example={
            "rate_rps": 2.0,
            "base_s": 0.02,
            "slope_s": 0.0005,
            "mean_steps": 200,
            "max_running": 64,
        },
    ),
    KendallModel(
        name="M/M(n)/1/K",
        model="multi.StepServer",
        takes=("rate_rps", "base_s", "slope_s", "mean_steps", "capacity"),
        may=("max_running",),
        also=("M/M(n)/1/K token-step",),
        example={
            "rate_rps": 4.0,
            "base_s": 0.02,
            "slope_s": 0.0005,
            "mean_steps": 200,
            "max_running": 64,
            "capacity": 100,
        },
    ),
    KendallModel(
        name="closed M(n)/1",
        model="multi.ClosedStepServer",
        takes=("population", "base_s", "slope_s", "mean_steps"),
        may=("think_s", "max_running"),
        also=("closed M(n)/1 token-step",),
        example={"population": 32, "base_s": 0.02, "slope_s": 0.0005, "mean_steps": 200, "think_s": 5.0},
    ),
)
