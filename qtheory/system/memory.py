"""How many blocks of keys and values fit beside the weights."""

from __future__ import annotations

import math

from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between, whole_between
from qtheory.system.hardware import Hardware
from qtheory.system.models import ModelSpec

__all__ = ["kv_blocks", "reserved_bytes"]

# Fitted to the block counts of four vLLM logs, see `reserved_bytes`.
_RUNTIME_BYTES = 0.6e9
_SAMPLER_BYTES_PER_WORD = 6.8e3


def reserved_bytes(model: ModelSpec, *, tp: int, budget_tokens: int) -> float:
    r"""Approximation: device memory that an engine keeps for itself on each accelerator [1]_.

    :math:`0.6\,\text{GB} + 6.8\,\text{kB} \times \text{vocabulary}` (runtime, graphs, sampler) plus the
    16-bit activations of the largest step, four residual streams and two feed-forward widths a token.

    Parameters
    ----------
    model : ModelSpec
        What is served.
    tp : int
        Accelerators that share every layer, >= 1.
    budget_tokens : int
        Most tokens of a step, >= 1.

    Returns
    -------
    float
        Bytes.

    References
    ----------
    .. [1] Fitted here to KV block counts of vLLM: Qwen2.5-7B, Llama-2-7B and Llama-3.1-70B on H100
       (inference-sim/sim-to-real-accuracy-validation @ dcec3fd), Llama-3.1-8B on an RTX 4090
       (casys-kaist/LLMServingSim @ 5daddb2); block counts met within 1.3 %.

    Examples
    --------
    >>> from qtheory.system.models import find_model
    >>> print(f"{reserved_bytes(find_model('llama-3.1-8b'), tp=1, budget_tokens=2048) / 1e9:.2f} GB")
    1.66 GB
    """
    width = model.intermediate or model.experts_top_k * model.moe_intermediate + model.shared_intermediate
    activations = 2 * budget_tokens * (4 * model.hidden + 2 * width / tp)
    return _RUNTIME_BYTES + _SAMPLER_BYTES_PER_WORD * model.vocab + activations


def kv_blocks(
    hardware: Hardware,
    model: ModelSpec,
    *,
    tp: int = 1,
    weights: str | None = None,
    kv_dtype: str = "bf16",
    memory_frac: float = 0.9,
    block_tokens: int = 16,
    budget_tokens: int | None = None,
) -> int:
    r"""Approximation: blocks of the KV cache of one replica, whole ones.

    .. math:: \Bigl\lfloor \frac{f M - W / \text{tp} - \text{reserve}}{\text{block tokens} \times \kappa /
              \text{shards}} \Bigr\rfloor

    on each of ``tp`` accelerators with memory :math:`M`, weights :math:`W` and :math:`\kappa` bytes a token;
    keys and values are split into as many shards as there are KV heads at most (latents are copied). Local
    layers are counted with the whole context. A count from the engine's own log is better: use it.

    Parameters
    ----------
    hardware : Hardware
        One accelerator.
    model : ModelSpec
        What it serves.
    tp : int
        Accelerators that share every layer, >= 1.
    weights : str or None
        Format of the weights; None is the published one.
    kv_dtype : str
        Format of the KV cache.
    memory_frac : float
        Share of the device memory that the engine may use, 0.01 .. 1.
    block_tokens : int
        Tokens of a block, >= 1.
    budget_tokens : int or None
        Most tokens of a step; None is the default of the hardware.

    Raises
    ------
    ConfigError
        If a value is out of range, or not one block fits; then the message says what would.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.models import find_model
    >>> kv_blocks(find_hardware("a100"), find_model("llama-3.1-8b"))
    28415
    """
    whole_between("tp", tp, 1, 100_000)
    whole_between("block_tokens", block_tokens, 1, 1_000_000)
    number_between("memory_frac", memory_frac, 0.01, 1.0)
    budget = hardware.budget_tokens if budget_tokens is None else budget_tokens
    whole_between("budget_tokens", budget, 1, 10_000_000)
    if model.attention_layers == 0:
        raise ConfigError(f"model: {model.name} has no attention layer, so no KV blocks; give kv_blocks")
    usable = hardware.memory_bytes * memory_frac
    token = model.kv_bytes_per_token(kv_dtype)

    def tokens(tp: int, weights: str | None) -> float:
        """KV tokens that fit, negative if the weights do not."""
        free = usable - model.weight_bytes(weights) / tp - reserved_bytes(model, tp=tp, budget_tokens=budget)
        return free / (token / model.kv_shards(tp))

    blocks = math.floor(tokens(tp, weights) / block_tokens)
    if blocks >= 1:
        return blocks
    ways = [f"tp={n}" for n in range(tp + 1, 257) if model.heads % n == 0 and tokens(n, weights) >= 1024][:1]
    ways += [f"weights={each}" for each in ("fp8", "int4") if tokens(tp, each) >= 1024][:1]
    ways.append("an accelerator with more memory, or a smaller model")
    taken, allowed = model.weight_bytes(weights) / 1e9, usable * tp / 1e9
    raise ConfigError(
        f"model: {model.name} does not fit on {tp} x {hardware.name}: {weights or model.weights} weights "
        f"take {taken:.1f} GB, and memory_frac={memory_frac:g} allows {allowed:.1f} GB for them, the engine "
        f"and the KV cache; try {', '.join(ways)}"
    )
