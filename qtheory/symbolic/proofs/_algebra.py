"""Letters and algebra that several derivations share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.symbolic.notation import helper

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = [
    "EMPTY",
    "LOAD",
    "NUMBER",
    "STATE",
    "WAIT",
    "endless_sum",
    "in_idle",
    "moment_from_transform",
    "split_at_idle",
    "taylor_transform",
]

LOAD = helper("ρ", r"\rho", "load: work that arrives in a unit of time, as a share of what can be done")
WAIT = helper("W", "W", "mean wait before service", "s")
NUMBER = helper("L", "L", "mean number present")
EMPTY = helper("p0", "p_0", "share of the time with nobody present")
STATE = helper("p(n)", "p(n)", "share of the time with n present")


def endless_sum(term: Expr, index: Symbol) -> Expr:
    """Sum over index = 0, 1, ... where it converges."""
    import sympy as sp

    total = sp.piecewise_fold(sp.summation(term, (index, 0, sp.oo)))
    return sp.simplify(total.args[0].expr if isinstance(total, sp.Piecewise) else total)


def taylor_transform(s: Expr, *moments: Expr) -> Expr:
    """Beginning of a Laplace transform in its moments: 1 - m1 s + m2 s^2 / 2 - ..."""
    import sympy as sp

    powers = enumerate(moments, 1)
    return 1 + sp.Add(*((-s) ** k * moment / sp.factorial(k) for k, moment in powers))


def moment_from_transform(transform: Expr, s: Symbol, k: int) -> Expr:
    """The k-th moment, from the coefficient of s^k."""
    import sympy as sp

    series = sp.series(sp.cancel(transform), s, 0, k + 1).removeO()
    return sp.factor((-1) ** k * sp.factorial(k) * sp.expand(series).coeff(s, k))


def in_idle(expr: Expr, load: Symbol) -> Expr:
    """One fraction over powers of the idle share 1 - load."""
    import sympy as sp

    idle = sp.Symbol("idle", positive=True)
    top, bottom = sp.fraction(sp.factor(expr.subs(load, 1 - idle)))
    return sp.factor(sp.expand(top.subs(idle, 1 - load))) * (1 / bottom).subs(idle, 1 - load)


def split_at_idle(expr: Expr, load: Symbol) -> Expr:
    """Partial fractions in the idle share 1 - load."""
    import sympy as sp

    idle = sp.Symbol("idle", positive=True)
    return sp.apart(sp.factor(expr.subs(load, 1 - idle)), idle).subs(idle, 1 - load)
