"""What is assumed of each measured engine: one setting an engine, never one a row."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ENGINES", "EngineSetting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetting:
    """How an engine serves, what its host takes, and how the benchmark drove it.

    Parameters
    ----------
    scheduler : str
        Name of a scheduler.
    budget_tokens : int
        Tokens of a step, >= 1.
    max_seqs : int
        Running requests, >= 1.
    output_spread : float
        Outputs lie evenly between 1 - spread and 1 + spread times their mean; 0: all alike, and then those
        that start together stay together.
    per_step_s, per_sequence_s : float
        Host time, as in `qtheory.system.steptime.host.HostTime`.
    front_end_s : float
        Seconds before the engine sees a request, for each token of its prompt.
    rounds : int
        Requests of a run, in multiples of those in flight.
    why : str
        Where this comes from.

    Examples
    --------
    >>> ENGINES["vllm"].scheduler
    'chunked'
    """

    scheduler: str
    budget_tokens: int
    max_seqs: int = 256
    output_spread: float = 0.0
    per_step_s: float = 0.0
    per_sequence_s: float = 0.0
    front_end_s: float = 0.0
    rounds: int = 10
    why: str = ""


ENGINES = {
    "vllm": EngineSetting(
        scheduler="chunked",
        budget_tokens=8192,
        max_seqs=1024,
        output_spread=0.1,
        per_sequence_s=50e-6,
        front_end_s=40e-6,
        why=(
            "budget and slots are the engine's defaults on this card; host time of a sequence: TPOT at 128 "
            "in flight less that at 8, the same 5 to 6 ms at 2, 4 and 8 cards; front end: TTFT at 8 cards, "
            "where a prompt of 1,024 tokens takes the engine 20 ms and the client 91 ms"
        ),
    ),
    "sglang": EngineSetting(
        scheduler="fcfs",
        budget_tokens=16384,
        why=(
            "prompts go before decodes, so that the requests in flight stay one herd: TTFT at 16 in flight "
            "is that of 16 prompts, 841 ms"
        ),
    ),
    "trtllm": EngineSetting(
        scheduler="chunked",
        budget_tokens=8192,
        max_seqs=2048,
        per_step_s=-0.5e-3,
        why="host code in C++: half of the millisecond that a card is given; TTFT is not judged (start-up)",
    ),
}
"""Settings by the name of the engine in the file."""
