"""Giving up waiting requests that must be late."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.system.scheduler import CHOICES
from qtheory.system.steptime import StepLoad, StepTime
from sim.job import SAME_MOMENT_S, JobView

__all__ = ["Shedding", "alone_s"]


@dataclass(frozen=True, slots=True)
class Shedding:
    """What happens to a waiting request without output that must miss its first-token deadline.

    Parameters
    ----------
    action : str
        ``none``, ``reject`` (it is given up) or ``demote`` (it goes behind all others for good).

    Raises
    ------
    ConfigError
        If the action is unknown.

    Examples
    --------
    >>> Shedding("reject").action
    'reject'
    """

    action: str = "none"

    def __post_init__(self) -> None:
        checks.one_of("shed", self.action, CHOICES["shed"])

    def is_late(self, job: JobView, now_s: float, alone_s: float) -> bool:
        """Whether its first token comes too late even if it is served alone from now on."""
        return now_s + alone_s > job.deadline_s + SAME_MOMENT_S


def alone_s(step_time: StepTime, *, context_tokens: int, n_tokens: int, budget_tokens: int) -> float:
    """Seconds until a prompt gives its first token if it is computed alone, in chunks of the whole budget.

    Parameters
    ----------
    step_time : StepTime
        Seconds of a step.
    context_tokens : int
        Tokens that are in memory already, >= 0.
    n_tokens : int
        Tokens to compute, >= 1.
    budget_tokens : int
        Tokens of a step at most, >= 1.

    Returns
    -------
    float
        Sum of the step times of all chunks.

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> alone_s(ConstantStep(1.0), context_tokens=0, n_tokens=120, budget_tokens=50)
    3.0
    """
    total_s = 0.0
    while n_tokens > 0:
        n = min(n_tokens, budget_tokens)
        n_tokens -= n
        total_s += step_time.step_s(
            StepLoad(
                prefill_tokens=n,
                prefill_work=n * context_tokens + n * (n + 1) / 2,
                prefill_context_tokens=context_tokens + n,
                n_sampled=int(n_tokens == 0),
            )
        )
        context_tokens += n
    return total_s
