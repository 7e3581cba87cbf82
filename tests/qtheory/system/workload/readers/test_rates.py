"""Rates by window of time: ServeGen and plain tables, and what is wrong with bad ones."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from qtheory.system.workload import ProfileArrivals, parse_arrivals, read_rates, read_requests, workload_of

EXTRACTS = Path(__file__).resolve().parents[4] / "data" / "traces"
TOTAL, CLIENTS = EXTRACTS / "servegen_total_rates_head.csv", EXTRACTS / "servegen_client_rates_head.csv"
HEAD = "window_start_s,rate_rps\n"


@pytest.fixture
def written(tmp_path: Path):
    """A function that writes text and returns the path."""

    def write(content: str, name: str = "rates.csv") -> Path:
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


def rows_of(path: Path, **chosen: str) -> list[dict[str, str]]:
    with open(path) as file:
        return [row for row in csv.DictReader(file) if all(row[key] == chosen[key] for key in chosen)]


def test_total_rates_of_a_workload_are_those_of_the_file():
    lengths_s, rates = read_rates(TOTAL, workload="m-large")
    rows = rows_of(TOTAL, workload="m-large")
    assert rates.tolist() == [float(row["total_rate_rps"]) for row in rows]
    assert lengths_s.tolist() == [600.0] * 144


def test_windows_that_a_client_is_not_listed_in_are_silent():
    lengths_s, rates = read_rates(CLIENTS, workload="deepseek-r1", client="12")
    listed = {float(row["window_start_s"]): float(row["rate_rps"]) for row in rows_of(CLIENTS, client="12")}
    starts = 66_000.0 + np.concatenate([[0.0], np.cumsum(lengths_s)[:-1]])
    assert set(lengths_s) == {600.0}
    assert [listed.get(start, 0.0) for start in starts] == rates.tolist()
    assert 67_200.0 not in listed
    assert rates[2] == 0.0
    assert len(rates) == len(listed) + 1


def test_windows_of_a_plain_table_last_until_the_next(written):
    lengths_s, rates = read_rates(written("Time s; Rate\n5;1\n10;0\n30;2.5\n".replace("Time s", "time_s")))
    assert (lengths_s.tolist(), rates.tolist()) == ([5.0, 20.0, 20.0], [1.0, 0.0, 2.5])


def test_a_file_name_with_anything_in_it_reads_back(written):
    for name in ("rates.csv", "my rates, new (1).csv", "it's.csv", "a=b.csv"):
        profile = ProfileArrivals.from_file(written(HEAD + "0,2\n60,4\n", name), start_s=30.0, cv=2)
        assert parse_arrivals(str(profile)) == profile


def test_a_profile_brings_its_rate_unless_another_is_given(written):
    text = f"profile({TOTAL}, workload=deepseek-r1)"
    own = float(np.mean([float(row["total_rate_rps"]) for row in rows_of(TOTAL, workload="deepseek-r1")]))
    assert workload_of(Scenario(arrivals=text)).offered_rps == pytest.approx(own)
    scaled = workload_of(Scenario(arrivals=text, rate_rps=2.0, duration_s=7200.0))
    assert scaled.offered_rps == 2.0
    times = scaled.generate(np.random.default_rng(1)).arrival_s
    rates = np.array([float(row["total_rate_rps"]) for row in rows_of(TOTAL, workload="deepseek-r1")])
    expected = 2.0 * 600.0 * rates / own
    counts = np.histogram(times, bins=12, range=(0, 7200))[0]
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected))


def test_a_client_cap_of_the_scenario_reaches_a_profile(written):
    path = written(HEAD + "0,2\n60,4\n")
    assert workload_of(Scenario(arrivals=f"profile({path})", client_cap=9)).client_cap == 9


@pytest.mark.shared
def test_the_whole_servegen_rates_are_read(shared):
    traces = shared / "data" / "traces"
    for workload in ("m-large", "m-mid", "m-small", "deepseek-r1", "mm-image"):
        rows = rows_of(traces / "servegen_total_rates.csv", workload=workload)
        profile = ProfileArrivals.from_file(traces / "servegen_total_rates.csv", workload=workload)
        assert len(profile.rates) == len(rows)
        assert profile.own_rate_rps == pytest.approx(np.mean([float(row["total_rate_rps"]) for row in rows]))
    for workload, client in (("m-large", "61"), ("m-mid", "60"), ("m-small", "17"), ("mm-image", "7")):
        lengths_s, rates = read_rates(traces / "servegen_client_rates.csv", workload=workload, client=client)
        assert set(lengths_s) == {600.0}
        assert rates.any()


FAULTS = {
    "empty": ("", "is empty"),
    "no rows": (HEAD, "line 1: column names, but no rows below them"),
    "no rate": ("window_start_s,n\n0,1\n", "line 1: no column for rate_rps; found window_start_s, n"),
    "no start": ("rate_rps\n1\n", "line 1: no column for window_start_s; found rate_rps; known are"),
    "two rates": ("start_s,rate,rate_rps\n0,1,1\n", "line 1: 'rate' (column 2) and 'rate_rps' (column 3)"),
    "word": (HEAD + "0,1\n60,many\n", "line 3: rate_rps: 'many' is not a number; give a number in 0 .."),
    "negative": (HEAD + "0,1\n60,-1\n", "line 3: rate_rps: '-1' is too small; give a number in 0 .. 1e+09"),
    "too large": (HEAD + "0,1\n60,1e10\n", "line 3: rate_rps: '1e10' is too large; give a number in 0 .."),
    "NaN": (HEAD + "0,nan\n60,1\n", "line 2: rate_rps: 'nan' is not a number; give"),
    "no number": (HEAD + "0,\n60,1\n", "line 2: rate_rps: '' is empty; give a number in 0 .."),
    "start is a date": (HEAD + "2024-01-01,1\n", "line 2: window_start_s: '2024-01-01' is not a number"),
    "unsorted": (HEAD + "60,1\n0,1\n", "line 3: window_start_s: '0' is not after the window before it; sort"),
    "twice": (HEAD + "0,1\n0,1\n", "line 3: window_start_s: '0' is not after the window before it"),
    "one window": (HEAD + "0,1\n", "one window only; give at least two, or a constant rate instead"),
    "all silent": (HEAD + "0,0\n60,0\n", "all rates are 0; one must be > 0"),
    "off the grid": ("client,window_start_s,rate_rps\na,0,1\na,60,1\na,130,1\n", "not whole multiples of"),
    "several workloads": ("workload," + HEAD + "a,0,1\na,60,1\nb,0,1\n", "workload is needed to choose from"),
    "several clients": ("client," + HEAD + "a,0,1\nb,60,1\n", "client is needed to choose from it; one of a"),
    "cut row": (HEAD + "0,1\n60", "line 3: '60' has 1 value for 2 columns; cut short?"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_file_is_refused_with_one_line_that_says_where_and_why(written, case):
    content, said = FAULTS[case]
    path = written(content)
    with pytest.raises(ConfigError) as caught:
        read_rates(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            {"workload": "m-larg"},
            "workload: unknown 'm-larg' (did you mean 'm-large'?); one of m-large, deeps",
        ),
        ({}, "workload is needed to choose from it; one of m-large, deepseek-r1"),
        ({"workload": "m-large", "client": "3"}, "client: '3' given, but there is no such column"),
    ],
)
def test_what_is_not_in_the_file_cannot_be_chosen(chosen, said):
    with pytest.raises(ConfigError) as caught:
        read_rates(TOTAL, **chosen)
    assert f"{TOTAL}: {said}" in str(caught.value)


def test_rates_are_not_requests_and_the_message_says_what_they_are_for():
    with pytest.raises(ConfigError, match=r"line 1: rates by window of time, .*'profile\(FILE, workload="):
        read_requests(TOTAL)
