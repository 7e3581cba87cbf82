"""`sched-sim validate agreement`: theory against simulator, cell by cell, on a design drawn beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._page import PageOutput, file_marks, output_flags, page_writer
from .emit import Answer, emit
from .files import spare_inputs
from .progress import Progress
from .values import choice, file_name, reader, word_list

if TYPE_CHECKING:
    from qtheory.report import Page
    from validation.agreement import Cell, Effort, Score, Simulated, Stored
    from validation.answer import Workers

__all__ = ["agreement"]

CLAIM_FAILED = 1

_GRID = Parameter(
    name="--grid",
    help="quick (20 small cells), full (300, their simulations kept) or fresh (30 new ones) [quick]",
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
_SIMULATE = Parameter(
    name="--simulate",
    help="with --grid full: simulate N more of the cells that are not kept yet, and keep them [0]",
    converter=reader("", int),
    n_tokens=1,
    metavar="N",
)
_FROM = Parameter(
    name="--from",
    help="show a comparison that --format json wrote, and simulate nothing",
    converter=file_name,
    n_tokens=1,
    metavar="FILE",
)

if TYPE_CHECKING:
    CellOutput = PageOutput
else:
    CellOutput = output_flags(PageOutput, without=["records_out"])
_TO_TERMINAL = CellOutput()


def agreement(
    *,
    grid: Annotated[str | None, _GRID] = None,
    seed: Annotated[int | None, _SEED] = None,
    only: Annotated[str | None, _ONLY] = None,
    max_requests: Annotated[int | None, _MOST] = None,
    simulate: Annotated[int | None, _SIMULATE] = None,
    stored: Annotated[str | None, _FROM] = None,
    output: CellOutput = _TO_TERMINAL,
) -> int:
    """Theory against simulator: both tiers and two baselines, cell by cell, then medians and targets.

    A cell is simulated until its 95 % intervals are within a third of what is allowed; of --grid full the
    simulations are kept, and only the theory is asked again, unless --max-requests is given. The exit code is
    1 if a target is missed. Finished cells are kept beside the file of --out, and --resume goes on from them.
    """
    output.check()
    if stored is not None:
        flags = {"--grid": grid, "--seed": seed, "--max-requests": max_requests, "--simulate": simulate}
        _check_alone(output, flags)
        found = _read(stored, only, output)
    else:
        design = _Design(grid=grid or "quick", seed=seed, only=only, most=max_requests, more=simulate)
        found = _made(design, output)
    from validation.agreement import targets_of

    _show(found, stored, output)
    return CLAIM_FAILED if any(one.verdict == "missed" for one in targets_of(found.scores)) else 0


def _check_alone(output: PageOutput, given: Mapping[str, Any]) -> None:
    """Raise if a flag of a simulation stands beside ``--from``."""
    flags = dict(given) | {"--resume": output.resume or None, "--jobs": output.jobs}
    flag = next((flag for flag, value in flags.items() if value is not None), None)
    if flag is not None:
        raise ConfigError(f"{flag}: says what to simulate, and --from simulates nothing; leave one out")


def _read(path: str, only: str | None, output: PageOutput) -> Stored:
    """The cells of a file, or those with all the levels of ``--only``."""
    from dataclasses import replace

    from validation.agreement import chosen, read_agreement

    spare_inputs(output.targets(), [path])
    found = read_agreement(path)
    if only is None:
        return found
    cells = chosen([one.cell for one in found.scores], word_list("--only", only))
    kept = [one for one in found.scores if one.cell in cells]
    return replace(found, scores=kept, provenance=found.provenance | {"only": only})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Which cells, and how much of them is to be simulated."""

    grid: str
    seed: int | None
    only: str | None
    most: int | None
    more: int | None

    @property
    def is_kept(self) -> bool:
        """Whether there are simulations of it, which another effort cannot use."""
        return self.grid == "full" and self.most is None

    def check_more(self) -> None:
        """Raise if more cells are to be simulated of what is not kept."""
        if self.more is None:
            return
        checks.integer(simulate=self.more)
        if not self.is_kept:
            flag = "--max-requests" if self.grid == "full" else f"--grid {self.grid}"
            raise ConfigError(f"--simulate: {flag} simulates all cells, and keeps none; leave one out")


