"""Mean wait in M/M/1, from the transform of the wait."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, WAIT, endless_sum, in_idle, moment_from_transform
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_TRANSFORM = helper("w(s)", "w(s)", "Laplace transform of the wait, s in 1/s")


def derivation() -> Derivation:
    """Mean wait in M/M/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W = ρ/(μ·(1 - ρ)); ρ = λ/μ
    """
    import sympy as sp

    rate, service_rate = parameters("rate_rps", "service_rate_rps")
    mu, rho, ratio = service_rate.symbol, LOAD.symbol, sp.Symbol("ratio", positive=True)
    n, s = sp.Symbol("n", integer=True, nonnegative=True), sp.Symbol("s", positive=True)
    one = mu / (mu + s)
    found = (1 - rho) * rho**n * sp.Pow(one, n, evaluate=False)
    transform = in_idle((1 - rho) * endless_sum(ratio**n, n).subs(ratio, rho * one), rho)
    mean = in_idle(moment_from_transform(transform, s, 1), rho)
    w = sp.Function("w")(s)
    return Derivation(
        name="mm1_wait",
        statement="Mean wait in M/M/1, first come first served",
        exactness="exact",
        symbols=(rate, service_rate, LOAD, _TRANSFORM),
        steps=(
            Step(
                "A Poisson arrival finds n present as often as they are, and waits for n services.",
                w,
                sp.Sum(found, (n, 0, sp.oo)),
            ),
            Step("The geometric series has a closed sum.", w, transform),
            Step("The mean is minus the slope of the transform at zero.", WAIT.symbol, mean),
        ),
        quantity="mean_wait_s",
        answer=WAIT,
        formula=mean,
        where=((rho, rate.symbol / mu),),
        load=rho,
        source="Kleinrock (1975), Queueing Systems I, Wiley, section 3.2",
    )
