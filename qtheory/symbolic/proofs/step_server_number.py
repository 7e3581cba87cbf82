"""Mean number in a server that gives each of a batch one unit a step, without a limit of the batch."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, NUMBER, STATE, in_idle
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_TRANSFORM = helper("P(z)", "P(z)", "sum of z^n p(n)")


def derivation() -> Derivation:
    """Mean number of a step server.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    L = λ·m·(base + slope)/(1 - ρ); ρ = λ·m·slope
    """
    import sympy as sp

    given = parameters("rate_rps", "mean_steps", "base_s", "slope_s")
    lam, steps, base, slope, rho = (letter.symbol for letter in (*given, LOAD))
    n, z = sp.Symbol("n", integer=True, nonnegative=True), sp.Symbol("z", positive=True)
    p, pgf, mean = sp.Function("p"), sp.Function("P")(z), NUMBER.symbol
    leave = (n + 1) / (steps * (base + slope * (n + 1)))
    right = lam * steps * (base + slope) * pgf + rho * z * pgf.diff(z)
    at_one = right.subs(pgf.diff(z), mean).subs({pgf: 1, z: 1})
    formula = in_idle(sp.solve(sp.Eq(mean, at_one), mean)[0], rho)
    return Derivation(
        name="step_server_number",
        statement="Mean number present at a server whose steps take base + slope x batch seconds and give "
        "each member one unit of its exponential work",
        exactness="exact",
        symbols=(*given, LOAD, STATE, _TRANSFORM),
        steps=(
            Step("The number goes from n to n + 1 as often as back.", lam * p(n), leave * p(n + 1)),
            Step("Times the step and z^n, summed over n.", pgf.diff(z), right),
            Step("At z = 1 the transform is one and its slope the mean.", mean, at_one),
            Step("Solved for the mean.", mean, formula),
        ),
        quantity="mean_number",
        answer=NUMBER,
        formula=formula,
        where=((rho, lam * steps * slope),),
        load=rho,
        source="Cohen (1979), The multiple phase service network with generalized processor sharing, Acta "
        "Informatica 12, 245-284",
    )