def _made(design: _Design, output: PageOutput) -> Stored:
    """The cells of a design: asked again where their simulation is kept, simulated where none is."""
    from qtheory.system.provenance import version
    from validation.agreement import Stored, cells_of, chosen, effort_of
    from validation.answer import Workers

    cells, effort = cells_of(design.grid, seed=design.seed), effort_of(design.grid, max_requests=design.most)
    design.check_more()
    if design.only is not None:
        cells = chosen(cells, word_list("--only", design.only))
    origin = {"version": version(), "grid": design.grid, "cells_seed": design.seed, "only": design.only}
    if output.jobs is not None:
        checks.integer(jobs=output.jobs)
    with Workers(output.jobs) as workers:
        known: dict[int, Simulated] = {}
        if design.is_kept:
            known = _known(cells, design.more or 0, workers, output)
            origin["simulations"] = _kept_note(cells, known)
            cells = [cell for cell in cells if cell.number in known]
        scores = _scored(cells, effort, known, workers, output)
    return Stored(scores=scores, provenance=origin | {"effort": asdict(effort)})


def _known(cells: list[Cell], n_more: int, workers: Workers, output: PageOutput) -> dict[int, Simulated]:
    """Simulations that are kept, with some more that are added to them now."""
    from validation.agreement import read_simulations, simulate_more, to_simulate

    found = read_simulations()
    more = to_simulate(cells, found, n_more)
    if more:
        with Progress(what="cells simulated", quiet=output.quiet) as progress:
            simulate_more(more, executor=_several(workers, more), progress=progress)
        found = read_simulations()
    if not any(cell.number in found.cells for cell in cells):
        raise ConfigError(
            f"--grid full: none of these cells is simulated yet; give --simulate {len(cells)} too (some "
            "minutes a cell), or --max-requests for a shorter look"
        )
    return found.cells


def _kept_note(cells: list[Cell], known: Mapping[int, Simulated]) -> str:
    """How much is there, in words."""
    n = sum(cell.number in known for cell in cells)
    note = f"{n} of {len(cells)} cells, as kept; the theory is asked anew"
    if n == len(cells):
        return note
    return f"{note}; {len(cells) - n} are not simulated yet, --simulate N adds some"


def _several(workers: Workers, cells: Sequence[Cell]) -> Workers | None:
    """The workers, where they are worth their start."""
    return workers if workers.jobs > 1 and len(cells) > 1 else None


def _scored(
    cells: list[Cell],
    effort: Effort,
    known: Mapping[int, Simulated],
    workers: Workers,
    output: PageOutput,
) -> list[Score]:
    from validation.agreement import KeptCells, agree
    from validation.answer import kept_in

    kept = None
    if output.out is not None:
        kept = KeptCells(path=kept_in(Path(output.out), resume=output.resume).path, resume=output.resume)
    with Progress(what="cells", quiet=output.quiet) as progress:
        return agree(
            cells,
            effort,
            executor=_several(workers, cells),
            progress=progress,
            kept=kept,
            simulated=known,
        )


def _show(found: Stored, source: str | None, output: PageOutput) -> None:
    from qtheory.report import save_figure
    from validation.agreement import agreement_text, groups_of, summary_of, targets_of

    from ._agreement_page import kept_words

    scores = found.scores
    more: dict[str, Any] = {
        "groups": [asdict(group) for group in groups_of(scores)],
        "targets": [asdict(target) | {"verdict": target.verdict} for target in targets_of(scores)],
        "summary": summary_of(scores),
    }
    rows = [_flat(one) if output.format == "csv" else _full(one) for one in scores]
    text = "\n\n".join([*kept_words(found), agreement_text(scores)])
    answer = Answer(rows=rows, text=text, provenance=found.provenance, more=more)

    def draw(path: Path) -> None:
        from ._agreement_page import picture

        save_figure(picture(found), path)

    def page() -> Page:
        from ._agreement_page import agreement_page

        return agreement_page(found, file_marks([source], output))

    emit(answer, output, {"--plot": draw, "--report": page_writer(page)})
    if source is None:
        output.drop_partial()


def _full(one: Score) -> dict[str, Any]:
    verdicts = {tier: one.verdict(tier) for tier in ("numeric", "closed")}
    return one.row() | {"verdicts": verdicts}


def _flat(one: Score) -> dict[str, Any]:
    """One line a cell: its levels, verdicts, and simulated and predicted numbers side by side."""
    from validation.agreement.tolerances import TOLERANCES

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
