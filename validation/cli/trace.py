"""`sched-sim trace`: a recorded trace, at one or several speeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics.errors import ConfigError

from .answers import Schedulers, Windows, emit_runs, scheduler_list, title, windows_of, with_windows
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .study import STUDY, simulated
from .values import number_list, reader

if TYPE_CHECKING:
    from qtheory.report import Crossing
    from validation.answer import Run

    TraceFlags = Given
else:
    TraceFlags = scenario_flags(
        without=[
            "trace",
            "speed",
            "lengths",
            "prompt",
            "output",
            "correlation",
            "conversations",
            "arrivals",
            "rate_rps",
        ]
    )
_NO_FLAGS = TraceFlags()

__all__ = ["trace"]

_GOOD_FRAC = 0.9

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
    schedulers: Schedulers = None,
    flags: Annotated[TraceFlags, Parameter(name="*")] = _NO_FLAGS,
    windows: Windows = None,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Replay a recorded trace, at one or several speeds and under one or several schedulers, once each.

    The figure of ``--plot`` shows one run over time, schedulers side by side, or goodput against the speed.
    """
    output.check()
    from qtheory.report import crossings, trace_text
    from validation import answer  # slow to import, so only here

    if schedulers is not None and flags.scheduler is not None:  # type: ignore[attr-defined]
        raise ConfigError("--schedulers: cannot be combined with --scheduler; give one or the other")
    speeds, scenario = number_list("--speed", speed), flags.load_for(output, trace=file)
    names = [scenario.scheduler] if schedulers is None else scheduler_list(schedulers)
    study = STUDY.study(output, n_windows=windows_of(windows, output))
    runs = simulated(answer.replay, scenario, names, speeds, study=study, output=output)
    rows = [run.result.row() for run in runs]
    found = crossings(rows, goodput_frac=_GOOD_FRAC, against="speed") if len(speeds) > 1 else {}
    emit_runs(
        runs,
        with_windows(runs[0], windows) if len(runs) == 1 else trace_text(rows),
        output,
        draw=lambda: _figure(runs),
        more={"summary": [_speeds(name, each) for name, each in found.items()]} if found else {},
    )


def _speeds(name: str, crossing: Crossing) -> dict[str, Any]:
    """A crossing under names that say that its numbers are speeds."""
    return {
        "scheduler": name,
        "goodput_frac": crossing.goodput_frac,
        "speed": crossing.rate_rps,
        "is_last_speed": crossing.is_last_rate,
        "low_speed": crossing.low_rps,
        "high_speed": crossing.high_rps,
    }


def _figure(runs: Sequence[Run]) -> Any:
    from qtheory.report import draw_comparison, draw_goodput, draw_timeline

    rows, above = [run.result.row() for run in runs], title(runs)
    if len(runs) == 1:
        return draw_timeline(runs[0].result.timeline, title=above)[0].figure
    if len({run.result.speed for run in runs}) == 1:
        return draw_comparison(rows, title=above)[0].figure
    return draw_goodput(rows, title=above, goodput_frac=_GOOD_FRAC, against="speed").figure
