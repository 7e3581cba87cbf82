"""A table of what a source says against what the library says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Origin", "Row", "Table"]

Origin = Literal["printed", "code", "recomputed", "read", "identity", "library", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number twice.

    Parameters
    ----------
    case : str
        What it is, with its parameters.
    source : str
        The value as the source gives it, with all its digits.
    ours : float
        The same from the library, in the same unit.
    origin : str
        Where ``source`` comes from: ``printed`` in the paper; ``code``, printed by its authors' public code;
        ``recomputed`` from the formulas of the paper by other means; ``read`` about it elsewhere;
        ``identity``, a closed form; ``library``, another model or route of the library; ``measured`` on a
        trace or a drawn sequence.
    within : float, optional
        Largest difference allowed, in the unit of the value; by default half a unit of the last digit given.

    Examples
    --------
    >>> row = Row(case="mean wait, s", source="2.00", ours=2.0049, origin="identity")
    >>> row.agrees, row.cells()
    (True, ['mean wait, s', '2.00', '2.0049', '+0.0049', '0.005', 'identity'])
    """

    case: str
    source: str
    ours: float
    origin: Origin
    within: float | None = None

    @property
    def value(self) -> float:
        """The number that ``source`` spells."""
        return float(self.source)

    @property
    def decimals(self) -> int:
        """Digits of ``source`` behind the point."""
        return len(self.source.partition(".")[2])

    @property
    def allowed(self) -> float:
        """Largest difference allowed."""
        return 0.500001 * 10.0**-self.decimals if self.within is None else self.within

    @property
    def agrees(self) -> bool:
        """Whether the two are as near as they have to be."""
        return abs(self.ours - self.value) <= self.allowed

    def cells(self) -> list[str]:
        """The line of the table; all numbers are in the unit of the value."""
        whole = self.decimals == 0 and self.ours == round(self.ours)
        digits = self.decimals + (0 if whole else 2 if self.decimals < 5 else 1)
        difference = _plain(self.ours - self.value, digits)
        return [
            self.case,
            self.source,
            _unsigned_zero(f"{self.ours:.{digits}f}"),
            difference if difference.startswith(("-", "0")) and float(difference) <= 0 else f"+{difference}",
            _plain(self.allowed, digits),
            self.origin,
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a heading.

    Parameters
    ----------
    name : str
        How the note refers to it: small letters and hyphens.
    rows : tuple of Row
        At least one.

    Examples
    --------
    >>> row = Row(case="load", source="0.5", ours=0.5, origin="identity")
    >>> print(Table(name="one", rows=(row,)).markdown())
    | case | source | ours | difference | allowed | origin |
    | --- | ---: | ---: | ---: | ---: | --- |
    | load | 0.5 | 0.500 | 0 | 0.05 | identity |
    """

    name: str
    rows: tuple[Row, ...]

    def markdown(self) -> str:
        """The table in Markdown, without a line end."""
        head = "| case | source | ours | difference | allowed | origin |"
        rule = "| --- | ---: | ---: | ---: | ---: | --- |"
        return "\n".join([head, rule, *(f"| {' | '.join(row.cells())} |" for row in self.rows)])


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if float(text) == 0 else text


def _plain(number: float, digits: int) -> str:
    """So many decimals, without zeros at the end or the sign of a zero."""
    text = f"{number:.{digits}f}"
    return _unsigned_zero(text.rstrip("0").rstrip(".") if "." in text else text)
