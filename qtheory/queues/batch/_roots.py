"""The number present at service starts from the zeros of z^b = E[z^A], for service times that vary much."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Erlang, Exponential, Gamma, Law
from qtheory.numerics.fixed_point import fixed_point

from ._launch import Launch
from ._starts import ServiceStarts, assembled, disagreement

__all__ = ["ROOTED", "starts_by_roots"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

ROOTED = (Exponential, Erlang, Gamma)
_CHECK = 1e-8
_DIGITS = 40.0
_MOST_POINTS = 1 << 19


def starts_by_roots(laws: Sequence[Law], moments: Floats, launch: Launch, ratio: float) -> ServiceStarts:
    r"""P(x present at a start), for gamma services.

    The generating function :math:`\Pi(z)(1-K_b(z)z^{-b})=\sum_{x\le b}\pi_x(K_x(z)-K_b(z)z^{x-b})
    +\sum_{y<a}e_y(L_y(z)-z^y)`, with :math:`K_x` the arrivals in a service, :math:`e_y=P(y\text{ at an
    end})` and :math:`L_y` the start from y, is finite inside the unit circle. So the right side vanishes at
    the b - 1 zeros of :math:`z^b=K_b(z)` there; with the flow in and out that fixes the unknowns [1]_. The
    rest of the law is the pole at 1 / ``ratio``, in closed form, and a series by Fourier transform.

    References
    ----------
    .. [1] Chaudhry, Templeton (1983), "A First Course in Bulk Queues", Wiley, chapter 4.
    """
    b, a = len(laws), launch.least
    zeros = _zeros(laws[-1], launch.rate_rps, b)
    low, at_end = _unknowns(laws, moments, launch, zeros)

    def right(z: Complexes) -> Complexes:
        """Right side, with z^(x - b)."""
        k = np.array([law.lst(launch.rate_rps * (1.0 - z)) for law in laws])
        power = z ** np.arange(1 - b, 1).reshape(-1, *([1] * z.ndim))
        ends = launch.law @ z ** np.arange(1, a + 1)[:, None] - z ** np.arange(a)[:, None]
        return np.asarray(np.tensordot(low, k - k[-1] * power, 1) + at_end @ ends, dtype=np.complex128)

    pole = 1.0 / ratio
    arrived = moments[-1, 0]
    growth = arrived / (1.0 - arrived * laws[-1].scv * (pole - 1.0))  # of ln K_b
    weight = -float(right(np.array([pole + 0j]))[0].real) / ((b / pole - growth) * pole)
    pmf = _listed(laws, launch, right, ratio, weight)
    n = len(pmf)
    lump = weight * ratio ** (n + 1) / -math.expm1(math.log(ratio))
    if np.abs(pmf[:b] - low).max() > _CHECK or pmf.min() < -_CHECK or at_end.min() < -_CHECK:
        raise ConvergenceError(f"max_batch={b}: the roots do not give a law; lower max_batch")
    found = assembled(laws, launch, moments, (np.maximum(pmf, 0.0), lump, ratio), at_end)
    if (off := disagreement(found)) > _CHECK:
        raise ConvergenceError(f"max_batch={b}: the number left behind is off by {off:.1g}; lower max_batch")
    return found


def _zeros(full: Law, rate: float, b: int) -> Complexes:
    """Zeros of z^b = E[z^A] inside the unit circle with Im z >= 0, without z = 1."""
    turn = 2j * np.pi * np.arange(1, b // 2 + 1) / b
    if not len(turn):
        return np.empty(0, dtype=np.complex128)
    scale = rate * full.mean * full.scv

    def mapping(z: Complexes, which: NDArray[np.intp]) -> Complexes:
        return np.asarray(
            np.exp(turn[which] - np.log1p(scale * (1.0 - z)) / (full.scv * b)), dtype=np.complex128
        )

    return fixed_point(mapping, np.asarray(0.5 * np.exp(turn), dtype=np.complex128))


def _unknowns(
    laws: Sequence[Law], moments: Floats, launch: Launch, zeros: Complexes
) -> tuple[Floats, Floats]:
    """P(x present at a start), x <= b, and P(y present at an end), y < a."""
    b, a, rate = len(laws), launch.least, launch.rate_rps
    at_zero = np.array([law.lst(rate * (1.0 - zeros)) for law in laws]).T  # (zeros, b)
    powers = zeros[:, None] ** np.arange(b + 1)
    starts = at_zero - powers[:, 1:]
    ends = powers[:, 1 : a + 1] @ launch.law.T - powers[:, :a]
    rows = np.hstack([starts, ends])  # in (pi_1..pi_b, e_0..e_{a-1})
    real = np.abs(zeros.imag) > 1e-13 * np.abs(zeros)
    nobody = np.append([law.lst(rate) for law in laws], -np.eye(1, a)[0])
    flow = np.append((np.arange(1, b + 1) - moments[:, 0]) - (b - moments[-1, 0]), -rate * launch.idle_s)
    system = np.vstack([rows.real, rows.imag[real], nobody, flow])
    expand = np.zeros((b + a, b + 1))  # from (e_0..e_{a-1}, pi_a..pi_b)
    expand[: a - 1, :a] = launch.law[:, : a - 1].T
    expand[a - 1 : b, a:] = np.eye(b - a + 1)
    expand[b:, :a] = np.eye(a)
    wanted = np.zeros(len(system))
    wanted[-1] = -(b - moments[-1, 0])
    found = expand @ np.linalg.solve(system @ expand, wanted)
    return found[:b], found[b:]


def _listed(
    laws: Sequence[Law], launch: Launch, right: Callable[[Complexes], Complexes], ratio: float, weight: float
) -> Floats:
    """P(x present), x = 1..n, up to where only the pole counts."""
    b, rate, full = len(laws), launch.rate_rps, laws[-1]
    end = math.log1p(1.0 / (rate * full.mean * full.scv))
    n = b + int(_DIGITS / end) + 24
    points = 1 << math.ceil(math.log2(2 * n))
    if points > _MOST_POINTS:
        raise ConvergenceError(f"max_batch={b}: {n} states count, too many; lower max_batch")
    z = np.exp(2j * np.pi * np.arange(1, points // 2 + 1) / points)
    values = np.concatenate(
        [_block(part, right, full, rate, b) for part in np.array_split(z, 1 + points * b // 400_000)]
    )
    values = np.append(1.0, values) - weight / (1.0 - ratio * np.append(1.0, z))
    rest = np.fft.irfft(values.conj(), points)[1 : n + 1]
    return np.asarray(rest + weight * ratio ** np.arange(1, n + 1), dtype=float)


def _block(
    z: Complexes, right: Callable[[Complexes], Complexes], full: Law, rate: float, b: int
) -> Complexes:
    """The generating function at z."""
    return np.asarray(right(z) / (1.0 - full.lst(rate * (1.0 - z)) * z ** float(-b)), dtype=np.complex128)
