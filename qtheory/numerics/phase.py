"""Exponentials of generators without cancellation, and tails of phase-type times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError

__all__ = ["check_subgenerator", "exp_generator", "phase_tail"]

Floats = NDArray[np.float64]

_TERMS = 18  # 1 / 18! = 2e-16
_BATCH = 200_000  # matrix entries exponentiated at once


def exp_generator(q: Floats, t: ArrayLike) -> Floats:
    r"""exp(t Q) for a (sub-)generator Q, each entry to about 13 digits.

    :math:`e^{tQ}=\left(e^{-\theta}\sum_k\theta^kP^k/k!\right)^{2^m}` with :math:`P=I+Q/q\ge0` and
    :math:`\theta=qt/2^m\le1`: only non-negative numbers are added and multiplied [1]_.

    Parameters
    ----------
    q : array (n, n)
        Rates; non-negative off the diagonal, row sums <= 0.
    t : array_like
        Times, >= 0 (unit of 1/rate).

    Returns
    -------
    array (..., n, n)
        One matrix a time.

    References
    ----------
    .. [1] Xue, Ye (2013), "Computing exponentials of essentially non-negative matrices entrywise to high
       relative accuracy", Math. Comp. 82, 1577-1596.

    Examples
    --------
    >>> exp_generator(np.array([[-1.0, 1.0], [0.0, -1.0]]), 2.0).round(6).tolist()
    [[0.135335, 0.270671], [0.0, 0.135335]]
    """
    times = np.asarray(t, dtype=float)
    clock = float(np.max(-np.diag(q)))
    eye = np.eye(len(q))
    if clock == 0 or times.size == 0:
        return np.broadcast_to(eye, (*times.shape, *q.shape)).copy()
    p = eye + q / clock
    flat = clock * times.ravel()
    halvings = np.maximum(np.ceil(np.log2(np.maximum(flat, 1.0))), 0).astype(int)
    theta = (flat / 2.0**halvings)[:, None, None]  # (t, 1, 1)
    found = np.broadcast_to(eye, (flat.size, *q.shape)).copy()
    for k in range(_TERMS, 0, -1):  # Horner
        found = eye + (theta / k) * (found @ p)
    found = np.exp(-theta) * found
    with np.errstate(under="ignore"):
        for m in range(int(halvings.max())):
            which = halvings > m
            found[which] = found[which] @ found[which]
    return found.reshape(*times.shape, *q.shape)


def phase_tail(start: Floats, q: Floats, t: ArrayLike) -> Floats:
    """P(T > t) for the time T that a chain with sub-generator ``q`` needs to end, from the law ``start``.

    Parameters
    ----------
    start : array (n,)
        Law of the first state; what it lacks to 1 has ended at once.
    q : array (n, n)
        Sub-generator: rates, row sums <= 0.
    t : array_like
        Times, >= 0 (unit of 1/rate).

    Examples
    --------
    >>> phase_tail(np.array([1.0, 0.0]), np.array([[-1.0, 1.0], [0.0, -1.0]]), [0.0, 2.0]).round(6).tolist()
    [1.0, 0.406006]
    """
    times = np.asarray(t, dtype=float)
    pieces = max(1, times.size * q.size // _BATCH)
    ones = np.ones(len(q))
    rows = [start @ (exp_generator(q, part) @ ones).T for part in np.array_split(times.ravel(), pieces)]
    return np.concatenate(rows).reshape(times.shape)


def check_subgenerator(name: str, q: Floats) -> None:
    """Raise `ConfigError` unless ``q`` is a square matrix of rates with row sums <= 0.

    Parameters
    ----------
    name : str
        What the matrix is called in the message.
    q : array (n, n)
        The matrix.

    Raises
    ------
    ConfigError
        If it is not a sub-generator.

    Examples
    --------
    >>> check_subgenerator("rates", np.array([[-1.0, 2.0], [0.0, -1.0]]))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: rates: row 0 sums to 1; rows must sum to <= 0
    """
    if q.ndim != 2 or q.shape[0] != q.shape[1] or not q.size:
        raise ConfigError(f"{name}: shape {q.shape} must be square")
    if not np.all(np.isfinite(q)):
        raise ConfigError(f"{name}: all rates must be finite numbers")
    off = q - np.diag(np.diag(q))
    if off.min() < 0:
        raise ConfigError(f"{name}: rates off the diagonal must be >= 0, not {off.min():g}")
    excess = q.sum(axis=1)
    if np.any(excess > 1e-12 * np.abs(np.diag(q))):
        raise ConfigError(
            f"{name}: row {int(np.argmax(excess))} sums to {excess.max():g}; rows must sum to <= 0"
        )
