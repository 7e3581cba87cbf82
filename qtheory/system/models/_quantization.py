"""The number format of published weights, from the ``quantization_config`` of a Hugging Face model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

__all__ = ["published_format"]

_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "fp4"}
_BY_BITS = {("int", 4): "int4", ("int", 8): "int8", ("float", 8): "fp8", ("float", 4): "fp4"}


def published_format(quantization: object, where: str) -> str:
    """One of the formats of `qtheory.system.models.WEIGHT_BYTES`; bf16 without quantization.

    Raises
    ------
    ConfigError
        If the method is not understood.
    """
    if quantization is None:
        return "bf16"
    if not isinstance(quantization, Mapping):
        raise ConfigError(f"{where}: quantization_config: {shown(quantization)} is not a table")
    if isinstance(quantization.get("quantization"), Mapping):  # an older form of modelopt
        quantization = {"quant_method": "modelopt"} | dict(quantization["quantization"])
    method = str(quantization.get("quant_method"))
    if method in _METHODS:
        return _METHODS[method]
    key: tuple[str, Any] = ("", 0)
    if method in ("awq", "gptq"):
        key = ("int", quantization.get("bits", quantization.get("w_bit")))
    elif method == "bitsandbytes":
        key = ("int", 4 if quantization.get("load_in_4bit") else 8)
    elif method == "modelopt":
        algorithm = str(quantization.get("quant_algo")).lower()
        key = ("float", 4 if "fp4" in algorithm else 8 if "fp8" in algorithm else 0)
    elif method == "compressed-tensors":
        key = _compressed(quantization.get("config_groups"))
    kind, bits = key
    if not isinstance(bits, int) or (kind, bits) not in _BY_BITS:
        what = f"quant_method {shown(method)} with {shown(bits)} bits"
        raise ConfigError(
            f"{where}: quantization_config: {what} is not understood; fp8, mxfp4, and awq, gptq, "
            "bitsandbytes, compressed-tensors, modelopt with 4 or 8 bits are"
        )
    return _BY_BITS[kind, bits]


def _compressed(groups: object) -> tuple[str, Any]:
    """Type and bits of the weights in the first group of a compressed-tensors table."""
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        return "", 0
    return str(weights.get("type")), weights.get("num_bits")
