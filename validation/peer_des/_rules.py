"""Named rules of a published engine, each of which can be switched; and the policy that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim.policies import (
    Chunked,
    Composition,
    DepthFirst,
    DynamicOrdering,
    Fcfs,
    FirstAdmitted,
    FirstChunk,
    FullPrompt,
    Gate,
    LastAdmitted,
    LowestPriority,
    NoEvict,
    Ordering,
    Policy,
    PrefillFirst,
    Victim,
)

from ._counting import Counting
from ._orders import ChunkedAnyVictim, KeptOrder, LongestPrefixByBlocks
from ._reading import taken, word
from ._retracting import ExpectedRoom, FewestOutputFirst, PrefillFirstRoom

__all__ = ["RULES", "Rules", "read_rules"]

_NOTHING = "none: a fully cached prompt computes nothing"
RULES: dict[str, tuple[str, ...]] = {
    "composition": ("chunked", "prefill_first_chunked", "prefill_first"),
    "ordering": ("fcfs", "lpm", "dfs-weight"),
    "admission": ("full_prompt", "first_chunk", "no_evict", "expected"),
    "publication": ("schedule", "step_end"),
    "hit_cap": ("known - 1, whole blocks", "known - 1, whole pages", _NOTHING),
    "victim": ("last_admitted", "first_admitted", "fewest_output", "lowest_priority", "none"),
    "preemption": ("recompute", "retract"),
    "preemption_mode": ("lifo", "fifo"),
    "budget_unit": ("token", "block"),
    "copies": ("kept", "freed"),
    "eviction": ("as given back", "by last use"),
    "room": ("what is free now", "what was free as the pass began"),
    "sampled_token": ("place at the next step", "place at once", "place behind the prompts"),
    "outputs_again": ("free", "prefill"),
    "means": ("rounded", "exact"),
}
"""Words of each rule."""

_REQUIRED = ("composition", "admission", "publication")
_DEFAULTS = {
    "ordering": "fcfs",
    "hit_cap": "known - 1, whole blocks",
    "victim": "last_admitted",
    "preemption": "recompute",
    "preemption_mode": "lifo",
    "budget_unit": "token",
    "copies": "kept",
    "eviction": "as given back",
    "room": "what is free now",
    "sampled_token": "place at the next step",
    "outputs_again": "free",
    "means": "rounded",
}
_OF_RETRACTION = {
    "budget_unit": "block",
    "copies": "freed",
    "eviction": "by last use",
    "room": "what was free as the pass began",
    "sampled_token": "place behind the prompts",
    "outputs_again": "prefill",
}
"""What goes with ``preemption: retract`` where the settings do not say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The word of every rule.

    Parameters
    ----------
    words : mapping of str to str
        Complete.
    """

    words: Mapping[str, str]

    @property
    def counting(self) -> Counting | None:
        """What the step time is told of a step; None where that is the one rule."""
        free, rounded = self.words["outputs_again"] == "free", self.has_rounded_means
        if not free and not rounded:
            return None
        return Counting(outputs_again_are_free=free, means_are_rounded=rounded)

    @property
    def has_rounded_means(self) -> bool:
        """Whether mean lengths are whole numbers, rounded down, before they go into the step time."""
        return self.words["means"] == "rounded"

    @property
    def keeps_copies(self) -> bool:
        """Whether equal blocks that were computed at the same time both stay."""
        return self.words["copies"] == "kept"

    @property
    def eviction(self) -> str:
        """Which cached contents are lost first, in the word of `sim.replica.Replica`."""
        return "used" if self.words["eviction"] == "by last use" else "returned"

    def policy(self, *, budget_tokens: int, max_seqs: int, block_tokens: int) -> Policy:
        """The policy, with the limits of a case."""
        words = self.words
        return Policy(
            name=f"{words['composition']}, {words['admission']}",
            composition=self._composition(),
            ordering=self._ordering(),
            admission=self._gate(block_tokens),
            victim=self._victim(),
            cache_commit=words["publication"],
            whole_hit="nothing" if words["hit_cap"] == _NOTHING else "last_block",
            budget_unit=words["budget_unit"],
            lookahead_tokens=int(words["sampled_token"] != "place at the next step"),
            first_place="after_prompts"
            if words["sampled_token"] == "place behind the prompts"
            else "with_prompt",
            budget_tokens=budget_tokens,
            max_seqs=max_seqs,
        )

    def _composition(self) -> Composition:
        if self.words["composition"] == "prefill_first_chunked":
            return PrefillFirstRoom(stands_by_prefix=self.words["ordering"] == "lpm")
        if self.words["composition"] == "prefill_first":
            return PrefillFirst()
        return ChunkedAnyVictim() if self._is_oldest_first else Chunked()

    @property
    def _is_oldest_first(self) -> bool:
        return self.words["victim"] == "first_admitted" or self.words["preemption_mode"] == "fifo"

    def _ordering(self) -> Ordering | DynamicOrdering:
        orders = {"fcfs": None, "lpm": LongestPrefixByBlocks(), "dfs-weight": DepthFirst()}
        inner = orders[self.words["ordering"]]
        if self.words["preemption"] == "retract":
            return KeptOrder(inner=inner)
        return inner or Fcfs()

    def _gate(self, block_tokens: int) -> Gate:
        forgets = self.words["room"] == "what was free as the pass began"
        gates: dict[str, Gate] = {
            "full_prompt": FullPrompt(),
            "first_chunk": FirstChunk(),
            "no_evict": NoEvict(),
            "expected": ExpectedRoom(block_tokens=block_tokens, forgets_hits=forgets),
        }
        return gates[self.words["admission"]]

    def _victim(self) -> Victim:
        if self.words["victim"] == "fewest_output":
            return FewestOutputFirst()
        if self.words["victim"] == "lowest_priority":
            return LowestPriority()
        return FirstAdmitted() if self._is_oldest_first else LastAdmitted()


def read_rules(where: str, given: Mapping[str, Any]) -> Rules:
    """The rules of a set, with what is not said filled in.

    Parameters
    ----------
    where : str
        Place of the set, for messages.
    given : mapping
        Words by rule, of `RULES` alone.

    Raises
    ------
    ConfigError
        If a rule is missing or a word is unknown.

    Examples
    --------
    >>> words = {"composition": "chunked", "admission": "no_evict", "publication": "schedule"}
    >>> rules = read_rules("settings.json: rules.mine", words)
    >>> rules.words["victim"], rules.counting.means_are_rounded
    ('last_admitted', True)
    """
    for name in _REQUIRED:
        taken(where, given, name)
    said = {name: word(f"{where}.{name}", value, RULES[name]) for name, value in given.items()}
    implied = _OF_RETRACTION if said.get("preemption") == "retract" else {}
    return Rules(words={**_DEFAULTS, **implied, **said})
