"""From words to values."""

from __future__ import annotations

from types import SimpleNamespace as Token

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from validation.cli.values import choice, number_list, rate_grid, reader, word_list


def read(name: str, kind: type, word: str) -> object:
    return reader(name, kind)(kind, [Token(value=word)])


@pytest.mark.parametrize(
    ("word", "value"), [("3", 3), ("1_000", 1000), ("2.0", 2), ("1e3", 1000), ("-4", -4)]
)
def test_whole_numbers_are_read_however_they_are_written(word: str, value: int) -> None:
    assert read("tp", int, word) == value


@pytest.mark.parametrize("word", ["1.5", "two", "", "nan", "inf", "3s", "0x10"])
def test_what_is_not_a_whole_number_is_never_rounded_to_one(word: str) -> None:
    with pytest.raises(ConfigError, match="not a whole number"):
        read("tp", int, word)


@pytest.mark.parametrize("word", ["1e400", "1e19", str(10**18 + 1), "-1e30"])
def test_a_whole_number_beyond_every_limit_is_called_too_large(word: str) -> None:
    with pytest.raises(ConfigError, match=r"is too large; at most 10\^18"):
        read("tp", int, word)
    assert read("tp", int, "1e18") == 10**18


@pytest.mark.parametrize(
    ("name", "unit"),
    [("duration_s", "seconds"), ("rate_rps", "requests per second"), ("memory_frac", "between 0 and 1")],
)
def test_a_word_with_a_unit_is_answered_with_the_unit_that_is_meant(name: str, unit: str) -> None:
    with pytest.raises(ConfigError, match=unit):
        read(name, float, "90ms")


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        read("hardware", str, "  ")


def test_an_unknown_choice_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'json'.*one of table, json, csv"):
        choice("table", "json", "csv")(str, [Token(value="jsno")])


@pytest.mark.parametrize("text", ["", "fcfs,", ",fcfs", "fcfs,,chunked"])
def test_a_list_with_an_empty_entry_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--schedulers: .*empty entry"):
        word_list("--schedulers", text)


def test_an_entry_that_comes_twice_is_refused_however_it_is_written() -> None:
    with pytest.raises(ConfigError, match="'fcfs' comes twice"):
        word_list("--schedulers", "fcfs,chunked, fcfs")
    with pytest.raises(ConfigError, match="2 comes twice"):
        number_list("--rates", "2,2.0")


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9, unique=True))
def test_a_list_of_numbers_comes_back_sorted(numbers: list[float]) -> None:
    assert number_list("--rates", ",".join(map(repr, numbers))) == sorted(numbers)


def test_a_grid_holds_its_largest_rate_despite_rounding() -> None:
    assert rate_grid(None, 0.1, 0.7, 0.2) == [0.1, 0.3, 0.5, 0.7]
    assert rate_grid(None, 2.0, 9.0, 4.0) == [2.0, 6.0]
    assert rate_grid(None, 5.0, 5.0, 1.0) == [5.0]


@pytest.mark.parametrize(
    ("given_rates", "names"),
    [
        (("2,4", 2.0, None, None), "--rates"),
        ((None, None, None, 1.0), "--min-rate"),
        ((None, 1.0, 1e300, 1e-300), "--step"),
        ((None, 2.0, 18.0, None), "--step"),
        ((None, 2.0, 1.0, 1.0), "--max-rate"),
        ((None, 2.0, 18.0, 0.0), "--step"),
        ((None, 2.0, 18.0, -4.0), "--step"),
        ((None, 2.0, float("inf"), 4.0), "--max-rate"),
        ((None, 1.0, 1e6, 1.0), "--step"),
    ],
)
def test_numbers_that_make_no_grid_are_refused_by_flag(given_rates: tuple[object, ...], names: str) -> None:
    with pytest.raises(ConfigError, match=f"^{names}: "):
        rate_grid(*given_rates)  # type: ignore[arg-type]


def test_no_rates_at_all_are_an_empty_grid() -> None:
    assert rate_grid(None, None, None, None) == []
