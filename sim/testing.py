"""For tests of engines and policies: small step times, a check, random requests (these need hypothesis)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qtheory.basics import checks
from qtheory.system.workload.request import Requests

from ._policy_check import check_policy
from .kvcache import Contents

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["AffineStep", "ConstantStep", "alike", "check_policy", "request_lists"]


@dataclass(frozen=True, slots=True)
class ConstantStep:
    """Every step takes the same time.

    Parameters
    ----------
    seconds : float
        Seconds of a step, > 0.

    Raises
    ------
    ConfigError
        If ``seconds`` is not above zero.

    Examples
    --------
    >>> ConstantStep(0.5).step_s((3, 90, 0, 0.0, 0, 3))
    0.5
    """

    seconds: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(seconds=self.seconds)

    def step_s(self, load: Sequence[float]) -> float:
        """Seconds of a step, whatever is in it."""
        return self.seconds

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """A flat line."""
        return self.seconds, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineStep:
    """A base, and so much a token computed, a token attended to by decodes, and a unit of prefill work.

    Parameters
    ----------
    base_s : float
        Seconds of an empty step, > 0.
    per_token_s, per_context_token_s, per_work_s : float
        Seconds a computed token, a context token of the decodes, a token times mean context of the prefill,
        >= 0.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> AffineStep(base_s=0.01, per_token_s=0.001).step_s((2, 50, 8, 36.0, 8, 3))
    0.02
    """

    base_s: float
    per_token_s: float = 0.0
    per_context_token_s: float = 0.0
    per_work_s: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(base_s=self.base_s)
        checks.non_negative(
            per_token_s=self.per_token_s,
            per_context_token_s=self.per_context_token_s,
            per_work_s=self.per_work_s,
        )

    def step_s(self, load: Sequence[float]) -> float:
        """Seconds of a step with a load in the order of `StepLoad`."""
        n_decodes, context, prefill, work = load[:4]
        return (
            self.base_s
            + self.per_token_s * (n_decodes + prefill)
            + self.per_context_token_s * context
            + self.per_work_s * work
        )

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """Linear in the summed context."""
        return self.base_s + self.per_token_s * n_decodes, self.per_context_token_s


def alike(requests: Requests) -> Contents:
    """Prompts that share prefixes: row i is ones, with a two at token i modulo 7.

    Parameters
    ----------
    requests : Requests
        Their prompt lengths count.

    Examples
    --------
    >>> asked = Requests(arrival_s=[0, 0], prompt_tokens=[3, 2], output_tokens=[1, 1])
    >>> [alike(asked).tokens(row, prompt_tokens=2, n_outputs=0) for row in (0, 1)]
    [[2, 1], [1, 2]]
    """
    prompts = [
        [1 + (token == row % 7) for token in range(n)]
        for row, n in enumerate(requests.prompt_tokens.tolist())
    ]
    return Contents(prompts=prompts, outputs=[None] * len(requests))


def request_lists(*, max_size: int = 10) -> SearchStrategy[Requests]:
    """A hypothesis strategy: few small requests with ties, unequal lengths, priorities, clients and limits.

    Parameters
    ----------
    max_size : int
        Requests at most, >= 1.

    Returns
    -------
    SearchStrategy of Requests

    Examples
    --------
    >>> strategy = request_lists(max_size=3)  # then @given(strategy) over a test
    """
    from hypothesis import strategies as st

    row = st.tuples(
        st.integers(0, 40).map(lambda quarters: quarters / 4),  # arrival
        st.integers(1, 40),  # prompt
        st.integers(1, 12),  # output
        st.integers(0, 5),  # what the longest output is beyond it
        st.integers(0, 3),  # priority
        st.integers(0, 2),  # client
        st.sampled_from([1.0, 4.0, math.inf]),  # first-token limit
        st.integers(1, 12),  # predicted output
    )
    return st.lists(row, min_size=1, max_size=max_size).map(_requests)


def _requests(rows: list[tuple[float, ...]]) -> Requests:
    table = np.array(sorted(rows))  # (n, 8)
    columns = dict(
        zip(
            ("arrival_s", "prompt_tokens", "output_tokens", "extra", "priority", "client"),
            table.T,
            strict=False,
        )
    )
    longest = columns["output_tokens"] + columns.pop("extra")
    return Requests(
        **columns, max_output_tokens=longest, ttft_slo_s=table[:, 6], predicted_output_tokens=table[:, 7]
    )
