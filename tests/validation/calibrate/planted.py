"""Files of benchmarks on a made-up accelerator whose efficiencies are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import efficiencies_of, shaped
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import FRACTIONS, Roofline, StepLoad
from qtheory.system.workload.request import Requests
from validation.calibrate.from_served import FLOOR
from validation.calibrate.search import USUAL
from validation.calibrate.server import OUTSIDE, Server
from validation.readers import BenchPoint, EngineRun

H100 = Scenario(hardware="h100", model="llama-3.1-8b")
FITTED = ("mfu_frac", "mbu_frac", "attention_mbu_frac", "overhead_per_step_s")
OPEN = [(1.0, 0, 200, 150), (20.0, 0, 1000, 150), (4.0, 0, 4000, 10), (9.0, 0, 4000, 10)]
CLOSED = [(None, 1, 100, 150), (None, 16, 1000, 150), (None, 4, 4000, 10), (None, 48, 4000, 150)]
"""Loads of a sweep: rate, requests in flight, prompt and output."""
_CARD = shaped(find_hardware("h100"))
_STEP_ERROR = 0.02
_BLOCKS = 20  # neighbours of a run of requests that err together


def planted(rng: np.random.Generator) -> dict[str, float]:
    """Parameters as far from the usual ones as usual values are off, within what is possible."""
    values = efficiencies_of("h100", "vllm").constants()
    values |= {name: getattr(_CARD, name) for name in ("overhead_per_step_s", "overhead_per_layer_s")}
    values[OUTSIDE] = 5e-3
    for name in (*FITTED, OUTSIDE):
        middle = values[name]
        values[name] = -1.0
        while not 0 < values[name] <= (1.0 if name in FRACTIONS else np.inf):
            values[name] = float(rng.normal(middle, USUAL[name]))
    return values


def _server() -> Server:
    return Server.of(H100, _CARD)


def sweep_file(
    path: Path,
    rng: np.random.Generator,
    values: Mapping[str, float],
    loads: list[tuple[float | None, int, int, int]],
) -> Path:
    """Results of a load tool, a line a load; each quantity errs as much as the model is said to."""
    server, n, lines = _server(), 60, []
    for rate, cap, prompt, output in loads:
        point = BenchPoint(
            where="",
            tool="",
            rate_rps=rate,
            in_flight=cap,
            n_completed=n,
            prompt_tokens=prompt,
            output_tokens=output,
        )
        got = server.point(point, values, seed=int(rng.integers(10**6, 10**9)))
        ttft_s, tpot_s, rps = (
            got[name] * np.exp(rng.normal(0, FLOOR[name.partition("_")[0]]))
            for name in ("ttft_s", "tpot_s", "throughput_rps")
        )
        run = {"num_prompts": n, "completed": n, "duration": n / rps, "request_throughput": rps}
        run |= {"total_input_tokens": n * prompt, "total_output_tokens": n * output}
        run |= {"request_rate": "inf" if rate is None else rate, "max_concurrency": cap or None}
        lines.append(json.dumps(run | {"mean_ttft_ms": 1e3 * ttft_s, "mean_tpot_ms": 1e3 * tpot_s}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def requests_file(path: Path, rng: np.random.Generator, values: Mapping[str, float]) -> Path:
    """Requests of an engine; blocks of neighbours err together, as much as the model is said to."""
    n = 120
    asked = Requests(
        arrival_s=np.cumsum(rng.exponential(1 / 9, n)),
        prompt_tokens=np.maximum(1, rng.lognormal(6.3, 1.0, n)).astype(int),
        output_tokens=np.maximum(2, rng.lognormal(5.0, 0.7, n)).astype(int),
    )
    run = EngineRun(
        where="",
        arrival_s=asked.arrival_s,
        scheduled_s=asked.arrival_s,
        first_token_s=asked.arrival_s,
        last_token_s=asked.arrival_s,
        prompt_tokens=asked.prompt_tokens,
        output_tokens=asked.output_tokens,
    )
    seen = _server().run(run, values, seed=int(rng.integers(10**6, 10**9)))
    block = np.arange(n) * _BLOCKS // n
    prefill_s = seen["prefill_s"] * np.exp(rng.normal(0, FLOOR["prefill"], _BLOCKS))[block]
    tpot_s = seen["tpot_s"] * np.exp(rng.normal(0, FLOOR["tpot"], _BLOCKS))[block]
    first_s = asked.arrival_s + prefill_s
    last_s = first_s + tpot_s * (asked.output_tokens - 1)
    last_s[np.argmax(last_s)] = max(float(seen["end_s"][0]), float(first_s.max()))
    columns = [asked.prompt_tokens, asked.output_tokens, asked.arrival_s, asked.arrival_s, first_s, last_s]
    lines = ["input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s"]
    lines += [",".join(map(repr, row)) for row in zip(*(column.tolist() for column in columns), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def steps_file(path: Path, rng: np.random.Generator, values: Mapping[str, float]) -> Path:
    """Steps of decodes, of prompts and of both, each off by 2 %."""
    card = replace(_CARD, **{name: value for name, value in values.items() if name != OUTSIDE})  # type: ignore[arg-type]
    roofline = Roofline(hardware=card, model=_server().spec.model)
    loads = [(1, 100, 0), (4, 4000, 0), (16, 32_000, 0), (64, 64_000, 0), (64, 200_000, 0), (128, 9000, 0)]
    loads += [(128, 300_000, 0), (256, 256_000, 0), *((0, 0, 2**k) for k in range(6, 14))]
    loads += [(8, 8000, 512), (32, 64_000, 1024), (64, 64_000, 2048), (16, 16_000, 256)]
    lines = ["n_decodes,decode_context_tokens,prefill_tokens,step_ms"]
    for n, context, prompt in loads:
        load = StepLoad(n, context, prompt, prompt * (prompt + 1) / 2, prompt, n + (prompt > 0))
        took_s = float(roofline.step_s(load) * np.exp(rng.normal(0, _STEP_ERROR)))
        lines.append(f"{n},{context},{prompt},{1e3 * took_s!r}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
