"""Calibration on operating points and on the requests of an engine: the simulated server is inverted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from validation.readers import BenchPoint, EngineRun

from .result import Met
from .search import Found, find
from .server import OUTSIDE, Server

__all__ = ["FLOOR", "points_fit", "runs_fit"]

Array = NDArray[np.float64]
Tick = Callable[[], None]
_SEEDS = (11, 12)  # of the requests that stand for those of a point
_TRIES = 6  # runs that show how much a finite run scatters
_ROUNDS = 2
FLOOR = {"ttft": 0.04, "tpot": 0.02, "throughput": 0.02, "prefill": 0.3, "end": 0.01}
"""Relative errors of the model itself, which no longer measurement makes smaller."""
_SATURATED = 0.95  # of the offered rate: below it the throughput tells something of its own
_BLOCKS = 20


class _Wanted(NamedTuple):
    """A measured quantity of a point."""

    place: int
    key: str
    measured: float


def points_fit(
    server: Server, points: Sequence[BenchPoint], start: Mapping[str, float], tick: Tick
) -> tuple[Found, list[Met]]:
    """Parameters that let simulated finite runs meet measured ones.

    Parameters
    ----------
    server : Server
    points : sequence of BenchPoint
    start : mapping of str to float
        All parameters.
    tick : callable
        Called after each simulated point.
    """
    wanted = [_Wanted(i, *told) for i, point in enumerate(points) for told in _quantities(point)]
    names = ["mfu_frac", "mbu_frac", "attention_mbu_frac", "overhead_per_step_s", OUTSIDE]
    if not any(entry.key.startswith("ttft") for entry in wanted):
        names.remove(OUTSIDE)
    if not wanted:
        raise ConfigError(
            f"{points[0].where}: no mean or median of TTFT or TPOT, and no throughput to compare"
        )

    def modelled(values: Mapping[str, float], seeds: Sequence[int]) -> Array:
        """Logarithms (seeds, wanted)."""
        rows = []
        for seed in seeds:
            made = []
            for i, point in enumerate(points):
                made.append(server.point(point, values, seed=seed + 100 * i))
                tick()
            rows.append([np.log(made[entry.place][entry.key]) for entry in wanted])
        return np.array(rows)

    target = np.log([entry.measured for entry in wanted])
    floor = np.array([FLOOR[entry.key.partition("_")[0]] for entry in wanted])
    found = _fit(_Measured(modelled, target, floor), start, names)
    made = np.exp(np.mean(modelled(found.values, _SEEDS), axis=0))
    return found, _met(points, wanted, made)


class _Measured(NamedTuple):
    """What is to be met: a model of it in logarithms, by parameters and seeds, and how exact that can be."""

    modelled: Callable[[Mapping[str, float], Sequence[int]], Array]
    target: Array
    floor: Array


def _fit(told: _Measured, start: Mapping[str, float], names: list[str]) -> Found:
    """Twice: how much a finite run scatters is first known at the usual values, then at those found."""
    values = dict(start)
    for _ in range(_ROUNDS):
        scatter = np.std(told.modelled(values, range(_TRIES)), axis=0, ddof=1)
        error = np.sqrt(told.floor**2 + scatter**2 * (1 + 1 / len(_SEEDS)))

        def residuals(given: Mapping[str, float], error: Array = error) -> Array:
            gap: Array = (np.mean(told.modelled(given, _SEEDS), axis=0) - told.target) / error
            return gap

        found = find(residuals, start, names, begin=values)
        values = dict(found.values)
    return found


def _met(points: Sequence[BenchPoint], wanted: Sequence[_Wanted], made: Array) -> list[Met]:
    return [
        Met(where=points[e.place].where, quantity=e.key, measured=e.measured, model=float(m))
        for e, m in zip(wanted, made, strict=True)
    ]


def _quantities(point: BenchPoint) -> Iterator[tuple[str, float]]:
    """What of a point is compared: means where they are given, else medians."""
    for name, times in (("ttft", point.ttft_s), ("tpot", point.tpot_s)):
        if "mean" in times:
            yield f"{name}_s", times["mean"]
        elif "p50" in times:
            yield f"{name}_p50_s", times["p50"]
    sent, got = point.rate_rps, point.throughput_rps
    if got is not None and (sent is None or got < _SATURATED * sent):
        yield "throughput_rps", got


def runs_fit(
    server: Server, runs: Sequence[EngineRun], start: Mapping[str, float], tick: Tick
) -> tuple[Found, list[Met]]:
    """Parameters with which the same requests, simulated, take as long.

    Parameters
    ----------
    server : Server
    runs : sequence of EngineRun
    start : mapping of str to float
        All parameters.
    tick : callable
        Called after each simulated run.
    """
    target = [_blocks(_seen(run)) for run in runs]

    def modelled(values: Mapping[str, float], seeds: Sequence[int]) -> Array:
        """Logarithms (seeds, blocks)."""
        rows = []
        for seed in seeds:
            made: list[float] = []
            for run in runs:
                made += [time for _, time in _blocks(server.run(run, values, seed=seed))]
                tick()
            rows.append(np.log(made))
        return np.array(rows)

    keys = [(run.where, key, time) for run, wanted in zip(runs, target, strict=True) for key, time in wanted]
    floor = np.array([FLOOR[key.partition("_")[0]] for _, key, _ in keys])
    names = ["mfu_frac", "mbu_frac", "attention_mbu_frac", "overhead_per_step_s"]
    measured = np.log([time for _, _, time in keys])
    found = _fit(_Measured(modelled, measured, floor), start, names)
    made = np.exp(np.mean(modelled(found.values, _SEEDS), axis=0))
    met = [
        Met(where=where, quantity=key, measured=time, model=float(model))
        for (where, key, time), model in zip(keys, made, strict=True)
    ]
    return found, met


def _seen(run: EngineRun) -> dict[str, Array]:
    more = run.output_tokens - 1
    took = run.last_token_s - run.first_token_s
    return {
        "prefill_s": run.first_token_s - run.scheduled_s,
        "tpot_s": np.where(more > 0, took / np.maximum(more, 1), np.nan),
        "end_s": np.array([float(np.max(run.last_token_s))]),
    }


def _blocks(times: Mapping[str, Array]) -> list[tuple[str, float]]:
    """Means of neighbours in the order of arrival: they share their steps, so single requests tell less."""
    made = []
    for key, values in times.items():
        for block in np.array_split(values, min(_BLOCKS, len(values))):
            told = block[np.isfinite(block) & (block > 0)]
            made.append((key, float(np.mean(told)) if len(told) else 1.0))
    return made
