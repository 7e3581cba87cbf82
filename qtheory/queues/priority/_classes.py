"""What the models with priority classes share: checked lists, sums over classes, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws.law import Law
from qtheory.numerics.fixed_point import fixed_point
from qtheory.numerics.inversion import Transform, pmf_of_pgf
from qtheory.queues.result import QueueResult, TimeLaw
from qtheory.queues.single.excess import Excess, require_law

__all__ = ["CAUSE", "Classes", "PriorityResult", "with_numbers"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

CAUSE = "the third moment of a service is infinite"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityResult(QueueResult):
    """Steady state with priority classes; the plain means are over all customers.

    Parameters
    ----------
    mean_wait_s_by_class, mean_response_s_by_class : tuple of float
        Most urgent class first, seconds. The wait ends when service first starts.
    wait_by_class, response_by_class : tuple of TimeLaw or None
        Their laws.
    mean_number_by_class, var_number_by_class : tuple of float or None
        Mean and variance of the number present of each class, over time; an infinite variance is None.
    number_pmf_by_class : tuple of callable (int) -> float, or None
        P(n customers of the class present).
    """

    mean_wait_s_by_class: tuple[float, ...]
    mean_response_s_by_class: tuple[float, ...]
    wait_by_class: tuple[TimeLaw, ...] | None = None
    response_by_class: tuple[TimeLaw, ...] | None = None
    mean_number_by_class: tuple[float, ...] | None = None
    var_number_by_class: tuple[float | None, ...] | None = None
    number_pmf_by_class: tuple[Callable[[int], float], ...] | None = None


def with_numbers(
    answer: PriorityResult, classes: Classes, response_lst: Callable[[int, Complexes], Complexes]
) -> PriorityResult:
    r"""The answer with the numbers present of each class, by the distributional law of Little.

    Those of class k leave in the order in which they came and do not notice whom of their class they leave
    behind; so the number present has the generating function :math:`T_k^*(\lambda_k(1-z))` [1]_.

    References
    ----------
    .. [1] Keilson, Servi (1988), "A distributional form of Little's law", Oper. Res. Letters 7, 223-227.
    """

    def pgf(k: int, rate: float) -> Transform:
        return lambda z: response_lst(k, np.asarray(rate * (1 - z), dtype=np.complex128))

    means: list[float] = []
    variances: list[float | None] = []
    for rate, law in zip(classes.rate_rps, answer.response_by_class or (), strict=True):
        means.append(rate * law.mean_s)
        try:
            variances.append(rate * law.mean_s + rate**2 * law.var_s2)
        except ConfigError:
            variances.append(None)
    return replace(
        answer,
        mean_number_by_class=tuple(means),
        var_number_by_class=tuple(variances),
        number_pmf_by_class=tuple(pmf_of_pgf(pgf(k, rate)) for k, rate in enumerate(classes.rate_rps)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Poisson classes, the most urgent first."""

    rate_rps: tuple[float, ...]
    service: tuple[Law, ...]

    @classmethod
    def checked(cls, rate_rps: Sequence[float], service: Sequence[Law]) -> Classes:
        """The lists, checked."""
        if len(rate_rps) != len(service) or not len(rate_rps):
            raise ConfigError(
                f"rate_rps: {len(rate_rps)} rates for {len(service)} services; give one of each a class"
            )
        for rate, law in zip(rate_rps, service, strict=True):
            checks.positive(rate_rps=rate)
            require_law(service=law)
        return cls(rate_rps=tuple(rate_rps), service=tuple(service))

    def upto(self, k: int) -> Classes:
        """The k most urgent classes."""
        return Classes(rate_rps=self.rate_rps[:k], service=self.service[:k])

    def beyond(self, k: int) -> Classes:
        """The classes after the k most urgent ones."""
        return Classes(rate_rps=self.rate_rps[k:], service=self.service[k:])

    @property
    def load(self) -> float:
        """Work that arrives in a second, seconds."""
        return sum(rate * law.mean for rate, law in zip(self.rate_rps, self.service, strict=True))

    def flow(self, k: int) -> float:
        """Sum of rate x E[S^k] over the classes."""
        return sum(rate * law.moment(k) for rate, law in zip(self.rate_rps, self.service, strict=True))

    def require_stable(self) -> None:
        """Raise `UnstableError`, naming the first class that the server cannot follow."""
        for k in range(1, len(self.rate_rps) + 1):
            if (load := self.upto(k).load) >= 1:
                raise UnstableError(
                    f"rate_rps: classes 1 to {k} bring a load of {load:g}, which must be below 1; "
                    f"lower the rate of class {k} or shorten its service"
                )

    def deficit(self, sigma: Complexes) -> Complexes:
        """Sum of load x (1 - E[exp(-sigma S_e)]) / sigma over the classes, accurate at small sigma."""
        total = np.zeros(sigma.shape, dtype=np.complex128)
        for rate, law in zip(self.rate_rps, self.service, strict=True):
            excess = Excess(law=law)
            total += rate * law.mean * excess.mean_s * excess.deficit(sigma)
        return total

    def stretched(self, s: Complexes) -> Complexes:
        r"""The :math:`\sigma=s+\sum_i\lambda_i(1-S_i^*(\sigma))`: s for work that these classes stretch."""
        if not self.rate_rps:
            return s
        flat = np.asarray(s, dtype=np.complex128).ravel()

        def mapping(sigma: Complexes, which: NDArray[np.intp]) -> Complexes:
            total = flat[which].copy()
            for rate, law in zip(self.rate_rps, self.service, strict=True):
                total += rate * (1.0 - law.lst(sigma))
            return total

        # in units of the total rate, so that the tolerance is that of a probability
        scale = sum(self.rate_rps)
        found = fixed_point(
            lambda x, which: mapping(x * scale, which) / scale,
            mapping(flat + scale, np.arange(flat.size)) / scale,
        )
        return np.asarray(found * scale).reshape(np.shape(s))

    def stretched_moments(self, mean_s: float, var_s2: float) -> tuple[float, float]:
        """Mean and variance of a work of this mean and variance with these classes going first."""
        left = 1 - self.load
        return mean_s / left, var_s2 / left**2 + mean_s * self.flow(2) / left**3
