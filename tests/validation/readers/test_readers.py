"""What load tools and engines write, read by content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.readers import BenchPoint, EngineRun, read_measured

VLLM = {
    "num_prompts": 10,
    "completed": 10,
    "duration": 5.0,
    "request_rate": 2.0,
    "burstiness": 0.25,
    "max_concurrency": None,
    "total_input_tokens": 1000,
    "total_output_tokens": 500,
    "request_throughput": 2.0,
    "mean_ttft_ms": 50.0,
    "mean_tpot_ms": 10.0,
}


def _points(tmp_path: Path, text: str, name: str = "result.json") -> list[BenchPoint]:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    found = read_measured(file)
    assert isinstance(found, list)
    return found


def test_vllm_results_are_seconds_and_means_per_request(tmp_path: Path) -> None:
    (point,) = _points(tmp_path, json.dumps(VLLM))
    assert (point.load, point.rate_rps, point.arrival_cv) == ("open", 2.0, 2.0)
    assert (point.prompt_tokens, point.output_tokens) == (100, 50)
    assert point.ttft_s["mean"] == pytest.approx(0.05)


def test_an_infinite_rate_with_a_cap_is_a_closed_loop(tmp_path: Path) -> None:
    (point,) = _points(tmp_path, json.dumps(VLLM | {"request_rate": "inf", "max_concurrency": 8}))
    assert (point.load, point.in_flight) == ("closed", 8)


def test_sglang_without_tpot_gets_it_from_e2e(tmp_path: Path) -> None:
    run = {name: value for name, value in VLLM.items() if not name.startswith("mean")}
    run |= {"total_output_tokens_retokenized": 499, "mean_e2e_latency_ms": 540.0, "median_ttft_ms": 50.0}
    (point,) = _points(tmp_path, json.dumps(run))
    assert point.tpot_s["mean"] == pytest.approx(0.01)


def test_halved_tpot_of_inference_perf_is_put_right(tmp_path: Path) -> None:
    latency = {
        "request_latency": {"mean": 1.0},
        "time_to_first_token": {"mean": 0.1},
        "time_per_output_token": {"mean": 0.005},
    }
    good = {"count": 5, "latency": latency, "prompt_len": {"mean": 200}, "output_len": {"mean": 91}}
    load = {"requested_rate": 5, "achieved_rate": 5}
    (point,) = _points(tmp_path, json.dumps({"load_summary": load, "successes": good}))
    assert point.tpot_s["mean"] == pytest.approx(0.01)
    assert any("two stream chunks" in note for note in point.notes)


def test_a_sweep_table_prefers_tpot_from_e2e(tmp_path: Path) -> None:
    head = "sweep_id,load,request_rate_rps,in_tok_mean,out_tok_mean,tpot_mean_ms,tpot_from_e2e_ms"
    (point,) = _points(tmp_path, f"{head}\na,open_rate,3,100,50,3.5,7\n", "sweep.csv")
    assert point.tpot_s["mean"] == pytest.approx(0.007)


def test_requests_of_an_engine_are_put_on_one_clock(tmp_path: Path) -> None:
    file = tmp_path / "requests.csv"
    head = "input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s"
    file.write_text(f"{head}\n10,5,0,1.0,1.0,1.5,2.5\n10,5,0.4,0.5,0.5,0.9,1.9\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="queued_s is up to 1 s from arrival_s"):
        read_measured(file)
    file.write_text(file.read_text().replace("1.0,1.0,1.5", "0.1,0.1,1.5"), encoding="utf-8")
    run = read_measured(file)
    assert isinstance(run, EngineRun)
    assert run.arrival_s.tolist() == pytest.approx([0.0, 0.4])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps(VLLM)[:80], "cut off"),
        (json.dumps(VLLM | {"completed": 0}), "no request was"),
        (json.dumps({k: v for k, v in VLLM.items() if k != "duration"}), "duration: missing"),
        (json.dumps(VLLM | {"duration": "long"}), "'long' is not a number"),
        ('{"a": 1}', "not a result of a known tool"),
        ("", "is empty"),
    ],
)
def test_bad_files_get_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _points(tmp_path, text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
