"""Kingman's bound of the mean wait in GI/G/1, from Lindley's equation."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, WAIT, in_idle
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_RANDOM = (
    helper("w", "w", "wait of a customer", "s"),
    helper("w_next", r"w_\mathrm{next}", "wait of the next customer", "s"),
    helper("i", "i", "idle time of the server before the next customer", "s"),
    helper("t", "t", "service of the customer less the interval to the next", "s"),
)
_MEANS = (
    helper("E[i]", "E[i]", "mean idle time", "s"),
    helper("E[i²]", "E[i^2]", "second moment of the idle time", "s^2"),
    helper("E[t²]", "E[t^2]", "second moment of service less interval", "s^2"),
    helper("Var[i]", r"\mathrm{Var}[i]", "variance of the idle time", "s^2"),
)


def derivation() -> Derivation:
    """Kingman's upper bound.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W ≤ (ca² + cs²·ρ^2)/(2·λ·(1 - ρ)); ρ = λ·E[S]
    """
    import sympy as sp

    given = parameters("rate_rps", "scv_interval", "mean_service_s", "scv_service")
    lam, ca2, service, cs2, rho = (letter.symbol for letter in (*given, LOAD))
    wait, after, idle, change = (letter.symbol for letter in _RANDOM)
    mean_idle, square_idle, square, var_idle = (letter.symbol for letter in _MEANS)
    mean, drift = WAIT.symbol, service - 1 / lam
    equal = sp.Eq(square_idle, 2 * mean * -mean_idle + square)
    exact = sp.solve(equal, mean)[0]
    spread = ca2 / lam**2 + cs2 * service**2 + mean_idle**2
    varied = sp.expand(exact.subs({square: spread, square_idle: var_idle + mean_idle**2}))
    bound = varied.subs(var_idle, 0).subs(mean_idle, (1 - rho) / lam).subs(service, rho / lam)
    formula = in_idle(bound, rho).subs(lam**2 * service**2, rho**2)
    return Derivation(
        name="kingman_bound",
        statement="Upper bound of the mean wait in GI/G/1 from two moments (Kingman)",
        exactness="bound",
        symbols=(*given, LOAD, *_RANDOM, *_MEANS),
        steps=(
            Step("The next customer waits, or the server is idle; never both.", after - idle, wait + change),
            Step("Waits have one mean, so the idle time makes up the difference.", mean_idle, -drift),
            Step("Squared and averaged; the wait does not depend on what comes next.", equal.lhs, equal.rhs),
            Step("The second moment of the change in the two variations.", square, spread),
            Step("Solved for the mean wait.", mean, varied),
            Step("No variance is below zero.", mean, formula, "<="),
        ),
        quantity="mean_wait_s",
        answer=WAIT,
        formula=formula,
        where=((rho, lam * service),),
        load=rho,
        source="Kingman (1962), On queues in heavy traffic, Journal of the Royal Statistical Society B 24, "
        "383-392",
    )
