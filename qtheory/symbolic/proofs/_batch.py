"""The mean response of a greedy batch server by its mean batch, and what bounds of the latter give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["GIVEN", "SOURCE", "batch_bound"]

SOURCE = (
    "Inoue (2021), Queueing analysis of GPU-based inference servers with dynamic batching, Performance "
    "Evaluation 147, arXiv:1912.06322"
)
GIVEN = parameters("rate_rps", "base_s", "slope_s")
_NOBODY = helper("q", "q", "probability that nobody comes during a batch")
_MEAN = helper("E[B]", "E[B]", "mean batch")
_SECOND = helper("E[B²]", "E[B^2]", "second moment of the batch")
_SEEN = helper("M", "M", "mean batch that a customer is served in")
_RESPONSE = helper("T", "T", "mean time from arrival to departure", "s")
_CAP = helper("M_top", r"M_\mathrm{top}", "upper bound of M")


def batch_bound(least: Expr, *, says: str, name: str, number: int) -> Derivation:
    """The bound that follows from a mean batch of at least so much."""
    import sympy as sp

    lam, slope = GIVEN[0].symbol, GIVEN[2].symbol
    rho, mean, cap, seen = (letter.symbol for letter in (LOAD, _MEAN, _CAP, _SEEN))
    steps, seen_by_mean, response = _response()
    top = sp.expand(sp.cancel(seen_by_mean.subs(mean, least) * (1 - rho**2))) / (1 - rho**2)
    formula = response.subs(seen, cap)
    return Derivation(
        name=name,
        statement=f"Upper bound {number} of the mean response of a server that takes all who wait as one "
        "batch, at base + slope x batch seconds",
        exactness="bound",
        symbols=(*GIVEN, LOAD, _NOBODY, _MEAN, _SECOND, _SEEN, _CAP),
        steps=(
            *steps,
            Step(says, least, mean, "<="),
            Step("A larger mean batch makes M smaller, so M is at most this.", cap, top),
            Step("The response grows with M.", _RESPONSE.symbol, formula, "<="),
        ),
        quantity="mean_response_s",
        answer=_RESPONSE,
        formula=formula,
        where=((rho, lam * slope), (cap, top)),
        load=rho,
        source=SOURCE,
    )


def _response() -> tuple[tuple[Step, ...], Expr, Expr]:
    """Steps; the batch seen by the mean batch; the response by the batch seen."""
    import sympy as sp

    lam, base, slope, rho = (letter.symbol for letter in (*GIVEN, LOAD))
    mean, second, seen, nobody = (letter.symbol for letter in (_MEAN, _SECOND, _SEEN, _NOBODY))
    square_time = base**2 + 2 * base * slope * mean + slope**2 * second
    flow = lam * (base + slope * mean) + nobody
    by_mean = sp.solve(sp.Eq(second, lam**2 * square_time + mean), second)[0] / mean
    seen_by_mean = sp.collect(sp.expand(sp.cancel(by_mean.subs(slope, rho / lam) * (1 - rho**2))), mean) / (
        1 - rho**2
    )
    pairs = lam**2 * square_time / (2 * lam * mean)
    response = (seen - 1) / (2 * lam) + base + slope * seen
    return (
        (
            Step("The next batch are those who come during this one, or the first one after.", mean, flow),
            Step(
                "The same for the square; arrivals in a given time are Poisson.",
                second,
                lam**2 * square_time + mean,
            ),
            Step("A customer is in a batch in proportion to its size.", seen, second / mean),
            Step("With the square solved for.", seen, seen_by_mean),
            Step(
                "Who comes during a batch waits half of it on average; then the own batch runs.",
                _RESPONSE.symbol,
                pairs + base + slope * seen,
            ),
            Step(
                "The square of the time is that of the next batch less its mean.", _RESPONSE.symbol, response
            ),
        ),
        seen_by_mean,
        response,
    )
