"""Steps of prompts alone, of one chunk, or of tokens alone, and what is fitted on measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.system.hardware import Hardware
from qtheory.system.models import ModelSpec
from qtheory.system.steptime import StepLoad, ideal_steps
from qtheory.system.steptime.fit import StepFit, fit_steps

__all__ = ["Machine", "chunk", "decodes", "prompts"]


def prompts(tokens: int, n: int = 1) -> StepLoad:
    """So many whole prompts of one length.

    Examples
    --------
    >>> prompts(100, 2).prefill_work
    10100.0
    """
    return chunk(n * tokens, work=n * tokens * (tokens + 1) / 2, n_sampled=n)


def chunk(tokens: int, *, work: float, n_sampled: int = 1, behind: int = 0) -> StepLoad:
    """Prompt tokens with the work of their attention, behind others."""
    return StepLoad(
        prefill_tokens=tokens,
        prefill_work=work,
        prefill_context_tokens=behind + tokens,
        n_sampled=n_sampled,
    )


def decodes(n: int, context_tokens: float) -> StepLoad:
    """A token for each of ``n`` that attend to so many tokens in the mean."""
    return StepLoad(n_decodes=n, decode_context_tokens=round(n * context_tokens), n_sampled=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Accelerators that compute one model together."""

    hardware: Hardware
    model: ModelSpec
    tp: int

    def fitted(
        self, loads: Sequence[StepLoad], measured_s: Sequence[float], held: dict[str, float]
    ) -> StepFit:
        """What is not held, from measured steps."""
        steps = ideal_steps(self.hardware, self.model, loads, tp=self.tp)
        return fit_steps(steps, measured_s, held=held, capped=True)

    def seconds(self, fit: StepFit, loads: Sequence[StepLoad]) -> NDArray[np.float64]:
        """Seconds (n,) of other steps with that."""
        return ideal_steps(self.hardware, self.model, loads, tp=self.tp).seconds(**fit.values)
