"""Measurements that cannot be what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from qtheory.basics.errors import ConfigError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad
from validation.readers import BenchPoint, EngineRun

__all__ = ["refuse_nonsense", "refuse_nonsense_run"]

_FALL = 0.75  # of TTFT, from one load to a higher one
_FAILED = 0.05
_SAME = 0.05
_WRONG = "wrong accelerator, model, precision or --tp, or prompts that a prefix cache had"
_COLD = f"{_WRONG} (give --prompt without them)"


def refuse_nonsense(points: Sequence[BenchPoint], spec: ReplicaSpec, *, computed: bool = True) -> None:
    """Complain in one line about points that contradict themselves, one another or the accelerator.

    Parameters
    ----------
    points : sequence of BenchPoint
    spec : ReplicaSpec
        What they are said to be measured on.
    computed : bool
        Whether the prompts are known to be computed in full: no other lengths are given for them.

    Raises
    ------
    ConfigError
        If there are fewer tokens than requests, many requests failed, TTFT falls while the load rises, TPOT
        is shorter than reading the weights takes, or TTFT or throughput would need more than the peak rate.
    """
    for point in points:
        _refuse_point(point, spec)
        if computed and math.isfinite(point.prompt_tokens):
            _refuse_computed(point, spec)
    groups: list[list[BenchPoint]] = []
    for point in points:
        group = next((group for group in groups if _alike(group[0], point)), None)
        if group is None:
            groups.append([point])
        else:
            group.append(point)
    for group in groups:
        _refuse_falling(group)


def _alike(one: BenchPoint, other: BenchPoint) -> bool:
    """Whether two points differ in their load alone: drawn lengths have not quite the same means."""
    pairs = ((one.prompt_tokens, other.prompt_tokens), (one.output_tokens, other.output_tokens))
    return one.load == other.load and all(
        (math.isnan(a) and math.isnan(b)) or abs(a - b) <= _SAME * max(a, b) for a, b in pairs
    )


def _refuse_computed(point: BenchPoint, spec: ReplicaSpec) -> None:
    """A first token has its prompt computed before it, and every request all of its tokens."""
    peak, prompt = spec.roofline.peak_flops_per_s, max(point.prompt_tokens, 1.0)
    least_s = _flops(spec, prompt) / peak
    ttft = point.ttft_s.get("mean")
    if ttft is not None and ttft < 0.98 * least_s:
        raise ConfigError(
            f"{point.where}: TTFT of {1e3 * ttft:.1f} ms is shorter than computing {prompt:.0f} tokens takes "
            f"at peak FLOP/s ({1e3 * least_s:.1f} ms): an efficiency above 1; {_COLD}"
        )
    needed = (point.throughput_rps or 0.0) * _flops(spec, prompt + max(point.output_tokens - 1, 0))
    if needed > peak / 0.98:
        raise ConfigError(
            f"{point.where}: {point.throughput_rps:.3g} req/s need {needed / peak:.2f} times the peak "
            f"FLOP/s: an efficiency above 1; several replicas, or {_COLD}"
        )


def _flops(spec: ReplicaSpec, tokens: float) -> float:
    """FLOP of that many tokens of one request: no less than those of lengths with this mean."""
    work = tokens * (tokens + 1) / 2
    load = StepLoad(
        prefill_tokens=int(tokens), prefill_work=work, prefill_context_tokens=int(tokens), n_sampled=1
    )
    return float(spec.roofline.flops(load))


def _refuse_point(point: BenchPoint, spec: ReplicaSpec) -> None:
    if point.output_tokens < 1:
        raise ConfigError(
            f"{point.where}: {point.output_tokens:.2g} output tokens a request: fewer tokens than requests; "
            "requests failed, or the tokens were counted otherwise"
        )
    if point.n_failed > _FAILED * (point.n_completed + point.n_failed):
        n = point.n_completed + point.n_failed
        raise ConfigError(f"{point.where}: {point.n_failed} of {n} requests failed; measure without failures")
    if point.load == "closed" and not point.in_flight:
        raise ConfigError(
            f"{point.where}: how requests were sent is not told; give --in-flight N or --sent-rate R"
        )
    tpot, least = point.tpot_s.get("mean", point.tpot_s.get("p50")), _least_step_s(spec)
    if tpot is not None and tpot < 0.98 * least:
        raise ConfigError(
            f"{point.where}: TPOT of {1e3 * tpot:.2f} ms is shorter than reading the weights takes "
            f"at peak bandwidth ({1e3 * least:.2f} ms): an efficiency above 1; wrong accelerator, model, "
            "precision or --tp, several replicas, or two stream chunks counted a token"
        )


def _least_step_s(spec: ReplicaSpec) -> float:
    """Seconds of reading the weights that one token meets, at peak bandwidth."""
    model = spec.model
    share = model.active_params / model.params
    weight_bytes = model.weight_bytes(spec.roofline.weight_format) * share
    embedding = 0 if model.tie_embeddings else 2 * model.head_params * share
    return (weight_bytes - embedding) / (spec.tp * spec.hardware.bandwidth_bytes_per_s)


def _refuse_falling(group: Sequence[BenchPoint]) -> None:
    loaded = [(p.rate_rps if p.rate_rps is not None else float(p.in_flight), p) for p in group]
    kind = "mean" if any("mean" in p.ttft_s for p in group) else "p50"
    told = sorted(((load, p) for load, p in loaded if kind in p.ttft_s), key=lambda pair: pair[0])
    for (low, before), (high, after) in pairwise(told):
        first, then = before.ttft_s[kind], after.ttft_s[kind]
        if high > low and then < _FALL * first:
            unit = "req/s" if before.rate_rps is not None else "in flight"
            raise ConfigError(
                f"{after.where}: TTFT falls with the load, from {1e3 * first:.0f} ms at {low:g} {unit} to "
                f"{1e3 * then:.0f} ms at {high:g}: start-up time is in it; leave the first points out, or "
                "measure them longer"
            )


def refuse_nonsense_run(run: EngineRun, spec: ReplicaSpec) -> None:
    """The same for the requests of an engine.

    Parameters
    ----------
    run : EngineRun
    spec : ReplicaSpec

    Raises
    ------
    ConfigError
        If most requests got their tokens faster than the weights can be read.
    """
    more = run.output_tokens > 1
    per_token = (run.last_token_s - run.first_token_s)[more] / (run.output_tokens[more] - 1)
    _refuse_fast_prompts(run, spec)
    if len(per_token) < 20:
        raise ConfigError(f"{run.where}: {len(per_token)} requests with more than one token; 20 are needed")
    least = _least_step_s(spec)
    too_fast = int((per_token < 0.98 * least).sum())
    if too_fast > 0.1 * len(per_token):
        raise ConfigError(
            f"{run.where}: {too_fast} of {len(per_token)} requests had less than "
            f"{1e3 * least:.2f} ms a token, the time to read the weights at peak bandwidth: "
            "an efficiency above 1; wrong accelerator, model, precision or --tp, or times in another unit"
        )


def _refuse_fast_prompts(run: EngineRun, spec: ReplicaSpec) -> None:
    peak = spec.roofline.peak_flops_per_s
    least_s = [_flops(spec, float(n)) / peak for n in run.prompt_tokens]
    too_fast = sum(
        took < 0.98 * least
        for took, least in zip((run.first_token_s - run.scheduled_s).tolist(), least_s, strict=True)
    )
    if too_fast > 0.1 * len(least_s):
        raise ConfigError(
            f"{run.where}: {too_fast} of {len(least_s)} requests had their first token sooner than computing "
            f"the prompt takes at peak FLOP/s: an efficiency above 1; {_WRONG}"
        )
