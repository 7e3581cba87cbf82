"""The server behind the published runs of S-LoRA and VTC: when it takes in prompts, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qtheory.system.steptime import StepTime
from sim.job import JobView
from sim.plan import PlanBuilder, View
from sim.policies import Fcfs, Policy, Shedding
from sim.policies.pieces import DynamicOrdering, Ordering
from sim.replica import Replica

__all__ = ["STEPS_BETWEEN", "FutureFits", "lightllm", "pool", "prompt_budget_tokens"]

STEPS_BETWEEN = 10
"""Steps of decodes after which the queue is looked at again."""

_MOST_SEQS = 1000
_LEAST_PROMPT_TOKENS = 3072  # of a step of prompts; more where a sixth of the memory is more


def prompt_budget_tokens(n_tokens: int) -> int:
    """Prompt tokens of a step where the memory has so many."""
    return max(n_tokens // 6, _LEAST_PROMPT_TOKENS)


@dataclass(frozen=True, slots=True)
class _PromptsBetween:
    """Whole prompts alone in a step, and after them ten steps of decodes before others are looked for."""

    whole_prompts: ClassVar[bool] = True

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Prompts if nothing runs or the youngest job has decoded for so long, else the running jobs."""
        running = view.running
        if not running or running[-1].n_outputs > STEPS_BETWEEN:
            for job in view.waiting:
                if not plan.admit(job, whole=True):
                    break
        if plan.is_empty:
            plan.continue_running()


@dataclass(frozen=True, slots=True)
class FutureFits:
    """Lets in who leaves enough memory for all running jobs to come to their ends, in the order of these.

    Outputs are taken at their longest; at the end of each job its tokens come free for those who go on.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[60, 20], output_tokens=[9, 50])
    >>> first, second = (Job.of(row, 0.0) for row in asked)
    >>> [FutureFits(n_tokens).fits(second, [first]) for n_tokens in (98, 99)]
    [False, True]
    """

    n_tokens: int
    adapter_tokens: tuple[int, ...] = ()  # of the adapter of each client, which takes them from the memory
    reserves: ClassVar[bool] = False
    forgets_hits: ClassVar[bool] = False

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """The known ones: what comes later is judged by `leaves_room`."""
        return job.known_tokens

    def open_account(self) -> FutureFits:
        """Nothing is kept from pass to pass."""
        return self

    def kept_tokens(self, running: Iterable[JobView]) -> float:
        """None beside what `leaves_room` looks at."""
        return 0.0

    def continued(self, running: Sequence[JobView], *, is_short: bool) -> None:
        """Nothing is learned."""

    def leaves_room(
        self, job: JobView, running: Sequence[JobView], *, chunk: tuple[int, int], free_tokens: int
    ) -> bool:
        """Whether the largest number of tokens that will be held at once is below the memory."""
        return self.fits(job, running)

    def fits(self, job: JobView, running: Sequence[JobView]) -> bool:
        """The same, of a newcomer and those beside it."""
        held = [(max(each.max_output_tokens - max(each.n_outputs, 1), 0), each) for each in (*running, job)]
        held.sort(key=lambda entry: -entry[0])
        left = np.array([steps for steps, _ in held])
        now = np.array([each.prompt_tokens + max(each.n_outputs, 1) for _, each in held])
        most = np.max(left * np.arange(1, len(held) + 1) + np.cumsum(now))
        if self.adapter_tokens:
            most += sum(self.adapter_tokens[client] for client in {each.client for _, each in held})
        return bool(most < self.n_tokens)


def lightllm(
    n_tokens: int,
    ordering: Ordering | DynamicOrdering | None = None,
    *,
    shed: Any = None,
    adapter_tokens: tuple[int, ...] = (),
) -> Policy:
    """The server with this memory; in order of arrival if no other is given."""
    return Policy(
        name="lightllm",
        ordering=ordering or Fcfs(),
        composition=_PromptsBetween(),
        admission=FutureFits(n_tokens, adapter_tokens),
        shed=shed or Shedding(),
        budget_tokens=prompt_budget_tokens(n_tokens),
        max_seqs=_MOST_SEQS,
    )


def pool(step_time: StepTime, n_tokens: int) -> Replica:
    """Memory in single tokens."""
    return Replica(step_time=step_time, n_blocks=n_tokens, block_tokens=256)
