"""What a person's own code is given to see: jobs, view and plan that cannot be changed but as they should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from sim.job import JobView
from sim.plan import PlanBuilder, View

from ._guard import Guard

__all__ = ["SeenJob", "SeenPlan", "SeenView", "looked_at", "shown"]

_LIMITS = {
    "budget_left_tokens": "over budget, as what a step may compute is not its to change",
    "n_preempted": "who is preempted is the engine's to count",
}


class _Seen:
    """Nothing can be set on it."""

    __slots__ = ("_guard", "_inner")

    _inner: Any
    _guard: Guard
    _kind = "view"

    def __init__(self, inner: Any, guard: Guard) -> None:
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_guard", guard)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        why = _LIMITS.get(name, "it may only be read")
        raise self._guard.error(f"sets {name!r} of the {self._kind} to {value!r}{self._guard.at}: {why}")

    def __delattr__(self, name: str) -> NoReturn:
        raise self._guard.error(f"deletes {name!r} of the {self._kind}: it may only be read")


class SeenJob(_Seen):
    """`sim.job.JobView` and nothing beyond it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise self._guard.error(
            f"sets {name!r} of request {self._inner.position} to {value!r}: a job may only be read"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeenJob) and other._inner is self._inner

    def __hash__(self) -> int:
        return hash(id(self._inner))

    def __repr__(self) -> str:
        return f"request {self._inner.position}"


def _readable(name: str) -> property:
    return property(lambda seen: getattr(seen._inner, name))


for _name in (name for name in vars(JobView) if isinstance(vars(JobView)[name], property)):
    setattr(SeenJob, _name, _readable(_name))


def shown(job: Any, guard: Guard) -> Any:
    """A job as own code may see it."""
    return job if isinstance(job, SeenJob) else SeenJob(job, guard)


def looked_at(job: Any, guard: Guard, name: str) -> Any:
    """The job behind what own code hands back as one."""
    if not isinstance(job, SeenJob):
        raise guard.error(f"{name} is given {job!r}, which is no job of this replica")
    return job._inner


class _Running(Sequence[Any]):
    """The running jobs; those that are looked at are counted."""

    def __init__(self, jobs: Sequence[JobView], guard: Guard) -> None:
        self._jobs, self._guard = jobs, guard

    def __len__(self) -> int:
        return len(self._jobs)

    def __getitem__(self, index: Any) -> Any:
        found = self._jobs[index]
        if isinstance(index, slice):
            return _Running(found, self._guard)
        self._guard.n_looked += 1
        return shown(found, self._guard)

    def __iter__(self) -> Iterator[Any]:
        for job in self._jobs:
            self._guard.n_looked += 1
            yield shown(job, self._guard)


class SeenView(_Seen):
    """`sim.plan.View`."""

    __slots__ = ("_offered",)

    _inner: View
    _offered: set[int]

    def __init__(self, inner: View, guard: Guard) -> None:
        super().__init__(inner, guard)
        object.__setattr__(self, "_offered", set())

    @property
    def waiting(self) -> Iterator[Any]:
        """Waiting jobs in the order of the policy."""
        for job in self._inner.waiting:
            self._offered.add(id(job))
            self._guard.at = f" at request {job.position}"
            yield shown(job, self._guard)
            self._guard.at = ""

    @property
    def running(self) -> Sequence[Any]:
        """Running jobs in the order of their admission."""
        return _Running(self._inner.running, self._guard)

    def block_keys(self, job: Any) -> Sequence[int]:
        """Keys of the full blocks of its known tokens."""
        return tuple(self._inner.block_keys(looked_at(job, self._guard, "block_keys")))

    def text(self, job: Any) -> tuple[str, Sequence[int]]:
        """Cache salt and numbers of its known tokens."""
        salt, tokens = self._inner.text(looked_at(job, self._guard, "text"))
        return salt, tuple(tokens)

    def cached_tokens(self, job: Any) -> int:
        """Known tokens that would be reused."""
        return self._inner.cached_tokens(looked_at(job, self._guard, "cached_tokens"))

    def alone_s(self, job: Any) -> float:
        """Seconds until its next token if it were served alone from now on."""
        return self._inner.alone_s(looked_at(job, self._guard, "alone_s"))

    def is_offered(self, job: JobView) -> bool:
        """Whether a job waits."""
        if id(job) in self._offered:
            self._offered.discard(id(job))
            return True
        return any(other is job for other in self._inner.waiting)


for _name in ("now_s", "n_swapped", "n_free_blocks", "block_tokens", "has_prefix_cache"):
    setattr(SeenView, _name, _readable(_name))


class SeenPlan(_Seen):
    """`sim.plan.PlanBuilder`."""

    __slots__ = ("_view",)

    _kind = "plan"
    _inner: PlanBuilder
    _view: SeenView

    def __init__(self, inner: PlanBuilder, guard: Guard, view: SeenView) -> None:
        super().__init__(inner, guard)
        object.__setattr__(self, "_view", view)

    def run(self, job: Any) -> bool:
        """Let a running job compute."""
        return self._inner.run(looked_at(job, self._guard, "run"))

    def continue_running(self) -> None:
        """All running jobs."""
        self._inner.continue_running()

    def admit(self, job: Any, *, whole: bool = False) -> bool:
        """Let a waiting job in."""
        real = looked_at(job, self._guard, "admit")
        if not self._view.is_offered(real):
            raise self._guard.error(f"admits request {real.position}, which does not wait")
        return self._inner.admit(real, whole=whole)

    def swap_in(self) -> None:
        """Bring jobs back from the host."""
        self._inner.swap_in()

    def is_cut(self, job: Any) -> bool:
        """Whether a job will not be complete after the step."""
        return self._inner.is_cut(looked_at(job, self._guard, "is_cut"))


for _name in ("budget_left_tokens", "n_preempted", "is_empty"):
    setattr(SeenPlan, _name, _readable(_name))
