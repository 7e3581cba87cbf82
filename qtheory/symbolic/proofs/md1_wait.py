"""Mean wait in M/D/1, from the transform of the work."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import parameters
from qtheory.symbolic.proofs._algebra import LOAD, WAIT, in_idle
from qtheory.symbolic.proofs._pollaczek_khinchine import LETTERS, SOURCE, work_transform
from qtheory.symbolic.step import Step

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean wait in M/D/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W = D·ρ/(2·(1 - ρ)); ρ = λ·D
    """
    import sympy as sp

    rate, service = parameters("rate_rps", "service_s")
    found = work_transform(rate)
    lam, rho, s = rate.symbol, LOAD.symbol, found.s
    constant = sp.exp(-s * service.symbol)
    transform = found.with_service(constant)
    slope = sp.series(transform.subs(lam, rho / service.symbol), s, 0, 2).removeO().coeff(s, 1)
    formula = in_idle(-sp.factor(slope), rho)
    return Derivation(
        name="md1_wait",
        statement="Mean wait in M/D/1: Poisson arrivals, services of one length, one server",
        exactness="exact",
        symbols=(rate, service, *LETTERS),
        steps=(
            *found.steps,
            Step("A constant has an exponential as its transform.", found.service, constant),
            Step("At s = 0 a transform is one: nobody is there for 1 - load.", found.work, transform),
            Step(
                "A Poisson arrival waits for the work that it finds; the mean is minus the slope at zero.",
                WAIT.symbol,
                formula,
            ),
        ),
        quantity="mean_wait_s",
        answer=WAIT,
        formula=formula,
        where=((rho, lam * service.symbol),),
        load=rho,
        source=SOURCE,
    )
