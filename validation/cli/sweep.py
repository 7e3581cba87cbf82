"""`sched-sim sweep`: goodput of schedulers against the arrival rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from qtheory.basics import checks

from .answers import Schedulers, emit_runs, scheduler_list, title
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .study import STUDY, StudyFlags, simulated
from .values import rate_grid, reader

if TYPE_CHECKING:
    SweepFlags = Given
else:
    SweepFlags = scenario_flags(without=["scheduler", "rate_rps", "trace", "speed"])
_NO_FLAGS = SweepFlags()

__all__ = ["sweep"]


def _rate(flag: str, text: str) -> Parameter:
    return Parameter(name=flag, help=text, converter=reader("rate_rps", float), n_tokens=1, metavar="REQ/S")


_RATES = Parameter(
    name="--rates",
    help="rates to try, separated by commas, requests per second",
    converter=reader("", str),
    n_tokens=1,
    metavar="LIST",
)
_SHARE = Parameter(
    name="--goodput-frac",
    help="share of good requests that marks the largest rate",
    converter=reader("goodput_frac", float),
    n_tokens=1,
    metavar="SHARE",
)


def sweep(
    *,
    schedulers: Schedulers = "fcfs,chunked",
    rates: Annotated[str | None, _RATES] = None,
    min_rate: Annotated[float | None, _rate("--min-rate", "smallest rate to try")] = None,
    max_rate: Annotated[float | None, _rate("--max-rate", "largest rate to try")] = None,
    step: Annotated[float | None, _rate("--step", "from one rate to the next")] = None,
    goodput_frac: Annotated[float, _SHARE] = 0.9,
    flags: Annotated[SweepFlags, Parameter(name="*")] = _NO_FLAGS,
    study: StudyFlags = STUDY,
    output: RunOutput = RUN_OUTPUT,
) -> None:
    """Goodput of schedulers against the arrival rate, and the largest rate each can take.

    All schedulers and rates see the same requests, closer together at higher rates. The figure of ``--plot``
    shows goodput against the rate.
    """
    output.check()
    from qtheory.report import crossings, draw_goodput, sweep_text
    from validation import answer  # slow to import, so only here

    checks.fraction(goodput_frac=goodput_frac)
    names, grid, scenario = (
        scheduler_list(schedulers),
        rate_grid(rates, min_rate, max_rate, step),
        flags.load(),
    )
    runs = simulated(answer.sweep, scenario, names, grid, study=study.study(output), output=output)
    rows = [run.result.row() for run in runs]
    found = crossings(rows, goodput_frac=goodput_frac)
    emit_runs(
        runs,
        sweep_text(rows, goodput_frac=goodput_frac),
        output,
        draw=lambda: draw_goodput(rows, title=title(runs), goodput_frac=goodput_frac).figure,
        more={"summary": [{"scheduler": name, **crossing.row()} for name, crossing in found.items()]},
    )
