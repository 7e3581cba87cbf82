"""From runs at a few rates to the rate of the knee, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.statistics._runs import t_quantile

from ._sampled import Sample

__all__ = ["Located", "locate"]

Floats = NDArray[np.float64]
_STEPS = 30
_TOLD = 0.5
"""Standard error of a slope, relative, from which on runs do not tell it: the width would be the guess's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A knee with its interval.

    Parameters
    ----------
    rate_rps, low_rps, high_rps : float
    slope : float
        Relative growth of the share of late requests for a relative growth of the rate.
    """

    rate_rps: float
    low_rps: float
    high_rps: float
    slope: float

    @property
    def half_frac(self) -> float:
        """Half of the interval, relative."""
        return (self.high_rps - self.low_rps) / 2 / self.rate_rps


def locate(
    samples: Sequence[Sample],
    *,
    bad_frac: float,
    slope: float,
    level: float,
    slope_off_frac: float = 0.35,
    use_ahead: bool = True,
) -> Located | None:
    r"""Where the share of late requests is ``bad_frac``.

    Near the knee its logarithm is a straight line in the logarithm of the rate, and a run into which more
    work came than the mean shows more late requests in proportion: :math:`E[b_i] = \exp(a + c\,x_i +
    \gamma z_i)` with the rate's logarithm :math:`x_i` and the surplus of work :math:`z_i` (a control
    variate with mean zero), fitted by quasi-likelihood [1]_. The mean over runs of any surplus is above the
    line at none, by :math:`\gamma^2 \operatorname{Var} z_i / 2`. Place and interval are a jackknife over
    runs, which takes off by how much the logarithm of a small mean is too low.

    Runs come in pairs, one to each side of a middle that was chosen by the runs before. Only the difference
    within a pair tells the slope (as an instrument [2]_): the middles follow chance, up where too few were
    late and down where too many, and a line through them would be too steep.

    Parameters
    ----------
    samples : sequence of Sample
        At least four runs; each two in a row are a pair.
    bad_frac : float
        Share of late requests at the knee.
    slope : float
        A guess of :math:`c`, > 0; :math:`\gamma` is guessed to be half.
    level : float
        Of the interval.
    slope_off_frac : float
        How far off the guess is taken to be, relative.
    use_ahead : bool
        Whether the surplus of work is used.

    Returns
    -------
    Located or None
        None if no line that rises fits.

    References
    ----------
    .. [1] McCullagh and Nelder (1989), "Generalized linear models", chapter 9.
    .. [2] Durbin (1954), "Errors in variables", Review of the International Statistical Institute 22, 23-32.
    """
    rates = np.array([one.rate_rps for one in samples])
    centre = float(np.exp(np.log(rates).mean()))
    ahead = np.array([one.ahead_frac if use_ahead else 0.0 for one in samples])
    design = np.column_stack([np.ones(len(rates)), np.log(rates / centre), ahead])  # (n, 3)
    tells = np.column_stack([np.ones(len(rates)), _aside(np.log(rates)), ahead])  # (n, 3)
    bad = np.array([one.bad_frac for one in samples])
    fit = _Fit(
        off_frac=slope_off_frac,
        design=design,
        tells=tells,
        bad=bad,
        weight=np.array([one.n_requests for one in samples]),
        guess=slope,
    )
    whole = fit.root(np.ones(len(bad), dtype=bool), bad_frac)
    if whole is None or whole[2] > _TOLD * whole[1]:
        return None
    root, found_slope, _ = whole
    n = len(bad)
    parts = [fit.root(np.arange(n) != i, bad_frac) for i in range(n)]
    if any(part is None for part in parts):
        return None
    pseudo = np.array([n * root - (n - 1) * part[0] for part in parts if part is not None])
    root = float(pseudo.mean())  # a logarithm of few late requests is too low in the mean: free of that
    half = t_quantile(level, n - 2) * float(pseudo.std(ddof=1)) / math.sqrt(n)
    return Located(
        rate_rps=centre * math.exp(root),
        low_rps=centre * math.exp(root - half),
        high_rps=centre * math.exp(root + half),
        slope=found_slope,
    )


def _aside(places: Floats) -> Floats:
    """How far each of two runs, one after the other, is from the middle of both; a last one is on its own."""
    off, n = np.zeros(len(places)), len(places) // 2 * 2
    pairs = places[:n].reshape(-1, 2)
    off[:n] = (pairs - pairs.mean(axis=1, keepdims=True)).ravel()
    return off


@dataclass(frozen=True, kw_only=True)
class _Fit:
    design: Floats
    tells: Floats  # the same but for the rate: of that, what chance has no part in
    bad: Floats
    weight: Floats
    guess: float
    off_frac: float

    def root(self, use: NDArray[np.bool_], bad_frac: float) -> tuple[float, float, float] | None:
        """Logarithm of the rate over the centre where the share is ``bad_frac``; the slope and its error."""
        design, tells, bad = self.design[use], self.tells[use], self.bad[use]
        weight = self.weight[use] / self.weight[use].mean()
        if bad.mean() <= 0:
            return None
        prior = np.array([0.0, self.guess, 0.5 * self.guess])
        beta = np.array([math.log(bad.mean()), self.guess, 0.0])
        for _ in range(_STEPS):
            expected = np.exp(np.clip(design @ beta, -30, 1))
            spread = max(float(np.mean(weight * (bad - expected) ** 2 / expected)), 1e-12)
            pull = spread / (np.array([np.inf, self.off_frac, 1.0]) * self.guess) ** 2
            score = tells.T @ (weight * (bad - expected)) - pull * (beta - prior)
            bend = (tells * (weight * expected)[:, None]).T @ design + np.diag(pull)
            step = np.linalg.solve(bend + 1e-12 * np.eye(3), score)
            beta = beta + np.clip(step, -0.5 * self.guess - 1, 0.5 * self.guess + 1)
            if float(np.abs(step).max()) < 1e-9:
                break
        error = math.sqrt(abs(spread * float(np.linalg.inv(bend)[1, 1])))
        if beta[1] <= 0.05 * self.guess:
            return None
        above = 0.5 * beta[2] ** 2 * float(design[:, 2].var(ddof=1))
        return float((math.log(bad_frac) - beta[0] - above) / beta[1]), float(beta[1]), error
