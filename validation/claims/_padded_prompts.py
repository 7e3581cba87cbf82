"""How vLLM 0.2.3 batches prompts: side by side in a rectangle, as long as little of it is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sim.plan import PlanBuilder, View

__all__ = ["PaddedPrompts"]


@dataclass(frozen=True, slots=True)
class PaddedPrompts:
    """Prompts alone in a step, of nearly one length; else the running jobs [1]_.

    Each prompt takes the room of the longest beside it. A prompt with which more than ``most_empty_tokens``
    would be empty waits for the next step, and those behind it too, so that prompts of unequal lengths
    follow each other one by one while all decodes stand still.

    Parameters
    ----------
    most_empty_tokens : int
        ``max_paddings`` of that engine.

    References
    ----------
    .. [1] vLLM 0.2.3, ``core/scheduler.py`` and ``engine/arg_utils.py``.

    Examples
    --------
    >>> rule = PaddedPrompts()
    >>> rule.has_room([800], 700), rule.has_room([800], 500), rule.has_room([200, 100], 300)
    (True, False, False)
    """

    most_empty_tokens: int = 256
    whole_prompts: ClassVar[bool] = True

    def has_room(self, batch: list[int], tokens: int) -> bool:
        """Whether a prompt of so many tokens may stand beside those of ``batch``."""
        lengths = [*batch, tokens]
        return max(lengths) * len(lengths) - sum(lengths) <= self.most_empty_tokens

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Prompts in order as long as they are of a kind."""
        batch: list[int] = []
        for job in view.waiting:
            if not self.has_room(batch, job.known_tokens) or not plan.admit(job, whole=True):
                break
            batch.append(job.known_tokens)
        if plan.is_empty:
            plan.continue_running()
            plan.swap_in()
