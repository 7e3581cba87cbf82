"""One replica: how long its steps take and how much KV memory it has."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepTime

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
    n_swap_blocks : int
        Blocks of host memory for swapped jobs, >= 0.
    swap_s_per_block : float
        Seconds a step is longer for each block moved to or from the host, >= 0.

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
    n_swap_blocks: int = 0
    swap_s_per_block: float = 0.0

    def __post_init__(self) -> None:
        checks.integer(n_blocks=self.n_blocks, block_tokens=self.block_tokens)
        checks.at_least(0, max_model_len_tokens=self.max_model_len_tokens, n_swap_blocks=self.n_swap_blocks)
        checks.non_negative(swap_s_per_block=self.swap_s_per_block)
        for name in ("step_s", "decode_line"):
            if not callable(getattr(self.step_time, name, None)):
                raise ConfigError(
                    f"step_time: {checks.shown(self.step_time)} has no {name!r}; give a StepTime, such as "
                    "Roofline or Linear"
                )
        if not isinstance(self.prefix_cache, bool):
            raise ConfigError(f"prefix_cache: {checks.shown(self.prefix_cache)} must be true or false")
