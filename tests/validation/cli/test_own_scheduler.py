"""A person's own scheduler on the command line: where it may stand, and that a bad one leaves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from validation.cli.app import main

FILE = """
class Mine:
    def __init__(self, sign=1):
        self.sign = sign

    def key(self, job):
        return (self.sign * job.prompt_tokens, job.position)


class Late:
    def key(self, job):
        return (1 / (job.position - 15),)


def forgot():
    pass
"""
SMALL = ["--hardware", "rtx3050", "--requests", "20", "--replications", "2", "-q"]


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    code = main([*words, *SMALL, "--format", "json"])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return list(json.loads(shown.out)["result"])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_it_stands_where_names_stand(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "rules/mine.py:Mine(sign=-1)"
    found = rows(["compare", "--schedulers", f"chunked,{name}", "--jobs", jobs], capsys)
    assert [row["scheduler"] for row in found] == ["chunked", name]
    alone = rows(["run", "--scheduler", name, "--jobs", jobs], capsys)
    assert alone[0]["mean_ttft_s"] == found[1]["mean_ttft_s"]
    swept = rows(["sweep", "--schedulers", name, "--rates", "2,4", "--jobs", jobs], capsys)
    assert [row["rate_rps"] for row in swept] == [2.0, 4.0]


def test_a_scenario_file_names_one_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules" / "case.toml").write_text('scheduler = "mine.py:Mine"\n', encoding="utf-8")
    [row] = rows(["run", "--scenario", "rules/case.toml", "--jobs", "1"], capsys)
    assert row["scheduler"] == "rules/mine.py:Mine"


def test_budget_and_slots_are_those_of_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--scheduler", "rules/mine.py:Mine", "--jobs", "1", "--budget-tokens", "300"]
    [row] = rows(words, capsys)
    assert row["budget_tokens"] == 300


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Late", "policy 'rules/mine.py:Late': key at request 15 raised ZeroDivisionError"),
        ("forgot", "rules/mine.py:forgot: returns nothing"),
        ("Mein", "has no 'Mein' (did you mean 'Mine'?)"),
    ],
)
def test_a_bad_one_ends_in_one_line_and_leaves_no_file(
    name: str, said: str, jobs: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    files = ["--out", "a.json", "--trace-out", "b.json", "--records-out", "c.csv", "--plot", "d.png"]
    code = main(["run", "--scheduler", f"rules/mine.py:{name}", "--jobs", jobs, *files, *SMALL])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert said in shown.err
    assert sorted(folder.rglob("*")) == before


def test_what_was_finished_before_a_bad_one_is_kept_and_not_taken_for_another(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "rules/mine.py:Mine,rules/mine.py:Late"
    words = ["compare", "--schedulers", names, "--jobs", "1", "--out", "a.json", *SMALL]
    assert main(words) == 2
    kept = folder / "a.json.partial"
    assert kept.read_text(encoding="utf-8").count("\n") == 1
    mended = FILE.replace("1 / (job.position - 15)", "job.position")
    (folder / "rules" / "mine.py").write_text(mended, encoding="utf-8")
    assert main([*words, "--resume"]) == 2
    assert "is of another scenario" in capsys.readouterr().err


def test_the_file_of_a_policy_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--scheduler", "rules/mine.py:Mine", "--out", "rules/mine.py", "--force", *SMALL]
    assert main(words) == 2
    assert "is read by this command" in capsys.readouterr().err
