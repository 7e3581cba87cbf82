"""Open arrivals that switch at random between calm and busy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most
from qtheory.laws import Law

from ._limits import FASTEST_RPS, LONGEST_S
from ._steps import moments_of_work
from .arrivals import spelled
from .modulated import ModulatedArrivals

if TYPE_CHECKING:
    from qtheory.laws.map_process import MarkovianArrivals

__all__ = ["MmppArrivals"]

Floats = NDArray[np.float64]

_MOST_STEPS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MmppArrivals(ModulatedArrivals):
    r"""Markov-modulated Poisson process: phases of exponential length in turn, each with a rate of its own.

    The phase at time 0 is drawn from the stationary law. With :math:`\pi_i` the share of time in phase i,
    :math:`\Lambda=\mathrm{diag}(\lambda_i)` the rates, Q the generator of the phases and
    :math:`D=(\mathbf 1\pi-Q)^{-1}-\mathbf 1\pi` its deviation matrix, the number of arrivals in a window t
    has the variance :math:`\lambda t+2\,\pi\Lambda\,(tD-D^2(I-e^{Qt}))\,\Lambda\mathbf 1` [1]_.

    Parameters
    ----------
    rates : sequence of float
        Rates of two or more phases, 0 .. 1e12, not all 0; relative, since the mean rate is given apart.
    mean_s : sequence of float
        Mean lengths of the phases, seconds, > 0, as many; 1e9 at most together. Another mean rate does not
        change them.
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range or there are more of the one than of the other.

    References
    ----------
    .. [1] Fischer and Meier-Hellstern (1993), "The Markov-modulated Poisson process (MMPP) cookbook",
       Performance Evaluation 18, 149-171.

    Examples
    --------
    >>> arrivals = MmppArrivals(rates=[1, 5], mean_s=[60, 20])
    >>> print(arrivals, f"{arrivals.dispersion(4.0):.1f} {arrivals.gap_law(4.0).scv:.3f}")
    mmpp(rates=[1, 5], mean_s=[60, 20]) 91.0 2.184
    >>> arrivals.arrival_times(np.random.default_rng(1), 4.0, n=3).round(3).tolist()
    [0.183, 0.241, 1.141]
    """

    rates: tuple[float, ...]
    mean_s: tuple[float, ...]
    client_cap: int = 0

    def __post_init__(self) -> None:
        for name in ("rates", "mean_s"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        checks.non_negative(**{f"rates[{i}]": rate for i, rate in enumerate(self.rates)})
        checks.positive(**{f"mean_s[{i}]": mean for i, mean in enumerate(self.mean_s)})
        checks.at_least(0, client_cap=self.client_cap)
        if len(self.rates) != len(self.mean_s) or len(self.rates) < 2:
            raise ConfigError(
                f"rates, mean_s: {len(self.rates)} and {len(self.mean_s)} numbers; give two or more of each, "
                "as many of the one as of the other"
            )
        if not any(self.rates):
            raise ConfigError("rates: all are 0; one must be > 0")
        at_most(FASTEST_RPS, rates=max(self.rates))
        at_most(LONGEST_S, mean_s=sum(self.mean_s))

    @property
    def shares(self) -> Floats:
        """Share of time in each phase, shape (m,)."""
        mean_s = np.array(self.mean_s, dtype=np.float64)
        return np.asarray(mean_s / mean_s.sum(), dtype=np.float64)

    @property
    def relative_rates(self) -> Floats:
        """Rates of the phases over the mean rate, shape (m,)."""
        rates = np.array(self.rates, dtype=np.float64)
        return np.asarray(rates / (self.shares @ rates), dtype=np.float64)

    def process(self, rate_rps: float) -> MarkovianArrivals:
        """The same process for queues that take Markovian arrivals, at a mean of ``rate_rps``."""
        from qtheory.laws.map_process import MarkovianArrivals

        checks.positive(rate_rps=rate_rps)
        return MarkovianArrivals.modulated_poisson(
            rates_rps=(rate_rps * self.relative_rates).tolist(),
            leave_per_s=[1.0 / mean for mean in self.mean_s],
        )

    @property
    def scv(self) -> float:
        """Refused: it depends on the mean rate, so ask ``gap_law(rate_rps).scv``."""
        raise ConfigError(
            f"arrivals: {self} vary more or less with the mean rate; ask for gap_law(rate_rps).scv"
        )

    def gap_law(self, rate_rps: float) -> Law:
        """Law of the time from one arrival to the next, seconds; successive ones are correlated."""
        return self.process(rate_rps).interval

    def dispersion(self, rate_rps: float, window_s: float = math.inf) -> float:
        """Index of dispersion: variance of the number of arrivals in a window, over its mean; exact.

        Parameters
        ----------
        rate_rps : float
            Mean rate, requests per second, > 0.
        window_s : float
            Length of the window, seconds, > 0 (default: the limit of long windows).
        """
        checks.positive(rate_rps=rate_rps)
        share, rate, leave = self.shares, rate_rps * self.relative_rates, 1.0 / np.array(self.mean_s)
        size = len(rate)
        generator = np.roll(np.diag(leave), 1, axis=1) - np.diag(leave)  # (m, m) Q
        stationary = np.broadcast_to(share, (size, size))
        deviation = np.linalg.inv(stationary - generator) - stationary  # (m, m)
        weight = deviation
        if window_s != math.inf:
            from scipy.linalg import expm

            checks.positive(window_s=window_s)
            change = np.eye(size) - expm(generator * window_s)
            weight = deviation - deviation @ deviation @ change / window_s
        return float(1.0 + 2.0 * (share * rate) @ weight @ rate / rate_rps)

    def _inverse(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        seed = rng.integers(2**63, size=4)  # a stream for the phases, the same whatever the rate

        def inverse(work: Floats) -> Floats:
            steps = len(self.rates) * float(work[-1]) / sum(self.mean_s)
            if steps > _MOST_STEPS:
                raise ConfigError(
                    f"mean_s: about {steps:,.0f} phases pass, more than {_MOST_STEPS:,}; give longer ones"
                )
            lengths_s, phases = self._path(np.random.default_rng(seed), float(work[-1]), int(1.1 * steps))
            return moments_of_work(work, lengths_s, self.relative_rates[phases])

        return inverse

    def _path(self, rng: np.random.Generator, work: float, guess: int) -> tuple[Floats, NDArray[np.int64]]:
        """Lengths and numbers of the phases, from 0 until ``work`` is done."""
        size, mean_s, relative = len(self.rates), np.array(self.mean_s, dtype=np.float64), self.relative_rates
        first = min(int(np.searchsorted(np.cumsum(self.shares), rng.random(), side="right")), size - 1)
        lengths_s, phases = np.empty(0), np.empty(0, dtype=np.int64)
        while not len(phases) or lengths_s @ relative[phases] <= work:
            more = (first + len(phases) + np.arange(guess + 64)) % size
            lengths_s = np.append(lengths_s, rng.standard_exponential(len(more)) * mean_s[more])
            phases = np.append(phases, more)
        return lengths_s, phases

    def __str__(self) -> str:
        return spelled("mmpp", rates=self.rates, mean_s=self.mean_s, client_cap=self.client_cap)
