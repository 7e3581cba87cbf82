"""Mean number in M/M/1, from balance equations."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import parameters
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD, NUMBER, STATE, endless_sum, in_idle
from qtheory.symbolic.step import Step

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean number in M/M/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    L = ρ/(1 - ρ); ρ = λ/μ
    """
    import sympy as sp

    rate, service_rate = parameters("rate_rps", "service_rate_rps")
    lam, mu, rho, p0 = (letter.symbol for letter in (rate, service_rate, LOAD, EMPTY))
    n, p = sp.Symbol("n", integer=True, nonnegative=True), sp.Function("p")
    law = sp.rsolve(sp.Eq(p(n + 1), rho * p(n)), p(n), {p(0): p0})
    idle = sp.solve(sp.Eq(endless_sum(law, n), 1), p0)[0]
    weighed = n * law.subs(p0, idle)
    mean = in_idle(endless_sum(weighed, n), rho)
    return Derivation(
        name="mm1_number",
        statement="Mean number present in M/M/1: Poisson arrivals, exponential service, one server",
        exactness="exact",
        symbols=(rate, service_rate, LOAD, EMPTY, STATE),
        steps=(
            Step("The number goes from n to n + 1 as often as back.", lam * p(n), mu * p(n + 1)),
            Step("So each state has the load times the share of the one below.", p(n), law),
            Step("Probabilities sum to one.", p0, idle),
            Step("The mean weighs numbers.", NUMBER.symbol, sp.Sum(weighed, (n, 0, sp.oo))),
            Step("The sum is a derivative of the geometric series.", NUMBER.symbol, mean),
        ),
        quantity="mean_number",
        answer=NUMBER,
        formula=mean,
        where=((rho, lam / mu),),
        load=rho,
        source="Kleinrock (1975), Queueing Systems I, Wiley, section 3.2",
    )
