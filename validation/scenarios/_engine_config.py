"""The configuration of an engine case, as a policy and a replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from sim.policies import (
    GATES,
    VICTIMS,
    Aged,
    Chunked,
    Composition,
    DynamicOrdering,
    EarliestDeadline,
    Fcfs,
    LeastServed,
    LongestPrefix,
    Mixed,
    Ordering,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Priority,
    Shedding,
    ShortestOutput,
)
from sim.replica import Replica
from sim.testing import ConstantStep

from ._case import count, number, only_keys, want

__all__ = ["read_policy", "read_replica"]

_POLICY_KEYS = (
    "policy",
    "composition",
    "ordering",
    "max_batch_tokens",
    "max_seqs",
    "chunked_prefill",
    "long_prefill_threshold",
    "cache_commit",
    "in_batch",
    "in_batch_threshold",
    "admission",
    "prefill_alloc",
    "watermark",
    "watermark_scope",
    "append_rule",
    "victim",
    "preemption",
    "on_unfit",
    "priority_preempt",
    "starvation_limit",
    "shed",
    "w_prefill",
    "w_decode",
)
_REPLICA_KEYS = (
    "block_size",
    "num_blocks",
    "iteration_time",
    "prefix_cache",
    "swap_blocks",
    "swap_time_per_block",
)
_LABELS = ("fcfs", "chunked", "sjf", "priority", "slo", "cache_aware", "fair", "orca")
_ON_UNFIT = {"wait": "wait", "reject": "head"}


def _word(
    config: Mapping[str, Any], key: str, default: str, allowed: Mapping[str, Any] | tuple[str, ...]
) -> str:
    word: str = want("config", config, key, str, default)
    checks.one_of(f"config.{key}", word, allowed)
    return word


def read_policy(config: Mapping[str, Any]) -> Policy:
    """The policy of a case; missing keys have the defaults of the format.

    Raises
    ------
    ConfigError
        If a key or word is unknown or a number is out of its range.

    Examples
    --------
    >>> read_policy({"composition": "mixed", "max_batch_tokens": 64}).budget_tokens
    64
    """
    only_keys("config", config, (*_POLICY_KEYS, *_REPLICA_KEYS))
    if "policy" in config:
        _word(config, "policy", "chunked", _LABELS)
    return Policy(
        name=config.get("policy", "chunked"),
        ordering=_ordering(config),
        composition=_composition(config),
        admission=GATES[_word(config, "admission", "full_prompt", GATES)],
        victim=VICTIMS[_word(config, "victim", "last_admitted", VICTIMS)],
        shed=Shedding(want("config", config, "shed", str, "none")),
        budget_tokens=want("config", config, "max_batch_tokens", int, 2048),
        max_seqs=want("config", config, "max_seqs", int, 128),
        long_prefill_threshold_tokens=want("config", config, "long_prefill_threshold", int, 0),
        watermark_frac=number("config", config, "watermark", 0.0),
        on_unfit=_ON_UNFIT[_word(config, "on_unfit", "wait", _ON_UNFIT)],
        prefill_alloc=want("config", config, "prefill_alloc", str, "chunk"),
        watermark_scope=want("config", config, "watermark_scope", str, "busy"),
        append_rule=want("config", config, "append_rule", str, "exact"),
        preemption=want("config", config, "preemption", str, "recompute"),
        priority_preempt=want("config", config, "priority_preempt", str, "memory_only"),
        cache_commit=want("config", config, "cache_commit", str, "schedule"),
        in_batch=want("config", config, "in_batch", str, "share"),
    )


def _composition(config: Mapping[str, Any]) -> Composition:
    is_chunked = want("config", config, "chunked_prefill", bool, True)
    ways: dict[str, Composition] = {
        "chunked": Chunked(whole_prompts=not is_chunked),
        "mixed": Mixed(),
        "prefill_first": PrefillFirst(),
        "prefill_first_chunked": PrefillFirstChunked(),
    }
    return ways[_word(config, "composition", "chunked", ways)]


def _ordering(config: Mapping[str, Any]) -> Ordering | DynamicOrdering:
    orders: dict[str, Ordering | DynamicOrdering] = {
        "fcfs": Fcfs(),
        "priority": Priority(),
        "sjf": ShortestOutput(),
        "edf": EarliestDeadline(),
        "lpm": LongestPrefix(sharing_tokens=want("config", config, "in_batch_threshold", int, 32)),
        "vtc": LeastServed(
            prompt_weight=number("config", config, "w_prefill", 1.0),
            output_weight=number("config", config, "w_decode", 2.0),
        ),
    }
    word = _word(config, "ordering", "fcfs", orders)
    if config.get("starvation_limit") is None or word != "sjf":
        return orders[word]
    return Aged(inner=ShortestOutput(), limit_s=number("config", config, "starvation_limit"))


def read_replica(config: Mapping[str, Any]) -> Replica:
    """The replica of a case: every step takes the same time.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> read_replica({"num_blocks": 8}).n_blocks
    8
    """
    seconds = number("config", config, "iteration_time", 1.0)
    if seconds <= 0:
        raise ConfigError(f"config.iteration_time: {seconds:g} must be > 0")
    return Replica(
        step_time=ConstantStep(seconds),
        n_blocks=count("config", config, "num_blocks", 64),
        block_tokens=count("config", config, "block_size", 16),
        prefix_cache=want("config", config, "prefix_cache", bool, False),
        n_swap_blocks=count("config", config, "swap_blocks", 0),
        swap_s_per_block=number("config", config, "swap_time_per_block", 0.0),
    )
