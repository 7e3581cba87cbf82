"""The events of a trace in the form of Chrome and Perfetto."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qtheory.basics.errors import ConfigError

from ._device import DEVICE, Event, Window, counters, device_slices, micros
from .lane import Lane, Phase

__all__ = ["MOST_EVENTS", "Trace", "trace_events"]

MOST_EVENTS = 250_000
"""Events of a trace at most, some 40 MB; what comes later is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Events, and the moment at which they end.

    Parameters
    ----------
    events : list of dict
        As they stand in the file.
    end_s : float
        Nothing later is in it, seconds; infinite if nothing was left out.

    Examples
    --------
    >>> Trace(events=[], end_s=2.0).end_s
    2.0
    """

    events: list[Event]
    end_s: float


def trace_events(
    lanes: Sequence[Lane],
    phases: Iterable[Phase],
    *,
    window: tuple[float, float] = (0.0, math.inf),
    most_events: int = MOST_EVENTS,
) -> Trace:
    """A trace: a process a replica with device, counters, requests as nested asynchronous slices, and flows.

    Parameters
    ----------
    lanes : sequence of Lane
    phases : iterable of Phase
        By request, in order of time.
    window : (float, float)
        What is shown of the run, seconds; slices are cut there.
    most_events : int
        Events at most; the end of the window comes earlier where there are more.

    Returns
    -------
    Trace

    Raises
    ------
    ConfigError
        If the window is empty.

    References
    ----------
    "Trace event format", Google, the JSON form that Perfetto reads.

    Examples
    --------
    >>> trace = trace_events([], [Phase(7, "queued", 0.5, 2.0, 0)])
    >>> [(event["ph"], event["name"], event["ts"]) for event in trace.events]
    [('b', 'request 7', 500000.0), ('b', 'queued', 500000.0), ('e', 'queued', 2000000.0),
     ('e', 'request 7', 2000000.0)]
    """
    if not 0 <= window[0] < window[1]:
        raise ConfigError(
            f"window: {window[0]:g} to {window[1]:g} s; it must begin at 0 or later and not be empty"
        )
    phases = list(phases)
    begins_s = sorted(phase.start_s for phase in phases if window[0] <= phase.start_s < window[1])
    is_cut = len(begins_s) > most_events  # far too many: each has two events at least
    if is_cut:
        window = (window[0], max(begins_s[most_events], math.nextafter(window[0], math.inf)))
    events = _all(lanes, phases, window)
    if len(events) <= most_events:
        return Trace(events=_named(lanes) + events, end_s=window[1] if is_cut else math.inf)
    end_s = max(events[most_events]["ts"] / 1e6, math.nextafter(window[0], math.inf))
    return Trace(events=_named(lanes) + _all(lanes, phases, (window[0], end_s)), end_s=end_s)


def _pid(lane: int) -> int:
    return lane + 1


def _named(lanes: Sequence[Lane]) -> list[Event]:
    """Names of processes and threads, which stand before everything else."""
    found: list[Event] = []
    for index, lane in enumerate(lanes):
        about = {"ph": "M", "pid": _pid(index), "ts": 0}
        found.append(about | {"name": "process_name", "tid": 0, "args": {"name": lane.name}})
        found.append(about | {"name": "process_sort_index", "tid": 0, "args": {"sort_index": index}})
        found.append(about | {"name": "thread_name", "tid": DEVICE, "args": {"name": "device"}})
    return found


def _all(lanes: Sequence[Lane], phases: Sequence[Phase], window: Window) -> list[Event]:
    events: list[Event] = []
    for index, lane in enumerate(lanes):
        events += device_slices(lane, _pid(index), window)
        events += counters(lane, _pid(index), window)
    events += _requests(phases, window)
    events += _flows(phases, window)
    events.sort(key=lambda event: event["ts"])  # stable: what ends comes before what begins at once
    return events


def _requests(phases: Iterable[Phase], window: Window) -> Iterator[Event]:
    """Each stay of a request at a replica as a slice, with its phases inside."""
    stay: list[Phase] = []
    for phase in phases:
        cut = phase._replace(start_s=max(phase.start_s, window[0]), end_s=min(phase.end_s, window[1]))
        if micros(cut.end_s) <= micros(cut.start_s):
            continue
        if stay and (stay[0].request, stay[0].lane) != (cut.request, cut.lane):
            yield from _stay(stay)
            stay = []
        stay.append(cut)
    if stay:
        yield from _stay(stay)


def _stay(stay: Sequence[Phase]) -> Iterator[Event]:
    first, last_s = stay[0], max(phase.end_s for phase in stay)
    about: Event = {
        "cat": "request",
        "id2": {"local": f"0x{first.request:x}"},
        "pid": _pid(first.lane),
        "tid": 0,
    }
    outer = about | {"name": f"request {first.request}"}
    yield outer | {"ph": "b", "ts": micros(first.start_s), "args": {"request": first.request}}
    for phase in stay:
        inner = about | {"name": phase.name}
        yield inner | {"ph": "b", "ts": micros(phase.start_s)}
        yield inner | {"ph": "e", "ts": micros(phase.end_s)}
    yield outer | {"ph": "e", "ts": micros(last_s)}


def _flows(phases: Iterable[Phase], window: Window) -> Iterator[Event]:
    """An arrow from one replica to another, from the last work of a request there to its first here."""
    worked = [phase for phase in phases if phase.name in ("prefill", "decode")]
    for number, (one, two) in enumerate(pairwise(worked)):
        if one.request != two.request or one.lane == two.lane:
            continue
        if not (window[0] <= one.end_s and two.start_s < window[1]):
            continue
        about: Event = {"cat": "moved", "name": f"request {one.request}", "id": number, "tid": DEVICE}
        left_s = max(one.end_s - 1e-9, window[0])  # within the last step there
        yield about | {"ph": "s", "ts": micros(left_s), "pid": _pid(one.lane)}
        yield about | {"ph": "f", "bp": "e", "ts": micros(two.start_s), "pid": _pid(two.lane)}
