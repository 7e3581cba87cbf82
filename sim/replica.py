"""One replica: how long its steps take and how much KV memory it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad, StepTime

from .kvcache import LOST_FIRST

__all__ = ["Replica"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What a policy runs on. Token budget and slots belong to the policy.

    Parameters
    ----------
    step_time : StepTime
        Seconds of a step.
    n_blocks : int
        Blocks of KV memory, all usable, >= 1.
    block_tokens : int
        Tokens of a block, >= 1.
    max_model_len_tokens : int
        Longest prompt plus output; outputs stop there. 0: no limit.
    prefix_cache : bool
        Whether full blocks are reused by their contents.
    keeps_copies : bool
        Whether jobs that computed the same block at the same time both keep theirs.
    eviction : str
        Which cached contents are lost first: those ``returned`` or those ``used`` longest ago.
    n_swap_blocks : int
        Blocks of host memory for swapped jobs, >= 0.
    swap_s_per_block : float
        Seconds a step is longer for each block moved to or from the host, >= 0.
    counting : callable, optional
        What the step time is told of a step, from the tokens that each job computes in it (default: every
        computed token by the one rule for prompts and outputs). Records keep to the one rule.

    Raises
    ------
    ConfigError
        If a number is out of its range or a value is of another kind.

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> Replica(step_time=ConstantStep(0.02), n_blocks=1000).block_tokens
    16
    """

    step_time: StepTime
    n_blocks: int
    block_tokens: int = 16
    max_model_len_tokens: int = 0
    prefix_cache: bool = False
    keeps_copies: bool = True
    eviction: str = "returned"
    n_swap_blocks: int = 0
    swap_s_per_block: float = 0.0
    counting: Callable[[Mapping[Any, int]], StepLoad] | None = None

    def __post_init__(self) -> None:
        checks.integer(n_blocks=self.n_blocks, block_tokens=self.block_tokens)
        checks.at_least(0, max_model_len_tokens=self.max_model_len_tokens, n_swap_blocks=self.n_swap_blocks)
        checks.non_negative(swap_s_per_block=self.swap_s_per_block)
        checks.one_of("eviction", self.eviction, LOST_FIRST)
        for name in ("step_s", "decode_line"):
            if not callable(getattr(self.step_time, name, None)):
                raise ConfigError(
                    f"step_time: {checks.shown(self.step_time)} has no {name!r}; give a StepTime, such as "
                    "Roofline or Linear"
                )
        for name in ("prefix_cache", "keeps_copies"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}: {checks.shown(getattr(self, name))} must be true or false")
