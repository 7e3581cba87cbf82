"""Several instances of a kind, and decodes that are preempted, give the records of the reference engine."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from sim.cluster._paced_pools import DecodeLoop, PromptLoop, _DecodeState
from sim.cluster._queued_links import QueuedLinks
from sim.fast.paced import Paced

CASES = runpy.run_path(str(Path(__file__).with_name("pool_cases.py")))
SHOWN = range(50)
"""Seeds at which the engines agree and nothing is raised, so that with a fault either tells of the fault."""


def _agree(seeds):
    n_short = 0
    for seed in seeds:
        found, n_preempted = CASES["compare_several"](*CASES["draw_several"](seed))
        assert not found, f"seed {seed}"
        n_short += n_preempted > 0
    assert n_short > 0.1 * len(seeds)


def test_the_engines_agree_on_random_pools_of_several():
    _agree(SHOWN)


@pytest.mark.slow
def test_the_engines_agree_on_800_more_of_them():
    _agree(range(30_000, 30_800))


def _no_cut(patch):
    """Who decodes goes on as if nothing came."""
    patch.setattr(Paced, "cut", lambda self, at_s: None)


def _whole_run_taken(patch):
    """A prompt finds the blocks that are free at the beginning of a run."""
    patch.setattr(DecodeLoop, "done_steps", lambda self: (0, 1))


def _prompts_last(patch):
    """Who lands is older than a prompt under way."""
    plain = _DecodeState.take_arrivals

    def take_arrivals(self):
        tail, self.tail = self.tail, None
        plain(self)
        self.tail = tail

    patch.setattr(_DecodeState, "take_arrivals", take_arrivals)


def _blocks_gone_with_the_prompt(patch):
    plain = PromptLoop._finish

    def finish(self, job, end_s):
        plain(self, job, end_s)
        self.state.free += self._held[job.position]
        self._held[job.position] = 0

    patch.setattr(PromptLoop, "_finish", finish)


def _room_not_told(patch):
    """An instance gets room with a pass, and nobody looks before the next change."""
    patch.setattr(QueuedLinks, "waits_for", lambda self, target: False)


def _all_on_one_wire(patch):
    patch.setattr(QueuedLinks, "_wire", lambda self, wire, target: (-1, -1))


FAULTS = {
    "no cut": _no_cut,
    "blocks of a run": _whole_run_taken,
    "order of who lands": _prompts_last,
    "blocks of prompts": _blocks_gone_with_the_prompt,
    "room not told": _room_not_told,
    "one wire": _all_on_one_wire,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_there_is_caught(fault, monkeypatch):
    FAULTS[fault](monkeypatch)

    def differs(seed):
        try:
            return bool(CASES["compare_several"](*CASES["draw_several"](seed))[0])
        except (ArithmeticError, AssertionError, IndexError, KeyError, ValueError):
            return True

    assert any(differs(seed) for seed in SHOWN)
