"""`sched-sim run`: one scheduler under one load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .answers import Windows, emit_runs, title, windows_of, with_windows
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .study import STUDY, StudyFlags, simulated
from .tracing import TRACE, TracedOutput, TraceFlags, traced

if TYPE_CHECKING:
    RunFlags = Given
else:
    RunFlags = scenario_flags()
_NO_FLAGS = RunFlags()

__all__ = ["run"]

_LEAN = Parameter(
    name="--no-records",
    help="keep nothing of single requests while a run goes on, so that long runs need little memory; "
    "percentiles are then within 0.05 %",
    negative=(),
    show_default=False,
)


def run(
    *,
    flags: Annotated[RunFlags, Parameter(name="*")] = _NO_FLAGS,
    windows: Windows = None,
    no_records: Annotated[bool, _LEAN] = False,
    study: StudyFlags = STUDY,
    inside: TraceFlags = TRACE,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Simulate one scheduler under one load.

    The figure of ``--plot`` shows queue, running requests and KV memory over time, of the first replication,
    which is also the one of ``--trace-out`` and ``--explain-stalls``.
    """
    output = TracedOutput.of(output, inside)
    output.check()
    from qtheory.report import draw_timeline
    from validation import answer  # slow to import, so only here

    wanted = study.study(output, n_windows=windows_of(windows, output), lean=no_records)
    scenario = flags.load_for(output)
    inside.check_for(scenario)
    [found] = simulated(answer.compare, scenario, [scenario.scheduler], study=wanted, output=output)
    seen = traced(found, inside)
    emit_runs(
        [found],
        "\n\n".join([with_windows(found, windows), *seen.blocks]),
        output,
        draw=lambda: draw_timeline(found.result.timeline, title=title([found]))[0].figure,
        more=seen.more,
        files=seen.files,
    )
