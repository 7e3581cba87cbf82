"""M/M/c+G: patience of any law; M/M/c+D among them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Discrete, Empirical, Law
from qtheory.numerics.taillaw import TailLaw

from ._common import check_little
from ._density import PanelDensity, panels, running
from ._offered import ServedLater, number_pmf, second_of_response
from .erlang import erlang_b
from .erlang_a import AbandonmentResult

__all__ = ["MMcG"]

Floats = NDArray[np.float64]

_DIGITS = 45.0
_PANELS = 160
_FINE_CUTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MMcG:
    r"""Exact M/M/c+G, first come first served: a customer leaves when it has waited its patience.

    The wait V that a customer with endless patience would have has the density
    :math:`v(x)=\lambda\pi_{c-1}\exp(\lambda\int_0^xP(\text{patience}>y)\,dy-c\mu x)` and is zero where fewer
    than c are busy, with Erlang's proportions [1]_. Integrals by Gauss-Legendre panels.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.
    patience : Law
        How long a customer is ready to wait, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Baccelli, Hebuterne (1981), "On queues with impatient customers", Performance '81, 159-179.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> queue = MMcG(rate_rps=21.0, service_rate_rps=1.0, n_servers=20, patience=Constant(value=0.5))
    >>> answer = queue.solve()
    >>> print(f"{answer.prob_abandon:.4f} leave, the others wait {answer.mean_wait_served_s:.4f} s")
    0.0865 leave, the others wait 0.2018 s
    """

    rate_rps: float
    service_rate_rps: float
    n_servers: int
    patience: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.integer(n_servers=self.n_servers)
        if not isinstance(self.patience, Law):
            raise ConfigError(f"patience: {self.patience!r} is not a law; give one of qtheory.laws")

    def solve(self) -> AbandonmentResult:
        """The steady state."""
        lam, mu, c = self.rate_rps, self.service_rate_rps, self.n_servers
        edges, exponent = self._exponent()
        peak = float(exponent.max())
        with np.errstate(under="ignore"):
            shape = PanelDensity(edges=edges, values=np.exp(exponent - peak))
        last = erlang_b(n_servers=c - 1, load=lam / mu)  # P(c - 1 busy | fewer than c busy)
        mass = lam * shape.integral()  # P(all busy) / P(c - 1 busy) / exp(peak)
        odds = math.log(mass) + math.log(last) + peak if last > 0 else -math.inf
        all_busy = 1.0 / (1.0 + math.exp(-odds)) if odds > -700 else 0.0
        offered = PanelDensity(edges=edges, values=shape.values * (all_busy / shape.integral()))
        stays = self._patient
        served_late = offered.integral(stays)
        served_frac = 1.0 - all_busy + served_late
        idle_frac = 1.0 - all_busy
        mean_busy = c * all_busy + idle_frac * self._mean_below()
        check_little(lam * served_frac, 1.0 / mu, mean_busy, rtol=1e-7)
        wait, wait_served = self._laws(offered, all_busy, served_frac)
        number = number_pmf((lam, mu), c, idle_frac * last, offered, self._patient(panels(edges)[0]))
        return AbandonmentResult(
            exactness="exact",
            route="density of the offered wait",
            utilization_frac=mean_busy / c,
            mean_wait_s=wait.mean_s,
            mean_response_s=wait.mean_s + served_frac / mu,
            mean_number=lam * wait.mean_s + mean_busy,
            mean_queue=lam * wait.mean_s,
            prob_wait=all_busy,
            prob_empty=number(0),
            wait=wait,
            response=self._response(offered, wait, wait_served, served_frac),
            number_pmf=number,
            prob_abandon=offered.integral(lambda x: 1.0 - stays(x)),
            throughput_rps=lam * served_frac,
            mean_wait_served_s=wait_served.mean_s,
            wait_served=wait_served,
        )

    def _mean_below(self) -> float:
        """Mean number of busy servers given that not all are: Erlang's loss system with c - 1."""
        load = self.rate_rps / self.service_rate_rps
        return load * (1.0 - erlang_b(n_servers=self.n_servers - 1, load=load)) if self.n_servers > 1 else 0.0

    def _patient(self, x: Floats) -> Floats:
        """P(patience > x)."""
        return np.asarray(self.patience.sf(x), dtype=float)

    def _exponent(self) -> tuple[Floats, Floats]:
        """Edges of panels and lam E[min(patience, x)] - c mu x at their nodes, as far as it counts."""
        lam, full = self.rate_rps, self.n_servers * self.service_rate_rps
        end = _DIGITS / full
        while True:
            edges = self._edges(end)
            x, half = panels(edges)
            exponent = lam * running(self._patient(x), half) - full * x
            slope = lam * float(self.patience.sf(end)) - full
            if slope < 0 and float(exponent[-1, -1]) < float(exponent.max()) - _DIGITS:
                return edges, exponent
            if end > 1e12 / full:
                raise UnstableError(
                    f"rate_rps={lam:g}: too many never lose patience; lower the rate, add servers or give a "
                    "patience with fewer of them"
                )
            end *= 2.0

    def _edges(self, end: float) -> Floats:
        """Panels up to ``end``, cut where the law of the patience jumps and finer around the cuts."""
        full = self.n_servers * self.service_rate_rps
        law = self.patience
        cuts = [x for x in law.support if math.isfinite(x)]
        if isinstance(law, Constant):
            cuts = [law.mean]
        elif isinstance(law, Discrete | Empirical):
            cuts = list(law.atoms()[0][:2000])
        starts = [0.0, *[x for x in cuts if 0 < x < end]]
        steps = np.geomspace(1e-2 / full, end, _PANELS // 2)
        fine = [x + np.append(steps, -steps) for x in starts[:_FINE_CUTS]]
        edges = np.unique(np.concatenate([np.linspace(0.0, end, _PANELS // 2 + 1), starts, *fine]))
        return edges[(edges >= 0) & (edges <= end)]

    def _response(self, offered: PanelDensity, wait: TailLaw, served: TailLaw, served_frac: float) -> TailLaw:
        """Law of the time from arrival to leaving, served or not."""
        mu, at_once = self.service_rate_rps, 1.0 - offered.integral()
        stays = self._patient(panels(offered.edges)[0])
        starts = PanelDensity(edges=offered.edges, values=offered.values * stays)
        in_service = ServedLater(starts=starts, service_rate_rps=mu)

        def tail(t: Floats) -> Floats:
            with np.errstate(under="ignore"):
                return np.asarray(wait.sf(t) + in_service(t) + at_once * np.exp(-mu * t), dtype=float)

        mean_s = wait.mean_s + served_frac / mu
        square = second_of_response(wait.var_s2 + wait.mean_s**2, served_frac, served.mean_s, mu)
        return TailLaw(tail=tail, mean_s=mean_s, variance_s2=square - mean_s**2, scale_s=mean_s)

    def _laws(self, offered: PanelDensity, all_busy: float, served_frac: float) -> tuple[TailLaw, TailLaw]:
        """The wait of all, and of those who are served."""
        nodes, half = panels(offered.edges)
        stays = self._patient(nodes)
        served = PanelDensity(edges=offered.edges, values=offered.values * stays / served_frac)

        def tail(t: Floats) -> Floats:
            return np.asarray(self._patient(t) * offered.beyond(t), dtype=float)

        least = running(stays, half)  # E[min(patience, x)]
        mean = PanelDensity(edges=offered.edges, values=offered.values * least).integral()
        twice = running(2.0 * nodes * stays, half)  # E[min(patience, x)^2]
        second = PanelDensity(edges=offered.edges, values=offered.values * twice).integral()
        mean_served = served.integral(lambda x: x)
        second_served = served.integral(lambda x: x * x)
        scale = max(mean / max(all_busy, 1e-300), 1e-3 / (self.n_servers * self.service_rate_rps))
        return (
            TailLaw(tail=tail, mean_s=mean, variance_s2=second - mean**2, scale_s=scale),
            TailLaw(
                tail=served.beyond,
                mean_s=mean_served,
                variance_s2=second_served - mean_served**2,
                scale_s=scale,
            ),
        )
