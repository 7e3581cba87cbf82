"""Every equation of every derivation is true in a queue where both sides are known."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from qtheory.symbolic import derivations, derive
from tests.qtheory.symbolic.worlds import POINTS, WORLDS


def _value(expr: Any, known: dict[Any, Any], functions: dict[str, Any]) -> float:
    """Numbers for letters, then functions for names, then what is left to work out."""
    found = expr.subs(known)
    for name, function in functions.items():
        found = found.replace(sp.Function(name), function)
    return float(sp.sympify(found).doit().subs(known).evalf())


@pytest.mark.parametrize("name", derivations())
def test_each_equation_is_true_in_a_queue_that_is_known(name: str) -> None:
    derivation, world = derive(name), WORLDS[name]
    named = {x.symbol: world.values[x.name] for x in derivation.parameters}
    lettered = {x.symbol: world.letters[x.glyph] for x in derivation.symbols if x.glyph in world.letters}
    known: dict[Any, Any] = named | lettered
    for symbol, meaning in derivation.where:
        known[symbol] = meaning.subs(known).doit()
    answer = derivation.answer
    known[answer.symbol] = world.letters.get(answer.glyph, derivation.result.subs(named).doit())
    for step in derivation.steps:
        used = step.left.free_symbols | step.right.free_symbols
        points = {x: POINTS[x.name] for x in used if x not in known and x.name in POINTS}
        left, right = (_value(side, known | points, world.functions) for side in (step.left, step.right))
        if step.relation == "=":
            assert left == pytest.approx(right, rel=1e-8), step.says
        else:
            assert left <= right * (1 + 1e-12), step.says


@pytest.mark.parametrize("name", derivations())
def test_the_last_equation_is_the_result_or_a_remark_after_it(name: str) -> None:
    derivation = derive(name)
    stated = [step for step in derivation.steps if step.left == derivation.answer.symbol]
    assert stated[-1].right in (derivation.formula, _recursion(derivation))
    assert derivation.formula in [step.right for step in stated]
    assert stated[-1].relation == ("<=" if derivation.exactness == "bound" else "=")


def _recursion(derivation: Any) -> Any:
    return derivation.steps[-1].right if derivation.name == "erlang_b" else None


@pytest.mark.parametrize("name", derivations())
def test_results_speak_of_parameters_alone(name: str) -> None:
    derivation = derive(name)
    own = {letter.symbol for letter in derivation.parameters}
    assert derivation.result.free_symbols <= own
    assert derivation.name == name
    letters = [letter.symbol for letter in (*derivation.symbols, derivation.answer)]
    assert len(set(letters)) == len(letters)
