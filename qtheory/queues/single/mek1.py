"""M/E_k/1: Erlang service, with the wait as a sum of k exponentials."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.laws.erlang import Erlang
from qtheory.numerics.roots import bracketed_root
from qtheory.numerics.timelaw import ExponentialSum

from .mg1 import MG1, MG1Result

__all__ = ["MEk1"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_MOST_PHASES = 128  # above, the roots lie too close; the transform is inverted instead
_MOST_CANCELLED = 1e4  # of the weights: at low loads they are large and cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class MEk1:
    r"""Exact M/E_k/1, first come first served: the tails are sums of k exponentials.

    With :math:`\nu=k/E[S]` and :math:`y=\nu/(\nu+s)` the poles of the wait are the roots outside the unit
    disc of :math:`\frac\lambda\nu y^{k+1}-(1+\frac\lambda\nu)y+1=0`, with
    :math:`\mathrm{weight}=-(1-\rho)/D'(s)`, :math:`D(s)=s-\lambda+\lambda y^k` [1]_. Above 128 phases, and at
    low loads, where the terms cancel, the laws come by transform inversion.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    n_phases : int
        k, >= 1.
    mean_service_s : float
        Mean service time, seconds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.
    ConvergenceError
        From `solve` if the roots are not good to 1e-9.

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing Systems" I, Wiley, section 4.2.

    Examples
    --------
    >>> answer = MEk1(rate_rps=8.0, n_phases=4, mean_service_s=0.1).solve()
    >>> print(f"{answer.mean_wait_s:.4f} {answer.wait.ppf(0.99):.4f}")
    0.2500 1.3242
    """

    rate_rps: float
    n_phases: int
    mean_service_s: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, mean_service_s=self.mean_service_s)
        checks.integer(n_phases=self.n_phases)

    def solve(self) -> MG1Result:
        """The steady state."""
        lam, k = self.rate_rps, self.n_phases
        whole = MG1(rate_rps=lam, service=Erlang(k=k, mean=self.mean_service_s)).solve()
        if k > _MOST_PHASES:
            return whole
        nu, rho = k / self.mean_service_s, whole.utilization_frac
        above = self._roots(lam / nu) - 1
        grown = (1 + above) ** k
        slope = 1 - rho * grown * (1 + above)
        if rho > 0.5:  # the least root comes close to 1
            least, at = self._least(lam / nu), np.argmin(np.abs(above))
            above[at], grown[at] = least, math.exp(k * math.log1p(least))
            slope[at] = 1 - rho - rho * math.expm1((k + 1) * math.log1p(least))
        weight = -(1 - rho) / slope
        if np.abs(weight * grown).sum() > _MOST_CANCELLED:
            return whole
        rates = tuple((nu * above / (1 + above)).tolist())
        wait = ExponentialSum(weights=_summing_to(rho, weight), rates_per_s=rates)
        response = ExponentialSum(weights=_summing_to(1.0, weight * grown), rates_per_s=rates)
        for law, mean_s in ((wait, whole.mean_wait_s), (response, whole.mean_response_s)):
            if mean_s is None or abs(law.mean_s - mean_s) > 1e-9 * mean_s:
                raise ConvergenceError(
                    f"n_phases={k}: the poles give a mean of {law.mean_s:.12g} s, not {mean_s}"
                )
        return replace(whole, route="sum of k exponentials", wait=wait, response=response)

    def _least(self, a: float) -> float:
        """The least root is 1 + e, e > 0: sum of C(k+1, j) e^(j-1) over j >= 2 is (1 - rho) / a."""
        k, slack = self.n_phases, 1 - self.rate_rps * self.mean_service_s
        chosen = special.comb(k + 1, np.arange(2, k + 2))

        def gap(e: Floats, which: NDArray[np.intp]) -> Floats:
            return np.asarray(np.polyval(chosen[::-1], e) * e - slack / a, dtype=float)

        high = 2 * slack / (a * k * (k + 1))  # the first term alone
        return float(bracketed_root(gap, 0.0, high, rtol=1e-15))

    def _roots(self, a: float) -> Complexes:
        """Roots of a y^(k+1) - (1 + a) y + 1 outside the unit disc, polished by Newton's method."""
        k = self.n_phases
        coefficients = np.zeros(k + 2)
        coefficients[0], coefficients[-2], coefficients[-1] = a, -(1 + a), 1.0
        quotient = np.polydiv(coefficients, np.array([1.0, -1.0]))[0]  # without the root at 1
        y = np.roots(quotient).astype(np.complex128)
        for _ in range(4):
            value = a * y ** (k + 1) - (1 + a) * y + 1
            y = y - value / ((k + 1) * a * y**k - (1 + a))
        return y


def _summing_to(total: float, weight: Complexes) -> tuple[complex, ...]:
    """The weights without what rounding near the load 1 adds to their sum."""
    found = float(weight.sum().real)
    if abs(found - total) > 1e-9:
        raise ConvergenceError(f"weights: their sum is {found:.12g}, not {total:.12g}")
    return tuple((weight * (total / found)).tolist())
