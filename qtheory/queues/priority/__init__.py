"""One server that does not take customers in order: classes, sizes, deadlines, sharing."""

from __future__ import annotations

from ._classes import PriorityResult
from ._sizes import SizeResult
from .discriminatory_ps import DiscriminatoryPS
from .edf import EDF, EDFResult
from .las import LAS
from .limited_ps import LimitedProcessorSharing
from .mm1_ps import MM1PS, MM1PSResult
from .nonpreemptive import NonpreemptivePriority
from .predicted_sjf import PredictedSJF
from .preemptive_repeat import PreemptiveRepeatPriority
from .preemptive_resume import PreemptiveResumePriority
from .processor_sharing import ProcessorSharing, ProcessorSharingResult
from .psjf import PSJF
from .sjf import SJF
from .srpt import SRPT

__all__ = [
    "EDF",
    "LAS",
    "MM1PS",
    "PSJF",
    "SJF",
    "SRPT",
    "DiscriminatoryPS",
    "EDFResult",
    "LimitedProcessorSharing",
    "MM1PSResult",
    "NonpreemptivePriority",
    "PredictedSJF",
    "PreemptiveRepeatPriority",
    "PreemptiveResumePriority",
    "PriorityResult",
    "ProcessorSharing",
    "ProcessorSharingResult",
    "SizeResult",
]
