"""Read a table of known values and say, model by model, how many the library meets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ServingError

from ._table import Row, rows_of

__all__ = ["ModelCheck", "OracleResults", "RowFailure", "check_oracles", "known_models"]

Adapter = Callable[[dict[str, Any], str], float]

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
        failed: dict[str, list[str]] = {}
        for row in self.failures:
            failed.setdefault(row.model, []).append(row.line())
        lines = [line for model in self.models for line in (model.line(), *failed.get(model.model, []))]
        return "\n".join([*lines, self.closing_line()])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a model."""
        return [asdict(model) for model in self.models]

    def failed_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a failure."""
        return [asdict(row) for row in self.failures]


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

    A row passes if ``|x - value| <= rtol |value| + 1e-12``. A model that the library does not have, a
    quantity that it does not give for the model, and a refusal are failed rows; no row ends the check.

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
        If the file is missing or a line of it cannot be read: too few or too many columns, a cell that is no
        JSON object or no number, the name of a quantity that is none.

    Examples
    --------
    >>> check_oracles("no/such/file.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.csv: cannot be read: no such file
    """
    rows = rows_of(Path(path))
    adapters = known_models()
    outcomes: dict[str, list[tuple[float | None, RowFailure | None]]] = {}
    for row in rows:
        outcomes.setdefault(row.model, []).append(_checked(adapters, row))
    models = tuple(_model_check(model, results) for model, results in outcomes.items())
    failures = tuple(failure for results in outcomes.values() for _, failure in results if failure)
    return OracleResults(models=models, failures=failures)


def _checked(adapters: dict[str, Adapter], row: Row) -> tuple[float | None, RowFailure | None]:
    """The relative error of a row, if there is a number, and what is wrong with it, if anything."""
    found, reason = _answer(adapters, row)
    error = None
    if found is not None and math.isfinite(found):
        gap = abs(found - row.value)
        error = gap / abs(row.value) if row.value else gap
        if gap <= row.rtol * abs(row.value) + _ABSOLUTE:
            return error, None
        reason = f"relative error {error:.2g}, allowed {row.rtol:g}"
    failure = RowFailure(
        id=row.id, model=row.model, quantity=row.quantity, wanted=row.value, found=found, reason=reason
    )
    return error, failure


def _model_check(model: str, results: list[tuple[float | None, RowFailure | None]]) -> ModelCheck:
    n_failed = sum(failure is not None for _, failure in results)
    return ModelCheck(
        model=model,
        n_passed=len(results) - n_failed,
        n_failed=n_failed,
        worst_relative_error=max((error for error, _ in results if error is not None), default=None),
    )


def _answer(adapters: dict[str, Adapter], row: Row) -> tuple[float | None, str]:
    """The library's number, or the reason why there is none."""
    adapter = adapters.get(row.model)
    if adapter is None:
        return None, f"unknown model{checks.nearest(row.model, adapters)}"
    try:
        found = float(adapter(row.parameters, row.quantity))
    except ServingError as error:
        return None, " ".join(str(error).split())
    except KeyError as error:
        return None, f"parameters: {error.args[0]!r} is missing"
    except Exception as error:  # whatever stands in a row, the others are checked
        return (
            None,
            f"parameters: cannot be used ({type(error).__name__}: {' '.join(str(error).split())[:100]})",
        )
    return (found, "not a finite number") if not math.isfinite(found) else (found, "")
