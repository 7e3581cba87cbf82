"""Mean TTFT, freed of chance by a queue that is solved: one server with the same work at the same times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from sim.record import Records
from sim.statistics import estimate_mean
from validation.refine import Work

__all__ = ["controlled_mean", "controlled_ttft", "waits_of"]

Floats = NDArray[np.float64]
_BATCHES, _CUT_FRAC = 8, 0.1  # of a run, for the coefficient alone
_MOST_LOAD = 0.99


def controlled_ttft(records: Sequence[Records], work: Work, full_rps: float) -> tuple[float, float] | None:
    """Mean TTFT and half of its 95 % interval; None where the queue has no steady state or says nothing.

    Parameters
    ----------
    records : sequence of Records
        One a replication, of Poisson arrivals.
    work : Work
    full_rps : float
        Requests a second that the server can take, > 0.
    """
    values, gaps_s, works_s = list[Floats](), list[Floats](), list[Floats]()
    for one in records:
        order = np.argsort(one.requests.arrival_s, kind="stable")
        each = work.prompt_s * one.requests.prompt_tokens + work.decode_s * (one.requests.output_tokens - 1)
        values.append((one.first_token_s - one.requests.arrival_s)[order])
        gaps_s.append(np.diff(one.requests.arrival_s[order], prepend=0.0))
        works_s.append(each[order] / (full_rps * work.mean_s))
    if not all(np.isfinite(each).all() for each in values):  # shed or rejected: of those there is no mean
        return None
    return controlled_mean(values, gaps_s, works_s)


def controlled_mean(
    values: Sequence[Floats], gaps_s: Sequence[Floats], works_s: Sequence[Floats]
) -> tuple[float, float] | None:
    r"""Mean of ``values`` where the waits of M/G/1 have their expectation, and half of its 95 % interval.

    That is :math:`\lambda E[x^2] / (2 (1 - \rho))` [1]_ with the mean rate and the works that were drawn, so
    the mean is that for just these: what is left of chance is their order. The coefficient is that of least
    squares over batches [2]_; each value less the coefficient times what the wait is above its expectation
    goes the way of any series.

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing Systems, volume 1", section 5.7.
    .. [2] Lavenberg and Welch (1981), "A perspective on the use of control variables to increase the
       efficiency of Monte Carlo simulations", Management Science 27, 322-335.
    """
    gap_s, work_s = float(np.concatenate(gaps_s).mean()), np.concatenate(works_s)
    load = float(work_s.mean()) / gap_s
    size = int((1 - _CUT_FRAC) * min(map(len, values))) // _BATCHES
    if load > _MOST_LOAD or size < 1:
        return None
    expected_s = float((work_s**2).mean()) / gap_s / 2 / (1 - load)
    waits = [waits_of(*each) for each in zip(gaps_s, works_s, strict=True)]
    many = [_batch_means(each, size) for each in (values, waits)]
    spread = np.cov(np.stack(many))
    if spread[1, 1] <= 0:
        return None
    slope = float(spread[0, 1] / spread[1, 1])
    left = [value - slope * (wait - expected_s) for value, wait in zip(values, waits, strict=True)]
    try:
        found = estimate_mean(left)
    except ConfigError:  # too short a series
        return None
    half = (found.high - found.low) / 2
    return (found.estimate, half) if found.reliable and math.isfinite(half) else None


def waits_of(gap_s: Floats, work_s: Floats) -> Floats:
    """Waits at one server in order of arrival, from an empty start: Lindley's recursion."""
    steps = np.concatenate([[0.0], np.cumsum(work_s[:-1] - gap_s[1:])])
    return np.asarray(steps - np.minimum.accumulate(steps))


def _batch_means(series: Sequence[Floats], size: int) -> Floats:
    return np.concatenate([each[-size * _BATCHES :].reshape(_BATCHES, size).mean(axis=1) for each in series])
