"""The rate that a server can follow which gives each of a batch one unit a step."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_RATE = helper("λ", r"\lambda", "arrival rate", "1/s")
_LIMIT = helper("λ_max", r"\lambda_\mathrm{max}", "rate below which the server is stable", "1/s")
_DONE = helper("d(n)", "d(n)", "departures in a unit of time with n in the batch", "1/s")


def derivation() -> Derivation:
    """Stability limit of a step server.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    λ_max = b/(m·(base + slope·b))
    """
    import sympy as sp

    given = parameters("mean_steps", "base_s", "slope_s", "max_running")
    steps, base, slope, top, lam, limit = (letter.symbol for letter in (*given, _RATE, _LIMIT))
    n, done = sp.Symbol("n", integer=True, positive=True), sp.Function("d")
    leave = n / steps / (base + slope * n)
    full = leave.subs(n, top)
    formula = sp.solve(sp.Eq(lam - full, 0), lam)[0]
    endless = sp.limit(leave, n, sp.oo)
    return Derivation(
        name="step_server_capacity",
        statement="Stability limit of a server whose steps take base + slope x batch seconds and give each "
        "member one unit of its work",
        exactness="exact",
        symbols=(_RATE, *given, _DONE),
        steps=(
            Step("Of n in a step each is done with the chance one over its mean steps.", done(n), leave),
            Step("With a full batch the number present changes at this rate.", lam - done(top), lam - full),
            Step("It falls below the rate at which this is zero.", limit, formula),
            Step(
                "However large the batch, the rate stays below this.",
                sp.Limit(done(n), n, sp.oo, "-"),
                endless,
            ),
        ),
        quantity="capacity_rps",
        answer=_LIMIT,
        formula=formula,
        source="Cohen (1979), The multiple phase service network with generalized processor sharing, Acta "
        "Informatica 12, 245-284",
    )
