"""`sched-sim queue`: a queueing model by its name in Kendall's notation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError

from ._queue_flags import ParameterFlags, QueueOutput, percentile_list, queue_flags, spelled
from ._queue_patience import told_if_slow
from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import file_name, reader

if TYPE_CHECKING:
    from qtheory.queues.kendall import NamedQueue, QueueAnswer

    QueueFlags = ParameterFlags
else:
    QueueFlags = queue_flags()
_NO_FLAGS = QueueFlags()

__all__ = ["queue"]

NOTHING_DOES = 1
_POINTS = 25
_SLOW = "still computing; a load further from its limit, a smaller system or fewer --points need less"


def _flag(names: str, text: str, kind: type = str, metavar: str = "TEXT") -> Parameter:
    return Parameter(
        name=names,
        help=text,
        converter=reader("", kind),
        n_tokens=1,
        metavar=metavar,
        negative=(),
        show_default=False,
    )


_NAME = Parameter(
    name="NAME",
    help="model, as in M/G/1, M/M/8, E2/M/3, M/D[1,16]/1, M/G/1-SRPT [--list shows all]",
    converter=reader("", str),
)


def _switch(name: str, text: str) -> Parameter:
    return Parameter(name=name, help=text, negative=(), show_default=False)


_LIST = _switch("--list", "all models, or the one named, with what they take and answer")
_EXPLAIN = _switch("--explain", "why: the formula with the numbers in it, or the route")
_SOLVE = _flag("--solve", "the unknown and what it must reach, as 'rate: p99_response_s<=3'")
_PLOT = Parameter(
    name="--plot",
    help="draw wait and response against the arrival rate to this file: .png, .svg or .pdf",
    group=Group("Output", sort_key=2),
    converter=file_name,
    n_tokens=1,
    negative=(),
    metavar="FILE",
)
_SET = Parameter(
    name="--set",
    help="a parameter of your own model, NAME=VALUE; can be repeated",
    negative=(),
    show_default=False,
)


def queue(
    name: Annotated[str | None, _NAME] = None,
    /,
    *,
    flags: Annotated[QueueFlags, Parameter(name="*")] = _NO_FLAGS,
    percentiles: Annotated[
        str, _flag("--percentiles", "in per cent [50,90,99]", metavar="LIST")
    ] = "50,90,99",
    explain: Annotated[bool, _EXPLAIN] = False,
    solve: Annotated[str | None, _SOLVE] = None,
    min_rate: Annotated[float | None, _flag("--min-rate", "smallest rate", float, "REQ/S")] = None,
    max_rate: Annotated[float | None, _flag("--max-rate", "largest rate", float, "REQ/S")] = None,
    points: Annotated[int | None, _flag("--points", f"how many rates [{_POINTS}]", int, "N")] = None,
    models: Annotated[
        str | None, _flag("--models", "Python file with your own models", metavar="FILE")
    ] = None,
    more: Annotated[tuple[str, ...], _SET] = (),
    everything: Annotated[bool, _LIST] = False,
    plot: Annotated[str | None, _PLOT] = None,
    output: Output = OUTPUT,
) -> int:
    """Waits, responses and numbers of a queue, exact where theory is, and how good each answer is.

    Numbers can stand in the name (``M/M/8``) or behind flags. ``--solve`` finds the largest rate, the fewest
    servers or another unknown for which a condition holds; exit code 1 if none does. With ``--min-rate``,
    ``--max-rate``, ``--points`` or ``--plot`` there is a row for each rate.
    """
    written = QueueOutput.of(output, plot)
    written.check()
    if models is not None:
        _load(models, written)
    if everything:
        emit(_listing(name), written)
        return 0
    levels = percentile_list(percentiles)
    question = _Question(levels, explain, solve, (min_rate, max_rate, points), written)
    return question.ask(name, flags.given(more), more)


@dataclass(frozen=True)
class _Question:
    """What is wanted of a queue, and where it goes."""

    levels: list[float]
    explained: bool
    solve: str | None
    grid: tuple[float | None, float | None, int | None]
    output: QueueOutput

    def ask(self, name: str | None, given: dict[str, str], more: tuple[str, ...]) -> int:
        """Answer one of the three questions; the exit code."""
        from qtheory.queues.kendall import NamedQueue

        if name is None:
            raise ConfigError("NAME: missing; a model such as M/G/1 (sched-sim queue --list shows all)")
        swept = self._swept()
        own = {"solve": "--solve", "min_rate": "--min-rate", "max_rate": "--max-rate", "points": "--points"}
        own |= {key: f"--set {key}" for key in (text.partition("=")[0].strip() for text in more)}
        with spelled(own, given), told_if_slow(_SLOW, quiet=self.output.quiet):
            asked = NamedQueue(name=name, given=given)
            if swept:
                _rates(asked, self)
            elif self.solve is not None:
                return _solution(asked, self.solve, self)
            else:
                _point(asked, self)
        return 0

    def _swept(self) -> bool:
        """Whether there is to be a row for each of several rates."""
        wanted = (*self.grid, self.output.plot)
        flags = dict(zip(("--min-rate", "--max-rate", "--points", "--plot"), wanted, strict=True))
        first = next((flag for flag, value in flags.items() if value is not None), None)
        if first and (self.solve or self.explained):
            other = "--solve" if self.solve else "--explain"
            raise ConfigError(f"{first}: cannot be combined with {other}; one question at a time")
        return first is not None


def _load(models: str, output: QueueOutput) -> None:
    from qtheory.queues.kendall import load_models

    spare_inputs(output.targets(), [models])
    with spelled({"models": "--models"}, ()):
        load_models(models)


def _listing(name: str | None) -> Answer:
    from qtheory.queues.kendall import PARAMETERS, find_model, kendall_models

    from ._queue_text import model_row, models_text, parameters_text

    models = kendall_models() if name is None else (find_model(name)[0],)
    rows = [model_row(model) for model in models]
    known = dict(PARAMETERS) | {parameter.name: parameter for model in models for parameter in model.own}
    listed = {
        parameter.name: {"unit": parameter.unit, "meaning": parameter.meaning, "kind": parameter.kind}
        for parameter in known.values()
    }
    text = models_text(rows) + ("" if name is None else "\n" + parameters_text(models[0]))
    return Answer(rows=rows, text=text, provenance=_provenance({}), more={"parameters": listed})


def _provenance(said: dict[str, Any]) -> dict[str, Any]:
    from qtheory.system.provenance import version

    return {"version": version(), **({"queue": said} if said else {})}


def _said(asked: NamedQueue) -> dict[str, Any]:
    return {"model": asked.title, **{name: str(value) for name, value in asked.given.items()}}


def _point(asked: NamedQueue, question: _Question) -> None:
    from qtheory.queues.kendall import answer

    found = answer(asked)
    row = found.row(question.levels)
    text, more = _in_full(found, row, question)
    emit(Answer(rows=[row], text=text, provenance=_provenance(_said(asked)), more=more), question.output)


def _in_full(
    found: QueueAnswer, row: dict[str, Any], question: _Question
) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """An answer as text, with its explanation if one is wanted."""
    from ._queue_text import answer_text, explanation_of

    text = answer_text(found, row, question.levels)
    if not question.explained:
        return text, {}
    why, formulas = explanation_of(found)
    return f"{text}\n\n{why}", {"explanation": formulas}


def _solution(asked: NamedQueue, wanted: str, question: _Question) -> int:
    from qtheory.queues.kendall import solve_for

    from ._queue_text import solution_text

    found = solve_for(asked, wanted)
    text, more = solution_text(found), dict[str, Any]()
    if found.answer is not None:
        row = found.answer.row(question.levels)
        shown, why = _in_full(found.answer, row, question)
        text, more = f"{text}\n\n{shown}", {"answer": row, **why}
    rows = [found.row() | {"model": asked.title}]
    emit(Answer(rows=rows, text=text, provenance=_provenance(_said(asked)), more=more), question.output)
    return NOTHING_DOES if found.verdict == "nowhere" else 0


def _rates(asked: NamedQueue, question: _Question) -> None:
    from qtheory.queues.kendall import over_rates, rate_range
    from qtheory.report import save_figure

    from ._queue_plot import draw_rates
    from ._queue_text import rates_text

    if "rate_rps" in asked.given and "rate_rps" not in asked.entry.each:
        warnings.warn("--rate is not used: there is a row for each of several rates", stacklevel=2)
    low, high, points = question.grid
    rates = rate_range(asked, min_rate=low, max_rate=high, points=_POINTS if points is None else points)
    rows = over_rates(asked, rates, percentiles=question.levels)
    title = f"{asked.title}: {asked.entry.says}"
    files = {"--plot": lambda path: save_figure(draw_rates(rows, question.levels, title=title), path)}
    text = rates_text(rows, title, question.levels)
    emit(Answer(rows=rows, text=text, provenance=_provenance(_said(asked))), question.output, files)
