"""How long a finite run lasts that comes faster than it is served: its last answers end it."""

from __future__ import annotations

import numpy as np

from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.workload.lengths import Lengths

__all__ = ["drain_s"]


def drain_s(
    lengths: Lengths, step_time: StepTime, *, n_requests: int, limit_rps: float, in_flight: float
) -> float:
    r"""Approximation: seconds until the last answer of requests that are all there.

    While requests wait, the batch is full and ``limit_rps`` are served. Then it empties: what each of its
    ``in_flight`` requests has left is the residual output, and steps shorten as they leave. Where a step is
    a line in the number of decodes, work that goes with the number is part of ``n_requests / limit_rps``
    already; its constant part :math:`a` is paid until the longest residual is out, not the mean one:

    .. math:: T = \frac{n}{\mu} + a \Bigl(\mathrm{E} \max_{i \le N} R_i - \mathrm{E} R\Bigr)

    Parameters
    ----------
    lengths : Lengths
        Of prompts and outputs.
    step_time : StepTime
    n_requests : int
        Requests of the run, >= 1.
    limit_rps : float
        Requests per second of a full batch, > 0.
    in_flight : float
        Requests of a full batch, > 0.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> from qtheory.system.steptime import Linear
    >>> from qtheory.system.workload.lengths import LawLengths
    >>> alike = LawLengths(prompt=Constant(value=100), output=Constant(value=10))
    >>> print(f"{drain_s(alike, Linear(base_s=0.01), n_requests=100, limit_rps=10, in_flight=1e6):.3f} s")
    10.045 s
    """
    values, probs = lengths.output_law.atoms()
    levels = np.arange(int(values[-1]))  # tokens that are out
    below = np.concatenate([[0.0], np.cumsum(probs)])
    longer = 1 - below[np.searchsorted(values, levels, side="right")]  # P(output > level)
    left = np.cumsum(longer[::-1])[::-1] / longer.sum()  # P(residual > level)
    n = min(in_flight, float(n_requests))
    longest = float((1 - (1 - np.minimum(left, 1.0)) ** n).sum())
    context = round(lengths.mean_prompt_tokens + lengths.mean_output_tokens / 2)
    alone_s = step_time.step_s(StepLoad(n_decodes=1, decode_context_tokens=context, n_sampled=1))
    return n_requests / limit_rps + alone_s * (longest - float(left.sum()))
