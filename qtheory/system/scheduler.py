"""Schedulers by name and option: plain data that the simulator and the predictions both read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .own_scheduler import is_own

__all__ = [
    "CHOICES",
    "DISAGGREGATED",
    "SCHEDULERS",
    "WHOLE_PROMPT_BUDGET_TOKENS",
    "WHOLE_PROMPT_SCHEDULERS",
    "SchedulerSpec",
    "budget_rule",
]

SCHEDULERS = (
    "fcfs",
    "static",
    "orca",
    "chunked",
    "sjf",
    "priority",
    "slo",
    "cache_aware",
    "fair",
    "lifo",
    "vllm",
    "vllm-v0",
    "sglang",
    "trtllm",
    "sarathi",
    "disaggregated",
)
"""Schedulers of this version."""

DISAGGREGATED = "disaggregated"
"""Prefill and decode apart: a scheduler with pools of instances."""

WHOLE_PROMPT_SCHEDULERS = ("fcfs", "static", "orca", "vllm-v0", "disaggregated")
"""Those that compute a prompt in one step: their token budget must hold the longest prompt."""

WHOLE_PROMPT_BUDGET_TOKENS = 32_768
"""Their budget where none is given and no shorter longest sequence is known."""

CHOICES: dict[str, tuple[str, ...]] = {
    "admission": ("full_prompt", "first_chunk", "no_evict", "expected"),
    "prefill_alloc": ("chunk", "full"),
    "watermark_scope": ("busy", "always"),
    "append_rule": ("exact", "conservative"),
    "victim": ("last_admitted", "lowest_priority", "fewest_output"),
    "preemption": ("recompute", "swap"),
    "on_unfit": ("arrival", "head", "wait"),
    "priority_preempt": ("memory_only", "on_arrival"),
    "shed": ("none", "reject", "demote"),
    "cache_commit": ("schedule", "step_end"),
    "in_batch": ("share", "skip"),
    "composition": ("chunked", "prefill_first_chunked"),
    "cache_order": ("lpm", "dfs-weight"),
    "deadline_order": ("edf", "least_slack"),
    "chunk_size": ("budget", "slack"),
}
"""Allowed words of the options that are words."""


_CHECKS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (checks.integer, ("budget_tokens", "max_seqs", "max_skip")),
    (partial(checks.at_least, 0), ("long_prefill_threshold_tokens", "sharing_tokens", "max_queue")),
    (checks.non_negative, ("watermark_frac", "prompt_weight", "output_weight")),
    (checks.positive, ("starvation_limit_s",)),
)


def budget_rule(name: str) -> str:
    """What the token budget of a scheduler is where none is given.

    Parameters
    ----------
    name : str
        One of `SCHEDULERS`.

    Raises
    ------
    ConfigError
        If there is no such scheduler.

    Examples
    --------
    >>> budget_rule("fcfs")
    'the longest sequence of model and memory, at most 32,768'
    """
    if SchedulerSpec(name=name).whole_prompts:
        return f"the longest sequence of model and memory, at most {WHOLE_PROMPT_BUDGET_TOKENS:,}"
    return "that of the accelerator: 512 below 16 GB of memory, else 2,048"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSpec:
    """A scheduler by name, with options; ``None`` leaves an option to the scheduler's own default.

    Parameters
    ----------
    name : str
        One of `SCHEDULERS`, or a person's own as in `qtheory.system.own_scheduler.own_name`.
    budget_tokens : int, optional
        Tokens computed in one step at most, >= 1.
    max_seqs : int, optional
        Running requests at most, >= 1.
    long_prefill_threshold_tokens : int, optional
        Tokens of one request in one step at most; 0: no such limit.
    chunked_prefill : bool, optional
        False: a prompt that exceeds what is left of the budget waits (chunked schedulers only).
    admission : str, optional
        Blocks that must be free to admit: for all known tokens (``full_prompt``), for the first chunk
        (``first_chunk``), to completion and not promised to running requests (``no_evict``), or to
        completion and not in all likelihood needed by running requests (``expected``).
    prefill_alloc : str, optional
        Blocks taken at admission: for the ``chunk`` or for the ``full`` prompt.
    watermark_frac : float, optional
        Share of the blocks that stays free when admitting, in [0, 1).
    watermark_scope : str, optional
        ``busy``: the watermark is ignored while nothing runs; ``always``.
    append_rule : str, optional
        Free blocks a running request must find: what it needs (``exact``) or at least one (``conservative``).
    victim : str, optional
        Who is preempted: ``last_admitted``, ``lowest_priority``, ``fewest_output``.
    preemption : str, optional
        ``recompute``, or ``swap`` to host memory (recompute where that is full).
    on_unfit : str, optional
        What can never run is rejected on ``arrival``, at the ``head`` of the queue, or not (``wait``).
    priority_preempt : str, optional
        ``on_arrival``: a more important waiting request may evict running ones; ``memory_only``.
    starvation_limit_s : float, optional
        Seconds after which a waiting request goes to the front, > 0.
    shed : str, optional
        Waiting requests that must miss their first-token limit: keep (``none``), ``reject`` or ``demote``.
    cache_commit : str, optional
        When full blocks become visible to others: when they are ``schedule``d or at ``step_end``.
    in_batch : str, optional
        ``skip``: pass over a request whose first missing block is being computed for another in this step.
    composition : str, optional
        How a step is filled (cache_aware only): ``chunked``, or prompts alone, at most one of them
        unfinished, before decodes (``prefill_first_chunked``).
    cache_order : str, optional
        Order by cached prefix (cache_aware, sglang): longest match first (``lpm``), or depth first through
        the tree of prefixes, heavy branches first (``dfs-weight``).
    sharing_tokens : int, optional
        With ``lpm``: requests with at most this much cached go last if they share this much with an earlier
        one [32].
    max_queue : int, optional
        With ``lpm``: above this many waiting requests the order is by arrival [128].
    max_skip : int, optional
        A request that this many later ones have overtaken goes first (cache_aware, sglang with a
        ``cache_order``), >= 1 [no such rule].
    deadline_order : str, optional
        Order by first-token limit (slo): the earliest deadline first (``edf``), or the one that leaves least
        time beside what its prompt needs alone (``least_slack``).
    chunk_size : str, optional
        Prompt tokens of a step (slo): all that the ``budget`` leaves, or at most so many that each running
        request still gets its next token in time (``slack``), one time per output token after the last by
        its own limit, counted from its first token.
    prompt_weight, output_weight : float, optional
        Charge of a prompt and of an output token (fair), >= 0 [1 and 2].
    client_weights : tuple of float, optional
        Shares of the clients 0, 1, ... (fair), > 0; the charges are divided by them [1 each].

    Raises
    ------
    ConfigError
        If a name or word is unknown (with the nearest right spelling) or a number is out of its range.

    Examples
    --------
    >>> SchedulerSpec(name="chunked", budget_tokens=512).options()
    {'budget_tokens': 512}
    >>> SchedulerSpec(name="slo", shed="drop")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: shed: unknown 'drop'; one of none, reject, demote
    """

    name: str = "chunked"
    budget_tokens: int | None = None
    max_seqs: int | None = None
    long_prefill_threshold_tokens: int | None = None
    chunked_prefill: bool | None = None
    admission: str | None = None
    prefill_alloc: str | None = None
    watermark_frac: float | None = None
    watermark_scope: str | None = None
    append_rule: str | None = None
    victim: str | None = None
    preemption: str | None = None
    on_unfit: str | None = None
    priority_preempt: str | None = None
    starvation_limit_s: float | None = None
    shed: str | None = None
    cache_commit: str | None = None
    in_batch: str | None = None
    composition: str | None = None
    cache_order: str | None = None
    sharing_tokens: int | None = None
    max_queue: int | None = None
    max_skip: int | None = None
    deadline_order: str | None = None
    chunk_size: str | None = None
    prompt_weight: float | None = None
    output_weight: float | None = None
    client_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        given = self.options()
        for option in CHOICES.keys() & given.keys():
            checks.one_of(option, given[option], CHOICES[option])
        for check, names in _CHECKS:
            check(**{key: given[key] for key in names if key in given})
        if self.watermark_frac is not None and self.watermark_frac >= 1:
            raise ConfigError(f"watermark_frac: {self.watermark_frac:g} must be below 1")
        if self.client_weights is not None:
            object.__setattr__(self, "client_weights", _weights(self.client_weights))
        if self.chunked_prefill is not None and not isinstance(self.chunked_prefill, bool):
            raise ConfigError(f"chunked_prefill: {checks.shown(self.chunked_prefill)} must be true or false")

    def options(self) -> dict[str, Any]:
        """The options that were given, without the name."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "name"}
        return {key: value for key, value in values.items() if value is not None}

    @property
    def whole_prompts(self) -> bool:
        """Whether a prompt is computed in one step, so that the budget must hold the longest prompt."""
        if self.chunked_prefill is not None:
            return not self.chunked_prefill
        return self.name in WHOLE_PROMPT_SCHEDULERS


def _weights(given: Any) -> tuple[float, ...]:
    if not isinstance(given, list | tuple):
        raise ConfigError(f"client_weights: {checks.shown(given)} is not a list of numbers")
    checks.positive(**{f"client_weights[{client}]": weight for client, weight in enumerate(given)})
    return tuple(float(weight) for weight in given)


def _check_name(name: str) -> None:
    if name not in SCHEDULERS and not (isinstance(name, str) and is_own(name)):
        checks.one_of("scheduler", name, SCHEDULERS)
