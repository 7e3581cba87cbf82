"""Step times from datasheet figures and the shapes of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import whole_between
from qtheory.system.hardware import Hardware
from qtheory.system.models import WEIGHT_BYTES, ModelSpec, kv_bytes_each, weight_bytes_each

from ._costs import NO_LIMIT, Costs, costs, joined
from .protocol import StepLoad

__all__ = ["Roofline"]

Number: TypeAlias = "float | NDArray[np.float64]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    r"""Approximation: every group of operators takes the larger of its compute and its memory time [1]_.

    .. math::
        \tau = o + o_L L + \sum_g \max\Bigl(\frac{\text{FLOPs}_g}{\eta_c F},
               \frac{\text{bytes}_g}{\eta_m B}\Bigr) + \text{collectives}

    over the groups: block weights (read once for prompt and decode tokens together), routed experts (those
    that the tokens of the step hit), output head (if anything is sampled), attention of decodes, attention of
    prompt chunks. Weights in a format without units of its own are read narrow and computed in 16 bits;
    attention and head always compute in 16 bits. Collectives are two all-reduces a layer, in a ring. Local
    layers attend to the mean context of the decodes, cut at the window. Where the accelerator says so,
    products turn softly from reading to computing (``corner_power``), activations take time of their own
    (``activation_mbu_frac``), and all-reduces are one or two exchanges (``exchange_s``).

    Parameters
    ----------
    hardware : Hardware
        One accelerator.
    model : ModelSpec
        What it serves.
    tp : int
        Accelerators that share every layer, >= 1; must divide the query heads.
    weights : str or None
        Format of the weights, one of `qtheory.system.models.WEIGHT_BYTES`; None is the published one.
    kv_dtype : str
        Format of the KV cache, one of `qtheory.system.models.KV_BYTES`.

    Raises
    ------
    ConfigError
        If ``tp`` or a format is not possible.

    References
    ----------
    .. [1] Williams, Waterman, Patterson (2009), "Roofline: an insightful visual performance model for
       multicore architectures", CACM 52(4), 65-76.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.models import find_model
    >>> roofline = Roofline(hardware=find_hardware("a100"), model=find_model("llama-3.1-8b"))
    >>> decodes = StepLoad(n_decodes=32, decode_context_tokens=32_000, n_sampled=32)
    >>> print(f"{1000 * roofline.step_s(decodes):.1f} ms")
    14.2 ms
    """

    hardware: Hardware
    model: ModelSpec
    tp: int = 1
    weights: str | None = None
    kv_dtype: str = "bf16"
    _costs: Costs = field(init=False, repr=False, compare=False)
    _dense: tuple[float, ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole_between("tp", self.tp, 1, 100_000)
        heads = self.model.heads
        if heads % self.tp:
            fits = ", ".join(str(n) for n in range(1, min(heads, 64) + 1) if heads % n == 0)
            raise ConfigError(
                f"tp: {self.tp} does not divide the {heads} heads of {self.model.name}; use {fits}"
            )
        found = costs(self.hardware, self.model, self.tp, self.weight_format, self.kv_dtype)
        object.__setattr__(self, "_costs", found)
        object.__setattr__(self, "_dense", found.if_dense())

    @property
    def weight_format(self) -> str:
        """Format of the weights, the published one filled in."""
        return self.model.weights if self.weights is None else self.weights

    @property
    def peak_flops_per_s(self) -> float:
        """Datasheet rate of all ``tp`` accelerators at which these weights compute, FLOP/s."""
        return self.tp * self.hardware.flops_per_s(self.weight_format)

    @property
    def peak_bytes_per_s(self) -> float:
        """Datasheet memory bandwidth of all ``tp`` accelerators, bytes/s."""
        return self.tp * self.hardware.bandwidth_bytes_per_s

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load, > 0; for dense models written for speed, without a call."""
        n, context, prompt, work, read, sampled = load
        if self._dense is not None:
            (fixed, compute, memory, head_compute, head_read, decode, pair, expand, key, link,
             write) = self._dense  # fmt: skip
            tokens = n + prompt
            compute *= tokens
            memory += write * tokens
            seconds = fixed + link * tokens + decode * context + (compute if compute > memory else memory)
            if sampled:
                compute = head_compute * sampled
                seconds += compute if compute > head_read else head_read
            if prompt:
                compute = pair * work + expand * (read - prompt)
                memory = key * read
                seconds += compute if compute > memory else memory
            return seconds
        return self._costs.step_s(load)

    def steps_s(self, load: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        """Seconds of many steps at once; ``load`` has an array for each number of a `StepLoad`."""
        return self._costs.steps_s(load)

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        """Exact line of a step of decodes; None where a window or a sparse selection bends it.

        Examples
        --------
        >>> from qtheory.system.hardware import find_hardware
        >>> from qtheory.system.models import find_model
        >>> card = find_hardware("h100")
        >>> Roofline(hardware=card, model=find_model("gpt-oss-20b")).decode_line(8) is None
        True
        """
        if self._costs.decode_short or self._costs.top_k < (self.model.max_context or NO_LIMIT):
            return None
        at_zero = self.step_s(StepLoad(n_decodes=n_decodes, n_sampled=n_decodes))
        return at_zero, self._costs.decode_full

    def parts(self, load: StepLoad) -> dict[str, tuple[float, str]]:
        """Seconds of each group of operators and what bounds it; the seconds add up to `step_s`.

        Parameters
        ----------
        load : StepLoad
            What the step computes.

        Returns
        -------
        dict
            Group to (seconds, one of ``host``, ``compute``, ``bandwidth``, ``link``); ``host`` is the time
            that does not depend on the load, latency of collectives included.
        """
        n, context, prompt, work, read, sampled = load
        c, tokens = self._costs, load[0] + load[2]
        whole = c.decode_full * min(context, n * c.top_k) + c.decode_short * min(context, n * c.window)
        pairs = c.prompt_full * min(work, prompt * c.top_k) + c.prompt_short * min(work, prompt * c.window)
        expand = c.prompt_expand * (read - prompt)
        keys = c.prompt_read_full * read + c.prompt_read_short * min(read, prompt + c.window)
        attended = "compute" if self._decode_computes else "bandwidth"
        missed = c.expert_miss**tokens
        return {
            "overhead": (c.fixed, "host"),
            "linear": _bound(c.linear_compute * tokens, c.linear_read + c.linear_write * tokens, c.corner),
            "experts": _bound(c.expert_compute * tokens, c.expert_read * (1 - missed), c.corner),
            "head": _bound(c.head_compute * sampled, c.head_read if sampled else 0.0, c.corner),
            "decode_attention": (whole + c.state * n, attended),
            "prefill_attention": _bound(pairs + expand, keys) if prompt else (0.0, "compute"),
            "link": (c.link * tokens + min(c.whole_fixed + c.whole_link * tokens, c.parts_fixed), "link"),
        }

    @property
    def _decode_computes(self) -> bool:
        """Whether compute bounds the attention of decodes."""
        model, card = self.model, self.hardware
        compute = model.decode_attention_flops / (card.flops_per_s("bf16") * card.mfu_frac * self.tp)
        width_bytes = model.full_kv_width * kv_bytes_each(self.kv_dtype) / model.kv_shards(self.tp)
        return compute > width_bytes / (card.bandwidth_bytes_per_s * card.attention_mbu_frac)

    def flops(self, load: StepLoad) -> Number:
        """Operations of a step on all accelerators; fields of ``load`` may be arrays.

        Divided by seconds and `peak_flops_per_s` this is the model FLOPs utilisation (MFU).
        """
        n, context, prompt, work, read, sampled = load
        model, window, top_k = self.model, self._costs.window, self._costs.top_k
        decode = model.full_layers * np.minimum(context, n * top_k)
        decode = decode + model.short_layers * np.minimum(context, n * window)
        chunk = model.full_layers * np.minimum(work, prompt * top_k)
        chunk = chunk + model.short_layers * np.minimum(work, prompt * window)
        expand = model.attention_layers * model.expand_flops_per_token * (read - prompt)
        attention = model.decode_attention_flops * decode + model.prefill_attention_flops * chunk + expand
        total: Number = (
            model.flops_per_token * (n + prompt) + model.head_flops_per_token * sampled + attention
        )
        return total

    def bytes(self, load: StepLoad) -> Number:
        """Bytes of weights, keys and values moved in a step on all accelerators; fields may be arrays.

        Divided by seconds and `peak_bytes_per_s` this is the memory bandwidth utilisation (MBU). Activations
        are not counted; copies of keys and values (``tp`` above the KV heads) are.
        """
        n, context, prompt, _, read, sampled = load
        model, window, top_k = self.model, self._costs.window, self._costs.top_k
        each, tokens = weight_bytes_each(self.weight_format), n + prompt
        linear = model.linear_bytes(self.weight_format)
        experts = model.moe_layers * model.expert_params * each * model.distinct_experts(tokens)
        head = model.head_params * WEIGHT_BYTES["bf16"] * np.sign(sampled)
        full = np.minimum(context, n * top_k) + read
        short = np.minimum(context, n * window) + np.minimum(read, np.sign(prompt) * (prompt + window))
        width = (
            model.full_layers * model.full_kv_width * full + model.short_layers * model.short_kv_width * short
        )
        copies = self.tp / model.kv_shards(self.tp)
        kept = copies * (
            width * kv_bytes_each(self.kv_dtype) + model.kv_bytes_per_token(self.kv_dtype) * tokens
        )
        total: Number = linear + experts + head + kept + 2 * model.state_bytes * n
        return total


def _bound(compute: float, memory: float, corner: float = 0.0) -> tuple[float, str]:
    return joined(compute, memory, corner), "compute" if compute > memory else "bandwidth"
