"""Calibration on measured steps: tables of passes, of loads with their times, of prompts and decodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware
from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad, ideal_steps
from qtheory.system.steptime.fit import StepFit, fit_steps
from validation.readers.content import Content, maybe, need, whole
from validation.step_times.passes import read_passes

from .result import Met

__all__ = ["fits_steps", "steps_fit"]

_LOADS = ("n_decodes", "decode_context_tokens", "prefill_tokens")
_SPLIT = ("table", "tokens", "mean_context", "ms")
_GRID = ("system", "backend", "latency_ms")


def fits_steps(content: Content) -> bool:
    """Whether the file is a table of steps, of one of the three kinds."""
    given = set(content.columns)
    has_time = {"step_s", "step_ms"} & given
    return bool(set(_LOADS) <= given and has_time) or set(_SPLIT) <= given or set(_GRID) <= given


def steps_fit(
    contents: Sequence[Content], spec: ReplicaSpec, hardware: Hardware, prior: Mapping[str, float]
) -> tuple[StepFit, list[Met]]:
    """Efficiencies and overheads from the steps of one system.

    Parameters
    ----------
    contents : sequence of Content
        Tables, after `fits_steps`.
    spec : ReplicaSpec
        Model, tensor parallelism and precision they were measured with.
    hardware : Hardware
        The accelerator.
    prior : mapping of str to float
        Where parameters stay that the steps do not tell.
    """
    steps = [step for content in contents for step in _steps(content, spec)]
    loads, seconds = [load for _, load, _ in steps], [took for _, _, took in steps]
    ideal = ideal_steps(
        hardware,
        spec.model,
        loads,
        tp=spec.tp,
        weights=spec.roofline.weight_format,
        kv_dtype=spec.roofline.kv_dtype,
    )
    held = {"overhead_per_layer_s": hardware.overhead_per_layer_s}
    is_kernels = any(set(_GRID) <= set(content.columns) for content in contents)
    if is_kernels:
        held["overhead_per_step_s"] = 0.0  # such passes hold no time of the host
    try:
        fit = fit_steps(ideal, seconds, held=held, prior=prior)
    except ConfigError as error:
        raise ConfigError(f"{contents[0].name}: {error}") from None
    made = ideal.seconds(**fit.values)
    met = [
        Met(where=where, quantity="step_s", measured=took, model=float(model))
        for (where, _, took), model in zip(steps, np.asarray(made), strict=True)
    ]
    if spec.tp == 1:  # nothing tells the link
        fit = replace(fit, values={**fit.values, "link_frac": prior["link_frac"]})
    if is_kernels:  # the accelerator keeps its own
        host = {"overhead_per_step_s": hardware.overhead_per_step_s}
        fit = replace(fit, values={**fit.values, **host})
    return fit, met


def _steps(content: Content, spec: ReplicaSpec) -> list[tuple[str, StepLoad, float]]:
    if set(_GRID) <= set(content.columns):
        return _grid(content, spec)
    is_split = set(_SPLIT) <= set(content.columns)
    made = []
    for i, row in enumerate(content.rows(), start=2):
        where = f"{content.name}: line {i}"
        made.append((where, *(_split(row, where) if is_split else _load(row, where))))
    return made


def _load(row: dict[str, str], where: str) -> tuple[StepLoad, float]:
    n, context, prompt = (whole(row, name, where) for name in _LOADS)
    work = maybe(row, "prefill_work", where)
    read = maybe(row, "prefill_context_tokens", where)
    sampled = maybe(row, "n_sampled", where)
    seconds = maybe(row, "step_s", where)
    load = StepLoad(
        n_decodes=n,
        decode_context_tokens=context,
        prefill_tokens=prompt,
        prefill_work=prompt * (prompt + 1) / 2 if work is None else work,
        prefill_context_tokens=prompt if read is None else int(read),
        n_sampled=n + (prompt > 0) if sampled is None else int(sampled),
    )
    return load, need(row, "step_ms", where, least=1e-6) / 1e3 if seconds is None else seconds


def _split(row: dict[str, str], where: str) -> tuple[StepLoad, float]:
    """A row of the table that ``--step-time`` takes: prompts, or decodes by summed and mean context."""
    seconds, tokens = need(row, "ms", where, least=1e-6) / 1e3, whole(row, "tokens", where, least=1)
    if row["table"].strip() == "prefill":
        work = tokens * (tokens + 1) / 2
        load = StepLoad(prefill_tokens=tokens, prefill_work=work, prefill_context_tokens=tokens, n_sampled=1)
        return load, seconds
    n = max(1, round(tokens / need(row, "mean_context", where, least=1)))
    return StepLoad(n_decodes=n, decode_context_tokens=tokens, n_sampled=n), seconds


def _grid(content: Content, spec: ReplicaSpec) -> list[tuple[str, StepLoad, float]]:
    """Passes of the accelerator, model and tensor parallelism asked for; they must be of one engine."""
    passes = [
        step
        for step in read_passes(Path(content.name), text=content.text)
        if step.model == spec.model.name and step.tp == spec.tp and spec.hardware.name.startswith(step.card)
    ]
    engines = sorted({step.engine for step in passes})
    if not passes:
        raise ConfigError(
            f"{content.name}: no pass of {spec.model.name} with tp={spec.tp} on {spec.hardware.name}"
        )
    if len(engines) > 1:
        raise ConfigError(
            f"{content.name}: passes of {', '.join(engines)}; choose one, as in --where backend={engines[0]}"
        )
    return [(content.name, step.load, step.seconds) for step in passes]
