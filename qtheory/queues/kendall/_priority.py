"""Priorities, sizes, deadlines and sharing under Kendall's names."""

from __future__ import annotations

from .model import KendallModel

__all__ = ["PRIORITY"]

_SHARED = "all who are present are served at once, so nobody waits: ask for the response"
_SPLIT = "a service can be interrupted, so a wait before service is not the time lost: ask for the response"
_MEANS = "laws are known for exponential services alone; for others the mean is an approximation"
_NO_NUMBER = "the number has no law in closed form under this rule; its mean follows from Little's law"
_LATE = "the profile of lead times tells lateness alone: late_start_frac and late_end_frac"
_ONE = {"rate_rps": 0.8, "service": "exponential(mean=1)"}
_TWO = {"rate_rps": [0.3, 0.4], "service": ["constant(0.8)", "exponential(mean=1.2)"]}


def _by_size(
    name: str, model: str, *, also: tuple[str, ...] = (), can_be_interrupted: bool = True
) -> KendallModel:
    """A rule that looks at sizes."""
    split = {"wait": _SPLIT} if can_be_interrupted else {}
    return KendallModel(
        name=name,
        model=model,
        takes=("rate_rps", "service"),
        also=also,
        lacks={**split, "number law": _NO_NUMBER},
        example=_ONE,
    )


def _by_class(name: str, model: str, *, also: tuple[str, ...], may: tuple[str, ...] = ()) -> KendallModel:
    """A rule with classes of priority."""
    return KendallModel(
        name=name,
        model=model,
        takes=("rate_rps", "service"),
        may=may,
        each=("rate_rps", "service"),
        also=also,
        example=_TWO,
    )


PRIORITY: tuple[KendallModel, ...] = (
    KendallModel(
        name="M/M/1-PS",
        model="priority.MM1PS",
        takes=("rate_rps", "service_rate_rps"),
        lacks={"wait": _SHARED},
        example={"rate_rps": 0.8, "service_rate_rps": 1.0},
    ),
    KendallModel(
        name="M/G/1-PS",
        model="priority.ProcessorSharing",
        takes=("rate_rps", "service"),
        lacks={"wait": _SHARED},
        example=_ONE,
    ),
    KendallModel(
        name="M/G/1-LPS",
        model="priority.LimitedProcessorSharing",
        takes=("rate_rps", "service", "limit"),
        also=("M/G/1 limited processor sharing",),
        lacks={"law": _MEANS, "wait": _MEANS},
        example={**_ONE, "limit": 4},
    ),
    KendallModel(
        name="M/M/1-DPS",
        model="priority.DiscriminatoryPS",
        takes=("rate_rps", "service_rate_rps", "weight"),
        each=("rate_rps", "service_rate_rps"),
        lacks={"wait": _SHARED},
        example={"rate_rps": [0.3, 0.4], "service_rate_rps": [1.0, 2.0], "weight": [2.0, 1.0]},
    ),
    _by_size("M/G/1-SRPT", "priority.SRPT"),
    _by_size("M/G/1-PSJF", "priority.PSJF"),
    _by_size("M/G/1-SJF", "priority.SJF", also=("M/G/1-SPT",), can_be_interrupted=False),
    _by_size("M/G/1-LAS", "priority.LAS", also=("M/G/1-FB", "M/G/1-LAST")),
    KendallModel(
        name="M/G/1 predicted SJF",
        model="priority.PredictedSJF",
        takes=("rate_rps", "services_s", "predicted_s"),
        may=("weight",),
        fields={"service_s": "services_s"},
        lacks={"number law": _NO_NUMBER},
        example={"rate_rps": 0.5, "services_s": [0.5, 1.0, 3.0], "predicted_s": [1.0, 1.0, 2.0]},
    ),
    KendallModel(
        name="M/G/1-EDF",
        model="priority.EDF",
        takes=("rate_rps", "service", "lead"),
        lacks=dict.fromkeys(("wait", "response", "number", "queue"), _LATE),
        example={**_ONE, "lead": "uniform(low=5, high=15)"},
    ),
    _by_class(
        "M/G/1 priority nonpreemptive",
        "priority.NonpreemptivePriority",
        also=("M/M/1 priority nonpreemptive", "M/G/1 nonpreemptive", "M/G/1-HOL"),
    ),
    _by_class(
        "M/G/1 priority preemptive-resume",
        "priority.PreemptiveResumePriority",
        also=("M/G/1 preemptive-resume",),
    ),
    _by_class(
        "M/G/1 priority preemptive-repeat",
        "priority.PreemptiveRepeatPriority",
        also=("M/G/1 preemptive-repeat",),
        may=("repeat",),
    ),
)
