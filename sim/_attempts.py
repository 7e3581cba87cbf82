"""A replica whose clients give up: late requests are cancelled between steps, and may be sent again."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

from qtheory.system.workload.request import Requests

from ._state import State
from ._stepper import Stepper
from .job import SAME_MOMENT_S, Job
from .kvcache import Contents

__all__ = ["Attempts", "PatientStepper", "SameText"]


class SameText(Contents):
    """Every attempt of a request says what the request says."""

    def __init__(self, contents: Contents, n_each: int) -> None:
        self._contents, self._n_each = contents, n_each

    def salt(self, position: int) -> str:
        """Cache salt of the request."""
        return self._contents.salt(position // self._n_each)

    def tokens(self, position: int, *, prompt_tokens: int, n_outputs: int) -> list[int]:
        """Known tokens of the request."""
        return self._contents.tokens(
            position // self._n_each, prompt_tokens=prompt_tokens, n_outputs=n_outputs
        )


class Attempts:
    """Where the attempts come from: the first of each request at its arrival, the next if one was cancelled.

    Attempt k of request i has row ``i * (1 + len(delays_s)) + k``.

    Parameters
    ----------
    requests : Requests
        One row an attempt.
    delays_s : list of float
        From giving up an attempt until the next is sent.
    """

    def __init__(self, requests: Requests, delays_s: list[float]) -> None:
        self._delays_s = delays_s
        n_each = len(delays_s) + 1
        firsts = enumerate(requests.arrival_s[::n_each].tolist())
        self._ahead = [(at_s, i * n_each) for i, at_s in firsts]  # sorted, so a heap

    @property
    def next_s(self) -> float:
        """When the next attempt is sent, as far as known now; infinite if none is."""
        return self._ahead[0][0] if self._ahead else math.inf

    @property
    def has_more(self) -> bool:
        """Whether any attempt is known that is still to be sent."""
        return bool(self._ahead)

    def take(self, now_s: float) -> Iterator[tuple[int, float]]:
        """Row and moment of every attempt sent up to now."""
        while self.next_s <= now_s + SAME_MOMENT_S:
            sent_s, row = heapq.heappop(self._ahead)
            yield row, sent_s

    def place_free(self, at_s: float, position: int = -1) -> None:
        """An attempt came to its end; nothing follows from that alone."""

    def again(self, row: int, given_up_s: float) -> None:
        """The attempt in this row was given up: send the next, if one is left."""
        k = row % (len(self._delays_s) + 1)
        if k < len(self._delays_s):
            heapq.heappush(self._ahead, (given_up_s + self._delays_s[k], row + 1))


class PatientStepper(Stepper):
    """As `Stepper`; between two steps it drops what its client has given up.

    A step that is under way is not broken off: blocks come free at its end.
    """

    def __init__(
        self, requests: Requests, state: State, attempts: Attempts, timeout_s: float, whole: bool
    ) -> None:
        super().__init__(requests, state, attempts)
        self._attempts, self._timeout_s, self._is_whole = attempts, timeout_s, whole
        self._limits: list[tuple[float, int]] = []
        self._inside: dict[int, Job] = {}
        self.wasted_tokens = [0] * len(requests)

    def _take_arrivals(self) -> None:
        while self._client.next_s <= self.now_s + SAME_MOMENT_S:
            super()._take_arrivals()
            self._drop_late()  # a retry that was sent during the step may be late by its end
        self._drop_late()

    def _drop_late(self) -> None:
        while self._limits and self._limits[0][0] < self.now_s - SAME_MOMENT_S:
            limit_s, row = heapq.heappop(self._limits)
            job = self._inside.get(row)
            if job is not None and self._has_given_up(job, self.now_s):
                self._cancel(job, limit_s)

    def _let_in(self, job: Job, sent_s: float) -> None:
        self._inside[job.position] = job
        heapq.heappush(self._limits, (sent_s + self._timeout_s, job.position))
        super()._let_in(job, sent_s)

    def _has_given_up(self, job: Job, by_s: float) -> bool:
        """Whether the client of ``job``, which was not finished before ``by_s``, has gone."""
        limit_s = job.arrival_s + self._timeout_s + SAME_MOMENT_S
        got_s = by_s if self._is_whole or math.isnan(job.first_token_s) else job.first_token_s
        return got_s > limit_s

    def _cancel(self, job: Job, limit_s: float) -> None:
        """Take a job out of wherever it stands."""
        state = self.state
        if job in state.running:
            state.running.remove(job)
            state.memory.close(job.position)
        elif any(job is other for other, _ in state.swapped):
            state.swapped = type(state.swapped)(pair for pair in state.swapped if pair[0] is not job)
        else:
            state.waiting.remove(job, is_admitted=False)
        self._end(job, self.now_s, "abort")
        self._attempts.again(job.position, limit_s)

    def _depart(self, job: Job, end_s: float) -> None:
        if not self._has_given_up(job, end_s):
            super()._depart(job, end_s)
            return
        self.state.memory.close(job.position)
        self._end(job, end_s, "abort")
        self._attempts.again(job.position, job.arrival_s + self._timeout_s)

    def _end(self, job: Job, at_s: float, how: str) -> None:
        self._inside.pop(job.position, None)
        if how == "abort":
            self.wasted_tokens[job.position] = job.total_computed_tokens
        super()._end(job, at_s, how)
