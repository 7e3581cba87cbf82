"""Laws with a given mean and squared coefficient of variation."""

from __future__ import annotations

import math

from qtheory.basics import checks

from .constant import Constant
from .erlang import Erlang
from .exponential import Exponential
from .gamma import Gamma
from .hyperexponential import Hyperexponential
from .law import Law
from .lognormal import Lognormal
from .mixture import Mixture

__all__ = ["fit_two_moments"]


def fit_two_moments(mean: float, scv: float, *, family: str = "phases") -> Law:
    r"""Law with these first two moments.

    In the family "phases": constant for SCV 0; for :math:`0 < c^2 < 1` a mixture of k - 1 and k exponential
    phases of one rate, :math:`1/k \le c^2 \le 1/(k - 1)`; exponential for 1; above, two exponential phases
    that bring half of the mean each (balanced means) [1]_.

    Parameters
    ----------
    mean : float
        E[X], > 0.
    scv : float
        Squared coefficient of variation, >= 0.
    family : str
        "phases", "gamma" or "lognormal"; SCV 0 is constant in each.

    Returns
    -------
    Law
        With exactly these moments, up to rounding.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Tijms (2003), "A First Course in Stochastic Models", Wiley, appendix B.

    Examples
    --------
    >>> print(fit_two_moments(2.0, 0.5))
    erlang(k=2, mean=2)
    >>> law = fit_two_moments(2.0, 4.0)
    >>> print(type(law).__name__, f"{law.mean:.6f} {law.scv:.6f}")
    Hyperexponential 2.000000 4.000000
    """
    checks.positive(mean=mean)
    checks.non_negative(scv=scv)
    checks.one_of("family", family, ["phases", "gamma", "lognormal"])
    if scv == 0:
        return Constant(value=mean)
    if family == "gamma":
        return Gamma(mean=mean, cv=math.sqrt(scv))
    if family == "lognormal":
        return Lognormal(mean=mean, cv=math.sqrt(scv))
    if scv == 1:
        return Exponential(mean=mean)
    return _erlang_mixture(mean, scv) if scv < 1 else _balanced_phases(mean, scv)


def _erlang_mixture(mean: float, scv: float) -> Law:
    k = round(1.0 / scv)
    if abs(scv * k - 1.0) < 1e-12:
        return Erlang(k=k, mean=mean)
    k = math.ceil(1.0 / scv)
    p = (k * scv - math.sqrt(k * (1.0 + scv) - k**2 * scv)) / (1.0 + scv)  # share of the k - 1 phases
    phase = mean / (k - p)
    laws = [Erlang(k=k - 1, mean=(k - 1) * phase), Erlang(k=k, mean=k * phase)]
    return Mixture(laws=laws, weights=[p, 1.0 - p])


def _balanced_phases(mean: float, scv: float) -> Hyperexponential:
    r = math.sqrt((scv - 1.0) / (scv + 1.0))
    p = 1.0 / ((scv + 1.0) * (1.0 + r))  # (1 - r) / 2 without its cancellation
    return Hyperexponential(probs=[1.0 - p, p], means=[0.5 * mean / (1.0 - p), 0.5 * mean / p])
