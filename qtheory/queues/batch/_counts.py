"""How many customers arrive (Poisson) during a random time: probabilities, tails, and their rate of decay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, ndtr

from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    Constant,
    Discrete,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Mixture,
    Rounded,
    Shifted,
)
from qtheory.numerics.markov import poisson_pmf, poisson_reach
from qtheory.numerics.roots import bracketed_root

__all__ = ["arrival_moments", "count_pmf", "count_reach", "count_rows", "reach_each", "tail_ratio"]

Floats = NDArray[np.float64]

_GAMMA_SHAPED = (Exponential, Erlang, Gamma)
_EDGE = 8.2  # normal scores beyond leave out 1e-16
_FINEST = 20_000  # nodes of a smooth law
_STEEPEST = 32.0  # a tail that falls by exp(-32) from state to state has no second state that counts


def count_rows(laws: Sequence[Law], rate: float, n: int) -> Floats:
    """P(j arrivals) for each law, shape (len(laws), n + 1)."""
    j = np.arange(n + 1)
    if all(isinstance(law, Constant) for law in laws):
        means = rate * np.array([law.mean for law in laws])[:, None]
        with np.errstate(under="ignore"):  # loses a digit or two of the scalar form, at a tenth of its cost
            return np.exp(np.log(means) * j - (gammaln(j + 1.0) + means))
    if all(isinstance(law, _GAMMA_SHAPED) for law in laws):
        means = rate * np.array([law.mean for law in laws])[:, None]
        return _negative_binomial(1.0 / np.array([law.scv for law in laws])[:, None], means, n)
    return np.array([count_pmf(law, rate, n) for law in laws])


def reach_each(laws: Sequence[Law], rate: float, least: Floats) -> Floats:
    """P(at least ``least[i]`` arrivals in a time of ``laws[i]``), shape (len(laws),)."""
    if all(isinstance(law, Constant) for law in laws):
        return poisson_reach(least, rate * np.array([law.mean for law in laws]))
    pairs = zip(laws, least, strict=True)
    return np.array([float(count_reach(law, rate, np.array([m]))[0]) for law, m in pairs])


def arrival_moments(laws: Sequence[Law], rate: float) -> Floats:
    """E[A], E[A^2], E[A^3], A arrivals in a time of each law, (n, 3); the last may be infinite."""
    if all(isinstance(law, Constant) for law in laws):
        a = rate * np.array([law.mean for law in laws])
        return np.stack([a, a**2 + a, a**3 + 3.0 * a**2 + a], axis=1)
    return np.array([_moments_of_one(law, rate) for law in laws])


def _moments_of_one(law: Law, rate: float) -> tuple[float, float, float]:
    a, b = rate * law.moment(1), rate**2 * law.moment(2)
    try:
        c = rate**3 * law.moment(3)
    except ConfigError:
        c = math.inf
    return a, b + a, c + 3.0 * b + a


def tail_ratio(law: Law, rate: float, batch: int) -> float:
    """Ratio 1/z, with z > 1 the root of z^batch = E[z^A]; 0 where the transform does not reach that far.

    The number of customers left behind by full batches falls by this ratio in the limit.
    """
    slack = batch - rate * law.mean

    def gap(y: Floats) -> Floats:
        """batch y - ln E[exp(yA)]: zero at 0, then positive up to the root (with y = ln z)."""
        return batch * y - _log_growth(law, rate, y)

    spread = rate * law.mean + rate * rate * law.var
    low, high = 0.0, min(2.0 * slack / spread, _STEEPEST)
    for _ in range(200):
        value = float(gap(np.array([high]))[0])
        if value == -math.inf:  # beyond the reach of the transform
            high = 0.5 * (low + high)
        elif value > 0:
            low, high = high, 2.0 * high
        else:
            break
        if low > _STEEPEST:
            return 0.0
        if high - low < 1e-9 * high:  # a root beside the end of the transform
            return math.exp(-low)
    else:
        return 0.0
    if low == 0.0:
        low = 0.5 * high
        while float(gap(np.array([low]))[0]) <= 0:
            low *= 0.5
    root = bracketed_root(lambda y, which: gap(y), low, high, rtol=1e-14)
    return math.exp(-float(root))


def _log_growth(law: Law, rate: float, y: Floats) -> Floats:
    """ln E[exp(yA)], y > 0, accurate near 0; infinite where it does not exist."""
    s = rate * np.expm1(y)
    if isinstance(law, Constant):
        return s * law.mean
    if isinstance(law, _GAMMA_SHAPED):
        scale = s * law.mean * law.scv
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(scale < 1, -np.log1p(-np.minimum(scale, 1.0)) / law.scv, np.inf)
    try:
        values = np.real(law.lst(-s.astype(np.complex128)))
    except ConfigError:
        return np.full(y.shape, np.inf)
    return np.where(values >= 1.0, np.log(np.maximum(values, 1.0)), np.inf)


def _negative_binomial(shape: Floats, means: Floats, n: int) -> Floats:
    """Counts in a gamma time: shape (k, 1), means (k, 1) -> (k, n + 1), through logarithms of ratios."""
    j = np.arange(1, n + 1)
    log_step = np.log((shape + j - 1.0) / j) - np.log1p(shape / means)  # (k, n)
    start = -shape * np.log1p(means / shape)  # (k, 1)
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(np.hstack([start, start + np.cumsum(log_step, axis=1)])), dtype=float)


@singledispatch
def count_pmf(law: Law, rate: float, n: int) -> Floats:
    """P(j arrivals in a time of this law), j = 0..n; smooth laws by the trapezoidal rule in normal scores."""
    x, weight = _nodes(law, rate, n)
    return np.asarray(weight @ poisson_pmf(np.arange(n + 1), rate * x[:, None]), dtype=float)


@count_pmf.register
def _(law: Constant, rate: float, n: int) -> Floats:
    return poisson_pmf(np.arange(n + 1), rate * law.mean)


@count_pmf.register(Exponential)
@count_pmf.register(Erlang)
@count_pmf.register(Gamma)
def _(law: Law, rate: float, n: int) -> Floats:
    return np.asarray(
        _negative_binomial(np.array([[1.0 / law.scv]]), np.array([[rate * law.mean]]), n)[0], dtype=float
    )


@count_pmf.register
def _(law: Hyperexponential, rate: float, n: int) -> Floats:
    means, probs = np.array(law.means)[:, None], np.array(law.probs)
    return probs @ _negative_binomial(np.ones_like(means), rate * means, n)


@count_pmf.register
def _(law: Mixture, rate: float, n: int) -> Floats:
    return np.array(law.weights) @ count_rows(law.laws, rate, n)


@count_pmf.register(Discrete)
@count_pmf.register(Empirical)
@count_pmf.register(Rounded)
def _(law: Discrete, rate: float, n: int) -> Floats:
    values, probs = law.atoms()
    return probs @ poisson_pmf(np.arange(n + 1), rate * values[:, None])


@count_pmf.register
def _(law: Shifted, rate: float, n: int) -> Floats:
    fixed = poisson_pmf(np.arange(n + 1), rate * law.shift)
    return np.convolve(fixed, count_pmf(law.law, rate, n))[: n + 1]


@singledispatch
def count_reach(law: Law, rate: float, least: Floats) -> Floats:
    """P(at least ``least[i]`` arrivals in a time of this law), small tails with their relative accuracy."""
    x, weight = _nodes(law, rate, int(np.max(least, initial=0)))
    return np.asarray(weight @ poisson_reach(least, rate * x[:, None]), dtype=float)


@count_reach.register
def _(law: Constant, rate: float, least: Floats) -> Floats:
    return poisson_reach(least, rate * law.mean)


@count_reach.register(Exponential)
@count_reach.register(Erlang)
@count_reach.register(Gamma)
def _(law: Law, rate: float, least: Floats) -> Floats:
    share = 1.0 / (1.0 + 1.0 / (rate * law.mean * law.scv))
    return np.where(least > 0, betainc(np.maximum(least, 1.0), 1.0 / law.scv, share), 1.0)


@count_reach.register
def _(law: Hyperexponential, rate: float, least: Floats) -> Floats:
    share = 1.0 / (1.0 + 1.0 / (rate * np.array(law.means)[:, None]))
    return np.array(law.probs) @ share ** np.maximum(least, 0.0)


@count_reach.register
def _(law: Mixture, rate: float, least: Floats) -> Floats:
    return np.asarray(
        np.array(law.weights) @ np.array([count_reach(part, rate, least) for part in law.laws]), dtype=float
    )


@count_reach.register(Discrete)
@count_reach.register(Empirical)
@count_reach.register(Rounded)
def _(law: Discrete, rate: float, least: Floats) -> Floats:
    values, probs = law.atoms()
    return probs @ poisson_reach(least, rate * values[:, None])


@count_reach.register
def _(law: Shifted, rate: float, least: Floats) -> Floats:
    top = int(np.max(least, initial=0))
    inner = poisson_pmf(np.arange(top + 1), rate * law.shift)  # (top + 1,)
    left = np.asarray(least, dtype=float)[:, None] - np.arange(top + 1)  # (m, top + 1)
    tail = count_reach(law.law, rate, np.arange(top + 1.0))
    reach = tail[np.clip(left, 0, top).astype(int)]
    return np.asarray(reach @ inner + poisson_reach(top + 1, rate * law.shift), dtype=float)


def _nodes(law: Law, rate: float, n: int) -> tuple[Floats, Floats]:
    """Points and weights that resolve Poisson probabilities up to n as functions of the time."""
    step = 0.125
    probe = np.arange(-_EDGE, _EDGE, step)
    counts = rate * np.asarray(law.ppf(ndtr(probe)))
    matters = counts[1:] < n + 10.0 * math.sqrt(n + 1.0) + 50.0
    slope = np.diff(counts)[matters] / step
    if slope.size and slope.max() > 0:
        width = np.sqrt(counts[1:][matters] + 1.0) / np.maximum(slope, 1e-300)
        step = min(step, 0.6 * float(width.min()))
    if 2 * _EDGE / step > _FINEST:
        raise ConfigError(f"{law}: too wide a law to count arrivals in; use a law with fewer decades")
    y = np.arange(-_EDGE, _EDGE, step)
    weight = np.exp(-0.5 * y * y)
    return np.asarray(law.ppf(ndtr(y))), weight / weight.sum()
