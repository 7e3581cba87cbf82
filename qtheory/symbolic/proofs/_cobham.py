"""Mean waits of two priority classes that do not interrupt a service, from the mean work ahead."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD
from qtheory.symbolic.step import Step

__all__ = ["class_wait"]

_GIVEN = parameters(
    "urgent_rate_rps",
    "urgent_mean_s",
    "urgent_second_s2",
    "other_rate_rps",
    "other_mean_s",
    "other_second_s2",
)
_FOUND = helper("W0", "W_0", "mean time left of the service found", "s")
_URGENT_LOAD = helper("ρ1", r"\rho_1", "load of the urgent class")
_URGENT = helper("W1", "W_1", "mean wait of the urgent class before service", "s")
_OTHER = helper("W2", "W_2", "mean wait of the other class before service", "s")


def class_wait(k: int, *, name: str, statement: str, quantity: str) -> Derivation:
    """Mean wait of class k, 1 being the urgent one."""
    import sympy as sp

    r1, m1, q1, r2, m2, q2 = (letter.symbol for letter in _GIVEN)
    w0, w1, w2 = (letter.symbol for letter in (_FOUND, _URGENT, _OTHER))
    load1, load = _URGENT_LOAD.symbol, LOAD.symbol
    urgent, other = w0 + m1 * (r1 * w1), w0 + m1 * (r1 * w1) + m2 * (r2 * w2) + m1 * (r1 * w2)
    solved = sp.solve([sp.Eq(w1, urgent), sp.Eq(w2, other)], [w1, w2], dict=True)[0]
    short = {m1: load1 / r1, m2: (load - load1) / r2}
    left1, left = sp.symbols("left1 left", positive=True)
    idle, back = {load1: 1 - left1, load: 1 - left}, {left1: 1 - load1, left: 1 - load}
    waits = [sp.factor(solved[w].subs(short).subs(idle)).subs(back) for w in (w1, w2)]
    answer = (_URGENT, _OTHER)[k - 1]
    steps = (
        Step(
            "A Poisson arrival finds a service under way, and half its square is left.",
            w0,
            (r1 * q1 + r2 * q2) / 2,
        ),
        Step("The urgent wait for it and for the urgent ones already waiting.", w1, urgent),
        Step("So their wait is this.", w1, waits[0]),
        Step("The others wait for all of them, and for the urgent ones who come meanwhile.", w2, other),
        Step("So their wait is this.", w2, waits[1]),
    )
    where = ((w0, steps[0].right), (load1, r1 * m1), (load, r1 * m1 + r2 * m2))
    return Derivation(
        name=name,
        statement=statement,
        exactness="exact",
        symbols=(*_GIVEN, _FOUND, _URGENT_LOAD, LOAD, *((_URGENT,) if k == 2 else ())),
        steps=steps if k == 2 else steps[:3],
        quantity=quantity,
        answer=answer,
        formula=waits[k - 1],
        where=where,
        load=load,
        source="Cobham (1954), Priority assignment in waiting line problems, Operations Research 2, 70-76",
    )
