"""What the commands that simulate have in common: title, rows, figure and records of their answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ApproximationWarning, ConfigError
from qtheory.report import run_text, save_figure, table, warnings_of
from qtheory.system.scheduler_text import parse_scheduler

from .emit import Answer, emit
from .files import Writer
from .heading import at_rate, heading, limits_text
from .options import RunOutput
from .records import write_records
from .resolved import about_system, load_name, resolved
from .values import reader, word_list

if TYPE_CHECKING:
    from validation.answer import Run

__all__ = [
    "DEFAULT_SCHEDULERS",
    "Schedulers",
    "Windows",
    "emit_runs",
    "scheduler_list",
    "title",
    "windows_of",
    "with_windows",
]

DEFAULT_SCHEDULERS = "fcfs,chunked"

_PLOT_WINDOWS, _MOST_WINDOWS = 200, 10_000
_SCHEDULERS = Parameter(
    name="--schedulers",
    help="schedulers, separated by commas [fcfs,chunked]",
    converter=reader("", str),
    n_tokens=1,
    metavar="NAMES",
)
_WINDOWS = Parameter(
    name="--windows",
    help="windows of a timeline in the result: averages of queue, running requests, KV memory "
    f"[0; {_PLOT_WINDOWS} with --plot]",
    converter=reader("windows", int),
    n_tokens=1,
    metavar="N",
)
Schedulers = Annotated[str | None, _SCHEDULERS]
Windows = Annotated[int | None, _WINDOWS]


def scheduler_list(text: str) -> list[str]:
    """The schedulers of a list, each known.

    Raises
    ------
    ConfigError
        If a name or an option is unknown, empty or comes twice.

    Examples
    --------
    >>> scheduler_list("fcfs,chunked")
    ['fcfs', 'chunked']
    """
    names = word_list("--schedulers", text)
    for name in names:
        parse_scheduler(name)
    return names


def windows_of(windows: int | None, output: RunOutput) -> int:
    """Windows of the timeline: as asked for, else as many as a figure needs.

    Raises
    ------
    ConfigError
        If the number is below zero or above 10,000.

    Examples
    --------
    >>> windows_of(None, RunOutput()), windows_of(None, RunOutput(plot="a.png")), windows_of(5, RunOutput())
    (0, 200, 5)
    """
    if windows is None:
        return _PLOT_WINDOWS if output.plot is not None else 0
    checks.at_least(0, windows=windows)
    if windows > _MOST_WINDOWS:
        raise ConfigError(f"windows: {windows} is too many; at most {_MOST_WINDOWS:,}")
    return windows


def with_windows(run: Run, windows: int | None) -> str:
    """A run as text, and the windows of its timeline as a table if they were asked for.

    Parameters
    ----------
    run : Run
    windows : int or None
        As given on the command line.
    """
    blocks = [run_text(run.result.row())]
    if windows:
        blocks.append(f"Averages over windows of the first run\n{table(run.result.timeline)}")
    return "\n\n".join(blocks)


def title(runs: Sequence[Run]) -> str:
    """Two lines above a figure: what was simulated, and what a good request is."""
    run = runs[0]
    names = {each.result.scheduler for each in runs}
    who = f"{run.result.scheduler}: " if len(names) == 1 else ""
    load = f"{PurePath(load_name(run)).name if run.scenario.trace else load_name(run)}{at_rate(runs)}"
    good = limits_text(run.workload.slo).replace("<=", "\u2264")
    return f"{who}{run.replica.model.name} on {run.replica.hardware.name}, {load}\ngood request: {good}"


def _check_served(runs: Sequence[Run]) -> None:
    """Raise if a run had no requests, or none of any run could ever be served."""
    for run in runs:
        if not run.result.n_requests:
            raise ConfigError(
                f"no request arrives at rate_rps={run.result.rate_rps:g} (seed={run.scenario.seed}); "
                "raise the rate or the duration, or give a number of requests"
            )
    if any(run.result.n_requests > run.result.n_rejected for run in runs):
        return
    from validation.answer import requests_of

    run, spec = runs[0], runs[0].replica
    requests = requests_of(run.workload, run.scenario.seed)
    if not len(requests):
        raise ConfigError("none of the requests can ever run; raise kv_blocks, budget_tokens or memory_frac")
    shortest = int((requests.prompt_tokens + requests.output_tokens).argmin())
    prompt, output = requests.prompt_tokens[shortest], requests.output_tokens[shortest]
    raise ConfigError(
        f"none of the {run.result.n_requests} requests can ever run: the shortest has a prompt of {prompt} "
        f"tokens and {output} to write; limits are kv_blocks={spec.n_blocks} of {spec.block_tokens} tokens, "
        f"budget_tokens={spec.budget_tokens}, max_model_len_tokens={spec.max_model_len_tokens}; "
        "raise the one that is too small"
    )


def _in_words(value: Any) -> Any:
    """Infinity as a word, so that JSON keeps it: a limit of ``inf`` is not one that was never given."""
    if isinstance(value, dict):
        return {key: _in_words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_words(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _apart(run: Run) -> dict[str, Any]:
    """Lists of a run that stand in no table."""
    lists = {"timeline": list(run.result.timeline), "tenants": list(run.result.tenants)}
    return {name: rows for name, rows in lists.items() if rows}


def _by_tenant(runs: Sequence[Run]) -> list[str]:
    """A table of what each tenant got in each run, if there are several."""
    rows = []
    for run in runs:
        about = {"scheduler": run.result.scheduler, "rate_rps": run.result.rate_rps}
        rows += [about | row for row in run.result.tenants]
    return [f"By tenant\n{table(rows)}"] if rows else []


def emit_runs(
    runs: Sequence[Run],
    text: str,
    output: RunOutput,
    *,
    draw: Callable[[], Any],
    more: Mapping[str, Any] | None = None,
    files: Mapping[str, Writer] | None = None,
) -> None:
    """Emit runs: heading and ``text`` for people, a row a run for programs, figure and records if asked for.

    Parameters
    ----------
    runs : sequence of Run
    text : str
        Tables and findings, shown below the heading.
    output : RunOutput
    draw : callable
        Makes the figure of ``--plot``.
    more : mapping, optional
        Further entries of the JSON form.
    files : mapping, optional
        What writes the file behind a flag of this command alone.

    Raises
    ------
    ConfigError
        If no request could ever be served, or a file cannot be written.
    """
    try:
        _check_served(runs)
    except ConfigError:
        output.drop_partial()  # what is wrong with this answer will be wrong with it again
        raise
    rows = [run.result.row() for run in runs]
    if output.format == "json":
        rows = [row | _apart(run) for row, run in zip(rows, runs, strict=True)]
    answer = Answer(
        rows=rows,
        text="\n\n".join([heading(runs), text, *_by_tenant(runs)]),
        provenance=_in_words(asdict(runs[0].result.provenance) | {"resolved": resolved(runs)}),
        more=more or {},
        lead=about_system(runs[0]),
    )
    writers: dict[str, Writer] = {
        "--plot": lambda path: save_figure(draw(), path),
        "--records-out": lambda path: write_records(runs, path),
    }
    emit(answer, output, writers | dict(files or {}))
    output.drop_partial()
    for said in warnings_of(rows):
        warnings.warn(said, ApproximationWarning, stacklevel=2)
