"""Checks of single values: what passes, and what the message of a refusal holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

NUMBERS = [checks.positive, checks.non_negative, checks.fraction, checks.inner_fraction]
WHOLE = [checks.integer, lambda **values: checks.at_least(3, **values)]


@pytest.mark.parametrize(
    ("check", "passes", "fails", "wanted"),
    [
        (checks.positive, [5e-324, 1, Fraction(1, 3), np.float64(2.0)], [0, -0.0, -1], "> 0"),
        (checks.non_negative, [0, -0.0, 7.5], [-5e-324, -1], ">= 0"),
        (checks.fraction, [5e-324, 0.5, 1, 1.0], [0, -0.1, 1.0000001, 90], "above 0 and at most 1"),
        (checks.inner_fraction, [5e-324, 0.5, 1 - 1e-9], [0, -0.1, 1, 90], "between 0 and 1, both left out"),
        (checks.integer, [1, 10**30, np.int64(4)], [0, -3], "whole number >= 1"),
        (lambda **values: checks.at_least(3, **values), [3, 4], [2, 0, -9], "whole number >= 3"),
    ],
    ids=["positive", "non_negative", "fraction", "inner_fraction", "integer", "at_least"],
)
def test_a_number_passes_up_to_its_border_and_not_beyond(
    check: Callable[..., None], passes: list[Any], fails: list[Any], wanted: str
) -> None:
    for value in passes:
        check(x=value)
    for value in fails:
        with pytest.raises(ConfigError, match=f"^x: {value} must (be|lie) .*{wanted}$"):
            check(x=value)


@pytest.mark.parametrize("check", [*NUMBERS, *WHOLE])
@pytest.mark.parametrize(
    "value", [True, False, "1", None, [1], 1j, math.nan, math.inf, -math.inf], ids=lambda value: repr(value)
)
def test_what_is_no_number_is_refused_by_name(check: Callable[..., None], value: object) -> None:
    with pytest.raises(ConfigError, match=r"^x: ") as caught:
        check(x=value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("check", WHOLE)
def test_a_whole_number_is_not_a_float(check: Callable[..., None]) -> None:
    with pytest.raises(ConfigError, match=r"^x: 5.0 must be a whole number"):
        check(x=5.0)


@pytest.mark.parametrize("check", NUMBERS)
def test_a_number_too_large_for_a_float_is_refused_in_a_short_line(check: Callable[..., None]) -> None:
    with pytest.raises(ConfigError, match="is too large") as caught:
        check(x=10**400)
    assert len(str(caught.value)) < 80


def test_the_first_wrong_value_is_the_one_that_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^second: 0"):
        checks.positive(first=1, second=0, third=-1)


def test_a_word_is_refused_with_the_nearest_and_with_all() -> None:
    checks.one_of("shed", "reject", ["none", "reject"])
    with pytest.raises(ConfigError) as caught:
        checks.one_of("shed", "rejct", ["none", "reject"])
    assert str(caught.value) == "shed: unknown 'rejct' (did you mean 'reject'?); one of none, reject"


def test_only_text_is_text() -> None:
    checks.text("source", "")
    with pytest.raises(ConfigError, match=r"^source: 3 is not text; put it in quotes$"):
        checks.text("source", 3)


@pytest.mark.parametrize(
    ("word", "allowed", "found"),
    [
        ("Max-Seqs", ["max_seqs", "max_tokens"], "max_seqs"),
        ("ttft", ["e2e_slo_s", "ttft_slo_s"], "ttft_slo_s"),
        ("rate", ["rate_rps_long", "rate_rps"], "rate_rps"),
        ("qwen", ["llama"], None),
        ("", ["llama"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_spelling_forgives_case_dashes_and_left_out_units(
    word: str, allowed: list[str], found: str | None
) -> None:
    assert checks.nearest(word, allowed) == (f" (did you mean '{found}'?)" if found else "")


@given(st.one_of(st.text(), st.floats(), st.integers(), st.lists(st.text()), st.none()))
def test_anything_is_shown_on_one_short_line(value: object) -> None:
    words = checks.shown(value)
    assert len(words) <= 60
    assert "\n" not in words


@pytest.mark.parametrize(
    ("factor", "power", "words"),
    [
        (1, 20, "100000000000000000000"),
        (1, 30, "1e+30"),
        (-1, 300, "-1e+300"),
        (123456789, 30, "1.23457e+38"),
        (1, 5000, "1e+5000"),
    ],
)
def test_very_long_whole_numbers_are_shown_in_powers_of_ten(factor: int, power: int, words: str) -> None:
    value = factor * 10**power
    assert checks.shown(value) == words


def test_a_very_long_whole_number_is_refused_in_a_short_line() -> None:
    with pytest.raises(ConfigError, match=r"^x: -1e[+]5000 must be a whole number >= 1$"):
        checks.integer(x=-(10**5000))


def test_what_is_nested_too_deeply_is_shown_by_its_type() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert checks.shown(nested) == "a value of type list"
    assert checks.shown([10**5000]) == "a value of type list"


def test_a_long_word_is_cut_in_the_message_and_one_that_is_no_word_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        checks.one_of("shed", "x" * 5000, ["none", "reject"])
    assert len(str(caught.value)) < 120
    with pytest.raises(ConfigError, match=r"^shed: unknown \[1\]; one of none"):
        checks.one_of("shed", [1], ["none"])  # type: ignore[arg-type]


def test_only_names_that_are_close_enough_are_offered() -> None:
    assert checks.nearest("none.csv", ["one.py"]) == " (did you mean 'one.py'?)"
    assert checks.nearest("none.csv", ["one.py"], cutoff=0.75) == ""
