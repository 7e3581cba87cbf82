"""`sched-sim validate agreement`: theory against simulator, cell by cell, on a design drawn beforehand."""

from __future__ import annotations

from dataclasses import asdict, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import Parameter

from .emit import Answer, emit
from .options import RunOutput
from .progress import Progress
from .values import choice, reader, word_list

if TYPE_CHECKING:
    from validation.agreement import Cell, Effort, Score

__all__ = ["agreement"]

CLAIM_FAILED = 1

_GRID = Parameter(
    name="--grid",
    help="quick (20 small cells), full (300 cells, hours) or fresh (30 new ones)",
    converter=choice("quick", "full", "fresh"),
    n_tokens=1,
    metavar="NAME",
)
_SEED = Parameter(
    name="--seed",
    help="seed that the cells of --grid fresh are drawn with [1]",
    converter=reader("", int),
    n_tokens=1,
    metavar="N",
)
_ONLY = Parameter(
    name="--only",
    help="numbers of cells, or levels such as fcfs,tight,0.9,rag: cells that have them all",
    converter=reader("", str),
    n_tokens=1,
    metavar="LIST",
)
_MOST = Parameter(
    name="--max-requests",
    help="requests of a cell at most; not sharp by then, it is undecided [quick 160,000, else 600,000]",
    converter=reader("", int),
    n_tokens=1,
    metavar="N",
)


def _without_records() -> Any:
    """The flags of a command that simulates, but for that of records of requests, which cells do not have."""
    hints = get_type_hints(RunOutput, include_extras=True)
    hints["records_out"] = Annotated[str | None, Parameter(parse=False)]
    made = [(item.name, hints[item.name], field(default=item.default)) for item in fields(RunOutput)]
    flags = make_dataclass("CellOutput", made, bases=(RunOutput,), frozen=True, kw_only=True)
    flags.__module__ = __name__
    return Parameter(name="*")(flags)


if TYPE_CHECKING:
    CellOutput = RunOutput
else:
    CellOutput = _without_records()
_TO_TERMINAL = CellOutput()


def agreement(
    *,
    grid: Annotated[str, _GRID] = "quick",
    seed: Annotated[int | None, _SEED] = None,
    only: Annotated[str | None, _ONLY] = None,
    max_requests: Annotated[int | None, _MOST] = None,
    output: CellOutput = _TO_TERMINAL,
) -> int:
    """Theory against simulator: both tiers and two baselines, cell by cell, then medians and targets.

    A cell is simulated until its 95 % intervals are within a third of what is allowed. The exit code is 1 if
    a target is missed. Finished cells are kept beside the file of --out, and --resume goes on from them.
    """
    output.check()
    from validation.agreement import agreement_text, cells_of, chosen, effort_of, targets_of

    cells = cells_of(grid, seed=seed)
    if only is not None:
        cells = chosen(cells, word_list("--only", only))
    scores = _scored(cells, effort_of(grid, max_requests=max_requests), output)
    _show(scores, agreement_text(scores), f"{grid}, {len(cells)} cells", output)
    return CLAIM_FAILED if any(one.verdict == "missed" for one in targets_of(scores)) else 0


def _scored(cells: list[Cell], effort: Effort, output: RunOutput) -> list[Score]:
    from qtheory.basics import checks
    from validation.agreement import KeptCells, agree
    from validation.answer import Workers, kept_in

    if output.jobs is not None:
        checks.integer(jobs=output.jobs)
    kept = None
    if output.out is not None:
        kept = KeptCells(path=kept_in(Path(output.out), resume=output.resume).path, resume=output.resume)
    with Progress(what="cells", quiet=output.quiet) as progress, Workers(output.jobs) as workers:
        executor = workers if workers.jobs > 1 and len(cells) > 1 else None
        return agree(cells, effort, executor=executor, progress=progress, kept=kept)


def _show(scores: list[Score], text: str, title: str, output: RunOutput) -> None:
    from qtheory.report import save_figure
    from qtheory.system.provenance import version
    from validation.agreement import draw_agreement, groups_of, summary_of, targets_of

    more: dict[str, Any] = {
        "groups": [asdict(group) for group in groups_of(scores)],
        "targets": [asdict(target) | {"verdict": target.verdict} for target in targets_of(scores)],
        "summary": summary_of(scores),
    }
    files = {}
    if output.plot is not None:
        heading = f"Predicted and simulated: {title}; band: allowed up to a load of 0.8"
        files["--plot"] = lambda path: save_figure(draw_agreement(scores, title=heading), path)
    rows = [_flat(one) if output.format == "csv" else _full(one) for one in scores]
    emit(Answer(rows=rows, text=text, provenance={"version": version()}, more=more), output, files)
    output.drop_partial()


def _full(one: Score) -> dict[str, Any]:
    verdicts = {tier: one.verdict(tier) for tier in ("numeric", "closed")}
    return one.row() | {"verdicts": verdicts}


def _flat(one: Score) -> dict[str, Any]:
    """One line a cell: its levels, verdicts, and simulated and predicted numbers side by side."""
    from validation.agreement.score import TOLERANCES

    row: dict[str, Any] = {**one.row()["cell"], "kind": one.kind, "binds": one.binds}
    row |= {f"verdict_{tier}": one.verdict(tier) for tier in ("numeric", "closed")}
    row["overload_rps"] = one.overload.rate_rps if one.overload is not None else None
    for name in (*TOLERANCES, "goodput_frac"):
        row[f"{name}_simulated"] = one.simulated.get(name)
        row[f"{name}_half_frac"] = one.simulated.get(f"{name}_half")
        row |= {f"{name}_{tier}": numbers.get(name) for tier, numbers in one.predicted.items()}
    if one.knee is not None:
        row["knee_rps_simulated"] = one.knee.rate_rps
        row |= {f"knee_rps_{tier}": rate for tier, rate in one.knee.predicted_rps.items()}
    return row
