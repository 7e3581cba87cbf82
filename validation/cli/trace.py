"""`sched-sim trace`: a recorded trace, at one or several speeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .answers import Windows, emit_runs, title, windows_of
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .study import STUDY, simulated
from .values import number_list, reader

if TYPE_CHECKING:
    TraceFlags = Given
else:
    TraceFlags = scenario_flags(
        without=["trace", "speed", "lengths", "prompt", "output", "correlation", "arrivals", "rate_rps"]
    )
_NO_FLAGS = TraceFlags()

__all__ = ["trace"]

_FILE = Parameter(
    name="FILE",
    help="Azure CSV, or plain CSV with arrival, prompt and output; .gz too",
    converter=reader("", str),
)
_SPEED = Parameter(
    name="--speed",
    help="factors by which it is replayed faster, separated by commas",
    converter=reader("", str),
    n_tokens=1,
    metavar="LIST",
)


def trace(
    file: Annotated[str, _FILE],
    /,
    *,
    speed: Annotated[str, _SPEED] = "1",
    flags: Annotated[TraceFlags, Parameter(name="*")] = _NO_FLAGS,
    windows: Windows = None,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Replay a recorded trace, at one or several speeds, once each.

    The figure of ``--plot`` shows one speed over time, or goodput against the rate of several.
    """
    output.check()
    from qtheory.report import draw_goodput, draw_timeline, run_text, trace_text
    from validation import answer  # slow to import, so only here

    speeds, scenario = number_list("--speed", speed), flags.load(trace=file)
    study = STUDY.study(output, n_windows=windows_of(windows, output))
    runs = simulated(answer.replay, scenario, speeds, study=study, output=output)
    rows = [run.result.row() for run in runs]
    one = len(runs) == 1
    emit_runs(
        runs,
        run_text(rows[0]) if one else trace_text(rows),
        output,
        draw=lambda: (
            draw_timeline(runs[0].result.timeline, title=title(runs))[0].figure
            if one
            else draw_goodput(rows, title=title(runs)).figure
        ),
    )
