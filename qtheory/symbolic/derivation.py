"""A derivation: equations in order, each with its sentence, and what can be asked of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError

from ._numbers import exact_number, expanded, figures, number, resolved
from ._printing import as_latex, as_text, latex_lines, latex_number
from .notation import Notation
from .step import Step, Substitution

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["Derivation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """How a formula of queueing theory comes about, and its use with numbers.

    Parameters
    ----------
    name, statement : str
        Short name, and what is derived in one sentence.
    exactness : str
        ``exact`` or ``bound``.
    symbols : tuple of Notation
        All letters; those with a name are the parameters.
    steps : tuple of Step
        From the balance of the system to the result.
    quantity : str
        Name of the result, as in the results of queueing models.
    answer : Notation
        Letter of the result.
    formula : sympy expression
        The result, in parameters and short forms.
    where : tuple of (symbol, expression)
        Each short form, in parameters and in short forms before it.
    load : sympy symbol or None
        The short form that must be below 1, or that expansions are in.
    is_limited : bool
        Whether a load of 1 or more has no steady state.
    source : str
        Where it was published.

    Examples
    --------
    >>> from qtheory.symbolic import derive
    >>> found = derive("mg1_wait")
    >>> print(found.formula_text, "with", *found.where_text)
    W = λ·E[S²]/(2·(1 - ρ)) with ρ = λ·E[S]
    >>> found.expand("load", about=1, order=0)
    -E[S^2]/(2*E[S]) + E[S^2]/(2*E[S]*(1 - rho))
    >>> values = {"rate_rps": 8.0, "mean_service_s": 0.1, "service_second_s2": 0.02}
    >>> print({name: round(value, 3) for name, value in found.elasticities(values).items()})
    {'rate_rps': 5.0, 'mean_service_s': 4.0, 'service_second_s2': 1.0}
    """

    name: str
    statement: str
    exactness: Literal["exact", "bound"]
    symbols: tuple[Notation, ...]
    steps: tuple[Step, ...]
    quantity: str
    answer: Notation
    formula: Expr
    where: tuple[tuple[Symbol, Expr], ...] = ()
    load: Symbol | None = None
    is_limited: bool = True
    source: str

    @property
    def parameters(self) -> tuple[Notation, ...]:
        """Letters that stand for a number from outside."""
        return tuple(letter for letter in self.symbols if letter.name)

    @property
    def result(self) -> Expr:
        """The result in parameters alone."""
        return self._resolved(self.formula)

    @property
    def formula_text(self) -> str:
        """The result as one line of text."""
        return f"{self.answer.glyph} {self._sign} {as_text(self.formula, self._letters)}"

    @property
    def where_text(self) -> tuple[str, ...]:
        """The short forms as lines of text."""
        return tuple(f"{as_text(s, self._letters)} = {as_text(e, self._letters)}" for s, e in self.where)

    def symbol(self, name: str) -> Symbol:
        """The sympy symbol of a parameter, or of ``load``."""
        if name == "load" and self.load is not None:
            return self.load
        known = {letter.name: letter.symbol for letter in self.parameters}
        checks.one_of(f"{self.name}: parameter", name, [*known, "load"] if self.load else known)
        return known[name]

    def text(self) -> str:
        """All of it in plain text: letters, steps, result, source."""
        letters = [f"  {x.glyph}: {x.meaning}{f' ({x.unit})' if x.unit else ''}" for x in self._letters]
        steps = [f"{n}. {step.says}\n     {step.text(self._letters)}" for n, step in enumerate(self.steps, 1)]
        short = [f"  where {line}" for line in self.where_text]
        head = [f"{self.statement} ({self.exactness})"]
        return "\n".join([*head, *letters, *steps, self.formula_text, *short, f"Source: {self.source}"])

    def latex(self) -> str:
        """All of it as a piece of a LaTeX document (no preamble, plain packages)."""
        letters, answer = self._letters, self.answer.latex
        result = f"{answer} {self._latex_sign} {as_latex(self.formula, letters)}"
        short = [f"{as_latex(s, letters)} = {as_latex(e, letters)}" for s, e in self.where]
        return "\n".join(
            latex_lines(
                title=self.statement,
                letters=letters,
                steps=[(step.says, step.latex(letters)) for step in self.steps],
                result=r",\quad ".join([result, *short]),
                source=self.source,
            )
        )

    def expand(
        self, symbol: str, *, about: float, order: int, values: Mapping[str, float] | None = None
    ) -> Expr:
        """Series of the result in powers of the distance of a symbol from a point, poles included.

        Parameters
        ----------
        symbol : str
            ``load`` (all arrival rates grow in proportion) or the name of a parameter.
        about : float
            The point; 0 and 1 give light and heavy traffic.
        order : int
            Highest power, >= 0.
        values : mapping, optional
            Numbers for other parameters; whole-number parameters need one.

        Raises
        ------
        ConfigError
            If a name is unknown, or a whole-number parameter has no value.
        """
        checks.at_least(0, order=order)
        variable = self.symbol(symbol)
        given = self._checked(values or {}, complete=False)
        if missing := [x.name for x in self.parameters if x.is_whole and x.symbol not in given]:
            raise ConfigError(f"{self.name}: {missing[0]} needs a value; a series has none for whole numbers")
        expr = self._in_load() if symbol == "load" else self.result
        put = {s: exact_number(v) for s, v in given.items() if s != variable}
        found = expanded(expr.subs(put).doit(), variable, exact_number(about), order)
        return found.evalf() if any(isinstance(v, float) for v in given.values()) else found

    def elasticities(self, values: Mapping[str, float]) -> dict[str, float]:
        """Per cent of the result for each per cent of a parameter; none for whole numbers.

        Parameters
        ----------
        values : mapping
            A number for each parameter.

        Raises
        ------
        ConfigError
            If a name is unknown or missing, a value is out of range, or the result is 0.
        UnstableError
            If there is no steady state.
        """
        given = self._checked(values)
        result = self.result
        value = number(result, given)
        if value == 0:
            raise ConfigError(f"{self.name}: {self.quantity} is 0 at these values and has no elasticities")
        return {
            letter.name: given[letter.symbol] * number(result.diff(letter.symbol), given) / value
            for letter in self.parameters
            if not letter.is_whole
        }

    def substitute(self, values: Mapping[str, float]) -> Substitution:
        """The formula with the numbers in it, and its value.

        Parameters
        ----------
        values : mapping
            A number for each parameter.

        Raises
        ------
        ConfigError
            If a name is unknown or missing, or a value is out of range.
        UnstableError
            If there is no steady state.
        """
        given = self._checked(values)
        value = number(self.result, given)
        every = {s: s for s in given} | dict(self.where)
        put = {s: figures(self._resolved(e), given) for s, e in every.items()}
        put_latex = {s: latex_number(shown) for s, shown in put.items()}
        shown = f"{value:.6g}"
        return Substitution(
            quantity=self.quantity,
            exactness=self.exactness,
            value=value,
            text=f"{self.formula_text} = {as_text(self.formula, self._letters, put)} = {shown}",
            latex=f"{self.answer.latex} {self._latex_sign} {as_latex(self.formula, self._letters)} = "
            f"{as_latex(self.formula, self._letters, put_latex)} = {latex_number(shown)}",
            where=tuple(
                f"{line} = {as_text(e, self._letters, put)} = {put[s]}"
                for line, (s, e) in zip(self.where_text, self.where, strict=True)
            ),
        )

    @property
    def _letters(self) -> tuple[Notation, ...]:
        return (*self.symbols, self.answer)

    @property
    def _sign(self) -> str:
        return "=" if self.exactness == "exact" else "≤"

    @property
    def _latex_sign(self) -> str:
        return "=" if self.exactness == "exact" else r"\leq"

    def _resolved(self, expr: Expr) -> Expr:
        """Short forms replaced by what they stand for."""
        return resolved(expr, self.where)

    def _in_load(self) -> Expr:
        """The result with every arrival rate as its share of the load."""
        load = self._resolved(self.load)
        rates = [x.symbol for x in self.parameters if x.is_arrival_rate]
        return self.result.subs({rate: rate * self.load / load for rate in rates}, simultaneous=True)

    def _checked(self, values: Mapping[str, float], *, complete: bool = True) -> dict[Symbol, float]:
        """Numbers by symbol; with all of them given also a check that there is a steady state."""
        known = {letter.name: letter for letter in self.parameters}
        for name, value in values.items():
            checks.one_of(f"{self.name}: parameter", name, known)
            known[name].check(value)
        given = {known[name].symbol: _plain(value) for name, value in values.items()}
        if not complete:
            return given
        if missing := [name for name in known if name not in values]:
            raise ConfigError(f"{self.name}: {missing[0]} is missing; give {', '.join(known)}")
        if self.load is not None and self.is_limited:
            load = number(self._resolved(self.load), given)
            if load >= 1:
                raise UnstableError(f"{self.name}: the load is {load:g}, not below 1; lower the rate")
        return {letter.symbol: given[letter.symbol] for letter in self.parameters}


def _plain(value: float) -> float:
    """A Python number from any kind."""
    return int(value) if isinstance(value, Integral) else float(value)
