"""The gate of SGLang: room for what running jobs are expected to produce."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from qtheory.basics import checks
from sim.job import JobView

from .pieces import Account

__all__ = ["MOST_TOKENS", "Expected"]

MOST_TOKENS = 4096
"""Output tokens that are expected of one job at most."""

_FIRST_RATIO, _LEAST_SHARE = 0.7, 0.14  # of the possible output, at first; and of that, in the long run
_DECAY_STEPS = 600
_STEPS_AHEAD = 20  # that the survivors of a shortage are given


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Prompt and longest output of the newcomer, and a share of what each running job may still produce [1]_.

    The share falls linearly from 0.7 to 0.14 of that in 600 decode steps, and after a shortage jumps to what
    the survivors have produced so far, with 20 steps more, of what they may. Jobs that have not decoded yet
    count in full.

    Parameters
    ----------
    conservativeness : float
        Factor of the first share, which is at most one, > 0.

    Raises
    ------
    ConfigError
        If ``conservativeness`` is not above zero.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, ``PrefillAdder``, and ``ScheduleBatch.retract_decode``,
       July 2026.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[0.0], prompt_tokens=[30], output_tokens=[9]).row(0)
    >>> Expected().tokens(Job.of(row, 0.0), chunk_end_tokens=8)
    39
    """

    reserves: ClassVar[bool] = False

    conservativeness: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(conservativeness=self.conservativeness)

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """Known tokens, and the output that may still come; what a resumed job stores at its end will do."""
        wanted = job.known_tokens + self.left_tokens(job)
        if not job.n_outputs:
            return wanted
        return max(job.known_tokens, min(wanted, job.prompt_tokens + job.max_output_tokens - 1))

    def left_tokens(self, job: JobView) -> int:
        """Output that may still come, at most 4,096 tokens."""
        return min(max(job.max_output_tokens - job.n_outputs, 0), MOST_TOKENS)

    def open_account(self) -> Account:
        """The share at its start."""
        return _Share(self)

    @property
    def first_ratio(self) -> float:
        """The share at its start."""
        return min(_FIRST_RATIO * self.conservativeness, 1.0)

    def next_ratio(self, ratio: float) -> float:
        """The share after a decode step."""
        least = self.first_ratio * _LEAST_SHARE
        return max(least, ratio - (self.first_ratio - least) / _DECAY_STEPS)

    def short_ratio(self, survivors: Sequence[JobView]) -> float:
        """The share after a shortage."""
        decoded = sum(job.n_outputs + _STEPS_AHEAD for job in survivors)
        return min(1.0, decoded / (sum(job.max_output_tokens for job in survivors) + 1))


class _Share:
    """The share of the possible output that is expected of jobs that decode."""

    def __init__(self, gate: Expected) -> None:
        self._gate = gate
        self.ratio = gate.first_ratio

    def kept_tokens(self, running: Iterable[JobView]) -> float:
        """A share of what each may still produce."""
        left, jobs = self._gate.left_tokens, list(running)
        new = sum(left(job) for job in jobs if job.is_prefilling)
        return new + self.ratio * sum(left(job) for job in jobs if not job.is_prefilling)

    def continued(self, running: Sequence[JobView], *, is_short: bool) -> None:
        """The share falls, or jumps after a shortage."""
        if running:
            gate = self._gate
            self.ratio = gate.short_ratio(running) if is_short else gate.next_ratio(self.ratio)
