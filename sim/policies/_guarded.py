"""A person's own pieces between the engine and themselves: what they are given, and what they may return."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sim.plan import PlanBuilder, View

from ._guard import Guard
from ._seen import SeenPlan, SeenView, looked_at, shown

__all__ = ["guarded"]


class _Piece:
    """Keeps the own piece and its guard."""

    def __init__(self, own: Any, guard: Guard) -> None:
        self._own, self._guard = own, guard

    def __repr__(self) -> str:
        return repr(self._own)

    def _ask(self, name: str, *args: Any, at: Any = None) -> Any:
        guard, before = self._guard, self._guard.at
        guard.at = before if at is None else f" at request {at.position}"
        try:
            return guard.call(name, getattr(self._own, name), *args)
        finally:
            guard.at = before


class _Keyed(_Piece):
    """An ordering by key."""

    def key(self, job: Any) -> tuple[float, ...]:
        key = self._ask("key", shown(job, self._guard), at=job)
        if not isinstance(key, tuple) or not all(map(_is_number, key)):
            raise self._guard.error(
                f"key of request {job.position} is {key!r}; it must be a tuple of numbers, as in (7.5, 3)"
            )
        return key


class _Arranged(_Piece):
    """An ordering made at every pass."""

    def arrange(self, waiting: Sequence[Any], view: View, ledger: Any) -> Iterator[Any]:
        guard = self._guard
        left = {id(job): job for job in waiting}
        there = set(left)
        jobs = [shown(job, guard) for job in waiting]
        known = ledger.own if isinstance(ledger, _Books) else ledger
        found = self._ask("arrange", jobs, SeenView(view, guard), known)
        if not isinstance(found, Iterable):
            raise guard.error(f"arrange returns {found!r}; it must give the waiting jobs in order")
        for item in guard.each("arrange", found):
            job = looked_at(item, guard, "the engine")
            if id(job) not in there:
                raise guard.error(f"arrange gives request {job.position}, which does not wait")
            if left.pop(id(job), None) is None:
                raise guard.error(
                    f"arrange doubles request {job.position}; it must give each waiting job once"
                )
            yield job
        for job in left.values():
            raise guard.error(f"arrange left out request {job.position}; it must give each waiting job once")

    def open_ledger(self) -> Any:
        own = self._ask("open_ledger") if hasattr(self._own, "open_ledger") else None
        return None if own is None else _Books(own, self._guard)


class _Books(_Piece):
    """A ledger, or the account of a gate."""

    @property
    def own(self) -> Any:
        return self._own

    def arrived(self, job: Any) -> None:
        self._ask("arrived", shown(job, self._guard), at=job)

    def returned(self, job: Any) -> None:
        self._ask("returned", shown(job, self._guard), at=job)

    def left(self, job: Any, *, is_admitted: bool) -> None:
        guard = self._guard
        guard.call("left", self._own.left, shown(job, guard), is_admitted=is_admitted)

    def sampled(self, job: Any) -> None:
        self._ask("sampled", shown(job, self._guard), at=job)

    def counters(self) -> dict[int, float]:
        return dict(self._ask("counters"))

    def kept_tokens(self, running: Iterable[Any]) -> float:
        kept = self._ask("kept_tokens", [shown(job, self._guard) for job in running])
        if not _is_number(kept):
            raise self._guard.error(f"kept_tokens returns {kept!r}; it must be a number")
        return float(kept)

    def continued(self, running: Sequence[Any], *, is_short: bool) -> None:
        guard = self._guard
        seen = [shown(job, guard) for job in running]
        guard.call("continued", self._own.continued, seen, is_short=is_short)


class _Filled(_Piece):
    """A composition."""

    @property
    def whole_prompts(self) -> bool:
        return bool(getattr(self._own, "whole_prompts", False))

    def fill(self, view: View, plan: PlanBuilder) -> None:
        guard = self._guard
        looked, seen = guard.n_looked, SeenView(view, guard)
        guard.at = ""
        self._ask("fill", seen, SeenPlan(plan, guard, seen))
        guard.at = ""
        if guard.counts:
            if any(job.is_prefilling for job in view.running):
                guard.n_looked = looked
            else:
                guard.n_there += len(view.running)


class _Gated(_Piece):
    """An admission gate."""

    @property
    def reserves(self) -> bool:
        return bool(getattr(self._own, "reserves", False))

    def tokens(self, job: Any, chunk_end_tokens: int) -> int:
        n = self._ask("tokens", shown(job, self._guard), chunk_end_tokens, at=job)
        if not _is_number(n) or n < 0 or n != int(n):
            raise self._guard.error(
                f"tokens of request {job.position} is {n!r}; it must be a whole number >= 0"
            )
        return int(n)


class _Expecting(_Gated):
    """A gate that keeps tokens free."""

    def open_account(self) -> Any:
        return _Books(self._ask("open_account"), self._guard)


class _Chosen(_Piece):
    """A victim rule."""

    @property
    def whole_batch(self) -> bool:
        return bool(getattr(self._own, "whole_batch", False))

    def choose(self, running: Sequence[Any]) -> Any:
        found = self._ask("choose", [shown(job, self._guard) for job in running])
        job = next((job for job in running if found == shown(job, self._guard)), None)
        if job is None:
            raise self._guard.error(f"choose returns {found!r}; it must be one of the running jobs")
        return job


class _Shed(_Piece):
    """A rule of shedding."""

    @property
    def action(self) -> str:
        return str(self._own.action)

    def is_late(self, job: Any, now_s: float, alone_s: float) -> bool:
        return bool(self._ask("is_late", shown(job, self._guard), now_s, alone_s, at=job))


def guarded(role: str, piece: Any, guard: Guard, *, always: bool = False) -> Any:
    """The piece between guards if it is a person's own; one of this package as it is, unless ``always``.

    ``role`` is the field of `sim.policies.Policy` that it stands for.
    """
    if isinstance(piece, _Piece):
        return piece
    if not always and type(piece).__module__.startswith("sim.policies."):
        if is_dataclass(piece) and any(item.name == "inner" for item in fields(piece)):
            kept: Any = piece
            return replace(kept, inner=guarded(role, kept.inner, guard))
        return piece
    if role == "ordering":
        return (_Arranged if hasattr(piece, "arrange") else _Keyed)(piece, guard)
    if role == "admission":
        return (_Expecting if hasattr(piece, "open_account") else _Gated)(piece, guard)
    return {"composition": _Filled, "victim": _Chosen, "shed": _Shed}[role](piece, guard)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)
