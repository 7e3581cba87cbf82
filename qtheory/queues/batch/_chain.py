"""The Markov chain of a batch server, seen at the moments at which a service starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Law
from qtheory.numerics.markov import stationary

from ._counts import arrival_moments, count_reach, count_rows, reach_each, tail_ratio
from ._launch import Launch
from ._roots import ROOTED, starts_by_roots
from ._starts import ServiceStarts, assembled, disagreement

__all__ = ["solve_starts"]

Floats = NDArray[np.float64]

_CHECK = 1e-9  # how far two formulas for the mean number left behind may differ, relative
_DIGITS = 30.0  # -ln of what the second root of the tail may still weigh
_FIRST_STATES = 1500.0
_ELIMINATED = 600  # states above b up to which elimination comes first


def solve_starts(laws: Sequence[Law], launch: Launch, *, max_states: int) -> ServiceStarts:
    """The chain by elimination, on ever more states until the tail meets an independent formula; by roots
    where the tail has too many states that count."""
    b, rate, full = len(laws), launch.rate_rps, laws[-1]
    moments = arrival_moments(laws, rate)
    ratio = tail_ratio(full, rate, b)
    n = b + _beyond(moments[-1], b, full, ratio) + 24
    can_root = isinstance(full, ROOTED) and ratio > 0
    most = min(max_states, _ELIMINATED) if can_root else max_states
    off = np.inf
    while n <= most + b:
        found = _eliminated(laws, moments, launch, ratio, n)
        off = disagreement(found)
        if off < _CHECK:
            return found
        n = b + 2 * (n - b)
    if can_root:
        return starts_by_roots(laws, moments, launch, ratio)
    raise ConvergenceError(
        f"the number left behind is off by {off:.1g} with {max_states} states; raise max_states "
        f"(load {rate * full.mean / b:.6g}, a service of variable length)"
    )


def _beyond(arrivals: Floats, b: int, full: Law, ratio: float) -> int:
    """States above b that count beside a geometric tail: down to the second zero or the end of E[z^A]."""
    slack, spread = b - arrivals[0], arrivals[1] - arrivals[0] ** 2
    size = np.hypot(slack * slack, 4.0 * np.pi * spread)  # of slack^2 - 4 pi i spread
    gap = 16.0 * np.pi**2 * spread / ((size + slack**2) * (np.sqrt(2.0 * (size + slack**2)) + 2.0 * slack))
    fall = _DIGITS / max(gap, _DIGITS / _FIRST_STATES)
    if 0 < ratio < 1:
        first = -np.log(ratio)
        if isinstance(full, ROOTED):
            end = np.log1p(1.0 / (arrivals[0] * full.scv))
            fall = max(fall, _DIGITS / max(end - first, 1e-9))
        fall = min(fall, _DIGITS / first)
    return int(fall)


def _eliminated(laws: Sequence[Law], moments: Floats, launch: Launch, ratio: float, n: int) -> ServiceStarts:
    b, a, rate = len(laws), launch.least, launch.rate_rps
    ended = np.zeros((n, n))  # row: present at a start 1..n; column: present at the end 0..n-1
    rows = count_rows(laws, rate, n - 1)  # (b, n)
    ended[:b] = rows
    for x in range(b + 1, n + 1):
        ended[x - 1, x - b :] = rows[-1, : n - x + b]
    if ratio > 0:  # the last row stands for n and all above
        weight = (1.0 - ratio) * ratio ** np.arange(b)
        ended[-1, n - b :] = np.convolve(rows[-1, :b], weight)[:b]
    p = np.zeros((n, n))
    p[:, a - 1 : n - 1] = ended[:, a:]  # at least a present: on with it
    p[:, :a] += ended[:, :a] @ launch.law
    least = np.full(b, float(n))
    p[:b, -1] = reach_each(laws, rate, least)
    p[b:-1, -1] = count_reach(laws[-1], rate, n - np.arange(1.0, n - b))
    p[-1, -1] = 1.0
    pi = stationary(p, typical=_typical(moments[:, 0]))
    at_end = (pi @ ended)[:a]
    return assembled(laws, launch, moments, (pi[:-1], float(pi[-1]), ratio), at_end)


def _typical(arrivals: Floats) -> int:
    """Index of a batch size that is about as large as the arrivals during its service."""
    behind = np.flatnonzero(arrivals <= np.arange(1.0, len(arrivals) + 1))
    return int(behind[0]) if behind.size else len(arrivals) - 1
