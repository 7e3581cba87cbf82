"""Requests as an engine logs them: arrival, schedule, first and last token, a request a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from .content import Content, need, whole
from .point import EngineRun

__all__ = ["NAME", "fits", "run_of"]

Array = NDArray[np.float64]
NAME = "engine requests"
_TIMES = ("arrival_s", "scheduled_s", "first_token_s", "last_token_s")
_LENGTHS = ("input_toks", "output_toks")
_UNITS = 30.0  # between any difference of the two and that of another unit
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
    _refuse_slow_tokens(times, lengths["output_toks"], content.name)
    arrival, notes = _arrivals(content, rows, places, times)
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


def _arrivals(
    content: Content, rows: list[dict[str, str]], places: list[str], times: dict[str, Array]
) -> tuple[Array, list[str]]:
    """By the engine's own clock, where it has one; the client's may be another."""
    arrival, notes = times["arrival_s"], []
    if "queued_s" in content.columns:
        queued = np.array([need(r, "queued_s", p) for r, p in zip(rows, places, strict=True)])
        apart = float(np.max(np.abs(queued - arrival)))
        if apart > _CLOCKS_S:
            raise ConfigError(f"{content.name}: queued_s is up to {apart:.2g} s from arrival_s; other units?")
        if apart > 0:
            notes.append(f"arrivals by the engine's clock; the client's is up to {1e3 * apart:.0f} ms off")
        arrival = queued
    early = np.flatnonzero(times["scheduled_s"] < arrival - _CLOCKS_S)
    if len(early):
        raise ConfigError(
            f"{places[early[0]]}: scheduled_s is before it arrived; are these one clock, in seconds?"
        )
    return arrival, notes


def _refuse_slow_tokens(times: dict[str, Array], outputs: NDArray[np.int64], where: str) -> None:
    more = outputs > 1
    if not more.any():
        return
    took_s = (times["last_token_s"] - times["first_token_s"])[more]
    token_s = float(np.mean(took_s / (outputs[more] - 1)))
    first_s = float(np.mean(times["first_token_s"] - times["scheduled_s"]))
    if token_s > _UNITS * first_s:
        raise ConfigError(
            f"{where}: {token_s:.3g} s a token, but {first_s:.3g} s from schedule to the first: other units?"
        )
