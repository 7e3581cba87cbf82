"""Length laws from means and quantiles: what they keep, and what is wrong with bad files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant
from qtheory.system.scenario import Scenario
from qtheory.system.workload import read_length_laws, read_lengths, workload_of

FILE = Path(__file__).resolve().parents[4] / "data" / "traces" / "servegen_lengths_head.csv"
LEVELS = {"p1": 0.01, "p5": 0.05, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}
HEAD = "field,mean,p10,p50,p90\n"
OUTPUT = "output_tokens,9,9,9,9\n"


@pytest.fixture
def written(tmp_path: Path):
    """A function that writes text and returns the path."""

    def write(content: str) -> Path:
        path = tmp_path / "lengths.csv"
        path.write_text(content)
        return path

    return write


@pytest.mark.parametrize("row", range(6))
def test_means_and_quantiles_of_a_window_are_those_of_the_file(row):
    with open(FILE) as file:
        given_row = [line for line in csv.DictReader(file) if line["workload"] == "m-large"][row]
    prompt, output = read_length_laws(
        FILE, workload="m-large", client="61", window_start_s=given_row["window_start_s"]
    )
    law = prompt if given_row["field"] == "input_tokens" else output
    assert law.mean == pytest.approx(float(given_row["mean"]), rel=1e-9)
    for name, level in LEVELS.items():
        below, above = law.ppf(level - 0.0025), law.ppf(level + 0.0025)
        assert below - 1e-9 <= float(given_row[name]) <= above + 1e-9


def test_windows_count_alike():
    windows = [read_length_laws(FILE, workload="m-large", window_start_s=w) for w in ("0", "21600", "43200")]
    prompt, output = read_length_laws(FILE, workload="m-large")
    assert prompt.mean == pytest.approx(np.mean([law.mean for law, _ in windows]))
    assert output.cdf(300.0) == pytest.approx(np.mean([law.cdf(300.0) for _, law in windows]))


def test_a_length_that_never_changes_is_a_constant():
    prompt, output = read_length_laws(FILE, workload="deepseek-r1", window_start_s="43200")
    assert (prompt, output) == (Constant(value=572.0), Constant(value=531.0))


@given(
    st.lists(st.integers(1, 10_000), min_size=3, max_size=3),
    st.floats(0.0, 2.0),
)
def test_the_mean_is_kept_wherever_quantiles_allow_it(tmp_path_factory, quantiles, at):
    low, middle, high = sorted(quantiles)
    least = 0.1 * low + 0.4 * low + 0.4 * middle + 0.1 * high
    mean = least + at * (high - low)
    assume(mean < 9e6)
    path = tmp_path_factory.mktemp("laws") / "lengths.csv"
    path.write_text(f"{HEAD}input_tokens,{mean!r},{low},{middle},{high}\n{OUTPUT}")
    prompt, _ = read_length_laws(path)
    assert prompt.mean == pytest.approx(mean, rel=1e-9)
    assert prompt.ppf(0.1 - 1e-3) <= low + 1e-6
    assert prompt.ppf(0.9 + 1e-3) >= high - 1e-6
    assert prompt.support[0] >= low - 1e-6


def test_a_scenario_takes_its_lengths_from_quantiles():
    workload = workload_of(Scenario(lengths=f"quantiles({FILE}, workload=m-large, window_start_s=0)"))
    prompt, _ = read_length_laws(FILE, workload="m-large", window_start_s="0")
    assert workload.lengths.mean_prompt_tokens == pytest.approx(prompt.mean, abs=0.5)
    for text, said in {
        f"quantiles({FILE}, workloud=x)": "lengths: unknown parameter 'workloud' (did you mean 'workload'?)",
        "quantiles(workload=x)": "names no file; write quantiles(FILE, [workload], [client]",
        f"quantiles({FILE})": "workload is needed to choose from it; one of m-large, deepseek-r1",
        "quantiles(none.csv)": "none.csv: no such file",
    }.items():
        with pytest.raises(ConfigError) as caught:
            workload_of(Scenario(lengths=text))
        assert said in str(caught.value)


@pytest.mark.shared
def test_every_client_of_the_whole_file_keeps_its_means(shared):
    path = shared / "data" / "traces" / "servegen_lengths.csv"
    with open(path) as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "m-small"]
    for client in {row["client"] for row in rows}:
        laws = read_length_laws(path, workload="m-small", client=client)
        for law, field in zip(laws, ("input_tokens", "output_tokens"), strict=True):
            means = [float(r["mean"]) for r in rows if (r["client"], r["field"]) == (client, field)]
            assert law.mean == pytest.approx(np.mean(means), rel=1e-3)


FAULTS = {
    "no quantiles": ("field,mean\ninput_tokens,9\n", "line 1: no length quantiles; found field, mean; known"),
    "no mean": ("field,p50\ninput_tokens,9\n", "line 1: no length quantiles; found field, p50; known are"),
    "no output": (HEAD + "input_tokens,9,9,9,9\n", "no row with field output_tokens; it is needed"),
    "falling": (HEAD + "input_tokens,9,9,8,9\n" + OUTPUT, "line 2: p50: '8' is below the quantile before it"),
    "word": (HEAD + "input_tokens,9,9,x,9\n" + OUTPUT, "line 2: p50: 'x' is not a number; give a number in"),
    "negative": (HEAD + "input_tokens,9,-9,9,9\n" + OUTPUT, "line 2: p10: '-9' is too small; give a number"),
    "mean too small": (HEAD + "input_tokens,5,9,9,9\n" + OUTPUT, "line 2: mean: '5' is below 9, the least"),
    "level 0": ("field,mean,p0,p50\ninput_tokens,9,9,9\n", "line 1: quantiles must differ and lie above p0"),
    "same level": ("field,mean,p5,p5.0\ninput_tokens,9,9,9\n", "line 1: quantiles must differ and lie above"),
    "two means": ("field,mean,mean,p5\ninput_tokens,9,9,9\n", "line 1: 'mean' (column 2) and 'mean' ("),
    "several clients": ("client," + HEAD + f"a,input_tokens,9,9,9,9\nb,{OUTPUT}", "client is needed"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_file_is_refused_with_one_line_that_says_where_and_why(written, case):
    content, said = FAULTS[case]
    path = written(content)
    with pytest.raises(ConfigError) as caught:
        read_length_laws(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_window_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="no row with field input_tokens of window_start_s=7; it is needed"):
        read_length_laws(FILE, workload="m-large", window_start_s="7")


def test_quantiles_are_not_lengths_one_by_one_and_the_message_says_so():
    with pytest.raises(ConfigError, match=r"line 1: quantiles of lengths, .*'quantiles\(FILE, workload="):
        read_lengths(FILE)
