"""What is behind a request when its first token comes, where the shortest outputs go first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._by_length import groups_of
from ._last_step import LastStep

__all__ = ["Behind"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Behind:
    """Steps that spend a budget, and what comes while they do."""

    last: LastStep
    rate_rps: float
    step_s: float  # that spends the budget
    alone_s: float  # without prompts

    def ratios(self, waits: Floats, beside: float) -> Floats:
        r"""Tokens behind a request (g,) to those in order of arrival, if it waits for so many until the step
        in which its own prompt ends, and so many are ``beside`` it in that.

        Behind it are all of longer outputs that waited when it came,
        :math:`\lambda E[s]\int_p^1 W_q dq` by Little's law, and those that came in its wait,
        :math:`\lambda E[s](1-p)W_p`; of those whom a burst brings beyond these, those of longer outputs that
        came before it or in its wait; and all that come while its own prompt is computed. What still goes in
        its last step is not behind it; the mean over all requests is that in order of arrival.
        """
        last, demand, budget = self.last, self.last.demand, self.last.budget_tokens
        _, weights, prompts = groups_of(demand)
        mean = float(weights @ prompts)
        tokens = weights * prompts / mean
        waits_s = waits * self.step_s / budget
        mean_s = float(tokens @ waits_s)
        longer = np.maximum(1 - np.cumsum(tokens), 0.0)
        found = np.maximum(mean_s - np.cumsum(tokens * waits_s), 0.0)
        before_s = self.step_s * max((mean - last.own_tokens) / budget, 0.0)
        clump, mates = float(demand.mates(np.array(mean_s))), demand.mates(waits_s)
        early = demand.mates(waits_s + before_s)
        moved = self.rate_rps * (found + (longer + tokens) * waits_s + before_s)
        moved = mean * (moved + (longer + tokens / 2) * (clump + mates) + early - mates)
        left = last.beyond(moved, mean * (1 + clump))
        spent = np.minimum((last.own_tokens + beside + moved - left) / budget, 1.0)
        during_s = self.alone_s + spent * (self.step_s - self.alone_s)
        late = demand.mates(waits_s + before_s + during_s)
        whole = left + mean * (self.rate_rps * during_s + late - early)
        return np.asarray(whole / float(weights @ whole))
