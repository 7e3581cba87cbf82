"""A prefill instance: prompts alone; their blocks stay until the keys and values have left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.system.workload.request import Requests
from sim._stepper import Stepper
from sim.job import SAME_MOMENT_S, Job
from sim.observe import Observer

from ._mailbox import Mailbox
from ._views import Texts
from .member import Member

__all__ = ["PrefillServer", "prompts_of"]


class PrefillServer(Stepper):
    """The reference engine with outputs of one token, which is not what counts here.

    Attributes
    ----------
    done : list of (Job, float)
        Prompts that are complete, with the moment, until somebody takes them from here.
    gone : list of (Job, float, str)
        Jobs that were given up, and how, likewise.
    """

    is_alone = False

    def __init__(
        self,
        requests: Requests,
        member: Member,
        texts: Texts,
        observer: Observer | None,
    ) -> None:
        self.mailbox = Mailbox()
        state = texts.state(member)
        super().__init__(prompts_of(requests), state, self.mailbox, observer)
        self.done: list[tuple[Job, float]] = []
        self.gone: list[tuple[Job, float, str]] = []
        self._held: set[int] = set()

    def completing(self, at_s: float) -> list[Job]:
        """Jobs whose prompts will be complete with the step that begins now, if one does."""
        step = self._step
        if step is None or step.start_s < at_s - SAME_MOMENT_S:
            return []
        return [job for job, n in step.plan.tokens.items() if job.missing_tokens == n]

    def release(self, position: int, at_s: float) -> None:
        """The blocks of a prompt are free again."""
        self._held.remove(position)
        self.state.memory.close(position)
        self.wake(at_s)

    def _depart(self, job: Job, end_s: float) -> None:
        self._held.add(job.position)
        self.done.append((job, end_s))
        super()._end(job, end_s, "finished")

    def _end(self, job: Job, at_s: float, how: str) -> None:
        super()._end(job, at_s, how)
        self.gone.append((job, at_s, how))

    def _holders(self) -> list[int]:
        return list(self._held)


def prompts_of(requests: Requests) -> Requests:
    """The same with one token of output each; what outputs are thought to be stays."""
    one = np.ones(len(requests), dtype=np.int64)
    given = requests.predicted_output_tokens
    predicted = requests.output_tokens.astype(np.float64) if given is None else given
    return replace(requests, output_tokens=one, max_output_tokens=None, predicted_output_tokens=predicted)
