"""What running jobs are expected to need, without a walk over the decodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from sim.policies import MOST_TOKENS, Chunked, Expected, Mixed, Policy

from .cohort import Cohort
from .job import FastJob

__all__ = ["Outlook", "outlook_of"]


class Outlook:
    """The account of an `Expected` gate, and the ledger of the cohort for it.

    A member may still produce so many tokens: one less after each step, so that their sum is told by the sum
    of the steps at which each has none left. Those that may produce more than are expected of one job count
    as such until the step at which they do not.

    Parameters
    ----------
    gate : Expected
    cohort : Cohort
        With no members.
    is_last : bool
        Whether newcomers of a step come after the members have their blocks for it.
    """

    __slots__ = (
        "_ahead",
        "_at",
        "_cohort",
        "_ends",
        "_gate",
        "_long",
        "_n",
        "_new",
        "_ratios",
        "_size",
        "_sum",
        "_turns",
    )

    def __init__(self, gate: Expected, cohort: Cohort, *, is_last: bool) -> None:
        self._gate, self._cohort, self._size = gate, cohort, len(cohort.offsets)
        cohort.ledger, self._ahead = self, int(is_last)
        self._ratios, self._at = [gate.first_ratio], 0  # from the last shortage on; where we are
        self._new = 0  # of the jobs that have not decoded yet
        self._ends: dict[FastJob, int] = {}  # the step at which a member has none left
        self._long: set[FastJob] = set()
        self._turns: list[tuple[int, FastJob]] = []  # when a long one is long no more
        self._n = self._sum = 0  # members that are not long, and the sum of their ends

    # ---- members

    def sampled(self, job: FastJob) -> None:
        """Of no meaning here."""

    def joined(self, job: FastJob) -> None:
        """A job decodes from the next step on."""
        step = self._cohort.step
        self._ends[job] = end = step + job.max_output_tokens - job.n_outputs
        if end - step > MOST_TOKENS:
            self._long.add(job)
            heappush(self._turns, (end - MOST_TOKENS, job))
        else:
            self._n += 1
            self._sum += end

    def left(self, job: FastJob) -> None:
        """It does not decode any more."""
        end = self._ends.pop(job)
        if job in self._long:
            self._long.remove(job)
        else:
            self._n -= 1
            self._sum -= end

    def _settle(self) -> None:
        """Members that became shorter."""
        turns, step = self._turns, self._cohort.step
        while turns and (turns[0][0] <= step or turns[0][1] not in self._long):
            turn, job = heappop(turns)
            if job in self._long and self._ends[job] == turn + MOST_TOKENS:
                self._long.remove(job)
                self._n += 1
                self._sum += turn + MOST_TOKENS

    def _left_tokens(self, n_steps: int) -> int:
        """What the members may still produce after some steps, before the next turn."""
        return MOST_TOKENS * len(self._long) + self._sum - self._n * (self._cohort.step + n_steps)

    # ---- the share

    def continued(self, survivors: list[FastJob] | None) -> None:
        """The running jobs take another step, after a shortage if there are ``survivors``."""
        if survivors is None:
            self.advance(1)
        else:
            self._ratios, self._at = [self._gate.short_ratio(survivors)], 0

    def advance(self, n_steps: int) -> None:
        """So many more steps were taken."""
        self._at += n_steps

    def _ratio(self, n_steps: int) -> float:
        """The share after some more steps."""
        ratios, at = self._ratios, self._at + n_steps
        while len(ratios) <= at:
            following = self._gate.next_ratio(ratios[-1])
            if following == ratios[-1]:
                return following
            ratios.append(following)
        return ratios[at]

    # ---- the gate

    def begin_pass(self, unfinished: Iterable[FastJob]) -> None:
        """Jobs may come in, beside those whose prompts are under way."""
        self._settle()
        self._new = sum(map(self._gate.left_tokens, unfinished))

    def lets_in(self, job: FastJob, spare_blocks: int, n_running: int) -> bool:
        """Whether ``job`` comes in if so many blocks are left beside what it may need itself."""
        kept = self._new + self._ratio(0) * self._left_tokens(0)
        if n_running and not self._size + kept < self._room(job, spare_blocks):
            return False
        self._new += self._gate.left_tokens(job)
        return True

    def _room(self, job: FastJob, spare_blocks: int) -> int:
        return spare_blocks * self._size + -self._gate.tokens(job, 0) % self._size

    def closed_steps(self, job: FastJob, spare_blocks: int, n_steps: int) -> int:
        """Steps of the members alone, 1 .. ``n_steps``, until ``job`` may come in, or one is long no more.

        The members have the blocks of the first of these steps; ``spare_blocks`` are left beside what the job
        may need itself. The share is already that of the next step.
        """
        self._settle()
        spare_blocks += self._cohort.blocks_needed()
        if self._turns:
            n_steps = min(n_steps, self._turns[0][0] - self._cohort.step)
        ahead = self._ahead

        def may_open(low: int, high: int) -> bool:
            """Whether the gate may be open after ``low .. high`` steps; of a single number it is certain."""
            spare = spare_blocks - self._cohort.blocks_in(low + ahead)
            ratio = min(self._ratio(low - 1 + ahead), self._ratio(high - 1 + ahead))
            return spare >= 0 and self._size + ratio * self._left_tokens(high) < self._room(job, spare)

        return _first(may_open, 1, n_steps - 1) or n_steps


def _first(may_be: Callable[[int, int], bool], low: int, high: int) -> int | None:
    """The first of ``low .. high`` of which it is so; parts of which it cannot be so are left out."""
    if low > high or not may_be(low, high):
        return None
    if low == high:
        return low
    middle = (low + high) // 2
    return _first(may_be, low, middle) or _first(may_be, middle + 1, high)


def outlook_of(policy: Policy, cohort: Cohort) -> Outlook | None:
    """The account of the gate of ``policy`` if it has one."""
    if not isinstance(policy.admission, Expected):
        return None
    return Outlook(policy.admission, cohort, is_last=isinstance(policy.composition, Chunked | Mixed))
