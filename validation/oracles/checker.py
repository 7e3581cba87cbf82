"""Read a table of known values and say, model by model, how many the library meets."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError

__all__ = ["ModelCheck", "OracleResults", "RowFailure", "check_oracles", "known_models"]

Adapter = Callable[[dict[str, Any], str], float]

COLUMNS = ("id", "model", "parameters", "quantity", "value", "rtol")
_ABSOLUTE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFailure:
    """A row that is not met: what was wanted, what came out (None: nothing), and why."""

    id: str
    model: str
    quantity: str
    wanted: float
    found: float | None
    reason: str

    def line(self) -> str:
        """One line of text.

        Examples
        --------
        >>> row = RowFailure(id="a", model="M/M/1", quantity="mean_wait", wanted=1, found=2.0, reason="high")
        >>> row.line()
        '  failed: a: mean_wait is 2, not 1 (high)'
        """
        found = "not computed" if self.found is None else f"{self.found:.15g}"
        return f"  failed: {self.id}: {self.quantity} is {found}, not {self.wanted:.15g} ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """One model: rows met and not met, and the worst relative error among those computed."""

    model: str
    n_passed: int
    n_failed: int
    worst_relative_error: float | None

    def line(self) -> str:
        """One line of text.

        Examples
        --------
        >>> ModelCheck(model="M/M/1", n_passed=48, n_failed=0, worst_relative_error=2e-15).line()
        'M/M/1 ... 48 passed, 0 failed, worst relative error 2e-15'
        """
        worst = "-" if self.worst_relative_error is None else f"{self.worst_relative_error:.2g}"
        return (
            f"{self.model} ... {self.n_passed} passed, {self.n_failed} failed, worst relative error {worst}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResults:
    """All rows of one check, model by model."""

    models: tuple[ModelCheck, ...]
    failures: tuple[RowFailure, ...]

    @property
    def n_passed(self) -> int:
        """Rows met."""
        return sum(model.n_passed for model in self.models)

    @property
    def n_failed(self) -> int:
        """Rows not met."""
        return sum(model.n_failed for model in self.models)

    @property
    def is_good(self) -> bool:
        """Whether nothing failed."""
        return self.n_failed == 0

    def closing_line(self) -> str:
        """``N passed, N failed``."""
        return f"{self.n_passed} passed, {self.n_failed} failed"

    def text(self) -> str:
        """One line a model with its failed rows below it, and the closing line."""
        lines: list[str] = []
        for model in self.models:
            lines.append(model.line())
            lines.extend(row.line() for row in self.failures if row.model == model.model)
        return "\n".join([*lines, self.closing_line()])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a model."""
        return [asdict(model) for model in self.models]

    def failed_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a failure."""
        return [asdict(row) for row in self.failures]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: str
    model: str
    parameters: dict[str, Any]
    quantity: str
    value: float
    rtol: float


def known_models() -> dict[str, Adapter]:
    """The models that the library has, and how a row of each is answered.

    Examples
    --------
    >>> "M/G/1" in known_models()
    True
    """
    from . import _batch, _multi, _network, _priority, _single  # slow to import, so only here

    return {
        **_single.MODELS,
        **_priority.MODELS,
        **_multi.MODELS,
        **_batch.MODELS,
        **_network.MODELS,
    }


def check_oracles(path: str | Path) -> OracleResults:
    """Compare the library with a table of known values.

    A row passes if ``|x - value| <= rtol |value| + 1e-12``. A model or a quantity that the library does not
    have, or a refusal, is a failed row.

    Parameters
    ----------
    path : str or Path
        A CSV file with the columns id, model, parameters (a JSON object), quantity, value and rtol.

    Returns
    -------
    OracleResults
        Models in the order of the file.

    Raises
    ------
    ConfigError
        If the file is missing or a line of it cannot be read.

    Examples
    --------
    >>> check_oracles("no/such/file.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.csv: no such file
    """
    adapters = known_models()
    counts: dict[str, list[float]] = {}  # passed, failed, worst error
    failures: list[RowFailure] = []
    for row in _rows(Path(path)):
        found, reason = _answer(adapters, row)
        tally = counts.setdefault(row.model, [0, 0, -1.0])
        if found is not None and math.isfinite(found):
            gap = abs(found - row.value)
            error = gap / abs(row.value) if row.value else gap
            tally[2] = max(tally[2], error)
            if gap <= row.rtol * abs(row.value) + _ABSOLUTE:
                tally[0] += 1
                continue
            reason = f"relative error {error:.2g}, allowed {row.rtol:g}"
        tally[1] += 1
        failures.append(
            RowFailure(
                id=row.id,
                model=row.model,
                quantity=row.quantity,
                wanted=row.value,
                found=found,
                reason=reason,
            )
        )
    models = tuple(
        ModelCheck(
            model=model,
            n_passed=int(passed),
            n_failed=int(failed),
            worst_relative_error=None if worst < 0 else worst,
        )
        for model, (passed, failed, worst) in counts.items()
    )
    return OracleResults(models=models, failures=tuple(failures))


def _answer(adapters: dict[str, Adapter], row: _Row) -> tuple[float | None, str]:
    """The library's number, or the reason why there is none."""
    adapter = adapters.get(row.model)
    if adapter is None:
        return None, f"unknown model{checks.nearest(row.model, adapters)}"
    try:
        found = float(adapter(row.parameters, row.quantity))
    except ServingError as error:
        return None, str(error)
    except KeyError as error:
        return None, f"parameters: {error.args[0]!r} is missing, or the quantity is unknown"
    return (found, "not a finite number") if not math.isfinite(found) else (found, "")


def _rows(path: Path) -> Iterator[_Row]:
    if not path.exists():
        raise ConfigError(f"{path}: no such file")
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder; give a CSV file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text ({type(error).__name__})") from error
    reader = csv.DictReader(text.splitlines())
    header = reader.fieldnames or []
    for column in COLUMNS:
        if column not in header:
            raise ConfigError(f"{path}: column {column!r} is missing{checks.nearest(column, header)}")
    n_rows = 0
    for number, record in enumerate(reader, start=2):
        yield _row(f"{path}: line {number}", record)
        n_rows += 1
    if not n_rows:
        raise ConfigError(f"{path}: has no row below the header")


def _row(where: str, record: dict[str, Any]) -> _Row:
    if any(record.get(column) is None for column in COLUMNS):
        raise ConfigError(f"{where}: has fewer columns than the header")
    try:
        parameters = json.loads(record["parameters"])
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where}: parameters: {record['parameters'][:60]!r} is not JSON") from error
    if not isinstance(parameters, dict):
        raise ConfigError(f"{where}: parameters: {record['parameters'][:60]!r} must be a JSON object")
    numbers = {}
    for column in ("value", "rtol"):
        try:
            numbers[column] = float(record[column])
        except ValueError as error:
            raise ConfigError(f"{where}: {column}: {record[column]!r} is not a number") from error
        if not math.isfinite(numbers[column]):
            raise ConfigError(f"{where}: {column}: {record[column]!r} must be finite")
    if numbers["rtol"] < 0:
        raise ConfigError(f"{where}: rtol: {numbers['rtol']:g} must be >= 0")
    return _Row(
        id=record["id"], model=record["model"], parameters=parameters, quantity=record["quantity"], **numbers
    )
