"""Seconds of steps as the formulas take them: lines between numbers running, and a cost for each token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._steps import Rule
from .inputs import Engine

__all__ = ["Costs", "costs_of"]

Floats = NDArray[np.float64]

_NORMAL = np.array([-2.857, -1.356, 0.0, 1.356, 2.857])  # of the normal law, by Gauss and Hermite
_SHARES = np.array([0.01126, 0.22208, 0.53332, 0.22208, 0.01126])


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
        """Mean step without prompts over tokens, of which more are made where more run."""
        sigma = np.sqrt(np.log1p(var / np.maximum(n, 0.1) ** 2))
        factors = np.exp(_NORMAL[:, None] * sigma)
        factors = factors / (_SHARES @ factors)
        seconds = np.interp(n * factors, self.nodes, self.decode_s)
        return np.asarray(_SHARES @ (factors * seconds))

    @property
    def takes_all(self) -> bool:
        """Whether all that waits mostly goes in one step."""
        return self.rule.room_tokens(self.engine, 1.0) > 3 * self.engine.demand.mean_prompt


def costs_of(engine: Engine, rule: Rule) -> Costs:
    """What the formulas need of the steps, computed once."""
    demand = engine.demand
    nodes = np.unique(np.concatenate([np.arange(1.0, 9.0), np.linspace(8.0, max(engine.slots, 9.0), 24)]))
    decode = np.array([engine.decode_s(n) for n in nodes])
    rooms = np.array([rule.room_tokens(engine, n) for n in nodes])
    decodes = nodes if rule.mixed else np.zeros_like(nodes)
    full = np.array([engine.step_s(t, n) for t, n in zip(rooms, decodes, strict=True)])
    if rule.mixed:
        token, start = np.maximum(full - decode, 0.0) / rooms, 0.0
    else:
        token = (full - np.array([engine.step_s(t / 2, 0.0) for t in rooms])) / (rooms / 2)
        start = max(engine.step_s(demand.mean_prompt, 0.0) - float(token[0]) * demand.mean_prompt, 0.0)
    sizes = demand.prompt_groups[0]
    own = np.array(
        [
            [t // room * whole + engine.step_s(max(t % room, 1.0), n) for room, n, whole in
             zip(rooms, decodes, full, strict=True)]
            for t in sizes
        ]
    )  # fmt: skip
    return Costs(
        engine=engine, rule=rule, nodes=nodes, decode_s=decode, token_s=token, start_s=start, full_s=full,
        own_s=own,
    )  # fmt: skip
