"""A part of every prompt that is in the cache: it is attended to and not computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, parse_law
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad, StepTime

__all__ = ["WarmPrefix", "without"]


def without(scenario: Scenario, cached_tokens: int) -> Scenario:
    """The scenario with prompts as long as what the cache leaves of them, and no text that they share.

    Parameters
    ----------
    scenario : Scenario
    cached_tokens : int
        Tokens of each prompt that are in the cache, >= 0.

    Raises
    ------
    ConfigError
        If something is cached and prompts are not of one length.

    Examples
    --------
    >>> without(Scenario(prompt="constant(1000)"), 992).prompt
    'constant(8)'
    """
    if not cached_tokens:
        return replace(scenario, prefix="none")
    law = parse_law(scenario.prompt or "", where="prompt") if scenario.prompt else None
    if not isinstance(law, Constant):
        raise ConfigError("prompt: a cached prefix is taken off prompts of one length only")
    return replace(scenario, prefix="none", prompt=f"constant({max(law.mean - cached_tokens, 1):g})")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPrefix:
    """The step times of another, with context that the loads leave out added to every sequence.

    Theory takes the cached part off each prompt. What is left of it, and every decode, attend to that part
    all the same. Prompts in a step are taken to be as many as end in it.

    Parameters
    ----------
    device : StepTime
        Step times.
    cached_tokens : int
        Tokens of each prompt that are in the cache, >= 0.

    Raises
    ------
    ConfigError
        If the number is below zero.

    Examples
    --------
    >>> from qtheory.system.steptime import Linear
    >>> step = WarmPrefix(device=Linear(base_s=0.01, per_context_token_s=1e-6), cached_tokens=500)
    >>> round(step.step_s(StepLoad(n_decodes=2, decode_context_tokens=100, n_sampled=2)), 6)
    0.0111
    """

    device: StepTime
    cached_tokens: int

    def __post_init__(self) -> None:
        if self.cached_tokens < 0:
            raise ConfigError(f"cached_tokens: {self.cached_tokens} must be >= 0")

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load.

        Examples
        --------
        >>> from qtheory.system.steptime import Linear
        >>> WarmPrefix(device=Linear(base_s=0.01), cached_tokens=8).step_s(StepLoad(n_decodes=1))
        0.01
        """
        n, context, tokens, work, prompt_context, sampled = load
        prompts = max(sampled - n, 1 if tokens else 0)
        return self.device.step_s(
            StepLoad(
                n_decodes=n,
                decode_context_tokens=context + n * self.cached_tokens,
                prefill_tokens=tokens,
                prefill_work=work + tokens * self.cached_tokens,
                prefill_context_tokens=prompt_context + prompts * self.cached_tokens,
                n_sampled=sampled,
            )
        )

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        """Line of a step of decodes, as `StepTime.decode_line`.

        Examples
        --------
        >>> from qtheory.system.steptime import Linear
        >>> step = WarmPrefix(device=Linear(base_s=0.01, per_context_token_s=1e-6), cached_tokens=500)
        >>> [round(part, 7) for part in step.decode_line(4)]
        [0.012, 1e-06]
        """
        line = self.device.decode_line(n_decodes)
        if line is None:
            return None
        return line[0] + line[1] * n_decodes * self.cached_tokens, line[1]
