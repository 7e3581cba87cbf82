"""How long a prompt takes alone, asked for many prompts."""

from __future__ import annotations

from qtheory.system.steptime import StepTime

__all__ = ["Alone"]


class Alone:
    """`sim.policies.alone_s` of prompts of which nothing is cached.

    Parameters
    ----------
    step_time : StepTime
    budget_tokens : int
    """

    __slots__ = ("_budget", "_full_s", "_known_s", "_step_s")

    def __init__(self, step_time: StepTime, budget_tokens: int) -> None:
        self._step_s, self._budget = step_time.step_s, budget_tokens
        self._known_s: dict[int, float] = {}  # by prompt length, as many lengths recur
        self._full_s = [0.0]  # seconds of the first full chunks

    def __call__(self, n_tokens: int) -> float:
        """Seconds until a prompt gives its first token if it is computed alone, in chunks of the budget."""
        found = self._known_s.get(n_tokens)
        if found is None:
            found = self._known_s[n_tokens] = self._alone_s(n_tokens)
        return found

    def _alone_s(self, n_tokens: int) -> float:
        step_s, budget, sums_s = self._step_s, self._budget, self._full_s
        if n_tokens <= budget:
            return step_s((0, 0, n_tokens, n_tokens * (n_tokens + 1) * 0.5, n_tokens, 1))  # type: ignore[arg-type]
        n_full = (n_tokens - 1) // budget
        while len(sums_s) <= n_full:
            before = (len(sums_s) - 1) * budget
            work = budget * before + budget * (budget + 1) / 2
            sums_s.append(sums_s[-1] + step_s((0, 0, budget, work, before + budget, 0)))  # type: ignore[arg-type]
        before = n_full * budget
        rest = n_tokens - before
        work = rest * before + rest * (rest + 1) / 2
        return sums_s[n_full] + step_s((0, 0, rest, work, n_tokens, 1))  # type: ignore[arg-type]
