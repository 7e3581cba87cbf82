"""Ways to fill a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sim.plan import PlanBuilder, View

__all__ = ["Chunked", "Mixed", "PrefillFirst", "PrefillFirstChunked", "Static"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunked:
    """Running jobs in order of admission, then prompts cut to what the token budget leaves [1]_, [2]_.

    Parameters
    ----------
    whole_prompts : bool
        True: a prompt that exceeds the rest of the budget is not cut, but waits.

    References
    ----------
    .. [1] Agrawal et al. (2024), "Taming throughput-latency tradeoff in LLM inference with Sarathi-Serve",
       OSDI 24.
    .. [2] vLLM, ``v1/core/sched/scheduler.py``, August 2026.

    Examples
    --------
    >>> Chunked().whole_prompts
    False
    """

    whole_prompts: bool = False

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Decodes and unfinished prompts first, as their admission is older."""
        plan.continue_running()
        plan.swap_in()
        for job in view.waiting:
            if not plan.admit(job, whole=self.whole_prompts):
                break


@dataclass(frozen=True, slots=True)
class Mixed:
    """Running jobs, and beside them whole prompts in the same step [1]_.

    References
    ----------
    .. [1] Yu et al. (2022), "Orca: a distributed serving system for transformer-based generative models",
       OSDI 22.

    Examples
    --------
    >>> Mixed().whole_prompts
    True
    """

    whole_prompts: ClassVar[bool] = True

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """As `Chunked`, without cutting."""
        plan.continue_running()
        plan.swap_in()
        for job in view.waiting:
            if not plan.admit(job, whole=True):
                break


@dataclass(frozen=True, slots=True)
class PrefillFirst:
    """Whole new prompts alone in a step if there are any, else decodes, which stand still meanwhile [1]_.

    References
    ----------
    .. [1] vLLM before its first rewrite, ``core/scheduler.py`` without chunked prefill.

    Examples
    --------
    >>> PrefillFirst().whole_prompts
    True
    """

    whole_prompts: ClassVar[bool] = True

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Prompts, or else the running jobs."""
        for job in view.waiting:
            if not plan.admit(job, whole=True):
                break
        if plan.is_empty:
            plan.continue_running()
            plan.swap_in()


@dataclass(frozen=True, slots=True)
class PrefillFirstChunked:
    """A step of prompts, at most one of them unfinished, goes before a step of decodes [1]_.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py`` and ``managers/scheduler.py``, July 2026.

    Examples
    --------
    >>> PrefillFirstChunked().whole_prompts
    False
    """

    whole_prompts: ClassVar[bool] = False

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """The unfinished prompt, then new ones up to the first that is cut, or else the running jobs."""
        unfinished = [job for job in view.running if job.is_prefilling]
        for job in unfinished:
            plan.run(job)
        if not any(plan.is_cut(job) for job in unfinished):
            for job in view.waiting:
                if not plan.admit(job) or plan.is_cut(job):
                    break
        if plan.is_empty:
            plan.continue_running()
            plan.swap_in()


@dataclass(frozen=True, slots=True)
class Static:
    """A batch of whole prompts, and nobody else until all of it is finished: batching by request.

    Examples
    --------
    >>> Static().whole_prompts
    True
    """

    whole_prompts: ClassVar[bool] = True

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """The batch, or a new one if there is none."""
        plan.continue_running()
        plan.swap_in()
        if view.running:
            return
        for job in view.waiting:
            if not plan.admit(job, whole=True):
                break
