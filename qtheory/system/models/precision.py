"""Number formats of weights and of the KV cache."""

from __future__ import annotations

from qtheory.basics import checks

__all__ = ["KV_BYTES", "WEIGHT_BYTES", "kv_bytes_each", "weight_bytes_each"]

# Bytes a weight, scales included. fp4 is the MX format: 4 bits, and 8 bits of scale for 32 weights (OCP
# Microscaling Formats v1.0). int4 is group-wise: 4 bits, and 20 bits of scale and zero point for 128 (AWQ).
WEIGHT_BYTES = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 4.25 / 8,
    "int4": (4 + 20 / 128) / 8,
}
KV_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0}


def weight_bytes_each(weights: str) -> float:
    """Bytes of one weight in this format.

    Parameters
    ----------
    weights : str
        One of `WEIGHT_BYTES`.

    Raises
    ------
    ConfigError
        If the format is unknown.

    Examples
    --------
    >>> weight_bytes_each("fp8")
    1.0
    """
    checks.one_of("weights", weights, WEIGHT_BYTES)
    return WEIGHT_BYTES[weights]


def kv_bytes_each(kv_dtype: str) -> float:
    """Bytes of one number in the KV cache.

    Parameters
    ----------
    kv_dtype : str
        One of `KV_BYTES`.

    Raises
    ------
    ConfigError
        If the format is unknown.

    Examples
    --------
    >>> kv_bytes_each("fp8")
    1.0
    """
    checks.one_of("kv_dtype", kv_dtype, KV_BYTES)
    return KV_BYTES[kv_dtype]
