"""Derivations as text and as LaTeX."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from matplotlib.mathtext import MathTextParser

from qtheory.symbolic import Derivation, derivations, derive
from tests.qtheory.symbolic.test_derivation import VALUES

PARSER = MathTextParser("path")


def _equations(derivation: Derivation) -> list[str]:
    values = {x.name: VALUES[x.name] for x in derivation.parameters}
    letters = [x.latex for x in (*derivation.symbols, derivation.answer)]
    return [
        *re.findall(r"\\\[ (.*?) \\\]", derivation.latex()),
        derivation.substitute(values).latex,
        *letters,
    ]


@pytest.mark.parametrize("name", derivations())
def test_latex_is_balanced(name: str) -> None:
    written = derive(name).latex()
    plain = re.sub(r"\\[{}]", "", written)
    depth = 0
    for letter in plain:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    assert written.count(r"\left") == written.count(r"\right")
    assert written.count("$") % 2 == 0
    for place in ("itemize", "enumerate"):
        assert written.count(rf"\begin{{{place}}}") == written.count(rf"\end{{{place}}}") == 1
    assert len(re.findall(r"\\\[", written)) == len(derive(name).steps) + 1


@pytest.mark.parametrize("name", derivations())
def test_every_equation_is_drawn_by_mathtext(name: str) -> None:
    for equation in _equations(derive(name)):
        assert PARSER.parse(f"${equation}$").width > 0


@pytest.mark.parametrize("name", derivations())
def test_sentences_are_plain_words(name: str) -> None:
    derivation = derive(name)
    for words in (derivation.statement, derivation.source, *(step.says for step in derivation.steps)):
        assert words.isascii()
        assert words.strip() == words
    assert all(step.says.endswith(".") for step in derivation.steps)


@pytest.mark.parametrize("name", derivations())
def test_text_holds_letters_steps_result_and_source(name: str) -> None:
    derivation = derive(name)
    lines = derivation.text().splitlines()
    for place, step in enumerate(derivation.steps, 1):
        assert f"{place}. {step.says}" in lines
    assert derivation.formula_text in lines
    assert lines[-1] == f"Source: {derivation.source}"
    for letter in (*derivation.symbols, derivation.answer):
        assert any(line.startswith(f"  {letter.glyph}: {letter.meaning}") for line in lines)
    for leftover in ("Derivative(", "Integral(", "Limit(", "Sum(", "Piecewise(", "factorial(", "**"):
        assert leftover not in derivation.text()


def test_sympy_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, qtheory.symbolic; sys.exit('sympy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
