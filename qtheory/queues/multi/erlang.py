"""Erlang's formulas, stable for any number of servers."""

from __future__ import annotations

import math

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import UnstableError
from qtheory.numerics.markov import poisson_below, poisson_pmf

__all__ = ["erlang_b", "erlang_c"]


def erlang_b(*, n_servers: int, load: float) -> float:
    r"""Exact share of lost arrivals with c servers and no place to wait (Erlang B, any service law).

    :math:`B=\frac{a^c/c!}{\sum_{k\le c}a^k/k!}`. Below saturation as Poisson probability over Poisson tail;
    above it by :math:`1/B=\sum_{k\ge0}\frac{c(c-1)\cdots(c-k+1)}{a^k}` [1]_, whose terms fall.

    Parameters
    ----------
    n_servers : int
        c, >= 0 (0: everybody is lost).
    load : float
        Offered load a = arrival rate x mean service, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Jagerman (1974), "Some properties of the Erlang loss function", Bell Syst. Tech. J. 53, 525-551.

    Examples
    --------
    >>> round(erlang_b(n_servers=10, load=8.0), 6), round(erlang_b(n_servers=10**6, load=1e6), 9)
    (0.121661, 0.00079746)
    """
    checks.at_least(0, n_servers=n_servers)
    checks.positive(load=load)
    if load <= n_servers:
        pmf = float(poisson_pmf(n_servers, load))
        return pmf / float(poisson_below(n_servers + 1, load))
    n_terms = min(n_servers, int(9.0 * math.sqrt(n_servers)) + 40)
    with np.errstate(under="ignore"):
        return float(1.0 / (1.0 + np.cumprod((n_servers - np.arange(n_terms)) / load).sum()))


def erlang_c(*, n_servers: int, load: float) -> float:
    r"""Exact P(wait) with c servers and exponential service (Erlang C): :math:`C=\frac B{1-\rho(1-B)}`.

    Parameters
    ----------
    n_servers : int
        c, >= 1.
    load : float
        Offered load a = arrival rate x mean service, > 0 and below c.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        If the load is not below the number of servers.

    References
    ----------
    .. [1] Cooper (1981), "Introduction to Queueing Theory", 2nd ed., section 3.4.

    Examples
    --------
    >>> round(erlang_c(n_servers=10, load=8.0), 6)
    0.40918
    """
    checks.integer(n_servers=n_servers)
    checks.positive(load=load)
    if load >= n_servers:
        raise UnstableError(
            f"load={load:g} is not below n_servers={n_servers}; add servers or lower the rate"
        )
    lost = erlang_b(n_servers=n_servers, load=load)
    return lost / ((n_servers - load) / n_servers + load / n_servers * lost)
