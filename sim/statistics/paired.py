"""Schedulers compared on the same requests: paired differences under common random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from numpy.typing import ArrayLike

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._runs import as_values, check_level, t_below, t_quantile
from .interval import Interval

__all__ = ["Comparison", "compare_all", "paired_difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two candidates on the same random numbers.

    Parameters
    ----------
    a, b : str
        Their names.
    difference : Interval
        Mean of a - b, in the unit of the values.
    p_value : float
        Two-sided, after the correction for several comparisons; in [0, 1].
    verdict : str
        ``"a lower"``, ``"b lower"`` (with the names) or ``"no difference"``: the limits enclose zero. That
        says that the replications tell no difference, not that there is none; the limits say how large it
        could be.

    Examples
    --------
    >>> seen = paired_difference([3.0, 4.0, 5.0], [3.1, 3.9, 5.0], names=("fcfs", "sjf"))
    >>> seen.a, seen.b, seen.verdict
    ('fcfs', 'sjf', 'no difference')
    """

    a: str
    b: str
    difference: Interval
    p_value: float
    verdict: str


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_comparisons: int = 1,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    r"""Mean difference a - b over replications on the same random numbers, with a paired t-interval [1]_.

    With differences :math:`d_i = a_i - b_i` the limits are :math:`\bar d \pm t \, s_d / \sqrt R`. Common
    random numbers make :math:`a_i` and :math:`b_i` alike, so that :math:`s_d` is far smaller than either
    spread.

    Parameters
    ----------
    a, b : array_like of float, shape (R,)
        One number a replication (a mean, a p99, a goodput), replication i of both on the same requests; R >=
        2.
    level : float
        In (0, 1): of this comparison, or of all ``n_comparisons`` together.
    n_comparisons : int
        Comparisons that are to hold together (Bonferroni), >= 1.
    names : tuple of str
        What to call a and b in the verdict.

    Returns
    -------
    Comparison

    Raises
    ------
    ConfigError
        If the lengths differ, there are fewer than 2 replications, a value is not finite or a number is out
        of range.

    References
    ----------
    .. [1] Law (2015), "Simulation Modeling and Analysis", 5th ed., sections 10.2 and 11.2.

    Examples
    --------
    >>> seen = paired_difference([1.0, 2.0, 3.0, 4.0], [1.4, 2.5, 3.6, 4.5])
    >>> print(seen.verdict, seen.difference)
    a lower -0.5 (-0.6299 to -0.3701 at 95 %)
    """
    check_level(level)
    checks.integer(n_comparisons=n_comparisons)
    first, second = as_values(names[0], a, least=2), as_values(names[1], b, least=2)
    if len(first) != len(second):
        raise ConfigError(
            f"{names[1]}: {len(second)} replications, but {names[0]} has {len(first)}; pairs need both"
        )
    off = first - second
    n, mean = len(off), float(off.mean())
    error = float(off.std(ddof=1)) / n**0.5
    own_level = 1 - (1 - level) / n_comparisons
    half = t_quantile(own_level, n - 1) * error
    if error > 0:
        p_value = min(2 * n_comparisons * t_below(n - 1, -abs(mean) / error), 1.0)
    else:
        p_value = 0.0 if mean else 1.0
    verdict = "no difference"
    if mean + half < 0 or mean - half > 0:
        verdict = f"{names[0] if mean < 0 else names[1]} lower"
    difference = Interval(
        estimate=mean,
        low=mean - half,
        high=mean + half,
        level=own_level,
        method="paired t",
        n_replications=n,
    )
    return Comparison(a=names[0], b=names[1], difference=difference, p_value=p_value, verdict=verdict)


def compare_all(candidates: Mapping[str, ArrayLike], *, level: float = 0.95) -> tuple[Comparison, ...]:
    r"""All pairs of candidates; every verdict holds at once with probability ``level`` at least.

    With :math:`m` pairs each interval has level :math:`1 - (1 - \text{level}) / m` (Bonferroni) and each
    p-value is multiplied by :math:`m`. Holm's steps [1]_ would find a few more differences, but have no
    intervals to go with them; here a verdict and its interval always say the same.

    Parameters
    ----------
    candidates : mapping of str to array_like of float, shape (R,)
        One number a replication for each name, all on the same requests; two names at least.
    level : float
        In (0, 1), of the whole family.

    Returns
    -------
    tuple of Comparison
        In the order of the names.

    Raises
    ------
    ConfigError
        As `paired_difference`, or for fewer than two candidates.

    References
    ----------
    .. [1] Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
       Statistics 6, 65-70.

    Examples
    --------
    >>> import numpy as np
    >>> base = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> noise = np.array([0.1, -0.1, 0.05, -0.05, 0.0])
    >>> for seen in compare_all({"fcfs": base, "chunked": base - 0.8 + noise, "sjf": base + noise}):
    ...     print(seen.a, seen.b, seen.verdict)
    fcfs chunked chunked lower
    fcfs sjf no difference
    chunked sjf chunked lower
    """
    pairs = list(combinations(candidates, 2))
    if not pairs:
        raise ConfigError(f"candidates: {len(candidates)} given; a comparison needs two")
    return tuple(
        paired_difference(candidates[a], candidates[b], level=level, n_comparisons=len(pairs), names=(a, b))
        for a, b in pairs
    )
