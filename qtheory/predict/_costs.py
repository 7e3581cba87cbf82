"""Seconds of steps as the formulas take them: lines between numbers running, and a cost for each token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._normal import FIVE, FIVE_WEIGHTS
from ._steps import Rule
from .inputs import Engine

__all__ = ["Costs", "costs_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Costs:
    """Steps by the number running, whatever the rate."""

    engine: Engine
    rule: Rule
    nodes: Floats  # (k,) numbers running
    decode_s: Floats  # (k,) V(n)
    token_s: Floats  # (k,) seconds that a prompt token adds
    start_s: float  # seconds that a step of prompts takes besides
    full_s: Floats  # (k,) a step whose budget is spent
    own_s: Floats  # (m, k) a prompt of each group alone

    def at(self, n: Floats) -> tuple[Floats, Floats]:
        """Seconds of a step of decodes, and of a prompt token."""
        alone, token = (np.interp(n, self.nodes, column) for column in (self.decode_s, self.token_s))
        return alone, token

    def full_at(self, n: Floats) -> Floats:
        """Seconds of a step whose budget is spent."""
        return np.interp(n, self.nodes, self.full_s)

    def own_at(self, n: Floats) -> Floats:
        """Seconds (groups, rates) of the own prompt."""
        low = np.clip(np.searchsorted(self.nodes, n) - 1, 0, len(self.nodes) - 2)
        share = np.clip((n - self.nodes[low]) / (self.nodes[low + 1] - self.nodes[low]), 0.0, 1.0)
        return np.asarray((1 - share) * self.own_s[:, low] + share * self.own_s[:, low + 1])

    def slope(self, n: Floats, spread: Floats) -> Floats:
        """Seconds that a step grows by for each that runs besides, between as many more and fewer."""
        low, high = np.maximum(n - spread, 0.0), np.minimum(n + spread, self.nodes[-1])
        taken = np.interp(high, self.nodes, self.decode_s) - np.interp(low, self.nodes, self.decode_s)
        return np.asarray(np.maximum(taken, 0.0) / (high - low))

    def decode_seen_s(self, n: Floats, var: Floats) -> Floats:
        """Mean step without prompts over tokens, of which more are made where more run, in the slots."""
        sigma = np.sqrt(np.log1p(var / np.maximum(n, 0.1) ** 2))
        factors = np.exp(FIVE[:, None] * sigma)
        running = np.minimum(n * factors / (FIVE_WEIGHTS @ factors), self.engine.slots)
        made = running / (FIVE_WEIGHTS @ running)
        return np.asarray(FIVE_WEIGHTS @ (made * np.interp(running, self.nodes, self.decode_s)))

    @property
    def takes_all(self) -> bool:
        """Whether all that waits mostly goes in one step."""
        return self.rule.room_tokens(self.engine, 1.0) > 3 * self.engine.demand.mean_prompt


def costs_of(engine: Engine, rule: Rule) -> Costs:
    """What the formulas need of the steps, computed once."""
    demand = engine.demand
    nodes = np.unique(np.concatenate([np.arange(1.0, 9.0), np.linspace(8.0, max(engine.slots, 9.0), 24)]))
    decode = engine.steps_s(0.0, np.maximum(nodes, 1.0))
    rooms = np.array([rule.room_tokens(engine, n) for n in nodes])
    decodes = nodes if rule.mixed else np.zeros_like(nodes)
    full = engine.steps_s(rooms, decodes)
    if rule.mixed:
        token, start = np.maximum(full - decode, 0.0) / rooms, 0.0
    else:
        token = (full - engine.steps_s(rooms / 2, 0.0)) / (rooms / 2)
        start = max(engine.step_s(demand.mean_prompt, 0.0) - float(token[0]) * demand.mean_prompt, 0.0)
    whole, rest = np.divmod(demand.prompt_groups[0][:, None], rooms)
    own = whole * full + engine.steps_s(np.maximum(rest, 1.0), decodes)
    return Costs(
        engine=engine, rule=rule, nodes=nodes, decode_s=decode, token_s=token, start_s=start, full_s=full,
        own_s=own,
    )  # fmt: skip
