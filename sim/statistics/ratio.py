"""Interval for a ratio of two means, such as tokens per second of busy time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qtheory.basics.errors import ConfigError, ConvergenceError

from ._runs import as_values, check_level, t_quantile
from .interval import Interval

__all__ = ["estimate_ratio"]


def estimate_ratio(numerators: ArrayLike, denominators: ArrayLike, *, level: float = 0.95) -> Interval:
    r"""Ratio of two means over replications (or regeneration cycles), with Fieller's limits [1]_.

    The ratio :math:`\theta` is within the limits where :math:`|\bar x - \theta \bar y|` is no more than
    :math:`t` times its standard error. With variances :math:`s_{xx}, s_{yy}` and covariance :math:`s_{xy}` of
    the two means, :math:`r = \bar x / \bar y` and :math:`g = t^2 s_{yy} / \bar y^2 < 1`:

    .. math:: \frac{1}{1 - g} \Bigl( r - \frac{t^2 s_{xy}}{\bar y^2} \pm \frac{t}{|\bar y|}
              \sqrt{s_{xx} - 2 r s_{xy} + r^2 s_{yy} - g \, (s_{xx} - s_{xy}^2 / s_{yy})} \Bigr) .

    Parameters
    ----------
    numerators, denominators : array_like of float, shape (R,)
        One number a replication each, R >= 2.
    level : float
        In (0, 1).

    Returns
    -------
    Interval

    Raises
    ------
    ConfigError
        If the lengths differ, a value is not finite or the level is out of range.
    ConvergenceError
        If the mean denominator is not told from zero (:math:`g \ge 1`): no finite limits exist.

    References
    ----------
    .. [1] Fieller (1954), "Some problems in interval estimation", JRSS B 16, 175-185.

    Examples
    --------
    >>> print(estimate_ratio([10.0, 12.0, 11.0, 9.0], [5.0, 6.1, 5.4, 4.6]))
    1.991 (1.931 to 2.049 at 95 %)
    """
    check_level(level)
    x, y = as_values("numerators", numerators, least=2), as_values("denominators", denominators, least=2)
    if len(x) != len(y):
        raise ConfigError(f"denominators: {len(y)} values, but numerators have {len(x)}")
    n, mean_y = len(x), float(y.mean())
    t = t_quantile(level, n - 1)
    (s_xx, s_xy), (_, s_yy) = (np.cov(x, y) / n).tolist()
    if t**2 * s_yy >= mean_y**2:
        raise ConvergenceError(
            f"denominators: their mean {mean_y:g} is not told from zero; run more replications"
        )
    ratio, g = float(x.mean()) / mean_y, t**2 * s_yy / mean_y**2
    rest = g * (s_xx - s_xy**2 / s_yy) if s_yy > 0 else 0.0
    half = t / abs(mean_y) * float(np.sqrt(max(s_xx - 2 * ratio * s_xy + ratio**2 * s_yy - rest, 0.0)))
    middle = ratio - t**2 * s_xy / mean_y**2
    return Interval(
        estimate=ratio,
        low=min((middle - half) / (1 - g), ratio),
        high=max((middle + half) / (1 - g), ratio),
        level=level,
        method="Fieller",
        n_replications=n,
    )
