"""Arrivals in phases, as queues with batches take them: how many come in a time, and from which phase."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.special import betainc, betaincinv, roots_sh_jacobi

from qtheory.system.workload import Arrivals, GammaArrivals, MmppArrivals

__all__ = ["Phased", "has_phases", "phased"]

Floats = NDArray[np.float64]

_MOST_PHASES = 6
_MOST_SCV = 25.0  # beyond, bursts are longer than what can be listed for each phase
_COME, _PHASES = (0.2, 0.5), (0, 6, 4)  # by how many come in the shortest batch
_PARTS, _ATOMS = (2, 3, 3), 400  # phases where few come, by mean gaps; of each part of their law


@dataclass(frozen=True, eq=False, kw_only=True)
class Phased:
    r"""Groups that come as a Markovian arrival process.

    The number in a time t and the phase after it have the transform :math:`e^{(D_0+D_1 g(z))t}` with the
    transform g of a group [1]_.

    References
    ----------
    .. [1] Lucantoni (1991), "New results on the single server queue with a batch Markovian arrival process",
       Stochastic Models 7, 1-46.
    """

    without: Floats  # (p, p) D_0
    coming: Floats  # (p, p) D_1, groups a second
    mean_group: float = 1.0  # requests that come at once: a geometric number
    burst: float = 1.0  # about as many that come in quick succession

    @property
    def n_phases(self) -> int:
        return len(self.without)

    def after_idle(self, per_s: float = 0.0) -> Floats:
        """P(j is the phase behind the next group) (p, p) from each, times the discount of the time to it."""
        return np.asarray(np.linalg.solve(per_s * np.eye(self.n_phases) - self.without, self.coming))

    @property
    def request_rps(self) -> Floats:
        """Requests a second (p,) in each phase."""
        return np.asarray(self.coming.sum(axis=1) * self.mean_group)

    def counts(self, times_s: Floats, n: int) -> Floats:
        """P(k come and the phase goes from i to j) (t, p, n, p); the last k holds the rest."""
        length = int(next_fast_len(3 * n + 64, real=True))
        z = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
        group = z / (self.mean_group - (self.mean_group - 1) * z)
        values, vectors = np.linalg.eig(
            self.without + group[:, None, None] * self.coming
        )  # (z, p), (z, p, p)
        back = np.linalg.inv(vectors)
        p = self.n_phases
        ways = (vectors.transpose(0, 2, 1)[..., None] * back[:, :, None, :]).reshape(len(z), p, p * p)
        modes = np.exp(values[:, None, :] * times_s[:, None])  # (z, t, p)
        law = np.fft.irfft((modes @ ways).transpose(1, 2, 0), length)[..., :n].clip(0.0)  # (t, ij, k)
        ends = (modes[0] @ ways[0]).real  # all that come
        law[..., -1] += np.maximum(ends - law.sum(axis=2), 0.0)
        return np.ascontiguousarray(law.reshape(len(times_s), p, p, n).transpose(0, 1, 3, 2))


def has_phases(arrivals: Arrivals) -> bool:
    """Whether arrivals are taken as they are, and not as groups with their variance."""
    if isinstance(arrivals, MmppArrivals):
        return len(arrivals.rates) <= _MOST_PHASES
    return isinstance(arrivals, GammaArrivals) and 1 < arrivals.scv <= _MOST_SCV


def phased(
    arrivals: Arrivals, rate_rps: float, *, shortest_s: float, burstiness: float, n_equal: int = 1
) -> Phased:
    """Arrivals at one of ``n_equal`` queues that each get an equal part at random.

    Gamma gaps that vary more than exponential ones are such with a mean that varies by a beta law [1]_, of
    which n points keep 2 n - 1 moments; more of them where few come in the ``shortest_s`` of a batch, as
    then short gaps matter. Phases of their own stay. Others are groups at random moments, as ``burstiness``
    says, the index of dispersion of all of them.

    References
    ----------
    .. [1] Devroye (1986), "Non-uniform random variate generation", Springer, section IX.3.
    """
    share = 1 / n_equal
    if isinstance(arrivals, GammaArrivals) and has_phases(arrivals):
        shape = 1 / arrivals.scv
        n = _PHASES[bisect(_COME, rate_rps * share * shortest_s)]
        with np.errstate(invalid="ignore"):  # 0 / 0 in a place that is not taken
            few = not n and rate_rps * shape * shortest_s
            means, weights = _in_parts(shape, few) if few else roots_sh_jacobi(n, 0.0, shape)
        leave = rate_rps * shape / means
        coming = leave[:, None] * (weights / weights.sum())
        without = -np.diag(leave)
    elif isinstance(arrivals, MmppArrivals) and has_phases(arrivals):
        process = arrivals.process(rate_rps)
        without, coming = np.array(process.without), np.array(process.with_arrival)
    else:
        group = max((2 + share * (burstiness - 1)) / 2, 1.0)
        one = np.full((1, 1), rate_rps * share / group)
        return Phased(without=-one, coming=one, mean_group=group, burst=group)
    burst = 1 + share * (arrivals.scv - 1) / 2 if isinstance(arrivals, GammaArrivals) else 1.0
    return Phased(without=without + (1 - share) * coming, coming=share * coming, burst=burst)


def _in_parts(shape: float, least: float) -> tuple[Floats, Floats]:
    """Points and weights for the law beta(shape, 1 - shape), below ``least``, up to its root and beyond."""
    edges = betainc(shape, 1 - shape, np.array([0.0, least, least**0.5, 1.0]))
    points, weights = [], []
    for low, high, n in zip(edges[:-1], edges[1:], _PARTS, strict=True):
        levels = low + (high - low) * (np.arange(_ATOMS) + 0.5) / _ATOMS
        place, share = _gauss(betaincinv(shape, 1 - shape, levels), n)
        points.append(place)
        weights.append((high - low) * share)
    return np.concatenate(points), np.concatenate(weights)


def _gauss(atoms: Floats, n: int) -> tuple[Floats, Floats]:
    """Points and weights (n,) with 2 n - 1 moments of equally likely atoms.

    The points are eigenvalues of the matrix of their orthogonal polynomials; Golub and Welsch (1969),
    "Calculation of Gauss quadrature rules", Mathematics of Computation 23, 221-230.
    """
    basis, matrix = np.full((1, len(atoms)), len(atoms) ** -0.5), np.zeros((n, n))
    for k in range(n):
        new = atoms * basis[k]
        along = basis @ new
        matrix[k, k] = along[k]
        new -= along @ basis
        if k + 1 < n:
            matrix[k, k + 1] = matrix[k + 1, k] = np.linalg.norm(new)
            basis = np.vstack([basis, new / matrix[k, k + 1]])
    points, vectors = np.linalg.eigh(matrix)
    return points, vectors[0] ** 2
