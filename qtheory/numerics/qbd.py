"""Quasi-birth-death chains: levels that go up and down by one, with phases inside a level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError

from .markov import stationary

__all__ = [
    "QuasiBirthDeath",
    "cyclic_reduction",
    "logarithmic_reduction",
    "perron_root",
    "time_until_exit",
]

Floats = NDArray[np.float64]

_FEW_STATES = 120  # above, a plain solution is tried first: all that enters must come out again
_MAX_STEPS = 64  # levels looked ahead double in every step


def perron_root(matrix: Floats) -> float:
    """Largest real part of the eigenvalues of a matrix with non-negative off-diagonal entries.

    Parameters
    ----------
    matrix : array (m, m)
        Non-negative off the diagonal.

    Examples
    --------
    >>> round(perron_root(np.array([[0.2, 0.1], [0.3, 0.4]])), 12)
    0.5
    """
    return float(np.max(np.linalg.eigvals(matrix).real))


def time_until_exit(start: Floats, moves: Floats, exits: Floats) -> Floats:
    """Expected time in each state before an exit, without a subtraction: exact where exits are very rare.

    The solution x of x (diag(total rates) - moves) = start, by elimination of the states from the last.

    Parameters
    ----------
    start : array (k, m)
        Rows of starting weights, >= 0.
    moves : array (m, m)
        Rates between states, >= 0; the diagonal is not looked at.
    exits : array (m,)
        Rates out of all states, >= 0.

    Raises
    ------
    ConvergenceError
        If there is no way out.

    Examples
    --------
    >>> moves = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> time_until_exit(np.array([[1.0, 0.0]]), moves, np.array([0.0, 1e-20])).tolist()
    [[1e+20, 1e+20]]
    """
    between, leave, found = moves.astype(float), exits.astype(float), start.astype(float)
    if len(leave) > _FEW_STATES:
        np.fill_diagonal(between, 0.0)
        whole = np.diag(between.sum(axis=1) + leave) - between
        quick = np.asarray(np.linalg.solve(whole.T, found.T).T, dtype=float)
        if (
            np.min(quick) >= -1e-14 * np.max(quick)
            and abs(quick.sum(axis=0) @ leave / found.sum() - 1) < 1e-9
        ):
            return np.asarray(np.maximum(quick, 0.0), dtype=float)
    total = np.empty(len(leave))
    for k in range(len(leave) - 1, -1, -1):
        total[k] = between[k, :k].sum() + leave[k]
        if not total[k] > 0:
            raise ConvergenceError("time until exit: some states have no way out")
        share = between[:k, k] / total[k]
        leave[:k] += share * leave[k]
        between[:k, :k] += np.outer(share, between[k, :k])
        found[:, :k] += np.outer(found[:, k] / total[k], between[k, :k])
    for k in range(len(leave)):
        found[:, k] = (found[:, k] + found[:, :k] @ between[:k, k]) / total[k]
    return found


def logarithmic_reduction(up: Floats, local: Floats, down: Floats, *, tol: float = 1e-15) -> Floats:
    r"""First-passage matrix G: phase at the first visit to the level below, by logarithmic reduction [1]_.

    The smallest solution of :math:`A_0G^2+A_1G+A_2=0`; each step doubles the number of levels looked ahead.

    Parameters
    ----------
    up, local, down : array (m, m)
        Rates :math:`A_0, A_1, A_2` one level up, within a level (with the negative diagonal), one level down.
    tol : float
        What is still missing in the row sums of G, or the size of the last correction.

    Raises
    ------
    ConvergenceError
        If the iteration does not settle.

    References
    ----------
    .. [1] Latouche, Ramaswami (1993), "A logarithmic reduction algorithm for quasi-birth-death processes",
       J. Appl. Prob. 30, 650-674.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> logarithmic_reduction(2 * one, -3 * one, one).round(12).tolist()  # goes up more often than down
    [[0.5]]
    """
    eye = np.eye(len(local))
    high, low = np.linalg.solve(-local, up), np.linalg.solve(-local, down)
    g, ahead = low.copy(), high.copy()
    for _ in range(_MAX_STEPS):
        middle = eye - high @ low - low @ high
        high, low = np.linalg.solve(middle, high @ high), np.linalg.solve(middle, low @ low)
        step = ahead @ low
        g = g + step
        ahead = ahead @ high
        if np.max(np.abs(step)) <= tol or np.max(np.abs(ahead)) <= tol * tol:
            return np.asarray(g, dtype=float)
    raise ConvergenceError(f"the levels do not settle in {_MAX_STEPS} doublings; the load is too close to 1")


def cyclic_reduction(up: Floats, local: Floats, down: Floats, *, tol: float = 1e-15) -> Floats:
    r"""The same matrix G by cyclic reduction [1]_, [2]_: every second level is eliminated in a step.

    Parameters
    ----------
    up, local, down : array (m, m)
        As in `logarithmic_reduction`.
    tol : float
        Size of the last change, relative to the largest rate.

    Raises
    ------
    ConvergenceError
        If the iteration does not settle.

    References
    ----------
    .. [1] Bini, Meini (1996), "On the solution of a nonlinear matrix equation arising in queueing problems",
       SIAM J. Matrix Anal. Appl. 17, 906-926.
    .. [2] Bini, Latouche, Meini (2005), "Numerical Methods for Structured Markov Chains", chapter 7.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> cyclic_reduction(2 * one, -3 * one, one).round(12).tolist()
    [[0.5]]
    """
    scale = float(np.max(np.abs(local)))
    a0, a1, a2 = up / scale, local / scale, down / scale
    hat = a1.copy()
    for _ in range(_MAX_STEPS):
        from_up, from_down = np.linalg.solve(-a1, a0), np.linalg.solve(-a1, a2)
        change = a0 @ from_down
        a1 = a1 + change + a2 @ from_up
        hat = hat + change
        a0, a2 = a0 @ from_up, a2 @ from_down
        if min(np.max(np.abs(a0)), np.max(np.abs(a2))) <= tol:
            return np.asarray(np.linalg.solve(-hat, down / scale), dtype=float)
    raise ConvergenceError(
        f"the levels do not settle in {_MAX_STEPS} eliminations; the load is too close to 1"
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuasiBirthDeath:
    r"""Exact geometric law of the upper levels: :math:`\pi_{n+1}=\pi_nR` [1]_.

    Parameters
    ----------
    up, local, down : array (m, m)
        Rates one level up, within a level (with the negative diagonal), one level down.

    Raises
    ------
    ConfigError
        If the shapes differ or the rates of a row do not cancel.
    UnstableError
        If the mean drift does not lead down.

    References
    ----------
    .. [1] Neuts (1981), "Matrix-Geometric Solutions in Stochastic Models", Johns Hopkins.
    .. [2] He, Meini, Rhee (2001), "A shifted cyclic reduction algorithm for quasi-birth-death problems",
       SIAM J. Matrix Anal. Appl. 23, 673-691.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> chain = QuasiBirthDeath(up=one, local=-3 * one, down=2 * one)  # M/M/1 at half load
    >>> chain.rate_matrix().round(12).tolist(), chain.load
    ([[0.5]], 0.5)
    """

    up: Floats
    local: Floats
    down: Floats

    def __post_init__(self) -> None:
        shapes = {self.up.shape, self.local.shape, self.down.shape}
        if len(shapes) != 1 or self.local.ndim != 2 or self.local.shape[0] != self.local.shape[1]:
            raise ConfigError(f"up, local, down: shapes {sorted(shapes)} must be one square shape")
        total = self.up + self.local + self.down
        if np.max(np.abs(total.sum(axis=1))) > 1e-9 * np.max(np.abs(self.local)):
            raise ConfigError("up, local, down: the rates of every row must cancel (a generator)")
        if self.load >= 1.0:
            raise UnstableError(
                f"the levels drift up (load {self.load:.6g}); lower the arrivals or raise the service rate"
            )

    @property
    def load(self) -> float:
        """Mean rate up over mean rate down, in the stationary law of the phases; stable below 1."""
        phase = stationary(self.up + self.local + self.down)
        return float(phase @ self.up.sum(axis=1)) / float(phase @ self.down.sum(axis=1))

    def first_passage(self) -> Floats:
        r"""Matrix G: the phase in which the level below is first reached; row sums 1.

        Its eigenvalue 1 is moved to 0 first (:math:`G-\mathbf1u`, u uniform), which keeps the digits where
        the load is close to 1 [2]_.
        """
        size = len(self.local)
        one = np.full((size, size), 1.0 / size)
        down, local = self.down - self.down @ one, self.local + self.up @ one
        g = cyclic_reduction(self.up, local, down) + one
        off = float(np.max(np.abs(g.sum(axis=1) - 1.0)))
        if off > 1e-7:
            raise ConvergenceError(
                f"row sums of the first-passage matrix are off by {off:.1g}; load too close to 1"
            )
        return np.asarray(g / g.sum(axis=1, keepdims=True), dtype=float)

    def rate_matrix(self) -> Floats:
        """Matrix R: expected time in the phases one level up, per unit of time in those of this level."""
        inner = -(self.local + self.up @ self.first_passage())
        rate = np.linalg.solve(inner.T, self.up.T).T
        if np.min(rate) < -1e-9 * np.max(rate):
            raise ConvergenceError(f"the rate matrix came out with {np.min(rate):.3g}; it cannot be negative")
        return np.asarray(np.maximum(rate, 0.0), dtype=float)  # rounding at light loads
