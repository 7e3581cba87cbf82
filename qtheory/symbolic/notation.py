"""The letters of a derivation: how each is printed, what it means, in which unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from qtheory.basics import checks

if TYPE_CHECKING:
    from sympy import Symbol

__all__ = ["Notation", "helper", "parameters"]

_TABLE: dict[str, tuple[str, str, str, str]] = {
    "rate_rps": ("λ", r"\lambda", "arrival rate", "1/s"),
    "service_rate_rps": ("μ", r"\mu", "service rate of a server", "1/s"),
    "urgent_rate_rps": ("λ1", r"\lambda_1", "arrival rate of the urgent class", "1/s"),
    "other_rate_rps": ("λ2", r"\lambda_2", "arrival rate of the other class", "1/s"),
    "mean_service_s": ("E[S]", r"E[S]", "mean service time", "s"),
    "service_second_s2": ("E[S²]", r"E[S^2]", "second moment of the service time", "s^2"),
    "service_third_s3": ("E[S³]", r"E[S^3]", "third moment of the service time", "s^3"),
    "service_s": ("D", "D", "service time, always the same", "s"),
    "mean_vacation_s": ("E[V]", "E[V]", "mean vacation", "s"),
    "vacation_second_s2": ("E[V²]", "E[V^2]", "second moment of the vacation", "s^2"),
    "urgent_mean_s": ("E[S1]", "E[S_1]", "mean service time of the urgent class", "s"),
    "other_mean_s": ("E[S2]", "E[S_2]", "mean service time of the other class", "s"),
    "urgent_second_s2": (
        "E[S1²]",
        "E[S_1^2]",
        "second moment of the service time of the urgent class",
        "s^2",
    ),
    "other_second_s2": ("E[S2²]", "E[S_2^2]", "second moment of the service time of the other class", "s^2"),
    "n_servers": ("c", "c", "number of servers", ""),
    "capacity": ("K", "K", "customers that can be present, those in service included", ""),
    "max_running": ("b", "b", "largest batch", ""),
    "scv_interval": ("ca²", "c_a^2", "squared coefficient of variation of the intervals", ""),
    "scv_service": ("cs²", "c_s^2", "squared coefficient of variation of the service times", ""),
    "base_s": ("base", r"\mathrm{base}", "fixed part of a step or batch", "s"),
    "slope_s": ("slope", r"\mathrm{slope}", "part of a step or batch for each member", "s"),
    "mean_steps": ("m", "m", "mean work of a customer, in steps", ""),
    "size_s": ("x", "x", "service that this customer needs alone", "s"),
    "mean_response_s": ("T", "T", "mean time from arrival to departure", "s"),
}
_ASCII = {"λ": "lambda", "μ": "mu", "ρ": "rho", "²": "^2", "³": "^3", "φ": "phi", "α": "alpha"}
_WHOLE = ("n_servers", "capacity", "max_running")
_MAY_BE_ZERO = ("scv_interval", "scv_service", "base_s", "slope_s")
_ARRIVALS = ("rate_rps", "urgent_rate_rps", "other_rate_rps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """A letter: how it is written, its meaning and unit.

    Parameters
    ----------
    glyph, latex : str
        The letter in plain text and in LaTeX.
    meaning, unit : str
        Words, and a unit (empty for a plain number).
    name : str
        Name of the parameter, as the queueing models call it; empty for a letter used on the way only.

    Examples
    --------
    >>> rate, = parameters("rate_rps")
    >>> rate.symbol, rate.glyph, rate.unit, rate.is_whole
    (lambda, 'λ', '1/s', False)
    """

    glyph: str
    latex: str
    meaning: str
    unit: str = ""
    name: str = ""

    @property
    def symbol(self) -> Symbol:
        """The letter in sympy; equal letters are equal symbols."""
        return _symbol(self.glyph, self.is_whole)

    @property
    def is_whole(self) -> bool:
        """Whether the parameter is a whole number: it has no derivative."""
        return self.name in _WHOLE

    @property
    def is_arrival_rate(self) -> bool:
        """Whether the parameter grows in proportion to the load."""
        return self.name in _ARRIVALS

    def check(self, value: float) -> None:
        """Refuse a value that the parameter cannot take."""
        if self.is_whole:
            checks.integer(**{self.name: value})
        elif self.name in _MAY_BE_ZERO:
            checks.non_negative(**{self.name: value})
        else:
            checks.positive(**{self.name: value})


def parameters(*names: str) -> tuple[Notation, ...]:
    """Letters of parameters, by the names that the queueing models use.

    Parameters
    ----------
    *names : str
        For instance ``rate_rps``.

    Raises
    ------
    ConfigError
        If a name is not known.

    Examples
    --------
    >>> [letter.meaning for letter in parameters("rate_rps", "n_servers")]
    ['arrival rate', 'number of servers']
    """
    for name in names:
        checks.one_of("parameter", name, _TABLE)
    rows = [(name, *_TABLE[name]) for name in names]
    return tuple(
        Notation(glyph=glyph, latex=latex, meaning=meaning, unit=unit, name=name)
        for name, glyph, latex, meaning, unit in rows
    )


def helper(glyph: str, latex: str, meaning: str, unit: str = "") -> Notation:
    """A letter used on the way.

    Parameters
    ----------
    glyph, latex : str
        The letter in plain text and in LaTeX.
    meaning, unit : str
        Words, and a unit (empty for a plain number).

    Examples
    --------
    >>> helper("ρ", r"\\rho", "load").symbol
    rho
    """
    return Notation(glyph=glyph, latex=latex, meaning=meaning, unit=unit)


@cache
def _symbol(glyph: str, is_whole: bool) -> Symbol:
    import sympy as sp

    for letter, word in _ASCII.items():
        glyph = glyph.replace(letter, word)
    return sp.Symbol(glyph, positive=True, integer=is_whole or None)
