"""Ranges and cross-checks of the numbers of an architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.basics.errors import ConfigError

if TYPE_CHECKING:
    from .spec import ModelSpec

__all__ = ["RANGES", "attention_params", "check_shapes"]

RANGES = {
    "layers": (1, 10_000),
    "hidden": (1, 10_000_000),
    "heads": (1, 100_000),
    "kv_heads": (1, 100_000),
    "head_dim": (1, 100_000),
    "vocab": (1, 100_000_000),
    "intermediate": (0, 100_000_000),
    "mlp_matrices": (2, 3),
    "experts": (0, 100_000),
    "experts_top_k": (0, 100_000),
    "moe_intermediate": (0, 100_000_000),
    "moe_hidden": (0, 10_000_000),
    "shared_intermediate": (0, 100_000_000),
    "dense_layers": (0, 10_000),
    "no_mlp_layers": (0, 10_000),
    "no_attention_layers": (0, 10_000),
    "kv_lora_rank": (0, 100_000),
    "q_lora_rank": (0, 100_000),
    "qk_nope_dim": (0, 100_000),
    "qk_rope_dim": (0, 100_000),
    "v_head_dim": (0, 100_000),
    "sliding_window": (0, 1_000_000_000),
    "local_layers": (0, 10_000),
    "sparse_top_k": (0, 1_000_000_000),
    "kv_width": (0, 10_000_000),
    "local_kv_width": (0, 10_000_000),
    "attention_params": (0, 10**12),
    "other_params": (0, 10**15),
    "wide_params": (0, 10**15),
    "state_bytes": (0, 10**12),
    "max_context": (0, 1_000_000_000),
}


def attention_params(spec: ModelSpec) -> int:
    """Weights of one attention block by its shapes."""
    hidden, heads, latent = spec.hidden, spec.heads, spec.kv_lora_rank
    value = spec.v_head_dim or spec.head_dim
    if not latent:
        query = hidden * heads * spec.head_dim
        return query + hidden * spec.kv_heads * (spec.head_dim + value) + heads * value * hidden
    width = heads * (spec.qk_nope_dim + spec.qk_rope_dim)
    query = (hidden + width) * spec.q_lora_rank if spec.q_lora_rank else hidden * width
    down = hidden * (latent + spec.qk_rope_dim)
    return query + down + latent * heads * (spec.qk_nope_dim + value) + heads * value * hidden


def check_shapes(spec: ModelSpec) -> None:
    """Refuse values that contradict each other."""
    if not spec.kv_lora_rank and spec.heads % spec.kv_heads:
        raise ConfigError(f"kv_heads: {spec.kv_heads} does not divide heads={spec.heads}")
    if spec.no_mlp_layers + spec.dense_layers > spec.layers:
        raise ConfigError(
            f"dense_layers: {spec.dense_layers} with no_mlp_layers={spec.no_mlp_layers} exceed "
            f"layers={spec.layers}"
        )
    if spec.no_attention_layers + spec.local_layers > spec.layers:
        raise ConfigError(
            f"local_layers: {spec.local_layers} with no_attention_layers="
            f"{spec.no_attention_layers} exceed layers={spec.layers}"
        )
    if spec.experts_top_k > spec.experts:
        raise ConfigError(f"experts_top_k: {spec.experts_top_k} exceeds experts={spec.experts}")
    if spec.wide_params > spec.linear_params:
        raise ConfigError(f"wide_params: {spec.wide_params} exceeds the {spec.linear_params} of the layers")
    needed = {
        "intermediate": spec.mlp_layers,
        "experts_top_k": spec.experts,
        "moe_intermediate": spec.experts,
        "sliding_window": spec.local_layers,
        "qk_nope_dim": spec.kv_lora_rank,
        "qk_rope_dim": spec.kv_lora_rank,
        "v_head_dim": spec.kv_lora_rank,
    }
    for name, reason in needed.items():
        if reason and not getattr(spec, name):
            raise ConfigError(f"{name}: missing; a model with such layers needs it, above 0")
