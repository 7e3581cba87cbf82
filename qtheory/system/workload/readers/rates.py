"""Arrival rates by window of time: plain tables, and the windows of ServeGen.

========================== ==========================================================================
quantity                   accepted column names
========================== ==========================================================================
begin of a window          window_start_s, start_s, time_s: seconds, rising
rate in it                 rate_rps, total_rate_rps, request_rate_rps, rate: requests per second, >= 0
workload, client           workload, client: chosen by name where the file has more than one
========================== ==========================================================================

References
----------
.. [1] Xiang et al. (2025), "ServeGen: workload characterization and generation of large language model
   serving in production", arXiv:2505.09999, and the data published with it, github.com/alibaba/ServeGen,
   Apache-2.0.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._choice import Chooser
from ._numbers import Numbers
from ._open import open_rows
from ._table import Block, FaultError, Rows, folded
from .format import place_of

__all__ = ["holds_rates", "read_rates"]

Floats = NDArray[np.float64]

_START = ("window_start_s", "start_s", "time_s")
_RATE = ("rate_rps", "total_rate_rps", "request_rate_rps", "rate")
_LATEST_S, _FASTEST_RPS = 1e11, 1e9


def holds_rates(header: Sequence[str]) -> bool:
    """Whether a line of column names is that of a table of rates.

    Examples
    --------
    >>> holds_rates(["workload", "window_start_s", "total_rate_rps", "active_clients"])
    True
    """
    names = {folded(name) for name in header}
    return bool(names.intersection(_START) and names.intersection(_RATE))


def read_rates(
    path: str | os.PathLike[str], *, workload: str | None = None, client: str | None = None
) -> tuple[Floats, Floats]:
    """Lengths of the windows in seconds and rates in them, each of shape (n,); the first begins at 0.

    A window lasts until the next begins, the last as long as the one before it. Where the file has a column
    ``client``, windows in which a client sends nothing are not listed: there all are as long as the shortest,
    and what is missing has rate 0.

    Parameters
    ----------
    path : path
        A table with one window a row, at least two of what is chosen.
    workload, client : str, optional
        What to choose; needed if the file has more than one.

    Raises
    ------
    ConfigError
        Naming file, line, column and value, and what is allowed, of a fault.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rates.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("window_start_s,rate_rps\\n0,2\\n600,5\\n900,0\\n")
    ...     lengths_s, rates = read_rates(path)
    >>> lengths_s.tolist(), rates.tolist()
    ([600.0, 300.0, 300.0], [2.0, 5.0, 0.0])
    """
    chooser = Chooser({"workload": workload, "client": client})
    with open_rows(os.fspath(path)) as table:
        names = {folded(name) for name in table.header}
        start_s, rates = _columns(table, chooser)
        chooser.check(table.path)
        lengths_s, rates = _windows(start_s, rates, gaps_are_silent="client" in names, path=table.path)
    if not rates.any():
        raise ConfigError(f"{table.path}: all rates are 0; one must be > 0")
    return lengths_s, rates


def _columns(table: Rows, chooser: Chooser) -> tuple[Floats, Floats]:
    where = f"{table.path}: line {table.header_line}"
    try:
        places = {name: place_of(table.header, [name]) for name in chooser.wanted}
        start, rate = place_of(table.header, _START), place_of(table.header, _RATE)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if start is None or rate is None:
        missing = "window_start_s" if start is None else "rate_rps"
        found = ", ".join(table.header)[:200]
        raise ConfigError(
            f"{where}: no column for {missing}; found {found}; known are window_start_s, rate_rps"
        )
    starts: list[Floats] = [np.empty(0)]
    rates: list[Floats] = [np.empty(0)]
    last = -1.0
    for block in table.blocks():
        texts = {name: block.columns[index] for name, index in places.items() if index is not None}
        chosen = np.flatnonzero(chooser.rows(texts)) if texts else np.arange(len(block.columns[0]))
        starts.append(_taken(block, start, table.header[start], chosen, _LATEST_S))
        rates.append(_taken(block, rate, table.header[rate], chosen, _FASTEST_RPS))
        late = np.diff(np.append(last, starts[-1])) <= 0
        if late.any():
            chooser.check(table.path)  # several mixed up are out of order, too
            row = int(chosen[np.argmax(late)])
            why = "is not after the window before it; sort the windows, one row each"
            raise block.error(row, table.header[start], block.columns[start][row], why)
        last = float(starts[-1][-1]) if len(starts[-1]) else last
    return np.concatenate(starts), np.concatenate(rates)


def _taken(block: Block, index: int, column: str, chosen: NDArray[np.int64], most: float) -> Floats:
    texts = block.columns[index]
    try:
        return np.asarray(Numbers(most=most, zero=True).take([texts[row] for row in chosen]), np.float64)
    except FaultError as fault:
        row = int(chosen[fault.row])
        raise block.error(row, column, texts[row], fault.why) from None


def _windows(start_s: Floats, rates: Floats, *, gaps_are_silent: bool, path: str) -> tuple[Floats, Floats]:
    if len(start_s) < 2:
        raise ConfigError(f"{path}: one window only; give at least two, or a constant rate instead")
    lengths_s = np.diff(start_s)
    if not gaps_are_silent:
        return np.append(lengths_s, lengths_s[-1]), rates
    window_s = float(lengths_s.min())
    steps = (start_s - start_s[0]) / window_s
    if np.abs(steps - np.rint(steps)).max() > 1e-6 or steps[-1] > 1e7:
        raise ConfigError(
            f"{path}: windows are not whole multiples of the shortest, {window_s:g} s, apart; "
            "leave the column client out to have each last until the next"
        )
    filled = np.zeros(int(np.rint(steps[-1])) + 1)
    filled[np.rint(steps).astype(np.int64)] = rates
    return np.full(len(filled), window_s), filled
