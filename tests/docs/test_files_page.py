"""The page on files: every example on it is read and run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from validation.cli.app import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"
EXAMPLES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S))


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name, content in EXAMPLES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code = main([*words, "--format", "json", "-q"])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return dict(json.loads(shown.out)["provenance"]["resolved"])


def test_the_page_has_one_example_of_each_kind() -> None:
    assert set(EXAMPLES) == {
        "card.toml",
        "model.toml",
        "scenario.toml",
        "shared.toml",
        "lengths.csv",
        "trace.csv",
        "steps.csv",
    }
    fences = PAGE.read_text(encoding="utf-8").count("```")
    assert fences == 2 * len(EXAMPLES)


@pytest.mark.parametrize("name", ["card.toml", "model.toml"])
def test_info_shows_what_a_file_describes(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(folder / name)]) == 0
    assert str(folder / name) in "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--step-time", "steps.csv"],
        ["--scheduler", "fcfs", "--replications", "2"],
    ],
)
def test_the_scenario_runs_with_the_files_beside_it(
    more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [str(folder / word) if word.endswith(".csv") else word for word in more]
    result = answer(["run", "--scenario", str(folder / "scenario.toml"), *more], capsys)
    assert (result["hardware"], result["model"]) == ("card", "model")


def test_the_scenario_with_structure_runs_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(["run", "--scenario", str(folder / "shared.toml")], capsys)
    assert result["prefix"] == ["shared(tokens=200)", "shared(tokens=300, n=10, zipf=0.9)"]
    assert result["prefix_cache"] == {"cache_aware(max_skip=16)": True}


@pytest.mark.parametrize(("flag", "file"), [("--lengths", "lengths.csv"), ("--trace", "trace.csv")])
def test_lengths_and_traces_run(
    flag: str, file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--hardware", str(folder / "card.toml"), "--model", str(folder / "model.toml")]
    load = [flag, str(folder / file)]
    more = ["--requests", "40"] if flag == "--lengths" else []
    assert answer([*words, *load, *more], capsys)["hardware"] == "card"
