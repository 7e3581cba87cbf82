"""Measurements that cannot be what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from qtheory.basics.errors import ConfigError
from qtheory.system.replica import ReplicaSpec
from validation.readers import BenchPoint, EngineRun

__all__ = ["refuse_nonsense", "refuse_nonsense_run"]

_FALL = 0.75  # of TTFT, from one load to a higher one
_FAILED = 0.05


def refuse_nonsense(points: Sequence[BenchPoint], spec: ReplicaSpec) -> None:
    """Complain in one line about points that contradict themselves, one another or the accelerator.

    Parameters
    ----------
    points : sequence of BenchPoint
    spec : ReplicaSpec
        What they are said to be measured on.

    Raises
    ------
    ConfigError
        If there are fewer tokens than requests, many requests failed, TTFT falls while the load rises, or
        TPOT is shorter than reading the weights takes.
    """
    for point in points:
        _refuse_point(point, spec)
    groups: dict[tuple[str, int, int], list[BenchPoint]] = {}
    for point in points:
        known = point.prompt_tokens is not None and math.isfinite(point.prompt_tokens)
        lengths = (point.load, round(point.prompt_tokens or 0) if known else 0, round(point.output_tokens))
        groups.setdefault(lengths, []).append(point)
    for group in groups.values():
        _refuse_falling(group)


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
    told = sorted(((load, p) for load, p in loaded if "mean" in p.ttft_s), key=lambda pair: pair[0])
    for (low, before), (high, after) in pairwise(told):
        first, then = before.ttft_s["mean"], after.ttft_s["mean"]
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
