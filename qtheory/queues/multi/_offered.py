"""What follows from the wait offered to impatient customers: the law of the response, and of the number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import gammaln

from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.markov import poisson_pmf

from ._density import PanelDensity, panels, running

__all__ = ["ServedLater", "number_pmf", "second_of_response"]

Floats = NDArray[np.float64]

_WIDEST = 4.0  # of a panel, in mean services
_MOST_PANELS = 40_000
_NOTHING = 1e-18
_FLOW = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedLater:
    r"""P(service begun, not ended at t) :math:`=\int_0^tg(x)e^{-\mu(t-x)}dx` for starts of density g."""

    starts: PanelDensity
    service_rate_rps: float

    @cached_property
    def _fine(self) -> PanelDensity:
        """The density on panels that are not wide beside a service."""
        edges, values = self.starts.edges, self.starts.values
        width = np.diff(edges)
        matters = np.abs(values).max(axis=1) * width > _NOTHING
        pieces = np.where(matters, np.ceil(self.service_rate_rps * width / _WIDEST), 1.0).astype(int)
        if pieces.sum() > _MOST_PANELS:
            raise ConvergenceError(
                f"response: {pieces.sum()} panels, since waits are very long beside a service; "
                "ask for the wait"
            )
        if pieces.max(initial=1) == 1:
            return self.starts
        owner = np.repeat(np.arange(len(width)), pieces)
        step = np.concatenate([np.arange(k) / k for k in pieces])
        fine = np.append(edges[:-1][owner] + step * width[owner], edges[-1])
        nodes = panels(fine)[0]
        at = 2.0 * (nodes - edges[:-1][owner, None]) / width[owner, None] - 1.0
        own = self.starts.coefficients[owner]
        return PanelDensity(
            edges=fine, values=np.einsum("mjk,mk->mj", legendre.legvander(at, own.shape[1] - 1), own)
        )

    @cached_property
    def _at_edges(self) -> Floats:
        fine, mu = self._fine, self.service_rate_rps
        nodes, half = panels(fine.edges)
        later = fine.values * np.exp(-mu * (fine.edges[1:, None] - nodes))
        gained = PanelDensity(edges=fine.edges, values=later).masses
        kept = np.exp(-2.0 * mu * half)
        found, now = [0.0], 0.0
        for keep, gain in zip(kept.tolist(), gained.tolist(), strict=True):
            now = now * keep + gain
            found.append(now)
        return np.array(found)

    def __call__(self, t: Floats) -> Floats:
        """The probability at each t >= 0."""
        fine, mu = self._fine, self.service_rate_rps
        where = np.clip(np.searchsorted(fine.edges, t, side="right") - 1, 0, len(fine.edges) - 2)
        low, high = fine.edges[where], np.minimum(t, fine.edges[where + 1])
        begun = self._at_edges[where] * np.exp(-mu * (t - low))
        node, weight = legendre.leggauss(20)
        x = low[:, None] + 0.5 * (high - low)[:, None] * (1.0 + node)
        at = 2.0 * (x - low[:, None]) / (fine.edges[where + 1] - low)[:, None] - 1.0
        own = fine.coefficients[where]
        density = np.einsum("tjk,tk->tj", legendre.legvander(at, own.shape[1] - 1), own)
        with np.errstate(under="ignore"):
            inside = (density * np.exp(-mu * (t[:, None] - x))) @ weight * 0.5 * (high - low)
        return np.asarray(begun + inside, dtype=float)


def second_of_response(
    second_wait_s2: float, served_frac: float, mean_wait_served_s: float, service_rate_rps: float
) -> float:
    """E[T^2] of all: the wait, and for those who are served a service on top of it."""
    mean_s = 1.0 / service_rate_rps
    return second_wait_s2 + 2.0 * served_frac * mean_s * (mean_wait_served_s + mean_s)


def number_pmf(
    rates: tuple[float, float], n_servers: int, last: float, offered: PanelDensity, stays: Floats
) -> Callable[[int], float]:
    r"""P(n present): ``last`` is P(c - 1 present), ``stays`` is P(patience > x) at the nodes.

    Below c as in Erlang's chain. A service that starts after a wait x leaves behind it the Poisson number
    of those who came within x and are still patient; balancing starts and departures,
    :math:`p_{c+k+1}=\frac\lambda{c\mu}\int v(x)\bar F(x)e^{-\lambda G(x)}\frac{(\lambda G(x))^k}{k!}dx` with
    :math:`G(x)=\int_0^x\bar F`.
    """
    (lam, mu), c = rates, n_servers
    half = panels(offered.edges)[1]
    waiting = lam * running(stays, half)
    starts = PanelDensity(edges=offered.edges, values=offered.values * stays)
    full = last * lam / (c * mu)
    if abs(full + lam / (c * mu) * starts.integral() - offered.integral()) > _FLOW:
        raise ConvergenceError("the numbers present do not sum to the share of time with all servers busy")

    def pmf(n: int) -> float:
        if n < 0:
            return 0.0
        if n < c:
            odds = float(gammaln(c) - gammaln(n + 1.0)) - (c - 1 - n) * math.log(lam / mu)
            return math.exp(math.log(last) + odds) if last > 0 else 0.0
        if n == c:
            return full
        behind = starts.values * poisson_pmf(n - c - 1, waiting)
        return lam / (c * mu) * PanelDensity(edges=offered.edges, values=behind).integral()

    return pmf
