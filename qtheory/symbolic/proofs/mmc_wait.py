"""Mean wait in M/M/c."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper
from qtheory.symbolic.proofs._algebra import LOAD, WAIT, endless_sum, in_idle
from qtheory.symbolic.proofs._mmc import GIVEN, LETTERS, PROB_WAIT, SOURCE, waiting_law
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_QUEUE = helper("Q", "Q", "mean number waiting")


def derivation() -> Derivation:
    """Mean wait in M/M/c.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, found.where_text[-1], sep="; ")
    W = C/(-λ + μ·c); C = a^c·p0/((1 - ρ)·c!)
    """
    import sympy as sp

    found = waiting_law()
    lam, mu, c, rho = (letter.symbol for letter in (*GIVEN, LOAD))
    share = sp.Symbol("share", positive=True)  # p(c)
    at_c = found.queued.subs(found.j, 0)
    queue = endless_sum(found.j * share * rho**found.j, found.j) / (share / (1 - rho)) * PROB_WAIT.symbol
    queue = in_idle(queue, rho)
    formula = sp.cancel((queue / lam).subs(rho, lam / (c * mu)))
    weighed = sp.Sum(found.j * at_c * rho**found.j, (found.j, 0, sp.oo))
    return Derivation(
        name="mmc_wait",
        statement="Mean wait in M/M/c, first come first served",
        exactness="exact",
        symbols=(*GIVEN, *LETTERS, PROB_WAIT, _QUEUE),
        steps=(
            *found.steps,
            Step("The mean number waiting weighs the numbers beyond c.", _QUEUE.symbol, weighed),
            Step("The sum is a derivative of the geometric series.", _QUEUE.symbol, queue),
            Step("By Little's law the wait is that number over the rate.", WAIT.symbol, formula),
        ),
        quantity="mean_wait_s",
        answer=WAIT,
        formula=formula,
        where=(*found.where, (PROB_WAIT.symbol, found.prob_wait)),
        load=rho,
        source=SOURCE,
    )
