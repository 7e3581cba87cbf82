"""A measured row run again by the simulator."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from validation.answer.point import build, replicate
from validation.answer.study import Study

from .loads import scenario_of
from .measured import Row
from .served import Fitted, ServedRow
from .sweep import Sweep
from .warm import WarmPrefix, without

__all__ = ["run_row"]


def run_row(sweep: Sweep, row: Row, fitted: Fitted, *, most: int | None = None, runs: int = 0) -> ServedRow:
    """Mean over simulated runs of what a row measured.

    Parameters
    ----------
    sweep : Sweep
    row : Row
    fitted : Fitted
        What serves.
    most : int, optional
        Requests of a run at most.
    runs : int
        Simulated runs; 0: those of the sweep.

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible.

    Examples
    --------
    >>> from .manifest import SHIPPED, read_manifest
    >>> from .measured import read_rows
    >>> sweep = read_manifest(SHIPPED / "kubecon.toml")[0]
    >>> served = run_row(sweep, read_rows(sweep)[1], Fitted(), most=500, runs=1)
    >>> round(served.throughput_rps)
    30
    """
    scenario = scenario_of(sweep, row)
    if most is not None and (scenario.requests or 0) > most:
        scenario = replace(scenario, requests=most)
    cached = sweep.cached_tokens
    results = _results(scenario, fitted, runs or sweep.replications, cached)
    found = [_seen(row, result, fitted) for result in results]
    waits = [each.ttft_s for each in found if each.ttft_s is not None]
    return ServedRow(
        throughput_rps=_mean([each.throughput_rps for each in found]),
        ttft_s=_mean([each.ttft_s for each in found]),
        tpot_s=_mean([each.tpot_s for each in found]),
        low_ttft_s=min(waits, default=None),
        high_ttft_s=max(waits, default=None),
    )


def _results(scenario: Scenario, fitted: Fitted, runs: int, cached_tokens: int) -> list[RunResult]:
    study = Study(n_replications=runs)
    spec = fitted.replica(scenario)
    if cached_tokens:  # of texts that were there before: the simulator's own cache would begin empty
        scenario = without(scenario, cached_tokens)
        warm = WarmPrefix(device=spec.step_time, cached_tokens=cached_tokens)
        spec = replace(spec, step_time=warm, prefix_cache=False)
    point = replace(build(scenario, study), replica=spec)
    return [replicate(point, index, study).result for index in range(runs)]


def _seen(row: Row, result: RunResult, fitted: Fitted) -> ServedRow:
    wait = result.p50_ttft_s if row.ttft_of == "p50" else result.mean_ttft_s
    return ServedRow(
        throughput_rps=_throughput(row, result),
        ttft_s=None if wait is None else wait + fitted.outside_s,
        tpot_s=_token_time(row, result),
    )


def _throughput(row: Row, result: RunResult) -> float:
    """Requests per second; of a loop of unknown length by Little's law, without beginning and end."""
    if row.in_flight is not None and row.n_requests is None and result.mean_e2e_s:
        return row.in_flight / result.mean_e2e_s
    return result.throughput_rps


def _token_time(row: Row, result: RunResult) -> float | None:
    if row.tpot_of == "ratio":
        if result.mean_e2e_s is None or result.mean_ttft_s is None or not result.throughput_rps:
            return None
        outputs = result.output_tps / result.throughput_rps
        return (result.mean_e2e_s - result.mean_ttft_s) / (outputs - 1) if outputs > 1 else None
    by_name = {
        "mean": result.mean_tpot_s,
        "p50": result.p50_tpot_s,
        "mean_itl": result.mean_itl_s,
        "p50_itl": result.p50_itl_s,
    }
    return by_name[row.tpot_of]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
