"""The rows of a sweep as they were measured, in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import shown_name
from validation.readers.content import maybe, read_content

from .sweep import Sweep

__all__ = ["Row", "is_behind", "read_rows"]

_KEEPS_UP, _FINITE = 0.95, 0.85  # of the offered rate; a finite run ends with the answers that are left
LOADS = ("open_rate", "closed_concurrency", "offline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured operating point; what the table does not say is None.

    Parameters
    ----------
    line : int
        In the file.
    load : str
        ``open_rate``, ``closed_concurrency`` or ``offline``.
    rate_rps : float or None
        Offered rate.
    in_flight : int or None
        Requests kept in flight, of a closed loop.
    slots : int or None
        Running requests at most.
    arrival_cv : float or None
        Variation of the intervals.
    n_requests : int or None
        Requests counted.
    duration_s : float or None
        Length of the measurement.
    throughput_rps, ttft_s, tpot_s : float or None
        Measured.
    ttft_of, tpot_of : str
        Which statistic: ``mean``, ``p50``, ``ratio`` (of the mean decode time to the mean output),
        ``mean_itl`` or ``p50_itl``.
    """

    line: int
    load: str
    rate_rps: float | None = None
    in_flight: int | None = None
    slots: int | None = None
    arrival_cv: float | None = None
    n_requests: int | None = None
    duration_s: float | None = None
    throughput_rps: float | None = None
    ttft_s: float | None = None
    ttft_of: str = "mean"
    tpot_s: float | None = None
    tpot_of: str = "mean"

    @property
    def label(self) -> str:
        """The load in words."""
        if self.load == "open_rate":
            return f"{self.rate_rps:g} req/s"
        return "all at once" if self.load == "offline" else f"{self.in_flight} in flight"


def read_rows(sweep: Sweep) -> list[Row]:
    """The rows of a sweep, in the order of the load.

    Parameters
    ----------
    sweep : Sweep
        Names file, id and rows.

    Raises
    ------
    ConfigError
        If the file cannot be read, has no such sweep or column, or a cell is not a number.

    Examples
    --------
    >>> from .manifest import SHIPPED, read_manifest
    >>> rows = read_rows(read_manifest(SHIPPED / "kubecon.toml")[0])
    >>> rows[1].label, round(rows[1].ttft_s, 4), rows[1].n_requests
    ('31.4 req/s', 0.0298, 1884)
    """
    if not sweep.file.exists():
        folder = shown_name(sweep.file.parent)
        raise ConfigError(
            f"{sweep.where}: file: no {shown_name(sweep.file.name)} in {folder}; --data says where it is"
        )
    content = read_content(sweep.file)
    for column in ("sweep_id", "load", *sweep.rows):
        if column not in content.columns:
            hint = checks.nearest(column, content.columns)
            raise ConfigError(f"{sweep.where}: {content.name}: no column {checks.shown(column)}{hint}")
    table = list(enumerate(content.rows(), start=2))
    found = [(line, row) for line, row in table if row["sweep_id"] == sweep.sweep_id]
    if not found:
        hint = checks.nearest(sweep.sweep_id, {row["sweep_id"] for _, row in table})
        raise ConfigError(f"{sweep.where}: {content.name}: no sweep_id {checks.shown(sweep.sweep_id)}{hint}")
    found = [
        (line, row)
        for line, row in found
        if all(row[column].strip() in texts for column, texts in sweep.rows.items())
    ]
    if not found:
        raise ConfigError(f"{sweep.where}: {content.name}: {sweep.sweep_id} has none of the rows asked for")
    rows = [_row(row, line, f"{content.name}: line {line}") for line, row in found]
    return sorted(rows, key=lambda row: (row.rate_rps or 0.0, row.in_flight or 0, row.arrival_cv or 0.0))


def is_behind(sweep: Sweep, row: Row) -> bool:
    """Whether the served rate stays clearly below the offered one.

    Parameters
    ----------
    sweep : Sweep
    row : Row

    Examples
    --------
    >>> from .manifest import SHIPPED, read_manifest
    >>> sweep = read_manifest(SHIPPED / "kubecon.toml")[0]
    >>> [is_behind(sweep, row) for row in read_rows(sweep)]
    [False, False, False, False, True]
    """
    if row.throughput_rps is None or row.rate_rps is None:
        return False
    return row.throughput_rps < (_FINITE if sweep.ends else _KEEPS_UP) * row.rate_rps


def _row(row: dict[str, str], line: int, where: str) -> Row:
    checks.one_of(f"{where}: load", row["load"], LOADS)
    rate, slots = maybe(row, "request_rate_rps", where), _count(row, "max_num_seqs", where)
    in_flight = _count(row, "max_concurrency", where)
    if row["load"] == "open_rate" and not (rate and rate > 0):
        raise ConfigError(f"{where}: request_rate_rps: missing; an open load has a rate > 0")
    if row["load"] == "closed_concurrency" and not (in_flight or slots):
        raise ConfigError(f"{where}: max_concurrency: missing; a closed load has a number in flight")
    is_closed = row["load"] == "closed_concurrency"
    ttft_of, ttft_s = _first(row, {"mean": "ttft_mean_ms", "p50": "ttft_p50_ms"}, where)
    tpot_of, tpot_s = _token_time(row, where)
    return Row(
        line=line,
        load=row["load"],
        rate_rps=rate if row["load"] == "open_rate" else None,
        in_flight=(in_flight or slots) if is_closed else None,
        slots=slots,
        arrival_cv=maybe(row, "arrival_cv", where),
        n_requests=_count(row, "completed", where),
        duration_s=maybe(row, "duration_s", where),
        throughput_rps=maybe(row, "req_tput_rps", where),
        ttft_s=ttft_s,
        ttft_of=ttft_of,
        tpot_s=tpot_s,
        tpot_of=tpot_of,
    )


def _token_time(row: dict[str, str], where: str) -> tuple[str, float | None]:
    """TPOT, of means before medians, of whole requests before single tokens."""
    found = _first(row, {"mean": "tpot_from_e2e_ms"}, where)
    if found[1] is None:
        found = _first(row, {"mean": "tpot_mean_ms"}, where)
    if found[1] is not None:
        return found
    names = ("e2e_mean_ms", "ttft_mean_ms", "out_tok_mean")
    e2e, ttft, outputs = (maybe(row, name, where) for name in names)
    if e2e and ttft and outputs and outputs > 1 and e2e > ttft:
        return "ratio", (e2e - ttft) / (outputs - 1) / 1e3
    rest = {"p50": "tpot_p50_ms", "p50_itl": "itl_p50_ms", "mean_itl": "itl_mean_ms"}
    return _first(row, rest, where)


def _first(row: dict[str, str], columns: dict[str, str], where: str) -> tuple[str, float | None]:
    for name, column in columns.items():
        value = maybe(row, column, where)
        if value is not None:
            if not 0 < value < math.inf:
                raise ConfigError(f"{where}: {column}: {value:g} must be > 0")
            return name, value / 1e3
    return next(iter(columns)), None


def _count(row: dict[str, str], column: str, where: str) -> int | None:
    value = maybe(row, column, where)
    if value is None or value == 0:
        return None
    if value < 1 or value != int(value):
        raise ConfigError(f"{where}: {column}: {value:g} is not a whole number >= 1")
    return int(value)
