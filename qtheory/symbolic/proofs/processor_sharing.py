"""Mean response of a customer of known size in M/G/1 with processor sharing."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, in_idle
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_SOURCE = (
    "Kleinrock, Muntz, Rodemich (1971), The processor-sharing queueing model for time-shared systems with "
    "bulk arrivals, Networks 1, 1-13"
)
_RESPONSE = helper("T(x)", "T(x)", "mean time from arrival to departure of size x", "s")
_LETTERS = (
    helper("g(y)", "g(y)", "mean time that a further second of service takes, y seconds being done"),
    helper("G(y)", "G(y)", "probability that a size is above y"),
    helper("k", "k", "slowdown, if it is the same all the way"),
)


def derivation() -> Derivation:
    """Mean response given the size.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    T(x) = x/(1 - ρ); ρ = λ·E[S]
    """
    import sympy as sp

    given = parameters("rate_rps", "mean_service_s", "size_s")
    lam, service, x, rho, k = (letter.symbol for letter in (*given, LOAD, _LETTERS[-1]))
    y, slope, larger = sp.Symbol("y", positive=True), sp.Function("g"), sp.Function("G")
    old = sp.Integral(slope(y) * larger(x + y), (y, 0, sp.oo))
    new = sp.Integral(slope(y) * larger(x - y), (y, 0, x))
    parts = sp.Integral(larger(y), (y, x, sp.oo)) + sp.Integral(larger(y), (y, 0, x))
    found = sp.solve(sp.Eq(k, 1 + lam * k * service), k)[0]
    slowdown = in_idle(found.subs(service, rho / lam), rho)
    formula = sp.integrate(slowdown, (y, 0, x))
    return Derivation(
        name="processor_sharing",
        statement="Mean response of a customer of size x in M/G/1 with processor sharing",
        exactness="exact",
        symbols=(*given, LOAD, *_LETTERS),
        steps=(
            Step(
                "A further second takes one for the customer, and one for each other that is still here: "
                "those found on arrival, by what they had got, and those who came since.",
                slope(x),
                1 + lam * old + lam * new,
            ),
            Step(
                "With the same slowdown all the way the integrals are those of one tail.",
                k,
                1 + lam * k * parts,
            ),
            Step("Together they make the mean size.", k, 1 + lam * k * service),
            Step("So the slowdown is the same for all sizes.", k, slowdown),
            Step("The response is the slowdown over the whole size.", _RESPONSE.symbol, formula),
        ),
        quantity="mean_response_s",
        answer=_RESPONSE,
        formula=formula,
        where=((rho, lam * service),),
        load=rho,
        source=_SOURCE,
    )
