"""The metrics page of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validation.readers.formats import outcome, text_of
from validation.cli.app import main
from validation.readers import BenchPoint
from validation.readers.exposition import Histogram, Scrape

PAGE = text_of("vllm_metrics.txt")


def read(place: Path, text: str) -> BenchPoint:
    found = outcome(place / "metrics", text)
    assert isinstance(found, list), found
    return found[0]


def test_means_are_sums_by_counts(tmp_path: Path) -> None:
    point = read(tmp_path, PAGE)
    assert (point.n_completed, point.n_failed) == (200, 3)
    assert (point.prompt_tokens, point.output_tokens) == (143751 / 200, 21474 / 200)
    assert point.ttft_s["mean"] == pytest.approx(0.118499)


def test_outputs_of_one_token_are_taken_out_of_the_time_per_token(tmp_path: Path) -> None:
    page = Scrape.of(PAGE, "page", prefix="vllm:")
    seen = page.histogram("vllm:request_time_per_output_token_seconds")
    assert seen is not None
    assert read(tmp_path, PAGE).tpot_s["mean"] == pytest.approx(seen.total / (200 - 10))


@pytest.mark.parametrize("name", ["inter_token_latency", "time_per_output_token"])
def test_what_counts_a_gap_an_entry_is_itl_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    lines = [line for line in PAGE.splitlines() if "request_time_per_output_token" not in line]
    page = "\n".join(lines).replace("vllm:inter_token_latency", f"vllm:{name}") + "\n"
    point = read(tmp_path, page)
    assert point.itl_s["mean"] == pytest.approx(0.01296068)
    assert point.tpot_s["mean"] == pytest.approx((1.4971269 - 0.118499) / (107.37 - 1))
    assert any("means of E2E and TTFT" in note for note in point.notes)


def test_two_pages_in_one_file_give_what_came_between(tmp_path: Path) -> None:
    before = "\n".join(
        f"{line.rpartition(' ')[0]} {float(line.rpartition(' ')[2]) / 4}"
        if line.startswith("vllm:")
        else line
        for line in PAGE.splitlines()
    )
    point = read(tmp_path, f"{before}\n{PAGE}")
    assert point.n_completed == 150
    assert point.ttft_s == pytest.approx(read(tmp_path, PAGE).ttft_s)
    assert not any("since the server began" in note for note in point.notes)


def test_a_server_that_began_anew_between_the_pages_is_refused(tmp_path: Path) -> None:
    later = PAGE.replace("} 200.0", "} 20.0")
    found = outcome(tmp_path / "metrics", PAGE + later)
    assert isinstance(found, str)
    assert "the server began anew between the pages" in found


def test_a_warm_cache_is_named(tmp_path: Path) -> None:
    lines = [
        line.replace(" 0.0", " 71875.5") if line.startswith("vllm:prefix_cache_hits") else line
        for line in PAGE.splitlines()
    ]
    point = read(tmp_path, "\n".join(lines) + "\n")
    assert any("a prefix cache had 50% of the prompt tokens" in note for note in point.notes)


def test_what_another_program_says_on_the_page_is_named(tmp_path: Path) -> None:
    said = read(tmp_path, f"{PAGE}sglang:num_running_reqs 4.0\nnv_power 9\n").notes
    assert "passed over: 2 names that do not begin with vllm:, such as sglang:num_running_reqs" in said
    assert not any("passed over" in note for note in read(tmp_path, PAGE).notes)


def test_a_line_that_is_no_sample_is_refused_whatever_it_begins_with(tmp_path: Path) -> None:
    n_lines = PAGE.count("\n")
    found = outcome(tmp_path / "metrics", f"{PAGE}num running reqs 4.0\n")
    assert isinstance(found, str)
    assert f"line {n_lines + 1}: 'num running reqs 4.0' is no sample" in found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "vllm:time_to_first_token_seconds",
            "vllm:time_to_first_tokens_seconds",
            "did you mean 'vllm:time_to_first",
        ),
        ("vllm:request_prompt_tokens", "vllm:prompts", "vllm:request_prompt_tokens: missing"),
        ("e2e_request_latency_seconds_sum", "e2e_request_latency_seconds_total", "_sum: missing"),
        ('engine="0",model_name="example/model-8b"} 200', 'engine="0" 200', "is no sample"),
        ('le="0.3"', 'le="low"', "le: 'low' is not a number"),
        (
            "e2e_request_latency_seconds_count{",
            'e2e_request_latency_seconds_count{x="y"} NaN\nvllm:e2e_request_latency_seconds_count{',
            "e2e_request_latency_seconds: its sum or count is not a finite number",
        ),
    ],
)
def test_what_is_missing_or_broken_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    found = outcome(tmp_path / "metrics", PAGE.replace(old, new))
    assert isinstance(found, str)
    assert said in found


def test_two_engines_on_one_page_are_refused(tmp_path: Path) -> None:
    found = outcome(tmp_path / "metrics", PAGE + PAGE.replace('engine="0"', 'engine="1"'))
    assert found == "FILE: engine: 0, 1 share the page; keep the lines of one of them"


def test_quantiles_run_straight_through_a_bucket_and_end_at_the_last_bound() -> None:
    seen = Histogram(count=10, total=9.0, below={1.0: 5.0, 2.0: 8.0, float("inf"): 10.0})
    assert [seen.quantile(q) for q in (0.25, 0.5, 0.65, 0.9)] == [0.5, 1.0, 1.5, None]


def test_the_command_asks_how_requests_were_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "metrics.txt"
    page.write_text(PAGE, encoding="utf-8")
    assert main(["calibrate", str(page), "--hardware", "h100", "--model", "llama-3.1-8b"]) == 2
    assert "give --in-flight N or --sent-rate R" in capsys.readouterr().err


def test_what_the_flags_say_is_not_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "metrics.txt"
    page.write_text(PAGE, encoding="utf-8")
    words = ["calibrate", str(page), "--hardware", "h100", "--model", "llama-3.1-8b", "--in-flight", "4"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "straight lines inside buckets" in shown
    assert "--sent-rate" not in shown
