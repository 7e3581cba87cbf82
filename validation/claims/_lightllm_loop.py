"""The server of `lightllm` in a loop of its own, for many runs: the same times with a tenth of the work."""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.workload.request import Requests

from ._lightllm import STEPS_BETWEEN, prompt_budget_tokens

__all__ = ["ServedInOrder", "served_in_order"]


class ServedInOrder(NamedTuple):
    """First tokens and ends of requests, seconds (n,), and the share whose adapter had to be fetched."""

    first_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    fetched_frac: float


def served_in_order(
    asked: Requests,
    step_time: StepTime,
    n_tokens: int,
    adapter_tokens: tuple[int, ...] = (),
    *,
    fetch_s: float = 0.0,
) -> ServedInOrder:
    """Serve requests that are taken in as they come.

    All running jobs get a token in a step of decodes, so such steps are counted, and a job is known by the
    count at which it ends. Only whether a newcomer fits looks at all of them.

    Parameters
    ----------
    asked : Requests
    step_time : StepTime
    n_tokens : int
        Tokens of the memory.
    adapter_tokens : tuple of int
        What the adapter of each client takes of it.
    fetch_s : float
        Seconds until an adapter is there that no running job has, before the step of its prompt.

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0, 0.5], prompt_tokens=[10, 30], output_tokens=[3, 9])
    >>> served = served_in_order(asked, ConstantStep(1.0), 100)
    >>> served.first_s.tolist(), served.end_s.tolist()
    ([1.0, 4.0], [3.0, 12.0])
    """
    loop = _Loop(asked, step_time, n_tokens, adapter_tokens)
    loop.fetch_s = fetch_s
    loop.run()
    return ServedInOrder(loop.first_s, loop.end_s, loop.n_fetched / len(asked))


class _Loop:
    """One run; ``running`` has the end of each job, negative, and its row: who ends last comes first."""

    def __init__(
        self, asked: Requests, step_time: StepTime, n_tokens: int, adapter_tokens: tuple[int, ...]
    ) -> None:
        self.arrival_s: list[float] = asked.arrival_s.tolist()
        self.prompts: list[int] = asked.prompt_tokens.tolist()
        self.outputs: list[int] = asked.output_tokens.tolist()
        self.clients: list[int] = [row.client for row in asked]
        self.step_s, self.n_tokens, self.adapter_tokens = step_time.step_s, n_tokens, adapter_tokens
        self.first_s, self.end_s = np.full(len(asked), np.nan), np.full(len(asked), np.nan)
        self.running: list[tuple[int, int]] = []
        self.now_s, self.n_decoded, self.context, self.next = 0.0, 0, 0, 0
        self.fetch_s, self.n_fetched = 0.0, 0

    def run(self) -> None:
        """Until all have ended."""
        while self.running or self.next < len(self.arrival_s):
            if not self.running:
                self.now_s = max(self.now_s, self.arrival_s[self.next])
            if not (self._looks() and self._prompts()):
                self._decode()

    def _looks(self) -> bool:
        """Whether the youngest has decoded for long enough."""
        youngest = max((job for _, job in self.running), default=None)
        if youngest is None:
            return True
        end = next(-end for end, job in self.running if job == youngest)
        return self.n_decoded - (end - self.outputs[youngest] + 1) >= STEPS_BETWEEN

    def _prompts(self) -> bool:
        """A step of the prompts that fit, if there are any."""
        first, left = self.next, prompt_budget_tokens(self.n_tokens)
        held = {self.clients[job] for _, job in self.running}
        while self.next < len(self.arrival_s) and self.arrival_s[self.next] <= self.now_s:
            job = self.next
            if self.prompts[job] > left or not self._fits(job):
                break
            left -= self.prompts[job]
            insort(self.running, (-(self.n_decoded + self.outputs[job] - 1), job))
            self.next += 1
        lengths = self.prompts[first : self.next]
        if not lengths:
            return False
        n_fetched = len(set(self.clients[first : self.next]) - held) if self.adapter_tokens else 0
        self.n_fetched += n_fetched
        total, work = sum(lengths), sum(each * (each + 1) / 2 for each in lengths)
        self.now_s += n_fetched * self.fetch_s
        self.now_s += self.step_s(StepLoad(0, 0, total, work, total, len(lengths)))
        self.first_s[first : self.next] = self.now_s
        self.context += total + len(lengths)
        self._leave()
        return True

    def _decode(self) -> None:
        """One token more for each."""
        n = len(self.running)
        self.now_s += self.step_s(StepLoad(n, self.context, 0, 0.0, 0, n))
        self.n_decoded += 1
        self.context += n
        self._leave()

    def _leave(self) -> None:
        """Those whose last token this was."""
        while self.running and -self.running[-1][0] <= self.n_decoded:
            _, job = self.running.pop()
            self.end_s[job] = self.now_s
            self.context -= self.prompts[job] + self.outputs[job]

    def _fits(self, job: int) -> bool:
        """As `FutureFits`: what all hold at the end of each stays below the memory."""
        most = held = 0
        rows = sorted([*self.running, (-(self.n_decoded + self.outputs[job] - 1), job)])
        for n, (end, row) in enumerate(rows, start=1):
            left = -end - self.n_decoded
            held += self.prompts[row] + self.outputs[row] - left
            most = max(most, held + n * left)
        if self.adapter_tokens:
            most += sum(self.adapter_tokens[client] for client in {self.clients[row] for _, row in rows})
        return most < self.n_tokens
