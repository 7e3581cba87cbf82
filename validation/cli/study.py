"""Flags on how often and how precisely a point is simulated, and the way from a question to its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from qtheory.basics import checks

from .options import RunOutput
from .progress import Progress
from .values import reader

if TYPE_CHECKING:
    from validation.answer import Kept, Run, Study

__all__ = ["STUDY", "StudyFlags", "kept_points", "simulated"]

_STUDY = Group("Statistics", sort_key=1)


def _number(name: str, kind: type, text: str, metavar: str) -> Parameter:
    return Parameter(
        name=name,
        help=text,
        group=_STUDY,
        converter=reader("", kind),
        n_tokens=1,
        negative=(),
        metavar=metavar,
        show_default=False,
    )


_REPLICATIONS = _number("--replications", int, "runs of each point, each with its own requests [5]", "N")
_LEVEL = _number("--level", float, "coverage of the confidence intervals [0.95]", "SHARE")
_STEADY = Parameter(
    name="--steady",
    help="steady state: longer runs [10,000 requests, more near capacity], warm-up left out",
    group=_STUDY,
    negative=(),
    show_default=False,
)
_PRECISION = _number(
    "--precision",
    float,
    "add runs until mean TTFT and goodput are known to this relative half-width, as 0.01; implies --steady",
    "SHARE",
)
_MOST = _number("--max-requests", int, "requests of a point at most with --precision [2,000,000]", "N")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StudyFlags:
    """How often each point is simulated, and what is claimed of it."""

    replications: Annotated[int | None, _REPLICATIONS] = None
    level: Annotated[float, _LEVEL] = 0.95
    steady: Annotated[bool, _STEADY] = False
    precision: Annotated[float | None, _PRECISION] = None
    max_requests: Annotated[int, _MOST] = 2_000_000

    def study(self, output: RunOutput, *, n_windows: int = 0, lean: bool = False) -> Study:
        """The study that these flags describe."""
        from validation.answer import Study  # slow to import, so only here

        return Study(
            n_replications=self.replications,
            level=self.level,
            steady=self.steady,
            precision=self.precision,
            max_requests=self.max_requests,
            n_windows=n_windows,
            keep_records=output.records_out is not None,
            lean=lean,
        )


STUDY = StudyFlags()


def kept_points(output: RunOutput) -> Kept | None:
    """Where finished points are kept: beside the file of ``--out``; records are not, so nothing with them."""
    if output.out is None or output.records_out is not None:
        return None
    from validation.answer import kept_in

    return kept_in(Path(output.out), resume=output.resume)


def simulated(
    question: Callable[..., Sequence[Run]], *about: Any, study: Study, output: RunOutput
) -> list[Run]:
    """The runs that answer a question of `validation.answer`, simulated in processes, with progress.

    Parameters
    ----------
    question : callable
        Such as ``answer.compare``.
    *about
        Its arguments: a scenario, schedulers, rates.
    study : Study
    output : RunOutput

    Raises
    ------
    ServingError
        If a scenario is wrong or cannot be simulated.
    """
    from validation.answer import NothingKept, Workers

    if output.jobs is not None:
        checks.integer(jobs=output.jobs)
    with (
        Progress(what="points", quiet=output.quiet) as progress,
        Workers(output.jobs) as workers,
    ):
        return list(
            question(
                *about,
                study=study,
                executor=workers if workers.jobs > 1 else None,
                progress=progress,
                kept=kept_points(output) or NothingKept(),
            )
        )
