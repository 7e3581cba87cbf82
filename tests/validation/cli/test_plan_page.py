"""`sched-sim plan --report`: the fleet in the first line, the sums behind it, and how it is made again."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from validation.cli.app import main

SMALL = ["plan", "--model", "llama-3.1-8b", "--hardware", "h100,l4", "--tp", "1", "--rate", "30"]
SMALL += ["--tier", "closed"]
Captured = pytest.CaptureFixture[str]


def page_of(line: list[str], path: Path, *, code: int = 0) -> str:
    assert main([*line, "--report", str(path), "-q"]) == code
    return html.unescape(path.read_text(encoding="utf-8"))


def asked(line: list[str], capsys: Captured) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*line, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_answer_is_the_fleet_its_cost_and_how_certain_it_is(tmp_path: Path, capsys: Captured) -> None:
    shown = page_of(SMALL, tmp_path / "plan.html")
    best = asked(SMALL, capsys)["result"][0]
    first, second, *_ = re.findall(r"<p>(.*?)</p>", shown.split('class="answer"')[1])
    assert first.startswith(f"{best['n_replicas']} x (1 x h100, bf16, chunked, 2,048 tokens a step): ")
    assert f"${best['usd_per_hour']:.4g} an hour" in first
    assert re.match(r"Certainty: probability of missing it (under )?[\d.]+ %: ", second)
    assert shown.count("<svg") == 1
    assert "<script" not in shown


def test_size_and_cost_stand_as_sums_that_give_the_answer(tmp_path: Path, capsys: Captured) -> None:
    line = [*SMALL, "--headroom-frac", "0.2", "--spare", "1"]
    shown = page_of(line, tmp_path / "plan.html")
    best = asked(line, capsys)["result"][0]
    rate, more, knee, least = map(
        float, re.findall(r"([\d.]+) x \(1 \+ ([\d.]+)\) / ([\d.]+) = ([\d.]+)", shown)[0]
    )
    assert least == pytest.approx(rate * (1 + more) / knee, rel=1e-3)
    assert knee == pytest.approx(best["knee_rps"], rel=1e-3)
    n_needed, spare, total = map(int, re.findall(r"(\d+) needed \+ (\d+) spare = (\d+)", shown)[0])
    assert (n_needed, spare, total) == (int(least) + 1, 1, best["n_replicas"])
    usd, mean, good, tokens, million = map(
        float, re.findall(r"x ([\d.]+) / \(([\d.]+) x ([\d.]+) x ([\d.]+) x 3600\) = ([\d.]+)", shown)[0]
    )
    assert million == pytest.approx(1e6 * usd / (mean * good * tokens * 3600), rel=5e-3)
    assert million == pytest.approx(best["usd_per_million_good_tokens"], rel=5e-3)
    assert "limit: slots bind" in shown


def test_a_day_and_every_other_fleet_are_tables(tmp_path: Path, capsys: Captured) -> None:
    line = [*SMALL, "--arrivals", "day(peak_to_mean=1.8)"]
    shown = page_of(line, tmp_path / "day.html")
    data = asked(line, capsys)
    hours = shown.split("<h2>Hour by hour</h2>")[1].split("</table>")[0]
    assert hours.count("<tr>") == 1 + len(data["hours"])
    others = shown.split("<h2>Next best</h2>")[1].split("</table>")[0]
    assert others.count("<tr>") == sum(row["rank"] is not None for row in data["result"])


def test_without_a_fleet_the_page_says_why(tmp_path: Path) -> None:
    line = ["plan", "--model", "llama-3.1-70b", "--hardware", "l4", "--tp", "1", "--rate", "4"]
    shown = page_of(line, tmp_path / "none.html", code=1)
    assert "<p>No fleet: none of 1 candidates has 90 % good requests.</p>" in shown
    assert "does not fit" in shown
    assert "<svg" not in shown


def test_prices_stand_with_their_source_and_the_command_makes_the_page_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    first = page_of([*SMALL, "--price", "l4=0.5"], path)
    assert "price of l4: $0.5 an hour, given" in first
    assert re.search(r"price of h100: \$2.99 an hour, \w+", first)
    (said,) = re.findall(r"<h2>Made by</h2>\n<pre>(.*?)</pre>", first, re.S)
    assert main([*shlex.split(said)[1:], "--force"]) == 0
    assert html.unescape(path.read_text(encoding="utf-8")).replace(" --force", "") == first


def test_a_file_that_exists_is_kept_and_nothing_else_is_written(tmp_path: Path, capsys: Captured) -> None:
    there = tmp_path / "plan.html"
    there.write_text("precious")
    assert main([*SMALL, "--plot", str(tmp_path / "plan.svg"), "--report", str(there)]) == 2
    assert "--report" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("plan.html", "precious")]
