"""Step times with the host time of an engine on top: of each step, and of each sequence in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qtheory.basics.errors import ConfigError

from .protocol import StepLoad, StepTime

__all__ = ["HostTime"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTime:
    """Device time plus what the engine's own code takes while the device waits.

    ``seconds = device + per_step_s + per_sequence_s * (decodes + prompts that end)``: scheduling, sampling
    parameters, detokenising and sending a token are work of the host for every sequence of a step.

    Parameters
    ----------
    device : StepTime
        Time of the accelerators.
    per_step_s : float
        Seconds of each step beyond those of ``device``; below zero where those already hold too much.
    per_sequence_s : float
        Seconds of each sequence that gets a token, >= 0.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> from qtheory.system.steptime import Linear
    >>> step = HostTime(device=Linear(base_s=0.01), per_sequence_s=5e-5)
    >>> round(step.step_s(StepLoad(n_decodes=100, n_sampled=100)), 6)
    0.015
    """

    device: StepTime
    per_step_s: float = 0.0
    per_sequence_s: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.per_step_s):
            raise ConfigError(f"per_step_s: {self.per_step_s} must be finite")
        if not 0 <= self.per_sequence_s < math.inf:
            raise ConfigError(f"per_sequence_s: {self.per_sequence_s} must be finite and >= 0")

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load.

        Examples
        --------
        >>> from qtheory.system.steptime import Linear
        >>> HostTime(device=Linear(base_s=0.01), per_step_s=0.002).step_s(StepLoad(n_decodes=1))
        0.012
        """
        return self.device.step_s(load) + self.per_step_s + self.per_sequence_s * load[5]

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        """Line of a step of decodes, as `StepTime.decode_line`.

        Examples
        --------
        >>> from qtheory.system.steptime import Linear
        >>> HostTime(device=Linear(base_s=0.01), per_step_s=0.002).decode_line(4)
        (0.012, 0.0)
        """
        line = self.device.decode_line(n_decodes)
        if line is None:
            return None
        return line[0] + self.per_step_s + self.per_sequence_s * n_decodes, line[1]
