"""`sched-sim compare`: schedulers side by side under the same requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .answers import Schedulers, emit_runs, scheduler_list, title
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .progress import Progress

if TYPE_CHECKING:
    CompareFlags = Given
else:
    CompareFlags = scenario_flags(without=["scheduler"])
_NO_FLAGS = CompareFlags()

__all__ = ["compare"]


def compare(
    *,
    schedulers: Schedulers = "fcfs,chunked",
    flags: Annotated[CompareFlags, Parameter(name="*")] = _NO_FLAGS,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Put schedulers side by side under the same requests, and say which is best in what.

    The figure of ``--plot`` shows goodput and the 99th percentiles of TTFT and TPOT.
    """
    output.check()
    from qtheory.report import comparison_text, draw_comparison
    from validation import answer  # slow to import, so only here

    names, scenario = scheduler_list(schedulers), flags.load()
    with Progress(what="runs", quiet=output.quiet) as progress:
        runs = answer.compare(scenario, names, progress=progress)
    rows = [run.result.row() for run in runs]
    slo = runs[0].workload.slo
    limits = {"p99_ttft_s": slo.ttft_s, "p99_tpot_s": slo.tpot_s}
    marks = {name: limit for name, limit in limits.items() if limit is not None}
    emit_runs(
        runs,
        comparison_text(rows),
        output,
        draw=lambda: draw_comparison(rows, title=title(runs), limits=marks)[0].figure,
    )
