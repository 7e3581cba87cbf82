"""An accelerator from measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import shaped
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Roofline, StepLoad
from validation.calibrate import calibrate
from validation.calibrate.server import OUTSIDE, Server
from validation.cli.app import main
from validation.readers import BenchPoint

H100 = Scenario(hardware="h100", model="llama-3.1-8b")
PLANTED = {"mfu_frac": 0.65, "mbu_frac": 0.85, "attention_mbu_frac": 0.75, "overhead_per_step_s": 2e-3}
LOADS = [(2, 0, 1000, 100), (10, 0, 1000, 100), (None, 1, 100, 100), (None, 48, 4000, 150), (5, 0, 4000, 10)]


def _bench(path: Path, **other: float) -> Path:
    server, runs, n = Server.of(H100, shaped(find_hardware("h100"))), [], 100
    values = PLANTED | {"link_frac": 0.7, "overhead_per_layer_s": 51e-6, OUTSIDE: 0.012}
    for place, (rate, cap, prompt, output) in enumerate(LOADS):
        point = BenchPoint(
            where="",
            tool="",
            rate_rps=rate,
            in_flight=cap,
            n_completed=n,
            prompt_tokens=prompt,
            output_tokens=output,
        )
        got = server.point(point, values, seed=900 + place)
        runs.append(
            {
                "num_prompts": n,
                "completed": n,
                "duration": n / got["throughput_rps"],
                "total_input_tokens": n * prompt,
                "total_output_tokens": n * output,
                "request_rate": "inf" if rate is None else rate,
                "max_concurrency": cap or None,
                "request_throughput": got["throughput_rps"],
                "mean_ttft_ms": 1e3 * got["ttft_s"],
                "mean_tpot_ms": 1e3 * got["tpot_s"],
            }
            | other
        )
    path.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_planted_efficiencies_come_back_within_their_intervals(tmp_path: Path) -> None:
    found = calibrate([_bench(tmp_path / "bench.json")], H100)
    for name, value in PLANTED.items():
        low, high = found.interval(name)
        assert low <= value <= high, name


def test_nonsense_is_refused_with_its_reason(tmp_path: Path) -> None:
    cases = {
        "fewer tokens than requests": {"total_output_tokens": 50},
        "shorter than reading the weights": {"mean_tpot_ms": 1.0},
        "requests failed": {"num_prompts": 200},
    }
    for told, other in cases.items():
        with pytest.raises(ConfigError, match=told):
            calibrate([_bench(tmp_path / "bench.json", **other)], H100)


def test_ttft_that_falls_with_the_load_is_refused(tmp_path: Path) -> None:
    head = "isl,osl,concurrency,silicon_ttft_ms,silicon_tpot_ms"
    table = tmp_path / "points.csv"
    table.write_text(f"{head}\n1024,256,8,318,8\n1024,256,32,160,9\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match="TTFT falls with the load, from 318 ms at 8 in flight to 160 ms at 32"
    ):
        calibrate([table], H100)


def test_ttft_that_falls_is_seen_where_lengths_were_drawn_and_only_medians_are_given(tmp_path: Path) -> None:
    runs = [
        {"num_prompts": 100, "completed": 100, "duration": 60, "total_input_tokens": prompts * 100}
        | {"total_output_tokens": 10_000, "request_rate": rate, "median_ttft_ms": ttft, "mean_tpot_ms": 8}
        for rate, prompts, ttft in ((2, 1003, 300), (5, 996, 140))
    ]
    file = tmp_path / "bench.json"
    file.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    with pytest.raises(ConfigError, match="TTFT falls with the load, from 300 ms at 2 req/s to 140 ms at 5"):
        calibrate([file], H100)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("8192,10,1,20,8", "TTFT of 20.0 ms is shorter than computing 8192 tokens takes at peak FLOP/s"),
        ("8192,10,1,90,2", "TPOT of 2.00 ms is shorter than reading the weights takes"),
    ],
)
def test_efficiencies_above_1_are_refused_in_one_line(row: str, told: str, tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    table.write_text(f"isl,osl,concurrency,silicon_ttft_ms,silicon_tpot_ms\n{row}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=told) as caught:
        calibrate([table], H100)
    assert "\n" not in str(caught.value)


def test_more_requests_than_the_accelerator_can_compute_are_refused(tmp_path: Path) -> None:
    run = {"num_prompts": 1000, "completed": 1000, "duration": 12.5, "total_input_tokens": 4_000_000}
    run |= {"total_output_tokens": 10_000, "request_rate": "inf", "request_throughput": 80.0}
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(run | {"mean_ttft_ms": 6000, "mean_tpot_ms": 9}), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"80 req/s need 4\.\d+ times the peak FLOP/s: an efficiency above 1"
    ):
        calibrate([file], H100)


def test_prompts_of_an_engine_that_are_too_fast_are_refused(tmp_path: Path) -> None:
    lines = ["input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s"]
    lines += [f"8000,11,{i},{i},{i + 0.02},{i + 0.2}" for i in range(30)]
    file = tmp_path / "requests.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="30 of 30 requests had their first token sooner than computing"):
        calibrate([file], H100)


def _steps(path: Path, factor: float = 1.0) -> Path:
    card = replace(shaped(find_hardware("h100")), **PLANTED)  # type: ignore[arg-type]
    roofline = Roofline(hardware=card, model=Server.of(H100, card).spec.model)
    lines = ["n_decodes,decode_context_tokens,prefill_tokens,step_ms"]
    for n, context, prompt in [(1, 100, 0), (8, 8000, 0), (64, 200_000, 0), (128, 9000, 0), (0, 0, 64)] + [
        (0, 0, size) for size in (256, 1024, 4096)
    ]:
        load = StepLoad(n, context, prompt, prompt * (prompt + 1) / 2, prompt, n + (prompt > 0))
        lines.append(f"{n},{context},{prompt},{factor * 1e3 * roofline.step_s(load):.6f}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_table_of_steps_becomes_hardware_that_commands_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, card = _steps(tmp_path / "steps.csv"), tmp_path / "mine.toml"
    flags = ["--hardware", "h100", "--model", "llama-3.1-8b", "--hardware-out", str(card)]
    assert main(["calibrate", str(table), *flags]) == 0
    assert "share of peak FLOP/s" in capsys.readouterr().out
    mine = find_hardware(card)
    assert (mine.name, mine.corner_power) == ("mine", 2.0)
    for name, value in PLANTED.items():
        assert getattr(mine, name) == pytest.approx(value, rel=0.02)


def test_steps_faster_than_the_card_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = _steps(tmp_path / "steps.csv", factor=0.3)
    assert main(["calibrate", str(table), "--hardware", "h100", "--model", "llama-3.1-8b"]) == 2
    assert "efficiencies would be above 1" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--prompt", "--output"])
def test_lengths_that_cannot_be_are_told_with_their_flag(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "data" / "benchmarks" / "vllm_metrics.txt"
    flags = ["--hardware", "h100", "--model", "llama-3.1-8b", "--in-flight", "4", flag, "0"]
    assert main(["calibrate", str(page), *flags]) == 2
    assert f"{flag}: constant: value: 0 must be > 0" in capsys.readouterr().err


@pytest.mark.shared
def test_a_summary_without_prompt_lengths_asks_for_them(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = shared / "data" / "benchmarks" / "formats" / "mlperf_log_summary.txt"
    assert main(["calibrate", str(summary), "--hardware", "h100", "--model", "llama-3.1-8b"]) == 2
    assert "the lengths of the prompts are missing; give --prompt" in capsys.readouterr().err
