"""What load tools count otherwise than others, put right or said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.validation.readers.formats import edited, outcome, scaled_table, text_of
from validation.readers import BenchPoint


def read(place: Path, text: str) -> list[BenchPoint]:
    found = outcome(place / "result.dat", text)
    assert isinstance(found, list), found
    return found


def one(place: Path, name: str) -> BenchPoint:
    return read(place, text_of(name))[0]


def told(point: BenchPoint, words: str) -> bool:
    return any(words in note for note in point.notes)


def test_tpot_is_per_request_and_itl_per_gap(tmp_path: Path) -> None:
    point = one(tmp_path, "vllm_bench_serve.json")
    assert point.tpot_s["mean"] == pytest.approx(0.10653889521346393)
    assert point.itl_s["mean"] == pytest.approx(0.09948882072751353)


def test_guidellm_counts_the_first_token_in_its_time_per_output_token(tmp_path: Path) -> None:
    text = text_of("guidellm_report_v2.json")
    parts = json.loads(text)["benchmarks"][0]["metrics"]
    own = parts["time_per_output_token_ms"]["successful"]["mean"] / 1e3
    (point,) = read(tmp_path, text)
    assert point.tpot_s["mean"] * 7 + point.ttft_s["mean"] == pytest.approx(8 * own, rel=1e-6)
    assert told(point, "first token in it")


@pytest.mark.parametrize("name", ["llmperf_summary.json", "llmperf_individual.json"])
def test_llmperf_has_the_first_token_in_its_inter_token_latency(name: str, tmp_path: Path) -> None:
    point = one(tmp_path, name)
    tokens = point.output_tokens
    assert point.tpot_s["mean"] * (tokens - 1) + point.ttft_s["mean"] == pytest.approx(
        point.e2e_s["mean"], rel=1e-6
    )
    assert point.itl_s == {}
    assert told(point, "first token in it")


def test_llmperf_says_by_number_what_its_summary_holds(tmp_path: Path) -> None:
    point = one(tmp_path, "llmperf_summary.json")
    assert (point.load, point.in_flight, point.n_completed) == ("closed", 5, 150)
    assert (point.prompt_tokens, point.output_tokens) == pytest.approx((550, 150.513333))
    assert point.ttft_s["p99"] == pytest.approx(0.9514515243999448)


def test_genai_perf_gives_milliseconds_and_does_not_say_the_load(tmp_path: Path) -> None:
    point = one(tmp_path, "genai_perf_profile_export.csv")
    assert (point.ttft_s["mean"], point.tpot_s["mean"], point.e2e_s["p99"]) == (0.008, 0.011, 0.00598)
    assert (point.in_flight, point.rate_rps, point.throughput_rps) == (0, None, 123)
    assert told(point, "give --in-flight or --sent-rate")


def test_genai_perf_analyze_is_a_point_a_row(tmp_path: Path) -> None:
    first, *_, last = read(tmp_path, text_of("genai_perf_analyze.csv"))
    assert (first.in_flight, first.prompt_tokens, last.ttft_s) == (1, 201, {"p99": 0.08202})
    assert first.output_tokens == pytest.approx(149.63 / 1.32)


def test_aiperf_leaves_out_who_was_cancelled_and_counts_it(tmp_path: Path) -> None:
    point = one(tmp_path, "aiperf_profile_export.jsonl")
    assert (point.n_completed, point.n_failed) == (1, 1)
    assert point.e2e_s["mean"] == pytest.approx(0.297525228)


def test_aiperf_warm_up_does_not_count(tmp_path: Path) -> None:
    def warm(lines: Any) -> Any:
        lines[1]["metadata"]["benchmark_phase"] = "warmup"
        return lines

    (point,) = read(tmp_path, edited(text_of("aiperf_profile_export.jsonl"), warm))
    assert point.n_failed == 0


def test_aiperf_units_stand_beside_the_values(tmp_path: Path) -> None:
    def in_seconds(lines: Any) -> Any:
        lines[0]["metrics"]["request_latency"] = {"value": 0.297525228, "unit": "s"}
        return lines

    text = edited(text_of("aiperf_profile_export.jsonl"), in_seconds)
    assert read(tmp_path, text)[0].e2e_s["mean"] == pytest.approx(0.297525228)
    wrong = outcome(tmp_path / "result.dat", text.replace('"unit": "s"', '"unit": "min"'))
    assert wrong == "FILE: request_latency: unit: 'min' is none of ns, us, ms, s, sec"


def test_mlperf_is_in_nanoseconds_at_the_rate_that_was_scheduled(tmp_path: Path) -> None:
    point = one(tmp_path, "mlperf_log_summary.txt")
    assert (point.load, point.rate_rps, point.throughput_rps) == ("open", 101.25, 100.35)
    assert point.ttft_s["mean"] == pytest.approx(0.198269106)
    assert point.output_tokens == pytest.approx(29228.22 / 100.35)
    assert told(point, "give --prompt")


def test_an_invalid_mlperf_result_is_named_so(tmp_path: Path) -> None:
    (point,) = read(tmp_path, text_of("mlperf_log_summary.txt").replace(": VALID", ": INVALID"))
    assert told(point, "INVALID")


def test_multi_round_prompts_are_warm_and_their_time_begins_at_the_first_token(tmp_path: Path) -> None:
    point = one(tmp_path, "multi_round_qa.csv")
    times = [1.2561883926391602, 4.029474496841431, 1.252697467803955, 1.6497588157653809]
    times += [4.479228973388672, 1.245723009109497, 1.2678453922271729]
    assert point.tpot_s["mean"] == pytest.approx(sum(times) / 7 / 99)
    assert told(point, "a prefix cache has most of them")


def test_sglang_takes_the_tokens_that_were_made_not_those_counted_again(tmp_path: Path) -> None:
    point = one(tmp_path, "sglang_bench_serving.jsonl")
    assert point.output_tokens == 160347 / 300
    assert point.tpot_s["mean"] == pytest.approx((7.840616 - 0.085746) / (160347 / 300 - 1), rel=1e-5)


def test_inference_perf_halves_tokens_counts_text_again_and_rescales_random_gaps(tmp_path: Path) -> None:
    point = one(tmp_path, "inference_perf_stage_lifecycle_metrics.json")
    assert point.tpot_s["mean"] > 2 * 0.0075
    assert point.arrival_cv == 1.0
    assert told(point, "two stream chunks a token")
    assert told(point, "counted its text again")
    assert told(point, "random gaps, scaled to the stage")


def test_a_client_at_its_limit_is_named(tmp_path: Path) -> None:
    def slower(data: Any) -> Any:
        data["load_summary"]["requested_rate"] = 183.0
        return data

    text = edited(text_of("inference_perf_stage_lifecycle_metrics.json"), slower)
    (point,) = read(tmp_path, text)
    assert point.rate_rps == pytest.approx(92.22409851829183)
    assert told(point, "its own limit, not the server's")


def test_a_sweep_of_that_tool_is_put_right_row_by_row(tmp_path: Path) -> None:
    rows = read(tmp_path, text_of("sweep.csv"))
    assert {row.arrival_cv for row in rows} == {1.0}
    assert {row.output_tokens for row in rows} == {64.0}
    assert rows[0].tpot_s["mean"] == pytest.approx(0.00713262)
    assert [told(row, "its own limit") for row in rows] == [False] * 4 + [True] * 3
    assert all(told(row, "counted its text again") and told(row, "two stream chunks") for row in rows)


def test_even_gaps_of_other_tools_stay_even(tmp_path: Path) -> None:
    text = scaled_table(text_of("sweep.csv"), "tpot_mean", 2.0)
    assert {row.arrival_cv for row in read(tmp_path, text)} == {0.0}


def failed(name: str) -> str:
    """The file, of a run in which nothing was served."""
    text = text_of(name)

    def change(data: Any) -> Any:
        for run in data if isinstance(data, list) else [data]:
            for key, value in (("completed", 0), ("results_num_completed_requests", 0), ("error_code", 500)):
                if key in run:
                    run[key] = value
            if "successes" in run:
                run["successes"]["count"] = 0
            if "metadata" in run and "metrics" in run:
                run["error"] = {"code": 500}
            for part in run.get("benchmarks", ()):
                part["metrics"]["request_totals"] |= {"successful": 0, "errored": 2}
        return data

    if name.endswith((".json", ".jsonl")):
        return edited(text, change)
    if name == "mlperf_log_summary.txt":
        return text.replace("per second    : 100.35", "per second    : 0").replace("29228.22", "0")
    if name == "vllm_metrics.txt":
        return text.replace("_count{", "_count{", 1).replace("} 200.0", "} 0.0")
    if name == "genai_perf_profile_export.csv":
        return text.replace("(count),3.00", "(count),0.00")
    if name == "genai_perf_analyze.csv":
        return text.replace("149.63,1.32", "0,0")
    head, _, _ = text.partition("\n")
    return f"{head}\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("vllm_bench_serve.json", "no request was"),
        ("sglang_bench_serving.jsonl", "completed: 0 must be >= 1"),
        ("guidellm_report_v2.json", "successful: 0 must be >= 1"),
        ("inference_perf_stage_lifecycle_metrics.json", "count: 0 must be >= 1"),
        ("llmperf_summary.json", "results_num_completed_requests: 0 must be >= 1"),
        ("llmperf_individual.json", "none of 3 requests completed"),
        ("aiperf_profile_export.jsonl", "none of 2 requests completed"),
        ("mlperf_log_summary.txt", "missing"),
        ("vllm_metrics.txt", "counts nothing"),
        ("genai_perf_profile_export.csv", "Request Count (count): 0 must be >= 1"),
        ("genai_perf_analyze.csv", "Request Throughput"),
        ("multi_round_qa.csv", "no rows"),
        ("sweep.csv", "no rows"),
        ("engine_requests.csv", "no rows"),
    ],
)
def test_a_run_in_which_nothing_was_served_is_refused(name: str, said: str, tmp_path: Path) -> None:
    found = outcome(tmp_path / "result.dat", failed(name))
    assert isinstance(found, str)
    assert said in found


def test_some_failures_are_counted(tmp_path: Path) -> None:
    text = text_of("vllm_bench_serve.json").replace('"completed": 1000', '"completed": 900')
    assert read(tmp_path, text)[0].n_failed == 100
    text = edited(text_of("llmperf_individual.json"), lambda data: [data[0] | {"error_code": 429}, *data[1:]])
    assert read(tmp_path, text)[0].n_failed == 1
    head, *rows = text_of("sweep.csv").splitlines()
    at = head.split(",").index("failed")
    cells = rows[0].split(",")
    cells[at] = "7"
    assert read(tmp_path, f"{head}\n{','.join(cells)}\n")[0].n_failed == 7
