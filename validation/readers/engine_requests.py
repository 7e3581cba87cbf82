"""Requests as an engine logs them: arrival, schedule, first and last token, a request a row."""

from __future__ import annotations

import numpy as np

from qtheory.basics.errors import ConfigError

from .content import Content, need, whole
from .point import EngineRun

__all__ = ["NAME", "fits", "run_of"]

NAME = "engine requests"
_TIMES = ("arrival_s", "scheduled_s", "first_token_s", "last_token_s")
_LENGTHS = ("input_toks", "output_toks")
_CLOCKS_S = 0.5  # how far the clocks of client and engine may be apart


def fits(content: Content) -> bool:
    """A table with most of these columns, so that a missing one can be named."""
    return len({*_TIMES, *_LENGTHS} & set(content.columns)) >= 4


def run_of(content: Content) -> EngineRun:
    """The requests of the run, in order of arrival at the engine."""
    rows = content.rows()
    places = [f"{content.name}: line {i}" for i in range(2, len(rows) + 2)]
    times = {n: np.array([need(r, n, p) for r, p in zip(rows, places, strict=True)]) for n in _TIMES}
    least = {"input_toks": 1, "output_toks": 1}
    lengths = {
        n: np.array([whole(r, n, p, least=least[n]) for r, p in zip(rows, places, strict=True)])
        for n in _LENGTHS
    }
    for before, after in (("scheduled_s", "first_token_s"), ("first_token_s", "last_token_s")):
        wrong = np.flatnonzero(times[after] < times[before] - 1e-9)
        if len(wrong):
            raise ConfigError(
                f"{places[wrong[0]]}: {after} is before {before}; are these one clock, in seconds?"
            )
    arrival, notes = times["arrival_s"], []
    if "queued_s" in content.columns:  # the engine's own clock, where the client's may be another
        queued = np.array([need(r, "queued_s", p) for r, p in zip(rows, places, strict=True)])
        apart = float(np.max(np.abs(queued - arrival)))
        if apart > _CLOCKS_S:
            raise ConfigError(f"{content.name}: queued_s is up to {apart:.2g} s from arrival_s; other units?")
        if apart > 0:
            notes.append(f"arrivals by the engine's clock; the client's is up to {1e3 * apart:.0f} ms off")
        arrival = queued
    order = np.argsort(arrival, kind="stable")
    return EngineRun(
        where=content.name,
        arrival_s=arrival[order] - float(arrival[order][0]),
        scheduled_s=times["scheduled_s"][order] - float(arrival[order][0]),
        first_token_s=times["first_token_s"][order] - float(arrival[order][0]),
        last_token_s=times["last_token_s"][order] - float(arrival[order][0]),
        prompt_tokens=lengths["input_toks"][order],
        output_tokens=lengths["output_toks"][order],
        notes=tuple(notes),
    )
