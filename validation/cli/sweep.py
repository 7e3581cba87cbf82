"""`sched-sim sweep`: goodput of schedulers against the arrival rate."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .answers import DEFAULT_SCHEDULERS, Schedulers, emit_runs, scheduler_list, title
from .options import RUN_OUTPUT, Given, RunOutput, scenario_flags
from .progress import Progress
from .study import STUDY, StudyFlags, simulated
from .values import rate_grid, reader

if TYPE_CHECKING:
    from qtheory.system.scenario import Scenario

    SweepFlags = Given
else:
    SweepFlags = scenario_flags(without=["scheduler", "rate_rps", "speed"])
_NO_FLAGS = SweepFlags()

__all__ = ["sweep"]

_FOUND = "Rates chosen by short runs: from goodput above 90 % to below 50 % (--rates for others)"


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
    schedulers: Schedulers = None,
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

    All schedulers and rates see the same requests, closer together at higher rates; those of ``--trace`` so
    close that their mean rate is the one tried. Without rates nine are chosen by short runs, from goodput
    above 90 % to below 50 %. Without ``--schedulers`` the one of the scenario file is taken, if it names one.
    The figure of ``--plot`` shows goodput against the rate.
    """
    output.check()
    from qtheory.report import crossings, draw_goodput, sweep_text
    from validation import answer  # slow to import, so only here

    checks.fraction(goodput_frac=goodput_frac)
    grid = rate_grid(rates, min_rate, max_rate, step)
    scenario, said = flags.load_for(output), flags.in_file()
    _check_has_rate(scenario)
    names = scheduler_list(schedulers or said.get("scheduler") or DEFAULT_SCHEDULERS)
    if "rate_rps" in said:
        use = "where the search for rates begins" if not grid else "not used: a sweep has its own rates"
        warnings.warn(f"rate_rps = {said['rate_rps']:g} of the scenario file is {use}", stacklevel=2)
    wanted = study.study(output)
    tried = grid or _found(scenario, names, output)
    runs = simulated(answer.sweep, scenario, names, tried, study=wanted, output=output)
    rows = [run.result.row() for run in runs]
    found = crossings(rows, goodput_frac=goodput_frac)
    emit_runs(
        runs,
        sweep_text(rows, goodput_frac=goodput_frac) + ("" if grid else f"\n\n{_FOUND}"),
        output,
        draw=lambda: draw_goodput(rows, title=title(runs), goodput_frac=goodput_frac).figure,
        more={"summary": [{"scheduler": name, **crossing.row()} for name, crossing in found.items()]},
    )


def _check_has_rate(scenario: Scenario) -> None:
    from qtheory.system.workload import ClosedLoop, parse_arrivals  # need numpy, so only here

    if isinstance(parse_arrivals(scenario.arrivals), ClosedLoop):
        raise ConfigError(
            f"arrivals: {scenario.arrivals} has no rate to sweep; take open arrivals such as poisson, or run"
        )


def _found(scenario: Scenario, names: list[str], output: RunOutput) -> list[float]:
    """Rates around the place where goodput falls."""
    from validation.answer import find_rates

    with Progress(what="probes", quiet=output.quiet) as progress:
        return find_rates(scenario, names, progress=progress)
