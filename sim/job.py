"""A job: a request inside a replica, and what a policy may see of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from qtheory.system.workload.request import Request

__all__ = ["SAME_MOMENT_S", "Job", "JobView", "moment"]

SAME_MOMENT_S = 1e-9
"""Moments closer than this, seconds, count as one: sums of step times carry rounding errors."""


_COARSE_S = 1.5 * 2.0**22
"""Doubles of this size lie 2^-30 s apart: adding and subtracting it rounds to that, faster than `round`."""


def moment(at_s: float) -> float:
    """A moment as a sorting key: without the rounding errors that would decide between equal ones.

    Parameters
    ----------
    at_s : float
        Seconds.

    Examples
    --------
    >>> moment(0.1 + 0.2) == moment(0.3)
    True
    """
    return (at_s + _COARSE_S) - _COARSE_S


class JobView(Protocol):
    """What a policy sees of a job, read only; the true output length is not part of it."""

    @property
    def position(self) -> int:
        """Row of the request."""
        ...

    @property
    def arrival_s(self) -> float:
        """When it reached the replica, seconds."""
        ...

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        ...

    @property
    def max_output_tokens(self) -> int:
        """Output length that may be assumed at most."""
        ...

    @property
    def predicted_output_tokens(self) -> float:
        """Output length that a predictor gives."""
        ...

    @property
    def priority(self) -> int:
        """Smaller is more important."""
        ...

    @property
    def client(self) -> int:
        """Number of the tenant."""
        ...

    @property
    def deadline_s(self) -> float:
        """Moment by which its first token is due; infinite if there is none."""
        ...

    @property
    def known_tokens(self) -> int:
        """Prompt and output tokens so far."""
        ...

    @property
    def computed_tokens(self) -> int:
        """Leading tokens whose keys and values are in its blocks."""
        ...

    @property
    def n_outputs(self) -> int:
        """Output tokens so far."""
        ...

    @property
    def is_prefilling(self) -> bool:
        """From (re)admission until its next token is sampled."""
        ...

    @property
    def is_demoted(self) -> bool:
        """Whether it was put behind all others for good."""
        ...


@dataclass(slots=True, eq=False)
class Job:
    """State of one job in the reference engine; one rule covers prefill and decode.

    In every step a scheduled job computes n >= 1 of its ``known_tokens - computed_tokens``; if none is left
    after the step, one token is sampled and becomes known. So the last output token is never computed.

    Parameters
    ----------
    position : int
        Row of the request.
    arrival_s, deadline_s : float
        When it reached the replica, and by when its first token is due (infinite: no limit), seconds.
    prompt_tokens, max_output_tokens : int
        Length of the prompt, and of the output at most, >= 1.
    predicted_output_tokens : float
        Length of the output that a predictor gives.
    priority, client : int
        Smaller is more important; number of the tenant.
    known_tokens, computed_tokens : int
        Prompt and output so far; leading tokens whose keys and values are in its blocks.
    is_prefilling, is_demoted : bool
        From (re)admission until its next token is sampled; whether it was put behind all others for good.
    n_preemptions, cached_tokens, recomputed_tokens : int
        For the record: preemptions, tokens reused at the first admission, tokens computed again.
    lost_tokens : int
        Computed tokens that went with its blocks, until it is admitted again.
    tpot_slo_s : float
        Seconds per output token after the first at most (infinite: no limit).
    expected_tokens, total_computed_tokens : int
        For the audit: tokens lost less tokens reused, and tokens computed in all.
    first_scheduled_s, first_token_s, last_token_s : float
        Moments, seconds; NaN before they come.
    alone_s, alone_tokens : float, (int, int)
        Seconds to its next token if served alone, with so many tokens known and so many of them cached; kept
        from one pass to the next.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> asked = Requests(arrival_s=[0.5], prompt_tokens=[20], output_tokens=[5], ttft_slo_s=[2.0])
    >>> job = Job.of(asked.row(0), 1.5)
    >>> job.missing_tokens, job.n_outputs, job.deadline_s
    (20, 0, 3.5)
    """

    position: int
    arrival_s: float
    prompt_tokens: int
    max_output_tokens: int
    predicted_output_tokens: float
    priority: int
    client: int
    deadline_s: float
    known_tokens: int
    computed_tokens: int = 0
    is_prefilling: bool = True
    is_demoted: bool = False
    tpot_slo_s: float = math.inf
    n_preemptions: int = 0
    cached_tokens: int = 0
    lost_tokens: int = 0
    recomputed_tokens: int = 0
    expected_tokens: int = 0
    total_computed_tokens: int = 0
    first_scheduled_s: float = math.nan
    first_token_s: float = math.nan
    last_token_s: float = math.nan
    alone_s: float = math.nan
    alone_tokens: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, request: Request, sent_s: float) -> Job:
        """The job of a request that reaches the replica at ``sent_s``."""
        return cls(
            position=request.position,
            arrival_s=sent_s,
            prompt_tokens=request.prompt_tokens,
            max_output_tokens=request.max_output_tokens,
            predicted_output_tokens=request.predicted_output_tokens,
            priority=request.priority,
            client=request.client,
            deadline_s=sent_s + request.ttft_slo_s,
            known_tokens=request.prompt_tokens,
            tpot_slo_s=request.tpot_slo_s,
        )

    @property
    def n_outputs(self) -> int:
        """Output tokens so far."""
        return self.known_tokens - self.prompt_tokens

    @property
    def missing_tokens(self) -> int:
        """Known tokens that are not computed."""
        return self.known_tokens - self.computed_tokens
