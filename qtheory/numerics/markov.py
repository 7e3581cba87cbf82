"""Markov chains: stationary laws without cancellation, birth-death laws, Poisson probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaincc

from qtheory.basics.errors import ConfigError, ConvergenceError

__all__ = ["birth_death", "poisson_below", "poisson_pmf", "poisson_reach", "stationary"]

Floats = NDArray[np.float64]

# ln n! - ln(sqrt(2 pi n) (n/e)^n), n = 0..15 (n = 0 is not used), then Stirling's series
_STIRLING = np.array(
    [math.inf]
    + [math.lgamma(n + 1) - 0.5 * math.log(2 * math.pi * n) - n * math.log(n) + n for n in range(1, 16)]
)
_EXACT = 100  # states up to which the slower, exact elimination is used
_LIGHT = 1e-3  # a reference state lighter than this is exchanged for the heaviest one


def _stirling_error(n: Floats) -> Floats:
    small = n < 16
    big = np.where(small, 16.0, n)
    s = 1.0 / big**2
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / big
    return np.where(small, _STIRLING[np.where(small, n, 1).astype(int)], series)


def _deviance(n: Floats, mean: Floats) -> Floats:
    """n ln(n / mean) + mean - n, with full relative accuracy where the two are close."""
    d = mean - n
    v = d / (mean + n)
    near = np.abs(v) < 0.1
    w = np.where(near, v, 0.0)
    square = w * w
    tail = np.zeros_like(w)
    for j in range(11, 0, -1):  # -ln(1 + d/n) + d/n through atanh, for |v| < 0.1
        tail = square * (tail + 1.0 / (2 * j + 1))
    close = d * w - 2.0 * n * w * tail
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = n * np.log(n / mean) + d
    return np.where(near, close, far)


def poisson_pmf(n: ArrayLike, mean: ArrayLike) -> Floats:
    r"""P(N = n) for a Poisson N, to about 15 digits for means up to 1e12 (Loader's saddle-point form [1]_).

    Parameters
    ----------
    n : array_like
        Counts; below zero the probability is 0.
    mean : array_like
        Means, >= 0; broadcast against ``n``.

    References
    ----------
    .. [1] Loader (2000), "Fast and accurate computation of binomial probabilities".

    Examples
    --------
    >>> poisson_pmf([0, 1, 2], 1.0).round(6).tolist()
    [0.367879, 0.367879, 0.18394]
    >>> float(poisson_pmf(10**6, 1e6).round(12))
    0.000398942247
    """
    count, m = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(mean, dtype=float))
    inner = (count > 0) & (m > 0)
    k, x = np.where(inner, count, 1.0), np.where(inner, m, 1.0)
    with np.errstate(under="ignore"):
        body = np.exp(-_stirling_error(k) - _deviance(k, x)) / np.sqrt(2 * np.pi * k)
        none = np.exp(-m)
    return np.where(inner, body, np.where(count == 0, none, 0.0))


def poisson_reach(n: ArrayLike, mean: ArrayLike) -> Floats:
    """P(N >= n) for a Poisson N, small tails with full relative accuracy; 1 for n <= 0.

    Parameters
    ----------
    n : array_like
        Counts.
    mean : array_like
        Means, >= 0; broadcast against ``n``.

    Examples
    --------
    >>> poisson_reach([0, 1, 2], 1.0).round(6).tolist()
    [1.0, 0.632121, 0.264241]
    """
    count = np.asarray(n, dtype=float)
    with np.errstate(under="ignore"):
        return np.where(count > 0, gammainc(np.maximum(count, 1.0), mean), 1.0)


def poisson_below(n: ArrayLike, mean: ArrayLike) -> Floats:
    """P(N < n) for a Poisson N, small tails with full relative accuracy; 0 for n <= 0.

    Parameters
    ----------
    n : array_like
        Counts.
    mean : array_like
        Means, >= 0; broadcast against ``n``.

    Examples
    --------
    >>> poisson_below([0, 1, 2], 1.0).round(6).tolist()
    [0.0, 0.367879, 0.735759]
    """
    count = np.asarray(n, dtype=float)
    with np.errstate(under="ignore"):
        return np.where(count > 0, gammaincc(np.maximum(count, 1.0), mean), 0.0)


def _balance(p: Floats, reference: int) -> Floats:
    """Stationary weights relative to one state; sums of non-negative terms only, so never negative."""
    k = reference
    rest = np.delete(np.arange(len(p)), k)
    system = np.empty((len(rest), len(rest)))
    np.negative(p[:k, :k].T, out=system[:k, :k])
    np.negative(p[k + 1 :, :k].T, out=system[:k, k:])
    np.negative(p[:k, k + 1 :].T, out=system[k:, :k])
    np.negative(p[k + 1 :, k + 1 :].T, out=system[k:, k:])
    leave = p.sum(axis=1)[rest] - p[rest, rest]  # the diagonal of I - P, without the subtraction
    np.fill_diagonal(system, leave)
    found = np.linalg.solve(system, p[k, rest])
    weights = np.insert(found, reference, 1.0)
    return np.asarray(weights / weights.sum(), dtype=float)


def _eliminated(p: Floats) -> Floats:
    """Stationary law by elimination from the last state on, without subtractions; ``p`` is used up."""
    for k in range(len(p) - 1, 0, -1):
        p[:k, k] /= p[k, :k].sum()
        p[:k, :k] += np.outer(p[:k, k], p[k, :k])
    weights = np.ones(len(p))
    for k in range(1, len(p)):
        weights[k] = weights[:k] @ p[:k, k]
    return np.asarray(weights / weights.sum(), dtype=float)


def _recurrent(p: Floats) -> NDArray[np.intp]:
    """The states of the one class that is not left."""
    from scipy.sparse.csgraph import connected_components  # slow to import, so only here

    n_classes, label = connected_components(p > 0, directed=True, connection="strong")
    if n_classes == 1:
        return np.arange(len(p))
    row, column = np.nonzero(p)
    left = np.unique(label[row[label[row] != label[column]]])
    final = np.setdiff1d(np.arange(n_classes), left)
    if len(final) > 1:
        raise ConvergenceError(f"p: {len(final)} classes of states do not reach each other; give one of them")
    return np.flatnonzero(label == final[0])


def stationary(p: Floats, *, typical: int = 0) -> Floats:
    r"""Stationary law of a chain with one recurrent class, from transition probabilities or rates.

    Up to 100 states by the elimination of Grassmann, Taksar and Heyman [1]_, which adds numbers of one sign
    only: every probability has full relative accuracy, also where the chain hardly mixes. Beyond, one state
    is taken out and the visits to the others between its returns are solved for; the matrix is diagonally
    dominant, so that no probability comes out negative, and the diagonal is the sum of the other entries of
    its row. If the state taken out turns out to be rare, the heaviest one takes its place.

    Parameters
    ----------
    p : array (n, n)
        Off-diagonal probabilities or rates from row to column, >= 0.
    typical : int
        A state that is not rare, if one is known: taken out first.

    Raises
    ------
    ConfigError
        If the matrix is not square, not finite or has a negative entry off the diagonal.
    ConvergenceError
        If the chain has more than one recurrent class.

    References
    ----------
    .. [1] Grassmann, Taksar, Heyman (1985), "Regenerative analysis and steady state distributions for
       Markov chains", Oper. Res. 33, 1107-1116.

    Examples
    --------
    >>> stationary(np.array([[0.0, 1.0], [3.0, 0.0]])).tolist()
    [0.75, 0.25]
    """
    matrix = np.array(p, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ConfigError(f"p: shape {matrix.shape} must be square")
    np.fill_diagonal(matrix, 0.0)
    if not np.all(np.isfinite(matrix)) or matrix.min() < 0:
        raise ConfigError("p: entries off the diagonal must be finite and >= 0")
    if len(matrix) > _EXACT and matrix.any(axis=0).all():
        return _solved(matrix, typical)
    states = _recurrent(matrix)
    pi = np.zeros(len(matrix))
    inner = matrix[np.ix_(states, states)]
    if len(states) <= _EXACT:
        pi[states] = _eliminated(inner)
    else:
        pi[states] = _solved(inner, int(np.argmin(np.abs(states - typical))))
    return pi


def _solved(p: Floats, typical: int) -> Floats:
    """Stationary law by solving for the visits between returns to one state."""
    try:
        found = _balance(p, typical)
        heaviest = int(np.argmax(found))
        if found[typical] < _LIGHT * found[heaviest]:
            found = _balance(p, heaviest)
    except np.linalg.LinAlgError:
        raise ConvergenceError("p: the chain has states that do not reach each other") from None
    if not np.all(np.isfinite(found)) or found.min() < -1e-14:
        raise ConvergenceError("p: no stationary law; the chain has states that do not reach each other")
    return np.asarray(np.maximum(found, 0.0) / np.maximum(found, 0.0).sum(), dtype=float)


def birth_death(birth: ArrayLike, death: ArrayLike, *, tail_ratio: float = 0.0) -> tuple[Floats, float]:
    r"""Stationary law of a birth-death chain, in logarithms, so that no number of states overflows.

    Parameters
    ----------
    birth : array_like (n,)
        Rates from state k to k+1, k = 0..n-1, > 0.
    death : array_like (n,)
        Rates from state k+1 to k, > 0.
    tail_ratio : float
        Beyond state n each state is this many times as likely as the one before, in [0, 1); 0 ends there.

    Returns
    -------
    pmf : array (n + 1,)
        Probabilities of the states 0..n.
    beyond : float
        Probability of all states above n.

    Raises
    ------
    ConfigError
        If a rate is not positive or ``tail_ratio`` is not in [0, 1).

    Examples
    --------
    >>> pmf, beyond = birth_death([1.0, 1.0], [2.0, 2.0], tail_ratio=0.5)  # M/M/1 at half load
    >>> pmf.tolist(), beyond
    ([0.5, 0.25, 0.125], 0.125)
    """
    up, down = np.asarray(birth, dtype=float), np.asarray(death, dtype=float)
    if not 0 <= tail_ratio < 1:
        raise ConfigError(f"tail_ratio: {tail_ratio:g} must be in [0, 1)")
    if np.any(~(up > 0)) or np.any(~(down > 0)):
        raise ConfigError("birth, death: rates must be > 0")
    step = np.log(up / down)
    peak = int(np.argmax(np.concatenate([[0.0], np.cumsum(step)])))
    log_weight = np.zeros(len(step) + 1)  # summed outwards from the peak: no digits lost where it matters
    log_weight[:peak] = -np.cumsum(step[:peak][::-1])[::-1]
    log_weight[peak + 1 :] = np.cumsum(step[peak:])
    with np.errstate(under="ignore"):
        weight = np.exp(log_weight)
        rest = weight[-1] * tail_ratio / (1.0 - tail_ratio)
        total = weight.sum() + rest
        return weight / total, float(rest / total)
