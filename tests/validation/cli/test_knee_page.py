"""`sched-sim knee --report`: one file that says what the table says, and how it is made again."""

from __future__ import annotations

import html
import json
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from validation.cli.app import main

CARD = ["knee", "--hardware", "rtx3050", "--workload", "rag", "--tier", "closed"]
Captured = pytest.CaptureFixture[str]


def page_of(line: list[str], path: Path) -> str:
    assert main([*line, "--report", str(path), "-q"]) == 0
    return path.read_text(encoding="utf-8")


def asked(line: list[str], capsys: Captured) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*line, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_first_line_is_the_largest_knee_and_the_second_how_sure_it_is(
    tmp_path: Path, capsys: Captured
) -> None:
    line = [*CARD, "--schedulers", "static,chunked"]
    shown = page_of(line, tmp_path / "knee.html")
    rates = {row["scheduler"]: row["knee_rps"] for row in asked(line, capsys)["result"]}
    assert rates["chunked"] > rates["static"]
    first, second = re.findall(r"<p>(.*?)</p>", shown.split('class="answer"')[1])[:2]
    assert first == (
        f"chunked takes {rates['chunked']:.4g} requests/s with 90 % of them good, the most of 2 schedulers."
    )
    assert second.startswith("Predicted (theory, closed)")


def test_formulas_stand_in_the_page_with_the_numbers_of_explain(tmp_path: Path, capsys: Captured) -> None:
    line = [*CARD, "--schedulers", "chunked"]
    shown = html.unescape(page_of(line, tmp_path / "knee.html"))
    said = asked([*line, "--explain"], capsys)["explained"]["chunked"]
    assert said["formulas"]
    for entry in said["formulas"]:
        assert all(entry[part] in shown for part in ("what", "formula", "numbers"))
    for move in said["moves"]:
        assert f"<td>{move['what']}</td>" in shown


def test_a_page_is_asked_for_without_changing_what_else_is_said(tmp_path: Path, capsys: Captured) -> None:
    line = [*CARD, "--schedulers", "chunked", "--format", "json"]
    assert main(line) == 0
    without = capsys.readouterr().out
    assert main([*line, "--report", str(tmp_path / "knee.html")]) == 0
    assert capsys.readouterr().out == without


def test_the_command_in_the_page_makes_it_again(tmp_path: Path) -> None:
    path = tmp_path / "knee & load.html"
    first = page_of([*CARD, "--schedulers", "chunked", "--prompt", "lognormal(mean=500,cv=1)"], path)
    (said,) = re.findall(r"<h2>Made by</h2>\n<pre>(.*?)</pre>", first, re.S)
    program, *words = shlex.split(html.unescape(said))
    assert program == "sched-sim"
    assert main([*words, "--force"]) == 0
    again = path.read_text(encoding="utf-8")
    assert again.replace(" --force", "") == first


def test_a_simulated_knee_shows_its_interval_and_a_file_its_fingerprint(tmp_path: Path) -> None:
    trace = tmp_path / "a<i>&b$\\frac$.csv"
    rows = "".join(f"{0.8 * i:.1f},4000,{5 + i % 7}\n" for i in range(24))
    trace.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    line = [*CARD[:3], "--trace", str(trace), "--schedulers", "chunked", "--ttft-slo-s", "1"]
    shown = page_of(line, tmp_path / "trace.html")
    assert "Simulated; all runs are alike, so there is no interval." in shown
    assert "<i>" not in shown
    assert re.search(r"a&lt;i&gt;&amp;b\$\\frac\$\.csv: SHA-256 [0-9a-f]{64}<", shown)
    fair = [*CARD, "--schedulers", "fair", "--requests", "24", "--precision", "0.5"]
    assert re.search(
        r"Simulated: [\d.]+ ±[\d.]+ req/s at 95 %, with [\d,]+ requests", page_of(fair, tmp_path / "f.html")
    )


def test_every_file_that_was_read_has_a_fingerprint_and_the_page_itself_has_none(tmp_path: Path) -> None:
    lengths, said, page = (tmp_path / name for name in ("lengths.csv", "case.toml", "knee.html"))
    lengths.write_text("prompt_tokens,output_tokens\n100,20\n200,10\n")
    said.write_text(f'hardware = "rtx3050"\nlengths = "{lengths}"\n')
    page.write_text("an older page")
    line = ["knee", "--scenario", str(said), "--schedulers", "chunked", "--tier", "closed", "--force"]
    shown = page_of(line, page)
    found = re.findall(r'<p class="mute">(.*?): SHA-256 ([0-9a-f]+)</p>', shown)
    assert dict(found) == {str(file): sha256(file.read_bytes()).hexdigest() for file in (lengths, said)}


def test_a_name_with_any_byte_in_it_can_be_that_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "a\udcff.html"
    assert main([*CARD, "--schedulers", "chunked", "--report", str(path), "-q"]) == 0
    assert r"a\udcff.html" in path.read_text(encoding="utf-8")


def test_a_share_that_no_rate_has_is_said_and_there_is_a_page(tmp_path: Path) -> None:
    line = [*CARD, "--schedulers", "chunked", "--ttft-slo-s", "0.0001"]
    assert "No rate has 90 % of all requests good, with chunked." in page_of(line, tmp_path / "never.html")


def test_a_page_that_exists_is_kept_and_one_of_another_kind_is_refused(
    tmp_path: Path, capsys: Captured
) -> None:
    there = tmp_path / "knee.html"
    there.write_text("precious")
    assert main([*CARD, "--report", str(there)]) == 2
    assert "--report" in capsys.readouterr().err
    assert there.read_text() == "precious"
    assert main([*CARD, "--report", "knee.png"]) == 2
    assert capsys.readouterr().err == "sched-sim: --report: knee.png must end in .html: a page is written\n"
    assert main([*CARD, "--report", str(tmp_path / "b.html"), "--plot", str(tmp_path / "no" / "b.png")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["knee.html"]
