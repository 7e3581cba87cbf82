"""Step times against measured passes: in sample, one model left out, one accelerator left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ServingError
from qtheory.system.hardware.fitted import ENGINES, efficiencies_of, generic_efficiencies

from .passes import by_group, read_passes
from .score import Ideal, errors_with, fitted, ideal_of

__all__ = ["StepTimeCheck", "StepTimeResults", "check_step_times"]

IN_SAMPLE = (0.04, 0.12)
MODEL_OUT = (0.06, None)
CARD_OUT = (0.15, None)
_ALL = "all"

Limits = tuple[float, "float | None"]
Group = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeCheck:
    """Relative errors of some passes, and what is allowed where that is judged.

    Parameters
    ----------
    test : str
        ``in sample``, ``model left out`` or ``accelerator left out``.
    name : str
        What it is about.
    constants : str
        Where the efficiencies are from: ``preset``, ``fitted here`` or ``generic``.
    n_passes : int
        Passes.
    median_frac, p90_frac, worst_frac : float
        Relative errors: of half of the passes, of nine in ten, of all at most.
    bias_frac : float
        Middle of the signed errors; above 0 is too slow.
    allowed_median_frac, allowed_p90_frac : float or None
        What is allowed; None where it is not judged.
    """

    test: str
    name: str
    constants: str
    n_passes: int
    median_frac: float
    p90_frac: float
    worst_frac: float
    bias_frac: float
    allowed_median_frac: float | None = None
    allowed_p90_frac: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether anything is asked of it."""
        return self.allowed_median_frac is not None

    @property
    def is_good(self) -> bool:
        """Whether the errors are within what is allowed."""
        pairs = ((self.median_frac, self.allowed_median_frac), (self.p90_frac, self.allowed_p90_frac))
        return all(limit is None or error <= limit for error, limit in pairs)

    def line(self) -> str:
        """One line of text."""
        verdict = ("passed" if self.is_good else "FAILED") if self.is_judged else "-"
        asked = "" if self.allowed_median_frac is None else f" (at most {self.allowed_median_frac:.0%})"
        nine = "" if self.allowed_p90_frac is None else f" (at most {self.allowed_p90_frac:.0%})"
        return (
            f"{self.test:<21}{self.name:<18}{self.constants:<12}{self.n_passes:>6} passes  "
            f"median {self.median_frac:6.1%}{asked}, p90 {self.p90_frac:6.1%}{nine}, "
            f"bias {self.bias_frac:+6.1%} ... {verdict}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeResults:
    """All checks of a table, and what was left out of the judgement."""

    checks: tuple[StepTimeCheck, ...]
    notes: tuple[str, ...]

    @property
    def n_passed(self) -> int:
        """Judged checks that are good."""
        return sum(check.is_judged and check.is_good for check in self.checks)

    @property
    def n_failed(self) -> int:
        """Judged checks that are not."""
        return sum(check.is_judged and not check.is_good for check in self.checks)

    @property
    def is_good(self) -> bool:
        """Whether nothing failed."""
        return self.n_failed == 0

    def text(self) -> str:
        """One line a check, the notes, and ``N passed, N failed``."""
        lines = [check.line() for check in self.checks] + [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, f"{self.n_passed} passed, {self.n_failed} failed"])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a check."""
        return [
            asdict(check) | {"passed": check.is_good if check.is_judged else None} for check in self.checks
        ]


def check_step_times(path: str | Path) -> StepTimeResults:
    """Hold step times against a table of measured passes.

    In sample, an accelerator and engine with a row of their own take the constants of the preset; others are
    fitted on the table. With a model left out the constants are fitted on the other models of the table. With
    an accelerator left out they are the middle of all other measured accelerators: nothing but the datasheet
    is known of it.

    Parameters
    ----------
    path : str or Path
        A CSV file with the columns of a forward-pass grid or of a mixed-step grid.

    Returns
    -------
    StepTimeResults

    Raises
    ------
    ConfigError
        If the file cannot be read, or a line of it.

    Examples
    --------
    >>> check_step_times("no/such/file.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.csv: cannot be read: no such file
    """
    passes = read_passes(path)
    groups = {group: ideal_of(rows) for group, rows in by_group(passes)}
    found = [*_in_sample(groups), *_models_out(groups), *_cards_out(groups)]
    return StepTimeResults(checks=tuple(found), notes=tuple(_notes(groups)))


def _in_sample(groups: dict[Group, Ideal]) -> Iterator[StepTimeCheck]:
    every = []
    for (card, engine), ideal in groups.items():
        row = efficiencies_of(card, engine) if engine in ENGINES else None
        is_preset = row is not None and card in row.cards
        try:
            constants = row.constants() if row is not None and is_preset else dict(fitted(ideal).values)
        except ServingError:  # too few passes to fit; the datasheet is all there is
            constants, is_preset = generic_efficiencies(without=card), False
        errors = errors_with(ideal, constants)
        every.append(errors)
        yield _check("in sample", f"{card} {engine}", "preset" if is_preset else "fitted here", errors)
    yield _check("in sample", _ALL, "", np.concatenate(every), IN_SAMPLE)


def _models_out(groups: dict[Group, Ideal]) -> Iterator[StepTimeCheck]:
    models = list(dict.fromkeys(str(name) for ideal in groups.values() for name in ideal.models))
    for model in models if len(models) > 1 else []:
        errors = []
        for ideal in groups.values():
            its = ideal.models == model
            if its.any() and not its.all():
                errors.append(errors_with(ideal.where(its), fitted(ideal.where(~its)).values))
        if errors:
            yield _check("model left out", model, "fitted here", np.concatenate(errors), MODEL_OUT)


def _cards_out(groups: dict[Group, Ideal]) -> Iterator[StepTimeCheck]:
    for card in dict.fromkeys(card for card, _ in groups):
        constants = generic_efficiencies(without=card)
        errors = [errors_with(ideal, constants) for (its, _), ideal in groups.items() if its == card]
        yield _check("accelerator left out", card, "generic", np.concatenate(errors), CARD_OUT)


def _check(
    test: str, name: str, constants: str, errors: NDArray[np.float64], limits: Limits | None = None
) -> StepTimeCheck:
    sizes = np.abs(errors)
    median, p90, worst = (float(np.quantile(sizes, share)) for share in (0.5, 0.9, 1.0))
    return StepTimeCheck(
        test=test,
        name=name,
        constants=constants,
        n_passes=len(errors),
        median_frac=median,
        p90_frac=p90,
        worst_frac=worst,
        bias_frac=float(np.median(errors)),
        allowed_median_frac=limits[0] if limits else None,
        allowed_p90_frac=limits[1] if limits else None,
    )


def _notes(groups: dict[Group, Ideal]) -> Iterator[str]:
    for (card, engine), ideal in groups.items():
        n = int((~ideal.is_trusted).sum())
        if n:
            yield (
                f"{card} {engine}: {n} passes are composed from attention faster than the memory; "
                "they are judged, but nothing is fitted on them"
            )
