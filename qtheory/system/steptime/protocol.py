"""The load of one engine step, and what turns it into seconds."""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["StepLoad", "StepTime"]


class StepLoad(NamedTuple):
    """What one engine step computes.

    A decode of a job with c tokens in its KV cache computes one token that attends to c + 1. A prefill chunk
    of n tokens behind c computed ones attends to c + 1, ..., c + n.

    Attributes
    ----------
    n_decodes : int
        Jobs that compute one token after their last sampled one.
    decode_context_tokens : int
        Sum over the decodes of the tokens attended to, the computed one included.
    prefill_tokens : int
        Sum of n over the prefill chunks.
    prefill_work : float
        Sum over the chunks of n times the mean tokens attended to: n c + n (n + 1) / 2.
    prefill_context_tokens : int
        Sum over the chunks of c + n: keys and values that attention reads.
    n_sampled : int
        Tokens sampled at the end: all decodes, and the chunks that complete a prompt.

    Examples
    --------
    >>> load = StepLoad(n_decodes=2, decode_context_tokens=300, n_sampled=2)
    >>> load.prefill_tokens, tuple(load)
    (0, (2, 300, 0, 0.0, 0, 2))
    """

    n_decodes: int = 0
    decode_context_tokens: int = 0
    prefill_tokens: int = 0
    prefill_work: float = 0.0
    prefill_context_tokens: int = 0
    n_sampled: int = 0


class StepTime(Protocol):
    """Seconds of an engine step."""

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load, > 0. A plain tuple in the order of `StepLoad` does as well."""
        ...

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        """``(a, b)`` such that a step of ``n_decodes`` decodes alone takes a + b * decode_context_tokens.

        None where that is not a line (a measured table); such step times are stepped one by one.
        """
        ...
