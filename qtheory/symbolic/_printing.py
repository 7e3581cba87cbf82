"""Equations as one line of text, and as LaTeX, with letters or with numbers in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .notation import Notation

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["LATEX_SIGNS", "SIGNS", "as_latex", "as_text", "latex_lines", "latex_number"]

SIGNS = {"=": "=", "<=": "≤"}
LATEX_SIGNS = {"=": "=", "<=": r"\leq"}

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "^": r"\^{}",
}


def latex_number(figures: str) -> str:
    """A number in LaTeX, powers of ten written out and in brackets."""
    digits, is_power, power = figures.partition("e")
    return rf"\left({digits} \cdot 10^{{{int(power)}}}\right)" if is_power else digits


def latex_lines(
    *, title: str, letters: Sequence[Notation], steps: Sequence[tuple[str, str]], result: str, source: str
) -> list[str]:
    """Letters as a list, steps as a numbered list, the result, the source."""
    return [
        rf"\paragraph{{{_words(title)}}}",
        r"\begin{itemize}",
        *(
            rf"\item ${x.latex}$: {_words(x.meaning)}" + (rf" ($\mathrm{{{x.unit}}}$)" if x.unit else "")
            for x in letters
        ),
        r"\end{itemize}",
        r"\begin{enumerate}",
        *(rf"\item {_words(says)} \[ {equation} \]" for says, equation in steps),
        r"\end{enumerate}",
        rf"\[ {result} \]",
        _words(f"Source: {source}"),
    ]


def _words(words: str) -> str:
    """Plain words, safe in LaTeX."""
    return "".join(_ESCAPES.get(letter, letter) for letter in words)


def as_text(expr: Expr, letters: Sequence[Notation], put: dict[Expr, str] | None = None) -> str:
    """One line; a letter is printed as ``put`` says, else as its glyph."""
    written = {letter.symbol: letter.glyph for letter in letters} | (put or {})
    arranged, names = _arranged(expr, letters, written)
    line = str(_line_printer(names).doprint(arranged))
    return line.replace("**", "^").replace("*", "·")


def as_latex(expr: Expr, letters: Sequence[Notation], put: dict[Expr, str] | None = None) -> str:
    """LaTeX; a letter is printed as ``put`` says, else as its own."""
    import sympy as sp

    written = {letter.symbol: letter.latex for letter in letters} | (put or {})
    arranged, names = _arranged(expr, letters, written)
    return str(sp.latex(arranged, symbol_names=names, mul_symbol="dot" if put else None, itex=True))


def _arranged(
    expr: Expr, letters: Sequence[Notation], written: Mapping[Expr, str]
) -> tuple[Expr, dict[Expr, str]]:
    """The letters renamed so that factors stand in the order of ``letters``, and how each is written."""
    import sympy as sp

    renamed = {
        letter.symbol: sp.Symbol(f"{place:02d}", positive=True, integer=letter.is_whole or None)
        for place, letter in enumerate(letters)
        if isinstance(letter.symbol, sp.Symbol)
    }
    return expr.xreplace(renamed), {new: written[old] for old, new in renamed.items()}


def _line_printer(names: Mapping[Expr, str]) -> Any:
    from sympy.printing.str import StrPrinter

    class LinePrinter(StrPrinter):  # type: ignore[misc]  # sympy has no types
        def _print_Symbol(self, expr: Any) -> str:  # noqa: N802
            return names.get(expr, str(expr.name))

        def _print_factorial(self, expr: Any) -> str:
            inner = self._print(expr.args[0])
            return f"{inner}!" if expr.args[0].is_Atom else f"({inner})!"

        def _over(self, word: str, expr: Any) -> str:
            index, low, high, inner = (self._print(part) for part in (*expr.limits[0], expr.function))
            return f"{word}[{index}={low}..{high}]({inner})"

        def _print_Sum(self, expr: Any) -> str:  # noqa: N802
            return self._over("sum", expr)

        def _print_Integral(self, expr: Any) -> str:  # noqa: N802
            return self._over("int", expr)

        def _print_Derivative(self, expr: Any) -> str:  # noqa: N802
            return f"d/d{self._print(expr.variables[0])} {self._print(expr.expr)}"

        def _print_Limit(self, expr: Any) -> str:  # noqa: N802
            inner, index, target, _ = expr.args
            return f"lim[{self._print(index)}→{self._print(target)}]({self._print(inner)})"

        def _print_Infinity(self, expr: Any) -> str:  # noqa: N802
            return "∞"

    return LinePrinter()
