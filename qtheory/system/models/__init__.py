"""Models: presets as data, with a source for each value."""

from __future__ import annotations

from .huggingface import spec_from_config
from .precision import KV_BYTES, WEIGHT_BYTES, kv_bytes_each, weight_bytes_each
from .presets import default_model, find_model, model_names
from .spec import ModelSpec

__all__ = [
    "KV_BYTES",
    "WEIGHT_BYTES",
    "ModelSpec",
    "default_model",
    "find_model",
    "kv_bytes_each",
    "model_names",
    "spec_from_config",
    "weight_bytes_each",
]
