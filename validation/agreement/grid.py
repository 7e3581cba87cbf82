"""The cells in which theory and simulator are compared: a fractional design, drawn by a seeded rule.

The design was fixed before any model was made. Every factor is balanced: its levels are repeated to the
number of cells of a scheduler and shuffled, each factor apart, so that any two factors meet in all
combinations about equally often, and no cell is chosen by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TypeVar

import numpy as np

from qtheory.basics import checks
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of

__all__ = ["LOADS", "SCHEDULERS", "Cell", "draw", "fresh", "full", "quick"]

T = TypeVar("T")

SCHEDULERS = ("fcfs", "chunked", "slo", "sjf", "static", "disaggregated")
"""Schedulers with a model of their own."""

LOADS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.8, 0.9, 0.9, 0.95, 1.1, 1.5)
"""Loads as shares of the overload throughput; the bands 0.8 and 0.9 get two shares of the cells."""

_MACHINES = (
    ("rtx3050", "llama-3.2-1b"),
    ("l4", "llama-3.2-1b"),
    ("l4", "llama-3.1-8b"),
    ("l40s", "llama-3.1-8b"),
    ("l40s", "qwen2.5-14b"),
    ("a100", "llama-3.1-8b"),
    ("a100", "qwen2.5-14b"),
    ("a100", "qwen3-30b-a3b"),
    ("h100", "llama-3.1-8b"),
    ("h100", "qwen2.5-14b"),
    ("h100", "qwen3-30b-a3b"),
)
_WORKLOADS = ("chat", "rag", "code", "summarize", "reasoning")  # the last has outputs of thousands of tokens
_MEMORY = ("ample", "ample", "tight")
_ARRIVALS = ("poisson", "poisson", "gamma(cv=2)")
_BUDGETS = (None, None, 512, 8192)  # of schedulers that cut prompts; None: the default of the card
_N_FULL, _N_FRESH, _N_QUICK = 300, 30, 20
_FULL_SEED, _QUICK_SEED = 20_261_130, 1
_ROOM_OF_TIGHT = 32  # mean requests that tight memory holds
_LONGEST = 1.25  # and at least this many of the longest request
_BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One comparison: a scenario at a load.

    ``load_frac`` is a share of `validation.agreement.overload_rps`, the throughput that the *simulator*
    reaches with a queue that never empties; so the load of a cell does not depend on the theory.

    Parameters
    ----------
    number : int
        Place in its design.
    scheduler, hardware, model, workload, arrivals : str
        As in a scenario.
    memory : str
        ``ample``: blocks of the card, raised to twice what ``max_seqs`` mean requests need where the card has
        less; ``tight``: room for 32 mean requests, at least for 1.25 of the longest.
    budget_tokens : int or None
    load_frac : float
    """

    number: int
    scheduler: str
    hardware: str
    model: str
    workload: str
    memory: str
    arrivals: str
    budget_tokens: int | None
    load_frac: float

    @property
    def band(self) -> str:
        """Band of loads in which errors are pooled."""
        for top in (0.5, 0.8, 0.9, 0.95):
            if self.load_frac <= top:
                return f"<= {top}"
        return ">= 1"

    def scenario(self) -> Scenario:
        """The scenario, without a rate."""
        plain = Scenario(
            hardware=self.hardware,
            model=self.model,
            workload=self.workload,
            scheduler=self.scheduler,
            arrivals=self.arrivals,
            budget_tokens=self.budget_tokens,
            kv_blocks=1,
        )
        return Scenario(**plain.changed() | {"kv_blocks": self._kv_blocks()})

    def _kv_blocks(self) -> int:
        plain = Scenario(hardware=self.hardware, model=self.model, workload=self.workload)
        lengths = workload_of(plain).lengths
        mean = lengths.mean_prompt_tokens + lengths.mean_output_tokens
        if self.memory == "tight":
            longest = lengths.prompt_law.support[1] + lengths.output_law.support[1]
            return math.ceil(max(_ROOM_OF_TIGHT * mean, _LONGEST * longest) / _BLOCK_TOKENS)
        return max(replica_of(plain).n_blocks, math.ceil(2 * plain.max_seqs * mean / _BLOCK_TOKENS))


def draw(n_cells: int, *, seed: int, loads: tuple[float, ...] = LOADS) -> list[Cell]:
    """``n_cells`` cells, equally many for each scheduler.

    Parameters
    ----------
    n_cells : int
        Rounded down to a multiple of the number of schedulers.
    seed : int
        Equal seeds give equal designs.
    loads : tuple of float
        Levels of the load.

    Examples
    --------
    >>> cells = draw(30, seed=7)
    >>> len(cells), sorted({cell.scheduler for cell in cells}) == sorted(SCHEDULERS)
    (30, True)
    """
    checks.integer(n_cells=n_cells)
    each = n_cells // len(SCHEDULERS)
    cells: list[Cell] = []
    for scheduler in SCHEDULERS:
        rng = np.random.default_rng([seed, SCHEDULERS.index(scheduler)])
        machines = _shuffled(_MACHINES, each, rng)
        workloads = _shuffled(_WORKLOADS, each, rng)
        memories = _shuffled(_MEMORY, each, rng)
        arrivals = _shuffled(_ARRIVALS, each, rng)
        budgets = _shuffled(_BUDGETS, each, rng)
        drawn_loads = _shuffled(loads, each, rng)
        cuts = scheduler in ("chunked", "slo", "sjf")
        for place in range(each):
            hardware, model = machines[place]
            cells.append(
                Cell(
                    number=len(cells),
                    scheduler=scheduler,
                    hardware=hardware,
                    model=model,
                    workload=workloads[place],
                    memory=memories[place],
                    arrivals=arrivals[place],
                    budget_tokens=budgets[place] if cuts else None,
                    load_frac=drawn_loads[place],
                )
            )
    return cells


def _shuffled(levels: tuple[T, ...], n: int, rng: np.random.Generator) -> list[T]:
    """The levels in turn, starting anywhere, ``n`` of them, in random order."""
    start = int(rng.integers(len(levels)))
    repeated = list(islice(cycle(levels), start, start + n))
    return [repeated[place] for place in rng.permutation(n)]


def full() -> list[Cell]:
    """The full design of 300 cells.

    Examples
    --------
    >>> len(full())
    300
    """
    return draw(_N_FULL, seed=_FULL_SEED)


def fresh(seed: int) -> list[Cell]:
    """Thirty cells from another seed, on which nothing was ever tuned.

    Parameters
    ----------
    seed : int
        Any but that of the full design.
    """
    return draw(_N_FRESH, seed=seed)


def quick() -> list[Cell]:
    """Some twenty cells, of few tokens and moderate loads, for a check within a minute."""
    cells = draw(6 * _N_QUICK, seed=_QUICK_SEED, loads=(0.35, 0.5, 0.65, 0.8))
    cheap = [cell for cell in cells if cell.workload in ("rag", "code", "chat")]
    per_scheduler = _N_QUICK // len(SCHEDULERS) + 1
    kept = [[cell for cell in cheap if cell.scheduler == name][:per_scheduler] for name in SCHEDULERS]
    return [cell for some in kept for cell in some][:_N_QUICK]
