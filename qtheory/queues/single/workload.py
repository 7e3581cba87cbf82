"""The work in an M/G/1 queue: the block on which the other models stand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.constant import Constant
from qtheory.laws.discrete import Discrete
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import TimeLaw

from ._common import atoms_of, require_stable
from .excess import Excess, require_law
from .md1 import DeterministicWait

__all__ = ["Workload", "laws_of"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_FEW_ATOMS = 200
_STEP, _SLACK = 1.1, 1e-9
_BINS_PER_E = 100
_MANY_TOL = 1e-7
_NO_THIRD = "the third moment of the service is infinite"


@lru_cache(maxsize=256)
def _moment(law: Law, k: int) -> float:
    """Moments that a law of many atoms would sum again and again."""
    return law.moment(k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    r"""Stationary work W in M/G/1, which is the wait of an arrival: the block that other models build on.

    :math:`W^*(s)=(1-\rho)/(1-\rho S_e^*(s))` with the excess :math:`S_e` of the service [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds.

    Raises
    ------
    UnstableError
        If the load is 1 or more.

    References
    ----------
    .. [1] Pollaczek (1930), "Ueber eine Aufgabe der Wahrscheinlichkeitstheorie", Mathematische Zeitschrift
       32, 64-100.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> work = Workload(rate_rps=5.0, service=Exponential(mean=0.1))
    >>> round(work.mean_s, 6), round(work.var_s2, 6)
    (0.1, 0.03)
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service)
        require_stable(self.rate_rps, self.service.mean)

    @property
    def load(self) -> float:
        """Work that arrives in a second, seconds."""
        return self.rate_rps * _moment(self.service, 1)

    @property
    def mean_s(self) -> float:
        """E[W] = lambda E[S^2] / (2 (1 - rho)), seconds."""
        return self.rate_rps * _moment(self.service, 2) / (2 * (1 - self.load))

    @property
    def var_s2(self) -> float:
        """Var W = E[W]^2 + lambda E[S^3] / (3 (1 - rho)), seconds squared."""
        return self.mean_s**2 + self.rate_rps * _moment(self.service, 3) / (3 * (1 - self.load))

    def transforms(self, s: Complexes) -> tuple[Complexes, Complexes, Complexes, Complexes]:
        """At once: E[exp(-s W)], the transform of P(W > t), and those of service and excess."""
        rho, excess = self.load, Excess(law=self.service)
        service, left, deficit = excess.transforms(s)
        below = 1 - rho + rho * s * excess.mean_s * deficit  # 1 - rho excess, without cancellation
        return (1 - rho) / below, rho * excess.mean_s * deficit / below, service, left

    def lst(self, s: Complexes) -> Complexes:
        """E[exp(-s W)], Re s > 0."""
        return self.transforms(s)[0]

    def tail_lst(self, s: Complexes) -> Complexes:
        """Transform of P(W > t), without the cancellation of (1 - lst) / s."""
        return self.transforms(s)[1]

    def decay_per_s(self) -> float:
        r"""The :math:`\eta` of :math:`P(W>t)\sim Ce^{-\eta t}`: there :math:`\lambda(E[e^{\eta S}]-1)=\eta`.

        0 for a service without an exponential moment, or whose law does not continue its transform. A formula
        for the transform may go on where the moment is infinite; as a moment its logarithm is convex, so a
        slope that falls tells that the point lies beyond.
        """
        excess_mean = Excess(law=self.service).mean_s
        start = (1 - self.load) / (self.load * excess_mean)  # the root lies below it
        low = 1e-3 * min(start, 1 / self.service.mean)
        x = np.append(low * _STEP ** np.arange(math.ceil(math.log(start / low) / math.log(_STEP))), start)
        try:
            growth, is_low = self._grown(x)
        except ConfigError:
            return 0.0
        with np.errstate(invalid="ignore"):
            slope = np.diff(growth, prepend=0.0) / np.diff(x, prepend=0.0)
            below = is_low & (slope >= np.append(excess_mean, slope[:-1]) * (1 - _SLACK))
        end = int(np.argmin(below)) if not below.all() else len(x) - 1
        if end == 0:
            return 0.0
        low, high, least = x[end - 1], x[end], slope[end - 1] * (1 - _SLACK)
        left, known = low, growth[end - 1]
        for _ in range(3):
            inner = np.linspace(low, high, 66)
            growth, is_low = self._grown(inner[1:-1])
            below = is_low & (growth - known >= least * (inner[1:-1] - left))
            first = int(np.argmin(np.append(below, False)))
            low, high = inner[first], inner[first + 1]
        return float(low)

    def _grown(self, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        r"""Logarithm of :math:`E[e^{xS_e}]`, and whether that is a number below :math:`1/\rho`."""
        excess = Excess(law=self.service)
        with np.errstate(all="ignore"):
            whole, _, deficit = excess.transforms(-x.astype(np.complex128))
            above = x * excess.mean_s * deficit.real  # by so much it is larger than 1
            is_moment = (whole.real >= 1) & (np.abs(whole.imag) <= _SLACK * whole.real) & (above > 0)
            growth = np.where(is_moment & np.isfinite(whole), np.log1p(above), -np.inf)
            return growth, np.isfinite(growth) & (self.load * above < 1 - self.load)


def laws_of(work: Workload) -> tuple[TimeLaw, TimeLaw]:
    """Exact laws of wait and response of first come first served.

    Parameters
    ----------
    work : Workload
        The queue's workload.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> wait, response = laws_of(Workload(rate_rps=0.5, service=Exponential(mean=1.0)))
    >>> float(wait.sf(2.0).round(9)), float(response.sf(2.0).round(9))  # exp(-1) / 2, exp(-1)
    (0.183939721, 0.367879441)
    """
    service, rho = work.service, work.load
    if isinstance(service, Constant):
        wait = DeterministicWait(load=rho, service_s=service.mean)
        return wait, DeterministicWait(load=rho, service_s=service.mean, shift_s=service.mean)
    if (atoms := atoms_of(service)) is not None:
        return laws_with_atoms(work, *atoms) if len(atoms[0]) <= _FEW_ATOMS else _laws_of_many(work, *atoms)
    try:
        var_s2, response_var_s2 = work.var_s2, work.var_s2 + service.var
    except ConfigError:
        var_s2, response_var_s2 = None, None

    def rest_of_response(s: Complexes) -> Complexes:
        """Without those who find nobody: their response is the service."""
        wait, tail, _, left = work.transforms(s)
        return tail + (wait - (1 - rho)) * service.mean * left

    decay = cache(work.decay_per_s)
    return (
        TransformLaw(
            tail_lst=work.tail_lst,
            mean_s=work.mean_s,
            variance_s2=var_s2,
            prob_positive=rho,
            find_decay=decay,
            cause=_NO_THIRD,
        ),
        TransformLaw(
            tail_lst=rest_of_response,
            mean_s=work.mean_s + service.mean,
            variance_s2=response_var_s2,
            known_tail=lambda t: (1 - rho) * service.sf(t),
            find_decay=decay,
            cause=_NO_THIRD,
        ),
    )


def laws_with_atoms(work: Workload, values: Floats, probs: Floats) -> tuple[TimeLaw, TimeLaw]:
    """The same for a service with atoms: the terms with jumps and kinks are summed in closed form."""
    service, rho = work.service, work.load
    excess_sf = _atomic_excess_sf(values, probs)

    def known_response(t: Floats) -> Floats:
        """Those who find nobody, and those who find one customer's excess."""
        one = excess_sf(t[..., None] - values) @ probs
        return np.asarray((1 - rho) * (service.sf(t) + rho * one))

    def rest_of_wait(s: Complexes) -> Complexes:
        wait, tail, _, _ = work.transforms(s)
        return tail * (1 - (1 - rho) ** 2 / wait)

    def rest_of_response(s: Complexes) -> Complexes:
        wait, tail, whole, left = work.transforms(s)
        rest = tail + (wait - (1 - rho)) * service.mean * left
        return rest - (1 - rho) * rho * (1 - left * whole) / s

    return (
        TransformLaw(
            tail_lst=rest_of_wait,
            mean_s=work.mean_s,
            variance_s2=work.var_s2,
            prob_positive=rho,
            known_tail=lambda t: (1 - rho) * rho * excess_sf(t),
        ),
        TransformLaw(
            tail_lst=rest_of_response,
            mean_s=work.mean_s + service.mean,
            variance_s2=work.var_s2 + service.var,
            known_tail=known_response,
            find_decay=cache(work.decay_per_s),
        ),
    )


def _laws_of_many(work: Workload, values: Floats, probs: Floats) -> tuple[TimeLaw, TimeLaw]:
    """The same for very many atoms: neighbours are put together, which moves the tails by about 1e-6."""
    few = Workload(rate_rps=work.rate_rps, service=_thinned(values, probs))
    rho = work.load

    def rest_of_response(s: Complexes) -> Complexes:
        wait, tail, _, left = few.transforms(s)
        return tail + (wait - (1 - rho)) * few.service.mean * left

    return (
        TransformLaw(
            tail_lst=few.tail_lst,
            mean_s=work.mean_s,
            variance_s2=work.var_s2,
            prob_positive=rho,
            tol=_MANY_TOL,
            worst=1e-4,
        ),
        TransformLaw(
            tail_lst=rest_of_response,
            mean_s=work.mean_s + work.service.mean,
            variance_s2=work.var_s2 + work.service.var,
            known_tail=lambda t: (1 - rho) * work.service.sf(t),
            tol=_MANY_TOL,
            worst=1e-4,
        ),
    )


def _thinned(values: Floats, probs: Floats) -> Discrete:
    """Bins a hundredth wide, each as two atoms with its mass, mean and variance."""
    positive = values > 0
    kept = np.where(positive, values, np.min(values[positive]))
    group = np.where(positive, 1 + np.floor(np.log(kept / kept.min()) * _BINS_PER_E), 0).astype(int)
    mass = np.bincount(group, probs)
    full = mass > 0
    mass = mass[full]
    mean = np.bincount(group, probs * values)[full] / mass
    spread = np.sqrt(np.maximum(np.bincount(group, probs * values**2)[full] / mass - mean**2, 0.0))
    both = np.concatenate([np.maximum(mean - spread, 0.0), mean + spread])
    return Discrete(values=both.tolist(), probs=(np.concatenate([mass, mass]) / (2 * mass.sum())).tolist())


def _atomic_excess_sf(values: Floats, probs: Floats) -> Callable[[Floats], Floats]:
    """P(S_e > t) from sums over the atoms above t."""
    above = np.append(np.cumsum(probs[::-1])[::-1], 0.0)
    work_above = np.append(np.cumsum((probs * values)[::-1])[::-1], 0.0)

    def sf(t: Floats) -> Floats:
        late = np.maximum(t, 0.0)
        rank = np.searchsorted(values, late, side="right")
        return np.asarray((work_above[rank] - late * above[rank]) / (probs @ values), dtype=float)

    return sf
