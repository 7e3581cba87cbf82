"""A scenario: everything a person says about one question, as flat plain data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most, number_between

from .cluster import ROUTERS
from .scheduler import SCHEDULERS

__all__ = ["Scenario"]


def _say(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def _zero_or_more(**values: int) -> None:
    checks.at_least(0, **values)


_CHECKS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (checks.integer, ("tp", "max_seqs", "block_tokens", "budget_tokens", "max_model_len_tokens")),
    (checks.integer, ("kv_blocks", "requests", "replicas", "prefill_replicas", "decode_replicas")),
    (_zero_or_more, ("client_cap", "retries", "seed", "long_prefill_threshold_tokens")),
    (checks.positive, ("link_bytes_per_s", "speed", "rate_rps", "duration_s", "stop_s", "timeout_s")),
    (checks.non_negative, ("overhead_per_step_s", "overhead_per_layer_s", "watermark_frac", "load_delay_s")),
    (checks.non_negative, ("link_latency_s", "retry_delay_s")),
    (checks.fraction, ("mfu_frac", "mbu_frac", "memory_frac")),
)
_PATIENCE = ("retries", "retry_delay_s", "backoff", "waits_for")
_LARGEST = 10**9  # of whole numbers: far beyond any system
_LARGEST_OF = {
    "requests": 10**8,
    "replicas": 10_000,
    "prefill_replicas": 10_000,
    "decode_replicas": 10_000,
    "retries": 100,
    "seed": 2**63 - 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Hardware, model, scheduler, load and limits by name; None means that the rule in the help applies.

    Field names are the keys of a scenario file and, with dashes, the flags of the command line; the help of a
    field is its ``metadata["help"]``. Numbers are checked here, names by `replica_of` and `workload_of`.

    Raises
    ------
    ConfigError
        If a number is out of its range or two fields contradict each other.

    Examples
    --------
    >>> Scenario(hardware="rtx3050", workload="rag").max_seqs
    128
    """

    hardware: str = _say("a100", "accelerator: a preset name, or a TOML or JSON file")
    tp: int = _say(1, "accelerators in one replica (tensor parallelism)")
    model: str | None = _say(
        None,
        "model: a preset name, a Hugging Face config.json, or a TOML file [the largest dense Qwen2.5 whose "
        "16-bit weights fill at most a quarter of the accelerator's memory]",
    )
    weights: str | None = _say(
        None, "precision of the weights: bf16, fp16, fp8, int8, fp4, int4 [as published]"
    )
    kv_dtype: str = _say("bf16", "precision of the KV cache: fp16, bf16, fp8, int8")
    step_time: str = _say(
        "roofline",
        "seconds of a step: roofline, linear(base_s=..,per_token_s=..,per_context_token_s=..), or the "
        "file of a table",
    )
    mfu_frac: float | None = _say(None, "share of the peak FLOP/s that is reached [hardware preset]")
    mbu_frac: float | None = _say(None, "share of the peak bandwidth that is reached [hardware preset]")
    overhead_per_step_s: float | None = _say(None, "host time of a step, seconds [hardware preset]")
    overhead_per_layer_s: float | None = _say(None, "launch time of a layer, seconds [hardware preset]")

    scheduler: str = _say("chunked", f"scheduler: {', '.join(SCHEDULERS)}; or one's own, FILE.py:NAME")
    budget_tokens: int | None = _say(
        None,
        "tokens a step [chunked prefill: hardware preset, 512 on small cards, else 2048; whole prompts: the "
        "longest sequence, at most 32768]",
    )
    max_seqs: int = _say(128, "running requests at most")
    max_model_len_tokens: int | None = _say(
        None, "longest prompt plus output, tokens [the model's context, at most what the KV memory holds]"
    )
    long_prefill_threshold_tokens: int | None = _say(
        None, "prompt tokens of one request in a step at most, 0: no such limit [0]"
    )
    admission: str | None = _say(
        None,
        "blocks that must be free to admit: full_prompt, first_chunk, no_evict, expected [the scheduler's, "
        "mostly full_prompt]",
    )
    watermark_frac: float | None = _say(
        None, "share of the blocks that stays free when admitting [the scheduler's, mostly 0]"
    )
    append_rule: str | None = _say(
        None, "free blocks a decode must find: exact, conservative [the scheduler's, mostly exact]"
    )
    victim: str | None = _say(
        None,
        "who is preempted: last_admitted, lowest_priority, fewest_output [the scheduler's, mostly "
        "last_admitted]",
    )
    shed: str | None = _say(
        None, "what slo does with a request that will be late: reject, demote, none [reject]"
    )

    kv_blocks: int | None = _say(None, "KV blocks, as in the engine's log [computed from memory and model]")
    memory_frac: float = _say(0.9, "share of the accelerator's memory that the engine may use")
    block_tokens: int = _say(16, "tokens of a KV block")

    prefix_cache: bool | None = _say(
        None,
        "reuse the KV blocks of prompts that begin alike [on for schedulers that order by cached prefix, "
        "else off]",
    )

    replicas: int = _say(1, "equal replicas behind a router; the rate is that of all together")
    router: str = _say(
        "round_robin",
        f"who gets a request: {', '.join(ROUTERS)}; with options as in 'kv_cost(overlap_weight=2)'",
    )
    load_delay_s: float = _say(
        0.0, "seconds between two reports of the replicas' loads to the router; 0: always known"
    )

    prefill_replicas: int = _say(1, "disaggregated: instances that compute prompts")
    decode_replicas: int = _say(1, "disaggregated: instances that decode")
    link_bytes_per_s: float = _say(
        25e9, "disaggregated: bandwidth between an instance that prefills and one that decodes, bytes/s"
    )
    link_latency_s: float = _say(0.0, "disaggregated: seconds that each transfer takes on top")
    link_shared: bool = _say(False, "disaggregated: one link for all instances, instead of one for each pair")
    layerwise_transfer: bool = _say(
        False, "disaggregated: the KV of a layer is sent while the next ones are computed"
    )
    first_token: str = _say(
        "prefill_end",
        "disaggregated: when the first token is counted: prefill_end, transfer_end, decode_recompute",
    )

    workload: str = _say("chat", "profile: chat, rag, code, summarize, reasoning")
    lengths: str | None = _say(
        None,
        "file of prompt and output lengths to draw from, or quantiles(FILE, workload=.., client=..) "
        "[the profile's]",
    )
    prompt: str | None = _say(
        None, "law of the prompt length, as in 'lognormal(mean=1000,cv=0.8)' [the profile's]"
    )
    output: str | None = _say(None, "law of the output length [the profile's]")
    correlation: float | None = _say(
        None, "rank correlation of prompt and output length, -1 to 1 [the profile's; 0 with laws given]"
    )
    prefix: str | None = _say(
        None,
        "texts that prompts begin with, part of their length, as in 'shared(tokens=200) + shared(tokens=900, "
        "n=10, zipf=0.9)': the k-th most popular of n with weight 1/k^zipf; none [the profile's]",
    )
    conversations: str | None = _say(
        None,
        "requests are turns that build on one another: turns(n=5, think_s=30, message=80) or agent(steps=10, "
        "tool_s=2, result=500), numbers or laws; the rate is that of all requests [single requests]",
    )
    tenants: str | None = _say(
        None,
        "clients with own shares of the load, priorities, weights and limits, as in 'tenant(share=1, "
        "ttft_slo_s=1) + tenant(share=3, priority=1, weight=2)' [one]",
    )
    arrivals: str = _say(
        "poisson",
        "arrivals: poisson, gamma(cv=2), constant, closed(concurrency=64, think_s=0), mmpp(rates=[1, 5], "
        "mean_s=[60, 20]), day(peak_to_mean=1.5), profile(FILE)",
    )
    rate_rps: float | None = _say(None, "arrival rate, requests per second [the profile's]")
    duration_s: float | None = _say(None, "seconds in which requests arrive [60, unless requests is given]")
    requests: int | None = _say(None, "number of requests, instead of a duration")
    trace: str | None = _say(
        None,
        "trace to replay instead of a workload, one request a row or line: Azure CSV, Mooncake JSON lines, "
        "or a table or JSON lines of arrivals and lengths; .gz too",
    )
    ticks: str = _say(
        "recorded",
        "where a trace has many requests at one time: recorded leaves them, even and random spread them up "
        "to the next time",
    )
    speed: float = _say(1.0, "factor by which the trace is replayed faster")
    client_cap: int = _say(0, "requests in flight at the client at most, 0: no cap")
    stop_s: float | None = _say(None, "stop the clock here; the rest is unfinished [run until all is served]")

    timeout_s: float | None = _say(
        None, "clients cancel an attempt after these seconds [they wait as long as it takes]"
    )
    retries: int = _say(0, "clients that time out: further attempts at most")
    retry_delay_s: float = _say(1.0, "clients that time out: seconds until the second attempt is sent")
    backoff: float = _say(2.0, "clients that time out: factor of that delay from one retry to the next")
    waits_for: str = _say(
        "first_token",
        "clients that time out: what must have come in time: first_token, answer (all of it)",
    )

    ttft_slo_s: float | None = _say(None, "longest time to first token, seconds; inf: none [the profile's]")
    tpot_slo_s: float | None = _say(None, "longest time per output token, seconds; inf: none [the profile's]")
    e2e_slo_s: float | None = _say(None, "longest time to the last token, seconds; inf: none [none]")

    seed: int = _say(0, "seed of all random numbers")

    def __post_init__(self) -> None:
        given = [
            item for item in fields(self) if item.default is not None or getattr(self, item.name) is not None
        ]
        for item in given:
            if str(item.type).startswith("str"):
                checks.text(item.name, getattr(self, item.name))
            if str(item.type).startswith("bool") and not isinstance(getattr(self, item.name), bool):
                shown = checks.shown(getattr(self, item.name))
                raise ConfigError(f"{item.name}: {shown} must be true or false")
        values = {item.name: getattr(self, item.name) for item in given}
        for check, names in _CHECKS:
            check(**{name: values[name] for name in names if name in values})
        for item in given:
            if str(item.type).startswith("int"):
                at_most(_LARGEST_OF.get(item.name, _LARGEST), **{item.name: values[item.name]})
        if self.correlation is not None:
            number_between("correlation", self.correlation, -1.0, 1.0)
        limits = {name: getattr(self, name) for name in ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s")}
        checks.positive(**{name: limit for name, limit in limits.items() if limit not in (None, math.inf)})

        self._check_patience()

    def _check_patience(self) -> None:
        given = [name for name in _PATIENCE if name in self.changed()]
        if given and self.timeout_s is None:
            value = getattr(self, given[0])
            raise ConfigError(
                f"{given[0]}: {value} given, but clients wait as long as it takes; add timeout_s"
            )

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults: what has to be said to get this scenario again."""
        return {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if getattr(self, item.name) != item.default
        }
