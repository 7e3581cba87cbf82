"""How the fast engine fills a step: the compositions that it knows."""

from __future__ import annotations

from collections.abc import Callable

from sim.policies import Chunked, Composition, Mixed, PrefillFirst, Static

from .shortage import continue_running
from .state import State

__all__ = ["Filling", "chunked", "filling"]

Filling = Callable[[State], int]


def chunked(state: State) -> int:
    """Running jobs, then prompts cut to what the budget leaves."""
    n = 0
    if state.n_running:
        cohort = state.cohort
        spare = state.free - cohort.offsets[cohort.step % state.block_tokens]
        if state.tail is None and spare >= state.kept_free:
            state.free = spare
            n = cohort.size
        else:
            n = continue_running(state)
    if state.line.n and not state.preempted:
        room = state.budget_tokens - n
        if state.chunks:
            room -= state.chunks[0][1]
        if room or state.rejects_at_head:
            state.admit(room, is_whole=False)
    return n


def _mixed(state: State) -> int:
    """Running jobs, and whole prompts beside them."""
    n = continue_running(state) if state.n_running else 0
    if state.line.n and not state.preempted:
        state.admit(state.budget_tokens - n, is_whole=True)
    return n


def _prefill_first(state: State) -> int:
    """Whole prompts alone if any can start, else the running jobs."""
    if state.line.n:
        state.admit(state.budget_tokens, is_whole=True)
        if state.chunks:
            return 0
    return continue_running(state) if state.n_running else 0


def _static(state: State) -> int:
    """The batch, or a new one of whole prompts if there is none."""
    if state.n_running:
        n = continue_running(state)
        if state.n_running or state.preempted:
            return n
    state.admit(state.budget_tokens, is_whole=True)
    return 0


def filling(composition: Composition) -> Filling | None:
    """What fills steps as ``composition`` does; None for one that the fast engine does not know."""
    kind = type(composition)
    if kind is Chunked:
        return _mixed if composition.whole_prompts else chunked
    known: dict[type, Filling] = {Mixed: _mixed, PrefillFirst: _prefill_first, Static: _static}
    return known.get(kind)
