"""Seconds per unit of load, from the figures of an accelerator and the shapes of a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware
from qtheory.system.models import WEIGHT_BYTES, ModelSpec, kv_bytes_each, weight_bytes_each

from .protocol import StepLoad

__all__ = ["NO_LIMIT", "Costs", "costs", "joined"]

Floats = NDArray[np.float64]

NO_LIMIT = 1e18  # tokens; a window that is never reached


def joined(compute: float, memory: float, corner: float) -> float:
    """Seconds of products that compute and read at the same time."""
    if corner:
        both: float = (compute**corner + memory**corner) ** (1.0 / corner)
        return both
    return compute if compute > memory else memory


class Costs(NamedTuple):
    """What a step is made of, on each of the accelerators of a replica; seconds unless said otherwise.

    Attributes
    ----------
    fixed
        Every step: host, launches, latency of collectives.
    linear_compute, linear_read, linear_write
        Block weights: each computed token; reading them once; writing keys and values of a token.
    expert_compute, expert_read, expert_miss
        Routed experts: each computed token; reading all of them; share of them that a token misses.
    head_compute, head_read
        Output head: each sampled token; reading it once.
    decode_full, decode_short, state
        Each token attended to by a decode, in full and in local layers; recurrent state of a decode.
    prompt_full, prompt_short, prompt_expand
        Each (prompt token, attended token) pair in full and local layers; each cached latent to be expanded.
    prompt_read_full, prompt_read_short
        Each token whose keys and values a chunk reads.
    link
        Collectives and activations, each computed token.
    whole_fixed, whole_link
        Collectives in one exchange of whole messages: every step, and each computed token beyond ``link``;
        both 0 where there is a ring.
    parts_fixed
        Collectives in two exchanges of parts, every step.
    window, top_k
        Tokens: most that local and other layers attend to.
    corner
        Power that joins the compute and the memory time of products; 0 is the larger of both.
    """

    fixed: float
    linear_compute: float
    linear_read: float
    linear_write: float
    expert_compute: float
    expert_read: float
    expert_miss: float
    head_compute: float
    head_read: float
    decode_full: float
    decode_short: float
    state: float
    prompt_full: float
    prompt_short: float
    prompt_expand: float
    prompt_read_full: float
    prompt_read_short: float
    link: float
    whole_fixed: float
    whole_link: float
    parts_fixed: float
    window: float
    top_k: float
    corner: float

    def if_dense(self) -> tuple[float, ...] | None:
        """The few costs of a model without experts, local or sparse layers and state; None for any other.

        None too where products turn softly from reading to computing.
        """
        has_more = self.expert_read or self.decode_short or self.prompt_short or self.state or self.corner
        if has_more or self.parts_fixed or self.top_k < NO_LIMIT:
            return None
        return (
            self.fixed,
            self.linear_compute,
            self.linear_read,
            self.head_compute,
            self.head_read,
            self.decode_full,
            self.prompt_full,
            self.prompt_expand,
            self.prompt_read_full,
            self.link,
            self.linear_write,
        )

    def steps_s(self, load: tuple[Floats, ...]) -> Floats:
        """Seconds of many steps of any model at once; an array of each number of their loads."""
        n, context, prompt, work, read, sampled = load
        tokens, least = n + prompt, np.minimum
        products: list[tuple[Floats, Floats]] = [
            (self.linear_compute * tokens, self.linear_read + self.linear_write * tokens)
        ]
        if self.expert_read:
            read_s = self.expert_read * (1.0 - self.expert_miss**tokens)
            products.append((self.expert_compute * tokens, read_s))
        products.append((self.head_compute * sampled, np.where(sampled > 0, self.head_read, 0.0)))
        seconds = self.fixed + self.link * tokens
        for compute, memory in products:
            if self.corner:
                seconds = seconds + (compute**self.corner + memory**self.corner) ** (1 / self.corner)
            else:
                seconds = seconds + np.maximum(compute, memory)
        if self.parts_fixed:
            seconds = seconds + least(self.whole_fixed + self.whole_link * tokens, self.parts_fixed)
        seconds = seconds + self.decode_full * least(context, n * self.top_k) + self.state * n
        seconds = seconds + self.decode_short * least(context, n * self.window)
        compute = self.prompt_full * least(work, prompt * self.top_k) + self.prompt_expand * (read - prompt)
        compute = compute + self.prompt_short * least(work, prompt * self.window)
        memory = self.prompt_read_full * read
        if self.prompt_short:
            memory = memory + self.prompt_read_short * least(read, prompt + self.window)
        return np.asarray(seconds + np.maximum(compute, memory))

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step of any model."""
        n, context, prompt, work, read, sampled = load
        (fixed, linear_compute, linear_read, linear_write, expert_compute, expert_read, expert_miss,
         head_compute, head_read, decode_full, decode_short, state, prompt_full, prompt_short, prompt_expand,
         read_full, read_short, link, whole_fixed, whole_link, parts_fixed, window, top_k,
         corner) = self  # fmt: skip
        tokens = n + prompt
        compute = linear_compute * tokens
        memory = linear_read + linear_write * tokens
        seconds = fixed + link * tokens + joined(compute, memory, corner)
        if parts_fixed:
            whole = whole_fixed + whole_link * tokens
            seconds += whole if whole < parts_fixed else parts_fixed
        if expert_read:
            seconds += joined(expert_compute * tokens, expert_read * (1.0 - expert_miss**tokens), corner)
        if sampled:
            seconds += joined(head_compute * sampled, head_read, corner)
        if n:
            limit = n * top_k
            seconds += decode_full * (context if context < limit else limit) + state * n
            if decode_short:
                limit = n * window
                seconds += decode_short * (context if context < limit else limit)
        if prompt:
            limit = prompt * top_k
            compute = prompt_full * (work if work < limit else limit) + prompt_expand * (read - prompt)
            memory = read_full * read
            if prompt_short:
                limit = prompt * window
                compute += prompt_short * (work if work < limit else limit)
                limit = prompt + window
                memory += read_short * (read if read < limit else limit)
            seconds += compute if compute > memory else memory
        return seconds


