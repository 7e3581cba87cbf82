"""How many servers: exact searches, and the square-root rules behind them."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import erfcx

from qtheory.basics import checks

from .erlang import erlang_b, erlang_c

__all__ = ["garnett_wait", "halfin_whitt_wait", "servers_for_loss", "servers_for_wait", "square_root_servers"]


def _over_tail(x: float) -> float:
    """Hazard rate of the standard normal law, phi(x) / (1 - Phi(x))."""
    return math.sqrt(2.0 / math.pi) / float(erfcx(x / math.sqrt(2.0)))


def halfin_whitt_wait(*, beta: float) -> float:
    r"""Approximation of P(wait) in M/M/c with :math:`c=a+\beta\sqrt a` servers; exact as a grows [1]_.

    :math:`\left[1+\sqrt{2\pi}\,\beta\,\Phi(\beta)\,e^{\beta^2/2}\right]^{-1}`.

    Parameters
    ----------
    beta : float
        Servers above the load a, in units of :math:`\sqrt a`, > 0.

    Raises
    ------
    ConfigError
        If ``beta`` is not above zero.

    References
    ----------
    .. [1] Halfin, Whitt (1981), "Heavy-traffic limits for queues with many exponential servers", Oper. Res.
       29, 567-588.

    Examples
    --------
    >>> round(halfin_whitt_wait(beta=1.0), 6)
    0.223361
    """
    checks.positive(beta=beta)
    return 1.0 / (1.0 + beta / _over_tail(-beta))


def garnett_wait(*, beta: float, patience_ratio: float) -> float:
    r"""Approximation of P(wait) in M/M/c+M with :math:`c=a+\beta\sqrt a` servers; exact as a grows [1]_.

    :math:`\left[1+\sqrt{\theta/\mu}\,h(\beta\sqrt{\mu/\theta})/h(-\beta)\right]^{-1}` with the normal hazard
    rate h, service rate :math:`\mu` and patience rate :math:`\theta`.

    Parameters
    ----------
    beta : float
        Servers above the load a, in units of :math:`\sqrt a`; may be negative.
    patience_ratio : float
        :math:`\theta/\mu`: mean service over mean patience, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Garnett, Mandelbaum, Reiman (2002), "Designing a call center with impatient customers", M&SOM 4,
       208-227.

    Examples
    --------
    >>> round(garnett_wait(beta=0.0, patience_ratio=1.0), 6)
    0.5
    """
    checks.positive(patience_ratio=patience_ratio)
    root = math.sqrt(patience_ratio)
    return 1.0 / (1.0 + root * _over_tail(beta / root) / _over_tail(-beta))


def square_root_servers(*, load: float, beta: float) -> int:
    r"""Approximate staffing: the load and ``beta`` times its root, :math:`\lceil a+\beta\sqrt a\rceil`.

    Parameters
    ----------
    load : float
        Offered load a = arrival rate x mean service, > 0.
    beta : float
        Safety, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> square_root_servers(load=100.0, beta=1.0)
    110
    """
    checks.positive(load=load, beta=beta)
    return math.ceil(load + beta * math.sqrt(load))


def _smallest(reached: Callable[[int], bool], start: int) -> int:
    """Smallest n >= start for which a monotone condition holds: doubling, then bisection."""
    low, step = start - 1, 1
    while not reached(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def servers_for_wait(*, load: float, prob_wait: float) -> int:
    """Exact least number of servers of M/M/c for which P(wait) is at most ``prob_wait``.

    Parameters
    ----------
    load : float
        Offered load = arrival rate x mean service, > 0.
    prob_wait : float
        Largest P(wait), in (0, 1].

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> servers_for_wait(load=100.0, prob_wait=0.2)
    111
    """
    checks.positive(load=load)
    checks.fraction(prob_wait=prob_wait)
    return _smallest(lambda c: erlang_c(n_servers=c, load=load) <= prob_wait, int(load) + 1)


def servers_for_loss(*, load: float, prob_block: float) -> int:
    """Exact least number of servers of Erlang's loss system for which the loss is at most ``prob_block``.

    Parameters
    ----------
    load : float
        Offered load = arrival rate x mean service, > 0.
    prob_block : float
        Largest share of lost arrivals, in (0, 1].

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> servers_for_loss(load=100.0, prob_block=0.01)
    117
    """
    checks.positive(load=load)
    checks.fraction(prob_block=prob_block)
    return _smallest(lambda c: erlang_b(n_servers=c, load=load) <= prob_block, 1)
