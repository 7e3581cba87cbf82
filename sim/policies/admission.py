"""Gates: for how many tokens a job must find free blocks before it is let in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sim.job import JobView

__all__ = ["FirstChunk", "FullPrompt", "NoEvict"]


@dataclass(frozen=True, slots=True)
class FullPrompt:
    """All known tokens, even if only a chunk of them is computed now.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[0.0], prompt_tokens=[30], output_tokens=[9]).row(0)
    >>> FullPrompt().tokens(Job.of(row, 0.0), chunk_end_tokens=8)
    30
    """

    reserves: ClassVar[bool] = False

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """Prompt and outputs so far."""
        return job.known_tokens


@dataclass(frozen=True, slots=True)
class FirstChunk:
    """The first chunk alone: admits prompts that may be thrown out again.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[0.0], prompt_tokens=[30], output_tokens=[9]).row(0)
    >>> FirstChunk().tokens(Job.of(row, 0.0), chunk_end_tokens=8)
    8
    """

    reserves: ClassVar[bool] = False

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """The end of the chunk."""
        return chunk_end_tokens


@dataclass(frozen=True, slots=True)
class NoEvict:
    """Prompt and longest output: who is let in is never preempted, and what it will need is kept for it.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[0.0], prompt_tokens=[30], output_tokens=[9]).row(0)
    >>> NoEvict().tokens(Job.of(row, 0.0), chunk_end_tokens=8)
    39
    """

    reserves: ClassVar[bool] = True

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """To completion."""
        return max(job.prompt_tokens + job.max_output_tokens, job.known_tokens)
