"""What a trace shows: a lane for each replica with its steps, and phases of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.record import StepRuns

__all__ = ["Lane", "Phase", "Step"]


class Step(NamedTuple):
    """Who took part in a step, as far as it was watched.

    Parameters
    ----------
    start_s, end_s : float
        Moments, seconds.
    prompts : mapping of int to int
        Prompt tokens computed, by request.
    n_decodes : int
        Requests that decoded.
    used_blocks : int
        Blocks of KV memory in use at its end.

    Examples
    --------
    >>> Step(0.0, 0.5, {7: 512}, 30, 1000).prompts
    {7: 512}
    """

    start_s: float
    end_s: float
    prompts: Mapping[int, int]
    n_decodes: int
    used_blocks: int


class Phase(NamedTuple):
    """What a request did from one moment to another.

    Parameters
    ----------
    request : int
        Row of the request.
    name : str
        One of queued, prefill, decode, preempted, swapped, transfer.
    start_s, end_s : float
        Moments, seconds.
    lane : int
        Place of the replica.

    Examples
    --------
    >>> Phase(7, "queued", 0.5, 2.0, 0).name
    'queued'
    """

    request: int
    name: str
    start_s: float
    end_s: float
    lane: int


class Lane(NamedTuple):
    """One replica in a trace.

    Parameters
    ----------
    name : str
        As people call it.
    steps : StepRuns
        Its steps.
    n_blocks : int
        Blocks of its KV memory.
    watched : mapping of float to Step
        Those of its steps of which it is known who took part, by their start.

    Examples
    --------
    >>> Lane._fields
    ('name', 'steps', 'n_blocks', 'watched')
    """

    name: str
    steps: StepRuns
    n_blocks: int
    watched: Mapping[float, Step]
