"""Moments of the wait in M/G/1, from the transform of the work."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import Notation, parameters
from qtheory.symbolic.proofs._algebra import (
    EMPTY,
    LOAD,
    moment_from_transform,
    split_at_idle,
    taylor_transform,
)
from qtheory.symbolic.proofs._pollaczek_khinchine import LETTERS, SOURCE, work_transform
from qtheory.symbolic.step import Step

__all__ = ["wait_moment"]

_MOMENTS = ("mean_service_s", "service_second_s2", "service_third_s3")


def wait_moment(k: int, *, name: str, statement: str, quantity: str, answer: Notation) -> Derivation:
    """The k-th moment of the wait, k = 1 or 2."""
    import sympy as sp

    rate, *moments = parameters("rate_rps", *_MOMENTS[: k + 1])
    found = work_transform(rate)
    lam, rho, s = rate.symbol, LOAD.symbol, found.s
    service = taylor_transform(s, *(moment.symbol for moment in moments))
    whole = sp.cancel(found.expr.subs(found.service, service)).subs(s, 0)
    transform = found.with_service(service).subs(moments[0].symbol, rho / lam)
    formula = split_at_idle(moment_from_transform(transform, s, k), rho)
    slope = "mean is minus the slope" if k == 1 else "second moment is the second derivative"
    return Derivation(
        name=name,
        statement=statement,
        exactness="exact",
        symbols=(rate, *moments, *LETTERS),
        steps=(
            *found.steps,
            Step(
                f"For small s the first {k + 1} moments of the service count, higher powers of s do not.",
                found.service,
                service,
            ),
            Step("At s = 0 a transform is one.", whole, sp.S.One),
            Step("So nobody is present for the rest of the load.", EMPTY.symbol, 1 - rho),
            Step(
                f"A Poisson arrival waits for the work that it finds; the {slope} at zero.",
                answer.symbol,
                formula,
            ),
        ),
        quantity=quantity,
        answer=answer,
        formula=formula,
        where=((rho, lam * moments[0].symbol),),
        load=rho,
        source=SOURCE,
    )
