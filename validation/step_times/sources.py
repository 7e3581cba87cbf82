"""Passes composed from operators that others timed: Vidur's, Frontier's and LLMServingSim's tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import StepLoad

from .passes import Pass

__all__ = ["attention_share", "linear_passes", "link_share", "profiled_passes"]

Array = NDArray[np.float64]
Curves = dict[str, tuple[Array, Array]]
_MODELS = {
    "Llama-2-7b-hf": "llama-2-7b",
    "Meta-Llama-3-8B": "llama-3-8b",
    "CodeLlama-34b-Instruct-hf": "codellama-34b",
    "Llama-2-70b-hf": "llama-2-70b",
    "Meta-Llama-3-70B": "llama-3-70b",
}
"""Models of the operator tables with a preset; the others are left out."""
_OPERATORS = (
    "input_layernorm",
    "attn_pre_proj",
    "attn_rope",
    "attn_post_proj",
    "post_attention_layernorm",
    "mlp_up_proj",
    "mlp_act",
    "mlp_down_proj",
    "add",
    "add",  # the residual is added twice
)
_IN_A_LAYER = (
    "act_fn",
    "down_proj",
    "gate_up_proj",
    "o_proj",
    "qkv_proj",
    "rotary_emb",
    "layernorm",
    "layernorm",
)
_LONGEST_STEP = 2048  # tokens
_EVERY_MIXED = 75  # so that mixed steps do not outweigh prompts and decodes


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def linear_passes(paths: list[Path], card: str) -> list[Pass]:
    """Passes of all layers without attention and head, from times of the operators of one layer (Vidur)."""
    made = []
    for path in paths:
        for row in _rows(path):
            if row["model"] not in _MODELS:
                continue
            model = find_model(_MODELS[row["model"]])
            layer_ms = sum(float(row[f"{name}_ms"]) for name in _OPERATORS)
            made.append(
                Pass(
                    card=card,
                    engine="sarathi",
                    model=model.name,
                    tp=int(row["tp"]),
                    weights="bf16",
                    kind="linear",
                    load=StepLoad(n_decodes=int(row["num_tokens"])),
                    seconds=model.layers * layer_ms / 1e3,
                )
            )
    return made


def attention_share(path: Path, card: str, *, heads: int, head_dim: int) -> float:
    """Share of peak bandwidth of decode attention, from the slope in keys and values read (Frontier)."""
    rows = [row for row in _rows(path) if row["is_prefill"] == "False" and row["tp"] == "1"]
    read = np.array([float(row["batch_size"]) * float(row["kv_cache_size"]) for row in rows])
    ideal_ms = read * heads * head_dim * 2 * 2 / find_hardware(card).bandwidth_bytes_per_s * 1e3
    took_ms = np.array([float(row["attn_decode_ms"]) for row in rows])
    return 1 / _slope(ideal_ms, took_ms)


def link_share(path: Path, node: str, card: str) -> float:
    """Share of the link rate of ring all-reduces within a node, from the slope in bytes (Vidur)."""
    rate = find_hardware(card).link_bytes_per_s or 1.0
    rows = [r for r in _rows(path) if r["node"] == node and r["num_workers"] == r["devices_per_node"]]
    workers = np.array([float(row["num_workers"]) for row in rows])
    ideal_ms = 2 * (workers - 1) / workers * np.array([float(r["size_bytes"]) for r in rows]) / rate * 1e3
    return 1 / _slope(ideal_ms, np.array([float(row["all_reduce_ms"]) for row in rows]))


def _slope(ideal: Array, took: Array) -> float:
    """Slope of a straight line, least squares of relative errors."""
    scaled = np.column_stack([np.ones(len(ideal)), ideal]) / took[:, None]
    return float(np.linalg.lstsq(scaled, np.ones(len(took)), rcond=None)[0][1])


def profiled_passes(folder: Path, gpu: str, card: str) -> list[Pass]:
    """Passes of Llama-3.1-8B from profiles of its layers (LLMServingSim): decodes, prompts, some mixed."""
    dense = _by_layer(folder / f"profile_dense_{gpu}_llama-31-8b.csv", "tokens")
    ends = _by_layer(folder / f"profile_per_sequence_{gpu}_llama-31-8b.csv", "sequences")
    made, n_mixed = [], 0
    for row in _rows(folder / f"profile_attention_{gpu}_llama-31-8b.csv"):
        chunk, n = int(row["prefill_chunk"]), int(row["n_decode"])
        is_mixed = bool(chunk and n)
        n_mixed += is_mixed
        if 0 < chunk + n <= _LONGEST_STEP and not (is_mixed and n_mixed % _EVERY_MIXED):
            made.append(_profiled(row, card, dense, ends))
    return made


def _profiled(row: dict[str, str], card: str, dense: Curves, ends: Curves) -> Pass:
    chunk, cached, n, kv = (int(row[c]) for c in ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode"))
    model, tokens, sequences = find_model("llama-3.1-8b"), chunk + n, n + (chunk > 0)
    layer_us = float(row["time_us"]) + sum(_at(dense[name], tokens) for name in _IN_A_LAYER)
    ends_us = sum(_at(dense[name], tokens) for name in ("embedding", "final_layernorm"))
    ends_us += _at(ends["lm_head"], sequences)
    load = StepLoad(
        n_decodes=n,
        decode_context_tokens=n * kv,
        prefill_tokens=chunk,
        prefill_work=chunk * cached + chunk * (chunk + 1) / 2,
        prefill_context_tokens=(cached + chunk) if chunk else 0,
        n_sampled=sequences,
    )
    return Pass(
        card=card,
        engine="vllm",
        model=model.name,
        tp=1,
        weights="bf16",
        kind="mixed" if chunk and n else "prefill" if chunk else "decode",
        load=load,
        seconds=(model.layers * layer_us + ends_us) / 1e6,
    )


def _by_layer(path: Path, axis: str) -> Curves:
    found: dict[str, list[tuple[float, float]]] = {}
    for row in _rows(path):
        found.setdefault(row["layer"], []).append((float(row[axis]), float(row["time_us"])))
    sides = {name: np.array(sorted(points)).T for name, points in found.items()}
    return {name: (points[0], points[1]) for name, points in sides.items()}


def _at(curve: tuple[Array, Array], where: float) -> float:
    return float(np.interp(where, *curve))
