"""Queues that lose c at fixed moments and gain a Poisson number in between: the maximum of a random walk."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.markov import poisson_pmf
from qtheory.numerics.roots import bracketed_root

__all__ = ["QueueLaw", "queue_law"]

Floats = NDArray[np.float64]

_DIGITS = 38.0  # -ln of what is left out
_MOST_TERMS = 2_000_000
_MOST_POINTS = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueueLaw:
    """P(M = m) for m < len(pmf), then each ``ratio`` times the one before; ``above[m]`` is P(M > m)."""

    pmf: Floats
    above: Floats
    ratio: float

    @property
    def mean(self) -> float:
        """E[M]."""
        m = np.arange(len(self.pmf))
        return float(self.pmf @ m) + float(self.above[-1]) * self._beyond[0]

    @property
    def pairs(self) -> float:
        """E[M (M - 1)]."""
        m = np.arange(len(self.pmf))
        return float(self.pmf @ (m * (m - 1.0))) + float(self.above[-1]) * (self._beyond[1] - self._beyond[0])

    @property
    def _beyond(self) -> tuple[float, float]:
        """E[M] and E[M^2] given M above those listed."""
        last, step = len(self.pmf) - 1.0, 1.0 / (1.0 - self.ratio)
        return last + step, last**2 + 2.0 * last * step + step**2 * (1.0 + self.ratio)

    def tail(self, m: NDArray[np.intp]) -> Floats:
        """P(M > m), 1 for m < 0."""
        last = len(self.above) - 1
        inside = self.above[np.clip(m, 0, last)]
        with np.errstate(under="ignore"):
            far = np.where(m > last, self.ratio ** np.maximum(m - last, 0), 1.0)
        return np.where(m < 0, 1.0, inside * far)


def queue_law(mean: float, taken: int) -> QueueLaw:
    r"""Law of M = max(0, S_1, S_2, ...) with steps A - c, A Poisson of mean a < c.

    M is the stationary queue of :math:`M'=(M+A-c)^+`. By Spitzer's identity [1]_
    :math:`E[z^M]=\exp\sum_{j\ge1}q_j(z^j-1)`, :math:`q_j=\sum_k\frac1kP(S_k=j)`: positive terms, summed
    where few steps count. Near saturation the factors of :math:`1-E[z^{A-c}]` are split by Fourier
    transforms on the unit circle after its two real zeros, 1 and :math:`z_+`, are divided out. Either way
    the tail is geometric with the ratio :math:`1/z_+`.

    References
    ----------
    .. [1] Spitzer (1956), "A combinatorial lemma and its application to probability theory", Trans. AMS 82.
    """
    fall = _fall(mean, taken)
    spread = math.sqrt(mean)
    slack = taken - mean
    gap = _second(mean, taken) - fall
    n_listed = int(min(_DIGITS / gap, _DIGITS / fall)) + 12
    rate = mean - taken - taken * math.log(mean / taken)  # P(S_k > 0) falls by exp(-rate) a step
    n_steps = int(_DIGITS / rate) + 2 if rate > 0 else _MOST_TERMS
    if n_steps * (n_listed + 10.0) <= _MOST_TERMS:
        pmf = _summed(mean, taken, fall, n_steps, n_listed)
    else:
        points = 1 << math.ceil(math.log2(8 * (n_listed + slack + 12.0 * spread) + 64))
        if points > _MOST_POINTS:
            raise ConvergenceError(f"{taken} servers at load {mean:g}: too many states")
        pmf = _factored(mean, taken, fall, n_listed, points)
    ratio = math.exp(-fall)
    rest = float(pmf[-1]) * ratio / -math.expm1(-fall)
    above = np.append(np.cumsum(pmf[:0:-1])[::-1], 0.0) + rest
    if abs(float(pmf[0] + above[0]) - 1.0) > 1e-9:
        raise ConvergenceError(f"probabilities of the queue sum to {float(pmf[0] + above[0]):.12g}")
    return QueueLaw(pmf=pmf, above=above, ratio=ratio)


def _fall(mean: float, taken: int) -> float:
    """ln z_+, the root y > 0 of c y = a (exp(y) - 1)."""

    def gap(y: Floats, which: NDArray[np.intp]) -> Floats:
        return taken * y - mean * np.expm1(y)

    high = 2.0 * (taken - mean) / mean
    if high < 1e-3:  # c/a - 1 = y/2 + y^2/6 + ...: no digits are lost
        y = high
        for _ in range(30):
            y = high / (1.0 + y / 3.0 + y * y / 12.0 + y**3 / 60.0 + y**4 / 360.0)
        return y
    high = min(high, 2.0 * math.log(taken / mean) + 2.0)
    low = math.log(taken / mean)  # where c y - a (exp(y) - 1) is largest
    while float(gap(np.array([high]), np.zeros(1, dtype=np.intp))[0]) > 0:
        high *= 1.5
    return float(bracketed_root(gap, low, high, rtol=1e-15))


def _second(mean: float, taken: int) -> float:
    """Real part of ln z for the next zeros of z^c = E[z^A], beyond z_+."""
    slack = taken - mean
    if mean < 0.5 * taken:  # exp(y) = 1 + (c y - 2 pi i) / a contracts quickly
        y = complex(math.log(taken / mean), -math.pi)
        for _ in range(60):
            y = complex(np.log(1.0 + (taken * y - 2j * np.pi) / mean))
        return y.real
    y = (slack + np.sqrt(complex(slack**2, -4.0 * np.pi * mean))) / mean
    for _ in range(60):
        step = (taken * y - mean * np.expm1(y) - 2j * np.pi) / (taken - mean * np.exp(y))
        y -= step
        if abs(step) < 1e-9 * abs(y):
            break
    return float(y.real)


def _summed(mean: float, taken: int, fall: float, n_steps: int, n_listed: int) -> Floats:
    """exp of the series q_1 z + q_2 z^2 + ..., over exp(q_1 + q_2 + ...)."""
    step = np.arange(1, n_steps + 1)
    j = np.arange(1, n_listed)
    q = np.zeros(n_listed)
    for part in np.array_split(step, 1 + n_steps * n_listed // 500_000):
        q[1:] += (poisson_pmf(part[:, None] * taken + j, part[:, None] * mean) / part[:, None]).sum(axis=0)
    pmf = np.zeros(n_listed)
    with np.errstate(under="ignore"):  # the later q_j are ratio^j / j
        listed = float((np.exp(-fall * j) / j).sum())
    later = max(-math.log(-math.expm1(-fall)) - listed, 0.0)
    pmf[0] = math.exp(-float(q.sum()) - later)
    weighted = np.arange(n_listed) * q
    for m in range(1, n_listed):
        pmf[m] = weighted[1 : m + 1] @ pmf[m - 1 :: -1][:m] / m
    return pmf


def _factored(mean: float, taken: int, fall: float, n_listed: int, points: int) -> Floats:
    """Coefficients of E[z^M] from the logarithm of 1 - E[z^(A-c)] on the unit circle."""
    theta = 2.0 * np.pi * np.arange(points // 2 + 1) / points
    curve = -2.0 * np.sin(theta / 2) ** 2 + 1j * (np.sin(theta) - theta)  # exp(i theta) - 1 - i theta
    small = theta < 0.05
    t = theta[small]
    curve[small] = -2.0 * np.sin(t / 2) ** 2 - 1j * t**3 * (1 / 6 - t**2 / 120 + t**4 / 5040)
    above = -np.expm1(mean * curve - (taken - mean) * 1j * theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = above / (np.expm1(-1j * theta) * np.expm1(1j * theta - fall))
    smooth[0] = (taken - mean) / -math.expm1(-fall)
    log_smooth = np.log(np.abs(smooth)) + 1j * np.unwrap(np.angle(smooth))
    series = np.fft.irfft(log_smooth.conj(), points)  # coefficients of z^n, the negative ones at the end
    series[0] = 0.0
    series[points // 2 :] = 0.0
    shape = np.exp(-np.fft.rfft(series) + series.sum())
    h = np.fft.irfft(shape, points)[:n_listed] * -math.expm1(-fall)
    ratio = math.exp(-fall)
    pmf = np.empty(n_listed)
    value = 0.0
    for m in range(n_listed):  # over (1 - z / z_+)
        value = ratio * value + float(h[m])
        pmf[m] = value
    return np.maximum(pmf, 0.0)
