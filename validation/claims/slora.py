"""Finite runs of S-LoRA at its limit, with their own requests: bursts, latest first, giving up the late."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ._slora_rows import FILE, Row, read_rows
from ._slora_served import KEEPS_UP, SLO_S, Run, light_rows, served, servers
from ._vtc_runs import FILES as VTC_FILES
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_TTFT, _IN_TIME = 0.25, 0.05


def _answer(folder: Path) -> Finding:
    rows = read_rows(folder)
    steps, notes = servers(rows, folder)
    light = light_rows(rows)
    once: dict[tuple[object, ...], Run] = {}  # rows that were measured twice are served once
    runs = {}
    for row in rows:
        if row.group in steps and row not in light:
            if row.asked not in once:
                once[row.asked] = served(row, steps[row.group])
            runs[row] = once[row.asked]
    notes.append("theory: no model of a gate that looks ahead to the ends of all who run")
    points = [point for row, run in runs.items() for point in _points(row, run)]
    return Finding(parts=tuple(_verdicts(runs)), points=tuple(points), notes=tuple(notes))


def _verdicts(runs: dict[Row, Run]) -> list[Measured]:
    parts = []
    for sweep in dict.fromkeys(row.sweep for row in runs):
        own = {row: run for row, run in runs.items() if row.sweep == sweep}
        if next(iter(own)).policy == "abort":
            parts.append(_in_time(sweep, own))
            continue
        off = [abs(run.ttft_s / row.ttft_s - 1) for row, run in own.items()]
        what = (
            f"{sweep}: mean TTFT of its own requests within {_TTFT:.0%}, in the median over {len(off)} runs"
        )
        median = float(np.median(off))
        parts.append(Measured(what=what, found=f"{median:.1%}", holds=median <= _TTFT))
        parts.append(_in_time(sweep, own))
        if len({row.cv for row in own}) > 1:
            parts.append(_bursts(sweep, own))
    return parts + _orders(runs)


def _in_time(sweep: str, own: dict[Row, Run]) -> Measured:
    off = [100 * abs(run.in_time_frac - row.in_time_frac) for row, run in own.items()]
    what = f"{sweep}: share with a first token within {SLO_S:g} s met within {100 * _IN_TIME:g} points"
    found = f"{np.mean(off):.1f} in the mean, {np.max(off):.1f} at most"
    return Measured(what=what, found=found, holds=bool(np.mean(off) <= 100 * _IN_TIME))


def _bursts(sweep: str, own: dict[Row, Run]) -> Measured:
    """How far the variation of the gaps changes the wait: nearer than if it did not."""
    measured = np.log([row.ttft_s for row in own])
    ours = float(np.mean(np.abs(np.log([run.ttft_s for run in own.values()]) - measured)))
    constant = float(np.mean(np.abs(measured - np.median(measured))))
    return Measured(
        what=f"{sweep}: logarithm of the TTFT nearer than by the best constant",
        found=f"{ours:.3f} against {constant:.3f}",
        holds=ours < constant,
    )


def _orders(runs: dict[Row, Run]) -> list[Measured]:
    """The same requests in order of arrival and latest first: who has more in time, and by how much."""
    same: dict[tuple[object, ...], dict[str, list[tuple[float, float]]]] = {}
    for row, run in runs.items():
        same.setdefault(row.asked[1:], {}).setdefault(row.policy, []).append(
            (row.in_time_frac, run.in_time_frac)
        )
    parts = []
    for policy in ("lifo", "abort"):
        gains = [
            np.mean(each[policy], axis=0) - np.mean(each["slora"], axis=0)
            for each in same.values()
            if policy in each and "slora" in each
        ]
        if gains:
            measured, found = 100 * np.mean(gains, axis=0)
            parts.append(
                Measured(
                    what=f"{policy}: more in time than in order of arrival where measured, {len(gains)} runs",
                    found=f"{measured:+.0f} points measured, {found:+.0f} simulated, in the mean",
                    holds=all(np.sign(a) == np.sign(b) for a, b in gains),
                )
            )
    return parts


def _points(row: Row, run: Run) -> list[Compared]:
    what = f"{row.sweep}, {row.rate_rps:g} req/s, CV {row.cv:g}, {row.n_adapters} adapters"
    pairs = [("mean TTFT", row.ttft_s, run.ttft_s, "s"), ("mean E2E", row.e2e_s, run.e2e_s, "s")]
    pairs.append(("share in time", 100 * row.in_time_frac, 100 * run.in_time_frac, "points"))
    return [
        Compared(
            what=f"{what}, {metric}",
            hardware=row.gpu,
            engine="S-LoRA 2023, LightLLM",
            metric=metric,
            route="simulation",
            setting="two numbers, on rates below the limit",
            load="below the limit" if row.in_time_frac >= KEEPS_UP else "at the limit and above",
            measured=measured,
            found=found,
            unit=unit,
        )
        for metric, measured, found, unit in pairs
    ]


CLAIM = Claim(
    name="slora-bursts",
    question="Do bursts, the latest first and giving up cost and save in finite runs what was measured?",
    source="Sheng et al. (2024), S-LoRA, MLSys 24; runs in Ying1123/VTC-artifact @ 192c2e2, benchmarks/"
    "paper; requests as S-LoRA/S-LoRA @ 2a2786b, benchmarks/trace.py, draws them",
    calibrated="two numbers a server, on the rates below the limit: a factor on the step times without "
    "adapters (these are told by requests of other runs), and the seconds in which an adapter comes that no "
    "running request has; memory, ranks and order are those of scripts and server",
    teaches="who is let in, what adapters cost in a step, or an order that changes with the load",
    answer=_answer,
    needs=(FILE, *VTC_FILES),
)
