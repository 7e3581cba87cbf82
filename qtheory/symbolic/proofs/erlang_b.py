"""Erlang's loss formula and its recursion, from balance equations."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import EMPTY, STATE
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_OFFERED = helper("a", "a", "offered load: mean number of busy servers if nobody were lost")
_LOST = helper("B", "B", "share of the arrivals that are lost")
_FEWER = helper("B_less", r"B_\mathrm{less}", "the same with one server less")


def derivation() -> Derivation:
    """Erlang B.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    B = a^c·p0/c!; a = λ/μ; p0 = 1/sum[k=0..c](a^k/k!)
    """
    import sympy as sp

    given = parameters("rate_rps", "service_rate_rps", "n_servers")
    lam, mu, c = (letter.symbol for letter in given)
    a, p0, lost, fewer = (letter.symbol for letter in (_OFFERED, EMPTY, _LOST, _FEWER))
    n, k, p = sp.Symbol("n", integer=True, nonnegative=True), sp.Symbol("k", integer=True), sp.Function("p")
    law = sp.rsolve(sp.Eq((n + 1) * p(n + 1), a * p(n)), p(n), {p(0): p0})
    whole = sp.Sum(a**k / sp.factorial(k), (k, 0, c))
    top, rest = sp.symbols("top rest", positive=True)  # the term of c, and the terms below it
    below = sp.solve(sp.Eq(fewer, top * c / a / rest), rest)[0]
    recursion = sp.cancel(top / (below + top))
    formula = a**c / sp.factorial(c) * p0
    return Derivation(
        name="erlang_b",
        statement="Share lost in M/M/c/c: c servers and no place to wait (Erlang B)",
        exactness="exact",
        symbols=(*given, _OFFERED, EMPTY, STATE, _FEWER),
        steps=(
            Step("The number goes from n to n + 1 as often as back.", lam * p(n), (n + 1) * mu * p(n + 1)),
            Step("So the numbers follow the terms of the exponential series.", p(n), law),
            Step("Probabilities up to c sum to one.", p0, 1 / whole),
            Step("A Poisson arrival finds all c busy, and is lost, as often as they are.", lost, formula),
            Step("One server less drops the last term; so there is a recursion.", lost, recursion),
        ),
        quantity="prob_block",
        answer=_LOST,
        formula=formula,
        where=((a, lam / mu), (p0, 1 / whole)),
        load=a,
        is_limited=False,
        source="Jagerman (1974), Some properties of the Erlang loss function, Bell System Technical Journal "
        "53, 525-551",
    )
