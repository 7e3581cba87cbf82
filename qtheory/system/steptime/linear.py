"""Step times as a straight line in the load."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between

from .protocol import StepLoad

__all__ = ["Linear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    r"""Approximation: seconds of a step, linear in four counts of its load [1]_.

    .. math:: \tau = \alpha + \beta (n + T) + \gamma (C + R) + \delta A

    with :math:`n` decodes and :math:`T` prompt tokens computed, :math:`C` and :math:`R` tokens whose keys and
    values decodes and prompt chunks read (``decode_context_tokens``, ``prefill_context_tokens``), and
    :math:`A` pairs of a prompt token and a token it attends to (``prefill_work``). Sampling costs nothing.

    Parameters
    ----------
    base_s : float
        :math:`\alpha`, seconds of any step, >= 0.
    per_token_s : float
        :math:`\beta`, seconds for a computed token, >= 0.
    per_context_token_s : float
        :math:`\gamma`, seconds for a token read, >= 0.
    per_work_s : float
        :math:`\delta`, seconds for a pair, >= 0.

    Raises
    ------
    ConfigError
        If a coefficient is out of range or all are zero.

    References
    ----------
    .. [1] Zhong et al. (2024), "DistServe", arXiv:2401.09670, appendix A (latency of prefill and decoding).

    Examples
    --------
    >>> step_time = Linear(base_s=0.01, per_token_s=1e-4, per_context_token_s=1e-6)
    >>> round(step_time.step_s(StepLoad(n_decodes=10, decode_context_tokens=5000)), 6)
    0.016
    >>> step_time.decode_line(10)
    (0.011, 1e-06)
    """

    base_s: float
    per_token_s: float = 0.0
    per_context_token_s: float = 0.0
    per_work_s: float = 0.0

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in self.__slots__}
        for name, value in values.items():
            number_between(name, value, 0.0, 1e6)
        if not any(values.values()):
            raise ConfigError("base_s: all coefficients are 0; a step must take time")

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load."""
        n, context, prompt, work, read, _ = load
        shared = self.base_s + self.per_token_s * (n + prompt)
        return shared + self.per_context_token_s * (context + read) + self.per_work_s * work

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """Exact line of a step of decodes."""
        return self.base_s + self.per_token_s * n_decodes, self.per_context_token_s
