"""How the fast engine fills a step: the compositions that it knows."""

from __future__ import annotations

from collections.abc import Callable

from qtheory.basics.errors import ConfigError
from sim.policies import (
    Chunked,
    Expected,
    Mixed,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Static,
    slack_tokens,
)

from .shortage import continue_running, run_tail
from .state import State

__all__ = ["Filling", "chunked", "fill_of", "filling"]

Filling = Callable[[State], int]


def chunked(state: State) -> int:
    """Running jobs, then prompts cut to what the budget leaves."""
    n = 0
    if state.n_running:
        cohort = state.cohort
        spare = state.free - cohort.offsets[cohort.step % state.block_tokens]
        if state.tail is None and spare >= state.kept_free and state.outlook is None and not state.overtaken:
            state.free = spare
            n = cohort.size
        else:
            n = continue_running(state)
    if state.line.n and not state.preempted:
        room = min(state.budget_tokens - n, state.most_prompt)
        for _, n_tokens in state.chunks:
            room -= n_tokens
        if room or state.rejects_at_head:
            state.admit(room, is_whole=False)
    return n


def _expecting(state: State) -> int:
    """As `chunked`, for a loop that tells of every step."""
    return chunked(state)


def _slack_sized(state: State) -> int:
    """As `chunked`, with no more of prompts than the decodes can wait for."""
    tail, cohort, slack = state.tail, state.cohort, state.slack
    if slack is not None and (tail is not None or state.line.n):
        state.most_prompt = slack_tokens(
            state.replica.step_time,
            n_decodes=cohort.size,
            context_tokens=cohort.context_tokens,
            before_tokens=0 if tail is None else tail.computed_tokens,
            slack_s=slack.due_s() - state.now_s,
            block_tokens=state.block_tokens,
            budget_tokens=state.budget_tokens,
        )
    return chunked(state)


def _mixed(state: State) -> int:
    """Running jobs, and whole prompts beside them."""
    n = continue_running(state) if state.n_running else 0
    if state.line.n and not state.preempted:
        room = state.budget_tokens - n
        if state.chunks:
            room -= state.chunks[0][1]
        state.admit(room, is_whole=True)
    return n


def _prefill_first(state: State) -> int:
    """Whole prompts alone if any can start, else the running jobs."""
    if state.line.n:
        tail = state.tail
        state.admit(state.budget_tokens, is_whole=True)
        if state.chunks:
            if tail is not None:
                state.overtaken.append(tail)
                if state.tail is tail:
                    state.tail = None
            return 0
    return continue_running(state) if state.n_running else 0


def _prefill_first_chunked(state: State) -> int:
    """The unfinished prompt, and new ones up to the first that is cut, alone, else the running jobs."""
    room, tail = state.budget_tokens, state.tail
    run_tail(state)
    if state.chunks:
        room -= state.chunks[0][1]
    is_cut = (
        tail is not None
        and bool(state.chunks)
        and tail.computed_tokens + state.chunks[0][1] < tail.known_tokens
    )
    if state.line.n and not state.preempted and not is_cut:
        state.admit(room, is_whole=False)
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


def filling(policy: Policy) -> Filling | None:
    """What fills steps as the composition of ``policy`` does; None if the fast engine does not know it."""
    kind = type(policy.composition)
    if policy.chunk_size == "slack":
        return _slack_sized if kind is Chunked else None
    if kind is Chunked:
        if policy.composition.whole_prompts:
            return _mixed
        return _expecting if isinstance(policy.admission, Expected) else chunked
    known: dict[type, Filling] = {
        Mixed: _mixed,
        PrefillFirst: _prefill_first,
        PrefillFirstChunked: _prefill_first_chunked,
        Static: _static,
    }
    return known.get(kind)


def fill_of(policy: Policy) -> Filling:
    """The same, for a policy that must be known."""
    fill = filling(policy)
    if fill is None:
        raise ConfigError(f"composition: {policy.composition} is not one of the fast engine")
    return fill
