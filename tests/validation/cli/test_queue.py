"""`sched-sim queue`: every model through the command, every bad word in one line, and the page on it.

``python -m tests.validation.cli.test_queue`` writes what the commands of the page print into the page.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qtheory.queues.kendall import KendallModel, NamedQueue, answer, kendall_models, unregister
from validation.cli.app import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "queue.md"
BLOCKS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
MINE = re.findall(r"^```python my_queue.py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
SLOW = {"M/G/1-SRPT", "M/G/1-PSJF", "M/G/1-SJF", "M/G/1-LAS"}
MODELS = [
    pytest.param(model, id=model.name, marks=[pytest.mark.slow] if model.name in SLOW else [])
    for model in kendall_models()
]
MM1 = ["queue", "M/M/1", "--rate", "0.8", "--service-rate", "1"]


def words(model: KendallModel) -> list[str]:
    given = [[f"--{name.replace('_', '-')}", written(value)] for name, value in model.example.items()]
    return ["queue", model.name, *(word for pair in given for word in pair)]


def written(value: object) -> str:
    return str(value).replace("'", "")


def ask(line: list[str], capsys: pytest.CaptureFixture[str], *, code: int = 0) -> dict[str, Any]:
    found = main([*line, "--format", "json"])
    shown = capsys.readouterr()
    assert (found, shown.err) == (code, "")
    return dict(json.loads(shown.out))


@pytest.mark.parametrize("model", MODELS)
def test_each_model_answers_as_from_python(model: KendallModel, capsys: pytest.CaptureFixture[str]) -> None:
    row = ask([*words(model), "--percentiles", "90"], capsys)["result"][0]
    ours = answer(NamedQueue(name=model.name, given=model.example)).row((90,))
    assert row == json.loads(json.dumps(ours))


@pytest.mark.parametrize("model", MODELS)
def test_each_model_has_a_text_that_says_how_good_it_is(
    model: KendallModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(model), "--percentiles", "90", "--explain"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert re.search(r"^exactness +(exact|numerical|bound|approximation); \w", shown.out, re.M)
    assert "1 % more of" in shown.out or "No formula is derived here" in shown.out
    assert "nan" not in shown.out
    assert max(map(len, shown.out.splitlines())) < 400


BAD = [
    ("queue", "NAME", "missing", "--list"),
    ("queue M/Q/1", "unknown 'M/Q/1'", "did you mean"),
    ("queue M/G/1-SRTP --rate 1", "did you mean 'M/G/1-SRPT'"),
    ("queue M/D/4/20 --rate 3 --service 1", "unknown 'M/D/4/20'", "--list"),
    ("queue M/M/0 --rate 1", "0 in the name"),
    ("queue M/M/-1 --rate 1 --service-rate 2", "unknown 'M/M/-1'"),
    ("queue M/M/c --rate 1 --service-rate 2 --servers 3", "did you mean '--n-servers'", "takes --rate, --s"),
    ("queue M/G/1 --rate 0.2 --service pareto(alpha=1.5,low=1)", "--service: pareto", "moment 2 is infinite"),
    ("queue M/M/3 --rate 2 --service-rate 1 --solve n_servers:mean_wait_s<=1", "--solve: n_servers is 3"),
    ("queue M/M/1 --rate 2 --mean-service 1 --solve service_rate:mean_wait_s<=1", "--mean-service:"),
    ("queue M/M/1 --rate 0.8", "--service-rate:", "missing", "completions"),
    ("queue M/G/1 --rate 0.8", "--service:", "missing", "lognormal(mean=1, cv=1.5)"),
    ("queue M/M/1 --rate fast --service-rate 1", "--rate", "'fast'"),
    ("queue M/M/1 --rate -1 --service-rate 1", "--rate", "> 0"),
    ("queue M/M/1 --rate nan --service-rate 1", "--rate", "nan"),
    ("queue M/M/1 --rte 1 --service-rate 1", "--rte", "did you mean '--rate'"),
    ("queue M/M/1 --rate", "--rate", "value is missing"),
    ("queue M/M/1 --rate 1 --rate 2", "--rate", "more than once"),
    ("queue M/M/1 --rate 1 --service-rate 2 --n-servers 3", "--n-servers", "M/M/1 takes none"),
    ("queue M/M/8 --rate 1 --service-rate 2 --n-servers 3", "--n-servers", "8 in the name"),
    ("queue M/M/c --rate 1 --service-rate 2 --n-servers 2.5", "--n-servers", "'2.5'", "whole"),
    ("queue M/M/1 --rate 1 --service lognormal(mean=1,cv=1)", "--service", "not exponential"),
    ("queue M/G/1 --rate 1 --service lognorml(mean=1,cv=1)", "--service", "did you mean 'lognormal'"),
    ("queue M/M/1 --rate 1.2 --service-rate 1", "--rate=1.2", "not below 1", "raise --service-rate"),
    ("queue M/M/4 --rate 5 --service-rate 1", "--rate=5", "add servers"),
    ("queue M/D[1,4]/1 --rate 99 --base-s 0.1 --slope-s 0.01", "--rate=99", "raise --max-batch"),
    ("queue MMPP/M/1 --rates-rps 1,3 --leave-per-s 1,1 --service-rate 1", "rate_rps=2", "not below 1"),
    ("queue M/M/1 --rate 1 --service-rate 2 --percentiles 50,100", "--percentiles", "'100'"),
    ("queue M/M/1 --rate 1 --service-rate 2 --percentiles 50,50", "--percentiles", "twice"),
    ("queue M/M/1 --rate 1 --service-rate 2 --percentiles p99", "--percentiles", "'p99'"),
    ("queue M/M/1 --rate 1 --service-rate 2 --solve rate:mean_wait_s<1", "--rate", "unknown and given"),
    ("queue M/M/1 --service-rate 2 --solve rate", "--solve", "names no unknown"),
    ("queue M/M/1 --service-rate 2 --solve rat:mean_wait_s<1", "--solve", "did you mean 'rate'"),
    ("queue M/M/1 --service-rate 2 --solve rate:mean_wiat_s<1", "--solve", "did you mean 'mean_wait_s'"),
    ("queue M/M/1-PS --service-rate 2 --solve rate:mean_wait_s<1", "--solve", "because", "served at once"),
    ("queue M/M/1 --service-rate 2 --solve rate:mean_wait_s<1 --plot a.png", "--plot", "--solve"),
    ("queue M/M/1 --service-rate 2 --max-rate 1 --explain", "--max-rate", "--explain"),
    ("queue M/M/1 --service-rate 2 --min-rate 1 --max-rate 0.5", "--max-rate", "above min_rate"),
    ("queue M/M/1 --service-rate 2 --points 1", "--points", ">= 2"),
    ("queue M/M/1 --service-rate 2 --points many", "--points", "'many'"),
    ("queue M/M/inf --service-rate 2 --points 3", "--max-rate", "missing", "any rate"),
    ("queue closed-network --demands-s 1,2 --population 3 --points 3", "rate_rps", "no arrival rate"),
    ("queue M/M/1 --service-rate 2 --plot a.gif", "--plot", "a.gif", ".png, .svg, .pdf"),
    ("queue M/M/1 --rate 1 --service-rate 2 --set gain", "--set", "'gain'", "NAME=VALUE"),
    ("queue M/M/1 --rate 1 --service-rate 2 --set gain=2", "--set gain", "M/M/1 takes none"),
    ("queue M/M/1 --rate 1 --service-rate 2 --set rate_rps=2", "--set", "rate_rps", "twice"),
    ("queue M/M/1 --models lost.py", "--models: lost.py", "no such file"),
    ("queue --list M/Q/9", "unknown 'M/Q/9'"),
    ("queue M/M/1 --rate 1 --service-rate 2 --format xml", "--format", "table, json, csv"),
    ("queue M/M/1 --rate 1 --service-rate 2 --out lost/a.json", "--out", "does not exist"),
    ("queue M/M/1 M/M/2", "'M/M/2'", "nothing is expected"),
]  # fmt: skip


@pytest.mark.parametrize("row", BAD, ids=lambda row: row[0])
def test_bad_input_is_answered_in_one_line_and_leaves_nothing(
    row: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(row[0].split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("sched-sim: ")
    assert all(part in lines[0] for part in row[1:]), lines[0]
    assert list(tmp_path.iterdir()) == []


def test_the_unknown_is_found_and_the_next_step_fails(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["queue", "M/M/c", "--rate", "80", "--service-rate", "1"]
    found = ask([*asked, "--solve", "n_servers: p99_wait_s<=0.5"], capsys)
    row, count = found["result"][0], found["result"][0]["value"]
    assert (row["verdict"], row["unknown"], row["extreme"]) == ("found", "n_servers", "smallest")
    assert found["answer"]["p99_wait_s"] <= 0.5
    for n, met in ((count, True), (count - 1, False)):
        point = ask([*asked, "--n-servers", str(n)], capsys)["result"][0]
        assert (point["p99_wait_s"] <= 0.5) == met


def test_no_value_ends_with_one_and_every_value_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["queue", "M/M/1", "--service-rate", "1", "--solve"]
    assert ask([*asked, "rate: p99_response_s<=3"], capsys, code=1)["result"][0]["verdict"] == "nowhere"
    assert ask([*asked, "rate: utilization<=1"], capsys)["result"][0]["verdict"] == "everywhere"
    assert main([*asked, "rate: p99_response_s<=3"]) == 1
    assert "no value does" in capsys.readouterr().out


def test_explanations_carry_their_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask([*MM1, "--explain"], capsys)
    assert found["explanation"][0]["formula"] == "L = ρ/(1 - ρ)"
    assert found["explanation"][0]["value"] == pytest.approx(found["result"][0]["mean_number"])
    assert ask(["queue", "M/D/2", "--rate", "1", "--service", "1", "--explain"], capsys)["explanation"] == []


def test_a_sweep_has_a_row_for_each_rate_and_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, table = tmp_path / "a.svg", tmp_path / "a.csv"
    grid = ["--min-rate", "0.5", "--max-rate", "1.5", "--points", "3", "--percentiles", "99"]
    line = ["queue", "M/M/1", "--service-rate", "1", *grid, "--plot", str(picture)]
    assert main([*line, "--format", "csv", "--out", str(table)]) == 0
    assert picture.read_text(encoding="utf-8").count("<svg") == 1
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert [row["rate_rps"] for row in rows] == ["0.5", "1.0", "1.5"]
    assert float(rows[0]["mean_response_s"]) == 2.0
    assert rows[2]["mean_response_s"] == ""
    assert "not below 1" in rows[2]["unstable"]
    capsys.readouterr()
    assert main([*line[:-2], "--rate", "0.8"]) == 0
    shown = capsys.readouterr()
    assert "no steady state: rate_rps=1 is not below 1" in shown.out
    assert shown.err == "sched-sim: note: --rate is not used: there is a row for each of several rates\n"


def test_the_list_has_every_model_with_what_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(["queue", "--list"], capsys)
    rows = {row["name"]: row for row in found["result"]}
    assert list(rows) == [model.name for model in kendall_models()]
    assert all(row["takes"] and row["exactness"] for row in rows.values())
    assert all(row["laws"] or row["means"] or row["numbers"] for row in rows.values())
    assert {"wait", "response", "number"} <= set(rows["M/G/1"]["laws"])
    assert rows["GI/G/1"]["means"] == ["wait", "response", "number"]
    assert found["parameters"]["rate_rps"]["unit"] == "req/s"
    assert main(["queue", "M/M/c/K", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "M/M/c/K" in shown
    assert "capacity: customers that can be present" in shown


@pytest.mark.parametrize("rate", ["1e-9", "1e9"])
def test_far_rates_are_answered(rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    mean = str(0.8 / float(rate))
    line = ["queue", "M/G/1", "--rate", rate, "--service", f"lognormal(mean={mean},cv=1.5)"]
    row = ask(line, capsys)["result"][0]
    assert row["mean_wait_s"] * float(rate) == pytest.approx(6.5 * 0.8, rel=1e-9)
    assert row["p99_wait_s"] * float(rate) == pytest.approx(42.984235086572234 * 0.8, rel=1e-6)


def test_help_needs_neither_numpy_nor_scipy() -> None:
    for line in (["--help"], ["queue", "--help"]):
        code = (
            f"import sys; from validation.cli.app import main; main({line!r}); "
            "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'sympy', 'matplotlib')))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "queue" in done.stdout


@pytest.fixture(name="mine")
def _mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_queue.py").write_text(MINE[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield
    for model in kendall_models():
        if model.name == "M/M/1-batchy":
            unregister(model.name)


def shown_by(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    name, *line = shlex.split(command)
    assert name == "sched-sim"
    main(line)
    shown = capsys.readouterr()
    return shown.out + shown.err


@pytest.mark.parametrize(("command", "output"), BLOCKS, ids=[block[0][:70] for block in BLOCKS])
@pytest.mark.usefixtures("mine")
def test_the_page_shows_what_the_commands_print(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = shown_by(command, capsys)
    if output.endswith("...\n"):
        assert shown.startswith(output[:-4])
    else:
        assert shown == output


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 8
    assert len(MINE) == 1


def rewrite() -> None:
    """Put what the commands print now into the page."""

    def printed(block: re.Match[str]) -> str:
        text, before = io.StringIO(), block[2]
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            main(shlex.split(block[1])[1:])
        lines = text.getvalue().splitlines(keepends=True)
        cut = [*lines[: before.count("\n") - 1], "...\n"] if before.endswith("...\n") else lines
        return f"```console\n$ {block[1]}\n{''.join(cut)}```"

    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("my_queue.py").write_text(MINE[0], encoding="utf-8")
        page = re.sub(r"^```console\n\$ (.*?)\n(.*?)^```$", printed, page, flags=re.M | re.S)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
