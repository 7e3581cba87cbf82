"""One finite run with bursts is one draw of many: could the simulator have drawn what was measured?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ._slora_rows import FILE, Row, read_rows
from ._slora_served import drawn_anew, light_rows, served, servers
from ._vtc_runs import FILES as VTC_FILES
from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_SEEDS, _INSIDE_FRAC = 20, 0.8


def _answer(folder: Path) -> Finding:
    rows = read_rows(folder)
    steps, notes = servers(rows, folder)
    light = light_rows(rows)
    own = [row for row in rows if row.policy == "slora" and row.group in steps and row not in light]
    variations = {row.sweep: {each.cv for each in own if each.sweep == row.sweep} for row in own}
    parts = []
    for sweep in (sweep for sweep, cvs in variations.items() if len(cvs) > 1):
        runs = [row for row in own if row.sweep == sweep]
        draws = {
            row: [drawn_anew(row, steps[row.group], seed).ttft_s for seed in range(_SEEDS)] for row in runs
        }
        notes += [
            f"{sweep}, CV {row.cv:g}: {row.ttft_s:.1f} s, draws {min(all_s):.1f} to {max(all_s):.1f} s, "
            f"median {np.median(all_s):.1f} s"
            for row, all_s in draws.items()
        ]
        inside = sum(min(all_s) <= row.ttft_s <= max(all_s) for row, all_s in draws.items())
        what = f"{sweep}: measured mean TTFT between least and largest of {_SEEDS} other draws of the run"
        found = f"{inside} of {len(runs)}"
        parts.append(Measured(what=what, found=found, holds=inside >= _INSIDE_FRAC * len(runs)))
        parts.append(_nearer(sweep, runs, [served(row, steps[row.group]).ttft_s for row in runs], draws))
    return Finding(parts=tuple(parts), notes=tuple(notes))


def _nearer(sweep: str, runs: list[Row], same_s: list[float], draws: dict[Row, list[float]]) -> Measured:
    """Its own requests tell a run better than a constant; how well other draws do stands beside it."""
    measured = np.log([row.ttft_s for row in runs])
    ours = float(np.mean(np.abs(np.log(same_s) - measured)))
    others = float(np.mean(np.abs(np.log([np.median(draws[row]) for row in runs]) - measured)))
    constant = float(np.mean(np.abs(measured - np.median(measured))))
    return Measured(
        what=f"{sweep}: logarithm of the TTFT with the run's own requests nearer than by the best constant",
        found=f"{ours:.3f} against {constant:.3f} (the median of other draws: {others:.3f})",
        holds=ours < constant,
    )


CLAIM = Claim(
    name="slora-draws",
    question="Could a simulated run of as many requests, drawn anew, have waited as long as measured?",
    source="as slora-bursts",
    calibrated="as slora-bursts; the requests are drawn anew, 20 times a run, in order of arrival, and "
    "served by a loop that gives the times of the simulator",
    teaches="bursts are not as long, or not as rare, as gamma gaps make them",
    answer=_answer,
    needs=(FILE, *VTC_FILES),
)
