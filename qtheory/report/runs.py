"""Simulated runs as text: one run in full, schedulers side by side, goodput by rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .findings import Crossing, comparison, goodput_crossing, told_apart
from .notes import notes
from .text import pairs, table, unit_of, with_limits

__all__ = ["comparison_text", "crossings", "run_text", "sweep_text", "trace_text"]

Row = Mapping[str, Any]

_STATISTICS = ("mean", "p50", "p90", "p95", "p99", "max")
_LATENCIES = {
    "ttft": "TTFT (s)",
    "tpot": "TPOT (s)",
    "itl": "ITL (s)",
    "e2e": "E2E (s)",
    "queue": "queue (s)",
}
_COUNTS = ("n_shed", "n_rejected", "n_given_up", "n_unfinished", "n_preemptions")
_WHERE_KNOWN = ("cached_frac", "attempts_per_request", "wasted_frac")
_PLACES = ("", "_low", "_high")  # a value and its limits
_TWO_GOODPUTS = {"goodput_frac": "goodput (share)", "goodput_rps": "goodput rate"}
_UNSAID = ("unreliable",)
_BESIDE = (
    "scheduler",
    "rate_rps",
    "goodput_frac",
    "throughput_rps",
    "mean_ttft_s",
    "p99_ttft_s",
    "mean_tpot_s",
    "p99_tpot_s",
    "p99_itl_s",
)


def _latency_name(name: str) -> bool:
    first, _, rest = name.partition("_")
    return first in _STATISTICS and rest.removesuffix("_s") in _LATENCIES


def run_text(row: Row) -> str:
    """Everything about one run: a table of latencies, then one quantity a line.

    Parameters
    ----------
    row : mapping
        Plain numbers of a run, as `RunResult.row` gives them.

    Returns
    -------
    str

    Examples
    --------
    >>> print(run_text({"scheduler": "fcfs", "mean_ttft_s": 0.5, "p99_ttft_s": 2.0, "goodput_frac": 0.9}))
              mean  p99
    TTFT (s)   0.5    2
    <BLANKLINE>
    scheduler         fcfs
    goodput (share)   90.0 %
    """
    latencies = [_latencies(row, name) for name in _LATENCIES if f"mean_{name}_s" in row]
    shown = [stat for stat in _STATISTICS if any(stat in entry for entry in latencies)]
    rest = {
        name: _with_unit(row, name) if f"{name}_low" in row else value
        for name, value in row.items()
        if value is not None
        and name not in _UNSAID
        and not _latency_name(_field(name))
        and _field(name) == name
    }
    return "\n\n".join([table(latencies, ["", *shown]), pairs(rest, labels=_TWO_GOODPUTS), *_below([row])])


def _field(name: str) -> str:
    """The field behind a key of a row: limits belong to theirs."""
    return name.removesuffix("_low").removesuffix("_high")


def _latencies(row: Row, name: str) -> Row:
    """One latency of a run: its statistics with their limits."""
    keys = {f"{stat}{place}": f"{stat}_{name}_s{place}" for stat in _STATISTICS for place in _PLACES}
    doubtful = [stat for stat in _STATISTICS if f"{stat}_{name}_s" in (row.get("unreliable") or ())]
    values = {short: row[key] for short, key in keys.items() if key in row}
    return {"": _LATENCIES[name], **values, "unreliable": doubtful}


def _with_unit(row: Row, name: str) -> str:
    return f"{with_limits(row, name)} {unit_of(name)}".rstrip()


def _below(rows: Sequence[Row]) -> list[str]:
    """What has to be said of numbers that are not what they seem, as one block or none."""
    said = notes(rows)
    return ["\n".join(said)] if said else []


def _columns(rows: Sequence[Row], *, without: tuple[str, ...] = ()) -> list[str]:
    counts = [name for name in _COUNTS if any(row.get(name) for row in rows)]
    known = [name for name in _WHERE_KNOWN if any(row.get(name) is not None for row in rows)]
    counts = known + counts
    if any(row.get("precision_reached") is not None for row in rows):
        counts.append("n_replications")
    return [name for name in (*_BESIDE, *counts) if name not in without]


def comparison_text(rows: Sequence[Row], differences: Sequence[Row] = ()) -> str:
    """Schedulers side by side, who is best in what, and what of it the replications tell.

    Parameters
    ----------
    rows : sequence of mappings
        A row a scheduler, as `RunResult.row` gives them.
    differences : sequence of mappings
        Paired differences, a row a quantity and pair, as `told_apart` takes them.

    Returns
    -------
    str
        A table and, below it, the findings; counts that are zero everywhere are left out.

    Examples
    --------
    >>> print(comparison_text([{"scheduler": "fcfs", "goodput_frac": 0.4, "p99_tpot_s": 0.4, "n_shed": 0},
    ...                        {"scheduler": "slo", "goodput_frac": 0.8, "p99_tpot_s": 0.1, "n_shed": 3}]))
    scheduler  goodput (%)  p99 TPOT (s)  shed
    fcfs              40.0           0.4     0
    slo               80.0           0.1     3
    <BLANKLINE>
    slo has the smallest p99 TPOT: 0.1 s, 4.0 times less than fcfs (0.4 s).
    Goodput is highest with slo: 80.0 %, 40.0 points more than fcfs (40.0 %).
    """
    text = table(rows, _columns(rows, without=("rate_rps",)))
    findings = [finding for finding in (comparison(rows), told_apart(differences)) if finding]
    return "\n\n".join([text, *_below(rows), *findings])


def crossings(rows: Sequence[Row], *, goodput_frac: float, against: str = "rate_rps") -> dict[str, Crossing]:
    """For each scheduler the largest rate, or speed of a trace, at which goodput is at least a share.

    Parameters
    ----------
    rows : sequence of mappings
        With ``scheduler``, ``rate_rps``, ``goodput_frac``.
    goodput_frac : float
        The share, in (0, 1].
    against : str
        ``rate_rps``, or ``speed`` (then the rates of a crossing are speeds).

    Returns
    -------
    dict
        In order of appearance.

    Raises
    ------
    ConfigError
        If the share is out of its range.

    Examples
    --------
    >>> rows = [{"scheduler": "fcfs", "rate_rps": 2.0 * n, "goodput_frac": 1.2 - 0.2 * n} for n in (1, 2, 3)]
    >>> print(crossings(rows, goodput_frac=0.9)["fcfs"])
    3 req/s (between 2 and 4)
    """
    names = dict.fromkeys(str(row["scheduler"]) for row in rows)
    points = {
        name: [(row[against], row["goodput_frac"]) for row in rows if row["scheduler"] == name]
        for name in names
    }
    return {name: goodput_crossing(points[name], goodput_frac=goodput_frac) for name in names}


def sweep_text(rows: Sequence[Row], *, goodput_frac: float) -> str:
    """Goodput by rate and scheduler, the latencies behind it, and where goodput crosses a share.

    Parameters
    ----------
    rows : sequence of mappings
        A row a scheduler and rate, as `RunResult.row` gives them.
    goodput_frac : float
        The share, in (0, 1].

    Returns
    -------
    str

    Examples
    --------
    >>> rows = [{"scheduler": "fcfs", "rate_rps": rate, "goodput_frac": 2 / rate} for rate in (2.0, 4.0)]
    >>> print(sweep_text(rows, goodput_frac=0.9))
    Goodput (%) by arrival rate
    rate (req/s)   fcfs
               2  100.0
               4   50.0
    <BLANKLINE>
    scheduler  rate (req/s)  goodput (%)
    fcfs                  2        100.0
    fcfs                  4         50.0
    <BLANKLINE>
    Largest rate with goodput of at least 90 %, linear between the rates tried
    fcfs   2.4 req/s (between 2 and 4)
    """
    names = list(dict.fromkeys(str(row["scheduler"]) for row in rows))
    by_rate: dict[float, dict[str, Any]] = {}
    for row in rows:
        entry = by_rate.setdefault(row["rate_rps"], {"rate_rps": row["rate_rps"]})
        entry |= {f"{row['scheduler']}_frac{place}": row.get(f"goodput_frac{place}") for place in _PLACES}
        if "goodput_frac" in (row.get("unreliable") or ()):
            entry["unreliable"] = [*entry.get("unreliable", ()), f"{row['scheduler']}_frac"]
    shown = {f"{name}_frac": name for name in names}
    matrix = table(list(by_rate.values()), ["rate_rps", *shown], labels=shown)
    found = crossings(rows, goodput_frac=goodput_frac)
    width = max(map(len, found), default=0)
    knees = "\n".join(f"{name:<{width}}   {crossing}" for name, crossing in found.items())
    share = f"Largest rate with goodput of at least {100 * goodput_frac:g} %, linear between the rates tried"
    blocks = [f"Goodput (%) by arrival rate\n{matrix}", table(rows, _columns(rows)), *_below(rows)]
    return "\n\n".join([*blocks, f"{share}\n{knees}"])


def trace_text(rows: Sequence[Row], *, goodput_frac: float = 0.9) -> str:
    """One recorded trace at several speeds or under several schedulers, and the speed that is too much.

    Parameters
    ----------
    rows : sequence of mappings
        As `RunResult.row` gives them, with ``speed``.
    goodput_frac : float
        The share of good requests that is wanted, in (0, 1].

    Returns
    -------
    str

    Examples
    --------
    >>> print(trace_text([
    ...     {"scheduler": "fcfs", "speed": 1.0, "rate_rps": 4.0, "goodput_frac": 1.0},
    ...     {"scheduler": "fcfs", "speed": 2.0, "rate_rps": 8.0, "goodput_frac": 0.5},
    ... ]))
    scheduler  speed  rate (req/s)  goodput (%)
    fcfs           1             4        100.0
    fcfs           2             8         50.0
    <BLANKLINE>
    Largest speed with goodput of at least 90 %, linear between the speeds tried
    fcfs   1.2 times (between 1 and 2)
    """
    text = table(rows, ["scheduler", "speed", *_columns(rows, without=("scheduler",))])
    if len({row["speed"] for row in rows}) < 2:
        return "\n\n".join([text, *_below(rows)])
    found = crossings(rows, goodput_frac=goodput_frac, against="speed")
    width = max(map(len, found))
    knees = "\n".join(f"{name:<{width}}   {each.words('times', 'speed')}" for name, each in found.items())
    what = f"Largest speed with goodput of at least {100 * goodput_frac:g} %, linear between the speeds tried"
    return "\n\n".join([text, *_below(rows), f"{what}\n{knees}"])
