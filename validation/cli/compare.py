"""`sched-sim compare`: schedulers side by side under the same requests."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .answers import DEFAULT_SCHEDULERS, Schedulers, emit_runs, scheduler_list, title
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .study import STUDY, StudyFlags, simulated

if TYPE_CHECKING:
    CompareFlags = Given
else:
    CompareFlags = scenario_flags(without=["scheduler"])
_NO_FLAGS = CompareFlags()

__all__ = ["compare"]


def compare(
    *,
    schedulers: Schedulers = None,
    flags: Annotated[CompareFlags, Parameter(name="*")] = _NO_FLAGS,
    study: StudyFlags = STUDY,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Put schedulers side by side under the same requests, and say which is best in what.

    The figure of ``--plot`` shows goodput and the 99th percentiles of TTFT and TPOT.
    """
    output.check()
    from qtheory.report import comparison_text, draw_comparison
    from validation import answer  # slow to import, so only here

    names, scenario = scheduler_list(schedulers or DEFAULT_SCHEDULERS), flags.load_for(output)
    own = flags.in_file().get("scheduler")
    if schedulers is None and own is not None and own not in names:
        warnings.warn(
            f"scheduler = {own!r} of the scenario file is not compared; name it in --schedulers",
            stacklevel=2,
        )
    runs = simulated(answer.compare, scenario, names, study=study.study(output), output=output)
    rows = [run.result.row() for run in runs]
    apart = [found.row() for found in answer.differences(runs, level=study.level)]
    slo = runs[0].workload.slo
    limits = {"p99_ttft_s": slo.ttft_s, "p99_tpot_s": slo.tpot_s}
    marks = {name: limit for name, limit in limits.items() if limit is not None}
    emit_runs(
        runs,
        comparison_text(rows, apart),
        output,
        draw=lambda: draw_comparison(rows, title=title(runs), limits=marks)[0].figure,
        more={"differences": apart},
    )
