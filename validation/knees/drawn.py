"""The systems on which predicted knees are measured: drawn by a seeded rule, none chosen by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TypeVar

import numpy as np

from qtheory.basics import checks
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of

__all__ = ["ARRIVALS", "SCHEDULERS", "System", "drawn"]

T = TypeVar("T")
SCHEDULERS = ("fcfs", "chunked", "slo", "sjf", "orca", "static")
"""Those of one replica that there is a model of; pools take minutes of simulation each."""
_MACHINES = (
    ("rtx3050", "llama-3.2-1b", 1),
    ("l4", "llama-3.2-3b", 1),
    ("a10g", "llama-3.2-3b", 1),
    ("l40s", "llama-3.1-8b", 1),
    ("a100", "llama-3.1-8b", 1),
    ("a100", "qwen2.5-14b", 1),
    ("h100", "llama-3.1-8b", 1),
    ("h100", "llama-3.1-70b", 4),
)
_WORKLOADS = ("chat", "rag", "code", "summarize")  # not reasoning: outputs of thousands take minutes each
_MEMORY = ("of the card", "tight")
ARRIVALS = ("poisson", "gamma(cv=2)")
"""Kinds of arrivals that are drawn, two of the first for one of the second."""
_ROOM_OF_TIGHT = 32  # mean requests
_LONGEST = 1.25  # and at least so many of the longest
_N_EACH, _SEED = 6, 20_261_130


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A scheduler on an accelerator under a load.

    Parameters
    ----------
    scheduler, hardware, model : str
    tp : int
        Accelerators of a replica.
    workload, arrivals : str
    memory : str
        ``of the card``, or ``tight``: room for 32 mean requests, and for 1.25 of the longest at least.
    """

    scheduler: str
    hardware: str
    model: str
    tp: int
    workload: str
    arrivals: str
    memory: str

    def scenario(self) -> Scenario:
        """The scenario, without a rate."""
        plain = Scenario(
            scheduler=self.scheduler,
            hardware=self.hardware,
            model=self.model,
            tp=self.tp,
            workload=self.workload,
            arrivals=self.arrivals,
        )
        if self.memory == _MEMORY[0]:
            return plain
        lengths = workload_of(plain).lengths
        mean = lengths.mean_prompt_tokens + lengths.mean_output_tokens
        longest = lengths.prompt_law.support[1] + lengths.output_law.support[1]
        n_tokens = max(_ROOM_OF_TIGHT * mean, _LONGEST * longest)
        return Scenario(**plain.changed() | {"kv_blocks": math.ceil(n_tokens / plain.block_tokens)})


def drawn(n_rounds: int, *, seed: int = _SEED) -> list[System]:
    """Six systems a round for every scheduler.

    Levels of each factor are repeated in turn and shuffled apart, so that a round is balanced. More rounds
    add systems and leave those of the first as they are.

    Parameters
    ----------
    n_rounds : int
        At least 1.
    seed : int
        Equal seeds give equal systems.

    Raises
    ------
    ConfigError
        If ``n_rounds`` is not a whole number above zero.

    Examples
    --------
    >>> first, *rest = drawn(1)
    >>> first.scheduler, [one.arrivals for one in (first, *rest[:5])].count("poisson")
    ('fcfs', 4)
    """
    checks.integer(n_rounds=n_rounds)
    return [
        system
        for place in range(n_rounds)
        for scheduler in SCHEDULERS
        for system in _round(scheduler, np.random.default_rng([seed + place, *scheduler.encode()]))
    ]


def _round(scheduler: str, rng: np.random.Generator) -> list[System]:
    machines, workloads = _shuffled(_MACHINES, rng), _shuffled(_WORKLOADS, rng)
    memories, arrivals = _shuffled(_MEMORY, rng), _shuffled((ARRIVALS[0], ARRIVALS[1], ARRIVALS[0]), rng)
    return [
        System(
            scheduler=scheduler,
            hardware=hardware,
            model=model,
            tp=tp,
            workload=workload,
            memory=memory,
            arrivals=kind,
        )
        for (hardware, model, tp), workload, memory, kind in zip(
            machines, workloads, memories, arrivals, strict=True
        )
    ]


def _shuffled(levels: tuple[T, ...], rng: np.random.Generator) -> list[T]:
    """The levels in turn, starting anywhere, as many as a round has systems, in random order."""
    start = int(rng.integers(len(levels)))
    repeated = list(islice(cycle(levels), start, start + _N_EACH))
    return [repeated[place] for place in rng.permutation(_N_EACH)]