def costs(hardware: Hardware, model: ModelSpec, tp: int, weights: str, kv_dtype: str) -> Costs:
    """The costs of one step of ``model`` on ``tp`` accelerators."""
    flops_s = 1 / (hardware.flops_per_s("bf16") * hardware.mfu_frac * tp)  # seconds for an operation
    read_s = 1 / (hardware.bandwidth_bytes_per_s * hardware.mbu_frac * tp)  # seconds for a byte of weights
    shards = model.kv_shards(tp)
    kv_s = kv_bytes_each(kv_dtype) / (hardware.bandwidth_bytes_per_s * hardware.attention_mbu_frac * shards)
    full, short = model.full_layers, model.short_layers
    return Costs(
        **_weight_costs(hardware, model, tp, weights),
        linear_write=model.kv_bytes_per_token(kv_dtype) / shards * tp * read_s,
        head_compute=model.head_flops_per_token * flops_s,
        head_read=model.head_params * WEIGHT_BYTES["bf16"] * read_s,
        decode_full=full * max(model.decode_attention_flops * flops_s, model.full_kv_width * kv_s),
        decode_short=short * max(model.decode_attention_flops * flops_s, model.short_kv_width * kv_s),
        state=2 * model.state_bytes * read_s,
        prompt_full=full * model.prefill_attention_flops * flops_s / hardware.prefill_attention_frac,
        prompt_short=short * model.prefill_attention_flops * flops_s / hardware.prefill_attention_frac,
        prompt_expand=model.attention_layers * model.expand_flops_per_token * flops_s,
        prompt_read_full=full * model.full_kv_width * kv_s,
        prompt_read_short=short * model.short_kv_width * kv_s,
        window=float(model.sliding_window) if short else NO_LIMIT,
        top_k=float(model.sparse_top_k or NO_LIMIT),
        corner=hardware.corner_power or 0.0,
        **_link_costs(hardware, model, tp),
    )


def _weight_costs(hardware: Hardware, model: ModelSpec, tp: int, weights: str) -> dict[str, float]:
    """Costs of block weights and routed experts."""
    linear, wide = model.linear_format(weights), model.wide_params
    read_s = 1 / (hardware.bandwidth_bytes_per_s * hardware.mbu_frac * tp)
    linear_s = 1 / (hardware.flops_per_s(linear) * hardware.mfu_frac * tp)
    wide_s = 1 / (hardware.flops_per_s("bf16") * hardware.mfu_frac * tp)
    expert_s = 1 / (hardware.flops_per_s(weights) * hardware.mfu_frac * tp)
    experts = model.moe_layers * model.expert_params
    return {
        "linear_compute": 2 * ((model.linear_params - wide) * linear_s + wide * wide_s),
        "linear_read": model.linear_bytes(weights) * read_s,
        "expert_compute": 2 * model.experts_top_k * experts * expert_s,
        "expert_read": model.experts * experts * weight_bytes_each(weights) * read_s,
        "expert_miss": 1 - model.experts_top_k / model.experts if model.experts else 0.0,
    }


def _link_costs(hardware: Hardware, model: ModelSpec, tp: int) -> dict[str, float]:
    """Fixed costs, and those of two all-reduces a layer on 16-bit activations."""
    fixed = hardware.overhead_per_step_s + model.layers * hardware.overhead_per_layer_s
    moved = _activation_s(hardware, model, tp)
    ring = {"whole_fixed": 0.0, "whole_link": 0.0, "parts_fixed": 0.0}
    if tp == 1:
        return {"fixed": fixed, "link": moved, **ring}
    if hardware.link_bytes_per_s is None:
        raise ConfigError(
            f"link_bytes_per_s: missing of {hardware.name}, and tp={tp} needs it; add the rate of the link "
            "between the accelerators, such as link_bytes_per_s = 32e9 for PCIe 4.0 x16"
        )
    sent_bytes = 2 * (tp - 1) / tp * model.hidden * 2  # by each accelerator, for one token and all-reduce
    reduces = 2 * model.layers
    token_s = reduces * sent_bytes / (hardware.link_bytes_per_s * hardware.link_frac)
    if hardware.exchange_s is None:
        return {"fixed": fixed + reduces * hardware.link_latency_s, "link": moved + token_s, **ring}
    return {
        "fixed": fixed,
        "link": moved + token_s,
        "whole_fixed": reduces * hardware.exchange_s,
        "whole_link": token_s * (tp / 2 - 1),  # (tp - 1) messages to send instead of 2 (tp - 1) / tp
        "parts_fixed": 2 * reduces * hardware.exchange_s,
    }


def _activation_s(hardware: Hardware, model: ModelSpec, tp: int) -> float:
    """Seconds of moving the activations of one token: what norms, residuals and gates read and write.

    Each layer reads and writes the residual stream and its normed copy twice (8 times its width, on every
    accelerator); queries and attention outputs, and the inside of the feed-forward block, are split.
    """
    if hardware.activation_mbu_frac is None:
        return 0.0
    inside = model.mlp_matrices * (
        model.mlp_layers * model.intermediate
        + model.moe_layers * (model.experts_top_k * model.moe_intermediate + model.shared_intermediate)
    )
    inside += 2 * model.attention_layers * model.heads * model.head_dim
    numbers = 8 * model.layers * model.hidden + inside / tp
    return 2 * numbers / (hardware.bandwidth_bytes_per_s * hardware.activation_mbu_frac)
