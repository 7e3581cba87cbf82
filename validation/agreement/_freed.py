"""Means and percentiles of simulated requests, freed of chance by controls of known expectation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.statistics import estimate_mean, estimate_percentile

__all__ = ["Controlled", "Freed", "in_pieces", "long_enough"]

Floats = NDArray[np.float64]
Freed = tuple[float, float]
"""An estimate, and half of its 95 % interval."""

_PIECES = 200  # of a run
_LEAST_PIECE = 40  # requests
_LEAST_BEYOND = 5.0  # independent stretches of requests beyond a percentile
_ROUNDS = 3  # towards the place at which a percentile is freed
_CONSTANT = 1e-12
_MOST_LEVERAGE = 0.999  # of a piece that alone has seen a control


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Controlled:
    r"""Values of requests, with controls that say how lucky their runs were.

    Least squares over pieces of runs give the mean of the values where all controls have their expectation
    [1]_. The spread is that of the pseudo-values of a jackknife that leaves out one piece at a time, which
    allows for the fit of the coefficients and for pieces that few others are like [2]_; the pseudo-values
    are judged as any series in order of arrival is. A percentile is where the share below it, freed in this
    way, reaches its level [3]_.

    Parameters
    ----------
    values : sequence of array of float
        One a run in order of arrival, behind the warm-up; not finite where a request has none.
    controls : array of float, shape (runs, pieces, m)
        Means over pieces of the same runs (`in_pieces`), less their expectations.

    References
    ----------
    .. [1] Lavenberg and Welch (1981), "A perspective on the use of control variables to increase the
       efficiency of Monte Carlo simulations", Management Science 27, 322-335.
    .. [2] MacKinnon and White (1985), "Some heteroskedasticity-consistent covariance matrix estimators with
       improved finite sample properties", Journal of Econometrics 29, 305-325 (HC3, nearly the jackknife).
    .. [3] Hsu and Nelson (1990), "Control variates for quantile estimation", Management Science 36, 835-851.
    """

    values: Sequence[Floats]
    controls: Floats

    def mean(self) -> Freed | None:
        """Mean of the values; None if what is left is too correlated to tell its spread."""
        centre = float(np.nanmean(np.concatenate(self.values)))
        found = self._freed([each - centre for each in self.values])
        return None if found is None else (centre + found[0], found[1])

    def percentile(self, share: float) -> Freed | None:
        """Value that a ``share`` of the requests, in (0, 1), does not exceed.

        None also where too few stretches of requests lie beyond it to know it by. Runs that have fewer
        requests beyond it than is to be expected show less spread too: that of the expected number counts.
        """
        served = [each[np.isfinite(each)] for each in self.values]
        plain = estimate_percentile(served, 100 * share)
        if (plain.n_effective or 0.0) * min(share, 1 - share) < _LEAST_BEYOND:
            return None
        pool, at = np.sort(np.concatenate(served)), plain.estimate
        for _ in range(_ROUNDS):
            below = self._freed(
                [np.where(np.isfinite(each), each <= at, np.nan) - share for each in self.values]
            )
            if below is None:
                return None
            place = float(np.searchsorted(pool, at, side="right")) / len(pool) - below[0]
            half = below[1] * math.sqrt(max(1.0, (1 - share) / max(1 - place, _CONSTANT)))
            if not 0 < place - half < place + half < 1:
                return None
            low, at, high = np.quantile(pool, [place - half, place, place + half])
        return float(at), float(high - low) / 2

    def _freed(self, values: Sequence[Floats]) -> Freed | None:
        """Mean of values that lie around 0: as a sum over those that there are, over their number."""
        pieces = np.stack([in_pieces(np.nan_to_num(each)) for each in values])  # (runs, pieces)
        table = self.controls[:, :, np.ptp(self.controls, axis=(0, 1)) > _CONSTANT]
        table = table / table.std(axis=(0, 1))
        design = np.dstack([np.ones(pieces.shape), table]).reshape(pieces.size, -1)  # (n, m + 1)
        inverse = np.linalg.pinv(design, rcond=1e-6)  # (m + 1, n)
        fitted = inverse @ pieces.ravel()
        leverage = np.einsum("ij,ji->i", design, inverse)
        if leverage.max() > _MOST_LEVERAGE:
            return None
        left = (pieces.ravel() - design @ fitted) / (1 - leverage)
        pseudo = fitted[0] + pieces.size * inverse[0] * left
        found = estimate_mean(list(pseudo.reshape(pieces.shape)))
        served = float(np.isfinite(np.concatenate(values)).mean())
        return (float(fitted[0]) / served, found.half_width / served) if found.reliable else None


def long_enough(n_requests: int) -> bool:
    """Whether a run of ``n_requests`` behind its warm-up can be cut in pieces."""
    return n_requests >= _PIECES * _LEAST_PIECE


def in_pieces(values: Floats) -> Floats:
    """Means over equal pieces of a run, shape (pieces,), without a few values at its start."""
    size = len(values) // _PIECES
    return np.asarray(values[-size * _PIECES :].reshape(_PIECES, size).mean(axis=1))
