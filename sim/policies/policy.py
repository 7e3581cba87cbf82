"""A policy: a plain value made of pieces, that any engine can read."""

from __future__ import annotations

from dataclasses import dataclass, field

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import CHOICES

from .admission import FullPrompt
from .composition import Chunked
from .ordering import Fcfs
from .pieces import Composition, DynamicOrdering, Gate, Ordering, Victim
from .shedding import Shedding
from .victim import LastAdmitted

__all__ = ["Policy"]

_WORDS = (
    "prefill_alloc",
    "watermark_scope",
    "append_rule",
    "preemption",
    "on_unfit",
    "priority_preempt",
    "cache_commit",
    "in_batch",
    "chunk_size",
)

_PARTS = {
    "composition": ("whole_prompts", "fill"),
    "admission": ("reserves", "tokens"),
    "victim": ("whole_batch", "choose"),
    "shed": ("action", "is_late"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Ordering of the waiting queue, composition of a step, admission, victim, and the limits.

    Parameters
    ----------
    name : str
        For messages and reports.
    ordering, composition, admission, victim, shed
        The pieces; one's own may stand for any of them.
    budget_tokens : int
        Tokens of a step at most, >= 1.
    max_seqs : int
        Running jobs at most, >= 1.
    long_prefill_threshold_tokens : int
        Tokens of one job in a step at most; 0: no such limit.
    watermark_frac : float
        Share of the blocks that stays free when admitting, in [0, 1).
    whole_hit : str
        What a job computes whose tokens are all cached: ``last_block``, or ``nothing``: then it counts as a
        decode of the step that gives its token.
    budget_unit : str
        In what prompts count against the budget: ``token``, or ``block``: then they are rounded up to whole
        blocks, and cut at the end of a block.
    lookahead_tokens : int
        Places in memory that a job takes with the step that samples, beyond the tokens computed, >= 0.
    first_place : str
        When that of a first token is looked for: ``with_prompt``, or ``after_prompts``: where there is none,
        all running jobs decode in the same step, and the least advanced lose their blocks.
    needs_oracle : bool
        Whether its predicted output lengths are meant to be the true ones; reports say so.
    prefill_alloc, watermark_scope, append_rule, preemption
        Words as in `qtheory.system.scheduler.SchedulerSpec`.
    on_unfit, priority_preempt, cache_commit, in_batch, chunk_size
        Words as in `qtheory.system.scheduler.SchedulerSpec`.

    Raises
    ------
    ConfigError
        If a number is out of its range, a word is unknown, a piece lacks what makes it one, or whole prompts
        are to be cut.

    Examples
    --------
    >>> policy = Policy(name="mine", budget_tokens=512)
    >>> policy.ordering, policy.victim, policy.max_seqs
    (Fcfs(), LastAdmitted(), 128)
    """

    name: str
    ordering: Ordering | DynamicOrdering = field(default_factory=Fcfs)
    composition: Composition = field(default_factory=Chunked)
    admission: Gate = field(default_factory=FullPrompt)
    victim: Victim = field(default_factory=LastAdmitted)
    shed: Shedding = field(default_factory=Shedding)
    budget_tokens: int = 2048
    max_seqs: int = 128
    long_prefill_threshold_tokens: int = 0
    prefill_alloc: str = "chunk"
    watermark_frac: float = 0.0
    watermark_scope: str = "busy"
    append_rule: str = "exact"
    preemption: str = "recompute"
    on_unfit: str = "arrival"
    priority_preempt: str = "memory_only"
    cache_commit: str = "schedule"
    in_batch: str = "share"
    chunk_size: str = "budget"
    whole_hit: str = "last_block"
    budget_unit: str = "token"
    lookahead_tokens: int = 0
    first_place: str = "with_prompt"
    needs_oracle: bool = False

    def __post_init__(self) -> None:
        checks.integer(budget_tokens=self.budget_tokens, max_seqs=self.max_seqs)
        checks.at_least(0, long_prefill_threshold_tokens=self.long_prefill_threshold_tokens)
        checks.at_least(0, lookahead_tokens=self.lookahead_tokens)
        checks.non_negative(watermark_frac=self.watermark_frac)
        if self.watermark_frac >= 1:
            raise ConfigError(f"watermark_frac: {self.watermark_frac:g} must be below 1")
        for word in _WORDS:
            checks.one_of(word, getattr(self, word), CHOICES[word])
        checks.one_of("whole_hit", self.whole_hit, ("last_block", "nothing"))
        checks.one_of("budget_unit", self.budget_unit, ("token", "block"))
        checks.one_of("first_place", self.first_place, ("with_prompt", "after_prompts"))
        checks.text("name", self.name)
        if not isinstance(self.needs_oracle, bool):
            raise ConfigError(f"needs_oracle: {checks.shown(self.needs_oracle)} must be true or false")
        if self.chunk_size == "slack" and getattr(self.composition, "whole_prompts", False):
            raise ConfigError("chunk_size: 'slack' cuts prompts; take a composition that does so")
        if not isinstance(self.ordering, DynamicOrdering) and not hasattr(self.ordering, "key"):
            raise ConfigError(
                f"ordering: {checks.shown(self.ordering)} has neither 'key' nor 'arrange'; an ordering needs "
                "one of them"
            )
        for piece, parts in _PARTS.items():
            for part in parts:
                if not hasattr(getattr(self, piece), part):
                    given = checks.shown(getattr(self, piece))
                    raise ConfigError(
                        f"{piece}: {given} has no {part!r}; every {piece} needs {' and '.join(parts)}"
                    )

    def watermark_blocks(self, n_blocks: int) -> int:
        """Blocks of a pool of ``n_blocks`` that stay free when admitting."""
        return int(self.watermark_frac * n_blocks)
