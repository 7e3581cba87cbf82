"""What a derivation consists of and what it gives: a step, and a result with numbers in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ._printing import LATEX_SIGNS, SIGNS, as_latex, as_text
from .notation import Notation

if TYPE_CHECKING:
    from sympy import Expr, Rel

__all__ = ["Step", "Substitution"]


@dataclass(frozen=True, slots=True)
class Step:
    """An equation, and the sentence that says why it holds.

    Parameters
    ----------
    says : str
        One sentence in plain words.
    left, right : sympy expression
        Its two sides.
    relation : str
        ``=``, or ``<=`` where the left side is bounded by the right one.

    Examples
    --------
    >>> from qtheory.symbolic import derive
    >>> derive("mm1_number").steps[0].equation
    Eq(lambda*p(n), mu*p(n + 1))
    """

    says: str
    left: Expr
    right: Expr
    relation: Literal["=", "<="] = "="

    @property
    def equation(self) -> Rel:
        """The equation, not evaluated."""
        import sympy as sp

        return (sp.Eq if self.relation == "=" else sp.Le)(self.left, self.right, evaluate=False)

    def text(self, letters: Sequence[Notation]) -> str:
        """The equation as one line of text."""
        return f"{as_text(self.left, letters)} {SIGNS[self.relation]} {as_text(self.right, letters)}"

    def latex(self, letters: Sequence[Notation]) -> str:
        """The equation in LaTeX."""
        return f"{as_latex(self.left, letters)} {LATEX_SIGNS[self.relation]} {as_latex(self.right, letters)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """A result with numbers in it.

    Parameters
    ----------
    quantity : str
        What it is, in the words of the results of queueing models, unit at the end.
    exactness : str
        ``exact`` or ``bound``.
    value : float
        The number.
    text, latex : str
        Letters, numbers in their place, and the value.
    where : tuple of str
        The same for each short form in the formula, in plain text.

    Examples
    --------
    >>> from qtheory.symbolic import derive
    >>> shown = derive("mm1_number").substitute({"rate_rps": 8.0, "service_rate_rps": 10.0})
    >>> print(shown.text, *shown.where, sep="; ")
    L = ρ/(1 - ρ) = 0.8/(1 - 0.8) = 4; ρ = λ/μ = 8/10 = 0.8
    """

    quantity: str
    exactness: Literal["exact", "bound"]
    value: float
    text: str
    latex: str
    where: tuple[str, ...]
