"""Values of expressions, to far more digits than a float has; powers of the load for expansions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from qtheory.basics.errors import ConfigError

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["exact_number", "expanded", "figures", "number", "resolved"]

_DIGITS = 50


def number(expr: Expr, values: Mapping[Symbol, float]) -> float:
    """Value of an expression at these values."""
    found = float(_precise(expr, values))
    if not math.isfinite(found):
        raise ConfigError("values: the result is too large for a number")
    return found


def figures(expr: Expr, values: Mapping[Symbol, float]) -> str:
    """The value with six digits, also where a float would be 0 or infinite."""
    import mpmath

    found = _precise(expr, values)
    rounded = float(found)
    is_outside = not math.isfinite(rounded) or (rounded == 0 and found != 0)
    return str(mpmath.nstr(found, 6)) if is_outside else f"{rounded:.6g}"


def _precise(expr: Expr, values: Mapping[Symbol, float]) -> Any:
    import mpmath

    compute = _compiled(expr, tuple(values))
    with mpmath.workdps(_DIGITS):
        given = [mpmath.mpf(v) if isinstance(v, float) else v for v in values.values()]
        try:
            return mpmath.mpf(compute(*given))
        except ZeroDivisionError:
            raise ConfigError("values: the formula divides by zero there") from None


@lru_cache(maxsize=1024)
def _compiled(expr: Expr, symbols: tuple[Symbol, ...]) -> Callable[..., Any]:
    import sympy as sp

    return cast(Callable[..., Any], sp.lambdify(symbols, expr, "mpmath"))


@lru_cache(maxsize=1024)
def resolved(expr: Expr, where: tuple[tuple[Symbol, Expr], ...]) -> Expr:
    """Short forms replaced by what they stand for, the last ones first."""
    for symbol, meaning in reversed(where):
        expr = expr.subs(symbol, meaning)
    return expr


def exact_number(value: float) -> Expr:
    """A float as the fraction that it is, so that poles stay where they are."""
    import sympy as sp

    return sp.Rational(value)


def expanded(expr: Expr, symbol: Symbol, about: Expr, order: int) -> Expr:
    """Laurent series of a rational function in powers of the distance from ``about``, up to ``order``."""
    import sympy as sp

    step = sp.Symbol("step")
    if expr.has(sp.zoo, sp.nan):
        raise ConfigError("values: the formula divides by zero there")
    near = sp.cancel(sp.together(expr.subs(symbol, about + step)))
    if not near.is_rational_function(step):
        raise ConfigError(f"values: {near.free_symbols - {step}} need numbers before there is a series")
    top, bottom = (_coefficients(part, step) for part in sp.fraction(near))
    pole = next(power for power, coefficient in enumerate(bottom) if coefficient != 0)
    found = _quotient(top, bottom[pole:], order + pole + 1)
    distance = 1 - symbol if about == 1 else symbol - about
    sign = sp.Integer(-1 if about == 1 else 1)
    return sp.Add(
        *(sp.factor(c) * sign**power * distance**power for power, c in enumerate(found, -pole) if c != 0)
    )


def _coefficients(polynomial: Expr, symbol: Symbol) -> list[Expr]:
    """Of the powers from 0 on."""
    import sympy as sp

    return list(reversed(sp.Poly(polynomial, symbol).all_coeffs()))


def _quotient(top: list[Expr], bottom: list[Expr], n_terms: int) -> list[Expr]:
    """First coefficients of a quotient of power series; the lowest of the denominator is not 0."""
    import sympy as sp

    found: list[Expr] = []
    for power in range(n_terms):
        left = top[power] if power < len(top) else sp.S.Zero
        for back in range(1, min(power, len(bottom) - 1) + 1):
            left -= bottom[back] * found[power - back]
        found.append(sp.cancel(left / bottom[0]))
    return found
