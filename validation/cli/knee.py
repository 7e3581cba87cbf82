"""`sched-sim knee`: how much load each scheduler takes, and how it fails beyond."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ApproximationWarning, ConfigError
from qtheory.report import save_figure

from ._knee_text import knee_heading, knee_text
from ._page import PageOutput, file_marks, output_flags, page_writer
from .answers import scheduler_list
from .emit import Answer, emit
from .options import Given, scenario_flags
from .progress import Progress
from .shared_flags import share_flag, switch_flag, tier_flag, value_flag
from .values import check_inside

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from qtheory.report import Page
    from validation.knees import Asked

    KneeFlags = Given
else:
    KneeFlags = scenario_flags(without=["scheduler", "rate_rps", "speed"])
_NO_FLAGS = KneeFlags()

__all__ = ["knee"]

_SCHEDULERS = value_flag(
    "--schedulers",
    "schedulers, separated by commas [all on one server that have a model]",
    metavar="NAMES",
)
_TIER = tier_flag(
    "closed (formulas, instantly), numeric (a chain, seconds), sim (simulation); what a tier has no model of "
    "is simulated",
    *("closed", "numeric", "sim"),
)
_FRAC = share_flag("--goodput-frac", "share of all requests that is good at the knee [0.9]")
_REFINE = switch_flag("--refine", "simulate each predicted knee, from where it is")
_EXPLAIN = switch_flag("--explain", "the formulas with the numbers in them, and what 10 % of each input buys")
_PRECISION = share_flag(
    "--precision",
    "relative half-width at which a simulated knee is known well enough [0.01 with --refine, else 0.02]",
)
_LEVEL = share_flag("--level", "coverage of the intervals of the knees [0.95]")
_MOST = value_flag(
    "--max-requests",
    "no more runs are begun once a scheduler has so many requests [5,000,000]",
    kind=int,
    metavar="N",
)


if TYPE_CHECKING:
    KneeOutput = PageOutput
else:
    KneeOutput = output_flags(PageOutput, without=["records_out", "resume"])


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class KneeQuestion:
    """What is asked, and of what."""

    tier: Annotated[str, _TIER] = "numeric"
    goodput_frac: Annotated[float, _FRAC] = 0.9
    refine: Annotated[bool, _REFINE] = False
    explain: Annotated[bool, _EXPLAIN] = False
    precision: Annotated[float | None, _PRECISION] = None
    level: Annotated[float, _LEVEL] = 0.95
    max_requests: Annotated[int, _MOST] = 5_000_000

    def check(self) -> None:
        """Raise if a share is none, or two flags contradict each other."""
        check_inside("--goodput-frac", self.goodput_frac, 0.9)
        if self.refine and self.tier == "sim":
            raise ConfigError(
                "--refine: begins at a prediction; with --tier sim there is none, leave one out"
            )


_OUTPUT, _QUESTION = KneeOutput(), KneeQuestion()


def knee(
    *,
    schedulers: Annotated[str | None, _SCHEDULERS] = None,
    question: KneeQuestion = _QUESTION,
    flags: Annotated[KneeFlags, Parameter(name="*")] = _NO_FLAGS,
    output: KneeOutput = _OUTPUT,
) -> None:
    """The largest rate each scheduler takes with 90 % of all requests good, and how steeply it falls behind.

    Answered by theory where there is a model, in seconds; else by simulation, which says so. Without
    ``--schedulers`` those of one replica that there is a model of, or the one of the scenario file. The
    figure of ``--plot`` shows goodput against the rate.
    """
    output.check()
    question.check()
    from qtheory.predict import REPLICA_SCHEDULERS  # slow to import, so only here
    from validation.knees import asked_of, knees
    from validation.refine import Goal

    precision = question.precision if question.precision is not None else 0.01 if question.refine else 0.02
    goal = Goal(
        goodput_frac=question.goodput_frac,
        precision=precision,
        level=question.level,
        max_requests=question.max_requests,
    )
    scenario, said = flags.load_for(output), flags.in_file()
    names = scheduler_list(schedulers or said.get("scheduler") or ",".join(REPLICA_SCHEDULERS))
    asked = asked_of(scenario, names, tier=question.tier)
    found = _found(
        lambda **how: knees(asked, tier=question.tier, goal=goal, refine=question.refine, **how), output
    )
    _emit(asked, found, question, output)
    for note in dict.fromkeys(note for one in found for note in one.notes if note.startswith("goodput")):
        warnings.warn(note, ApproximationWarning, stacklevel=2)


def _found(ask: Any, output: KneeOutput) -> list[Knee]:
    from validation.answer import Workers

    if output.jobs is not None:
        checks.integer(jobs=output.jobs)
    with Progress(what="schedulers", quiet=output.quiet) as progress, Workers(output.jobs) as workers:
        return list(ask(executor=workers if workers.jobs > 1 else None, progress=progress))


def _emit(asked: Sequence[Asked], found: Sequence[Knee], question: KneeQuestion, output: KneeOutput) -> None:
    blocks = [knee_heading(asked, question.goodput_frac), knee_text(found)]
    said: dict[str, dict[str, Any]] = {}
    if question.explain or output.report is not None:
        from validation.answer import Workers

        from ._knee_explain import explained_text, explanations

        with Workers(output.jobs) as workers:
            said = explanations(asked, found, executor=workers if workers.jobs > 1 else None)
        if question.explain:
            blocks.append(explained_text(said))
    lead = {
        "hardware": asked[0].replica.hardware.name,
        "model": asked[0].replica.model.name,
        "workload": asked[0].scenario.trace or asked[0].scenario.workload,
    }
    answer = Answer(
        rows=[one.row() for one in found],
        text="\n\n".join(blocks),
        provenance=_provenance(asked) | {"resolved": lead},
        more=({"explained": said} if question.explain else {}) | {"curves": _curves(found)},
        lead=lead,
    )

    def draw(path: Path) -> None:
        from ._knee_plot import draw_knees

        save_figure(draw_knees(found, asked), path)

    def page() -> Page:
        from ._knee_page import knee_page

        marks = file_marks(asked[0].scenario.changed().values(), output)
        return knee_page(asked, found, said, level=question.level, inputs=marks)

    emit(answer, output, {"--plot": draw, "--report": page_writer(page)})


def _curves(found: Sequence[Knee]) -> dict[str, Any]:
    names = ("rate_rps", "goodput_frac", "goodput_frac_low", "goodput_frac_high")
    return {one.scheduler: [dict(zip(names, point, strict=True)) for point in one.curve] for one in found}


def _provenance(asked: Sequence[Asked]) -> dict[str, Any]:
    from dataclasses import asdict

    from ._knee_page import origin_of

    return asdict(origin_of(asked[0].scenario))
