"""One finite run with bursts is one draw of many: could the simulator have drawn what was measured?"""

from __future__ import annotations

from pathlib import Path

from ._slora_rows import FILE, read_rows
from ._slora_served import light_rows, served, servers
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
        inside = n = 0
        for row in (row for row in own if row.sweep == sweep):
            draws = [served(row, steps[row.group], seed).ttft_s for seed in range(_SEEDS)]
            inside += min(draws) <= row.ttft_s <= max(draws)
            n += 1
            notes.append(
                f"{sweep}, CV {row.cv:g}: measured {row.ttft_s:.1f} s, "
                f"draws {min(draws):.1f} to {max(draws):.1f} s"
            )
        what = f"{sweep}: measured mean TTFT between least and largest of {_SEEDS} other draws of the run"
        parts.append(Measured(what=what, found=f"{inside} of {n}", holds=inside >= _INSIDE_FRAC * n))
    return Finding(parts=tuple(parts), notes=tuple(notes))


CLAIM = Claim(
    name="slora-draws",
    question="Could a simulated run of as many requests, drawn anew, have waited as long as measured?",
    source="as slora-bursts",
    calibrated="as slora-bursts; the requests are drawn anew, 20 times a run, in order of arrival",
    teaches="bursts are not as long, or not as rare, as gamma gaps make them",
    answer=_answer,
    needs=(FILE, *VTC_FILES),
)
