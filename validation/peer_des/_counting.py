"""What a published engine's step-time model is told of a step, where that is not every computed token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.steptime.table import Table
from sim.job import JobView

__all__ = ["Counting", "RoundedMeanContext", "RoundedMeans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Loads of steps by two rules that can be switched.

    Parameters
    ----------
    outputs_again_are_free : bool
        After a preemption only prompt tokens are prefill; outputs that are computed again take no time, and
        the step that gives the next token counts the job as a decode beside that.
    means_are_rounded : bool
        Prompt tokens are those of as many equal chunks, of the mean end and the mean start, both rounded
        down.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> rows = Requests(arrival_s=[0, 0], prompt_tokens=[30, 21], output_tokens=[9, 9])
    >>> first, second = (Job.of(row, 0.0) for row in rows)
    >>> Counting(outputs_again_are_free=True, means_are_rounded=True)({first: 30, second: 21}).prefill_tokens
    50
    """

    outputs_again_are_free: bool
    means_are_rounded: bool

    def __call__(self, tokens: Mapping[JobView, int]) -> StepLoad:
        """The load of a step in which each job computes so many tokens."""
        n_decodes = context = n_chunks = ends = starts = n_sampled = 0
        for job, n in tokens.items():
            start, end = job.computed_tokens, job.computed_tokens + n
            is_last = end == job.known_tokens
            n_sampled += is_last
            is_again = self.outputs_again_are_free and job.n_outputs > 0
            if is_last and (is_again or not job.is_prefilling):
                n_decodes += 1
                context += end
            if not job.is_prefilling:
                continue
            if is_again:
                start, end = min(start, job.prompt_tokens), min(end, job.prompt_tokens)
            if end > start:
                n_chunks, ends, starts = n_chunks + 1, ends + end, starts + start
        new = ends - starts
        if self.means_are_rounded and n_chunks:
            new = n_chunks * (ends // n_chunks - starts // n_chunks)
        return StepLoad(n_decodes, context, new, new * (ends + starts + 1) / 2, ends, n_sampled)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedMeanContext:
    """A table of step times that is entered with the mean context of the decodes rounded down.

    Parameters
    ----------
    table : Table
        By summed and mean context.

    Examples
    --------
    >>> from qtheory.system.steptime.table import Table
    >>> table = Table(prefill_tokens=(0, 9), prefill_s=(1, 1), decode_context_tokens=(0, 100),
    ...               mean_context_tokens=(0, 10), decode_s=((1, 2), (1, 2)))
    >>> RoundedMeanContext(table=table).step_s(StepLoad(n_decodes=2, decode_context_tokens=11))
    1.5
    """

    table: Table

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load."""
        n_decodes, context, *rest = load
        if not n_decodes:
            return self.table.step_s(load)
        as_many = context / (context // n_decodes)  # decodes with that mean
        return self.table.step_s((as_many, context, *rest))  # type: ignore[arg-type]

    def decode_line(self, n_decodes: int) -> None:
        """None: a table is not a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedMeans:
    """A step time that takes prompt tokens by rounded means, as `Counting`, told from the load of a step.

    A load does not say how many prompts it has: those that are complete, and one more where the budget is
    spent, as then the last is cut. Of a budget that is spent to the token by whole prompts one is too many.

    Parameters
    ----------
    step_time : StepTime
    budget_tokens : int
        Of a step.

    Examples
    --------
    >>> from validation.peer_des._step_times import AddedPolynomial
    >>> steps = AddedPolynomial(prefill_s=[0.0, 1.0], decode_s=[1.0], decode_min_s=0.0, pool_tokens=99)
    >>> rounded = RoundedMeans(step_time=steps, budget_tokens=2048)
    >>> rounded.step_s(StepLoad(0, 0, 51, 0.0, 51, 2))
    50.0
    """

    step_time: StepTime
    budget_tokens: int

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load."""
        n_decodes, context, tokens, work, ends, n_sampled = load
        n_chunks = n_sampled - n_decodes + (n_decodes + tokens >= self.budget_tokens)
        if tokens and n_chunks > 1:
            tokens = n_chunks * (ends // n_chunks - (ends - tokens) // n_chunks)
        return self.step_time.step_s(StepLoad(n_decodes, context, tokens, work, ends, n_sampled))

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        """That of the step time within: without prompts there is nothing to round."""
        return self.step_time.decode_line(n_decodes)
