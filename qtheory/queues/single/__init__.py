"""Queues with one server, first come first served: exact laws, vacations, limits, approximations."""

from __future__ import annotations

from .batch_arrivals import BatchArrivals
from .bounded_workload import BoundedWorkload, BoundedWorkloadResult
from .busy_period import BorelTime, BusyPeriod, BusyPeriodResult, takacs
from .excess import Excess
from .gg1 import GG1
from .gm1 import GM1, GM1Result
from .md1 import MD1, DeterministicWait, MD1Result
from .mek1 import MEk1
from .mg1 import MG1, MG1Result
from .mg1k import MG1K, MG1KResult
from .mhk1 import MHk1
from .mm1 import MM1, MM1Result
from .mm1_transient import MM1Transient
from .multiple_vacations import MultipleVacations
from .n_policy import NPolicy
from .setup import SetupQueue
from .single_vacation import SingleVacation
from .workload import Workload

__all__ = [
    "GG1",
    "GM1",
    "MD1",
    "MG1",
    "MG1K",
    "MM1",
    "BatchArrivals",
    "BorelTime",
    "BoundedWorkload",
    "BoundedWorkloadResult",
    "BusyPeriod",
    "BusyPeriodResult",
    "DeterministicWait",
    "Excess",
    "GM1Result",
    "MD1Result",
    "MEk1",
    "MG1KResult",
    "MG1Result",
    "MHk1",
    "MM1Result",
    "MM1Transient",
    "MultipleVacations",
    "NPolicy",
    "SetupQueue",
    "SingleVacation",
    "Workload",
    "takacs",
]
