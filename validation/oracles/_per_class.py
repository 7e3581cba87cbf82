"""Quantities of a queue with classes: those of one class, and those over all customers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError
from qtheory.numerics.roots import quantile
from qtheory.queues.priority import PriorityResult
from qtheory.queues.result import TimeLaw

from ._quantities import of_law, quantity_of

__all__ = ["MixedLaw", "class_quantity"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MixedLaw:
    """The law of a time over classes with given shares.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> from qtheory.queues.priority import NonpreemptivePriority
    >>> both = NonpreemptivePriority(rate_rps=[0.2, 0.3], service=[Exponential(mean=1.0)] * 2).solve()
    >>> law = MixedLaw(both.wait_by_class, (0.4, 0.6))
    >>> round(law.mean_s - both.mean_wait_s, 9), float(law.ppf(0.5))
    (0.0, 0.0)
    """

    laws: tuple[TimeLaw, ...]
    shares: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return sum(share * law.mean_s for share, law in zip(self.shares, self.laws, strict=True))

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        pairs = zip(self.shares, self.laws, strict=True)
        return sum(share * (law.var_s2 + law.mean_s**2) for share, law in pairs) - self.mean_s**2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t)."""
        times = np.asarray(t, dtype=float)
        parts = [share * law.sf(times) for share, law in zip(self.shares, self.laws, strict=True)]
        return np.asarray(sum(parts), dtype=float)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(T <= t) >= q."""
        if float(np.min(1.0 - np.asarray(q, dtype=float))) >= float(self.sf(0.0)):
            return np.zeros(np.shape(q))
        return quantile(self.sf, q, scale=self.mean_s, rtol=1e-11)


def class_quantity(
    answer: PriorityResult,
    quantity: str,
    parameters: dict[str, object],
    rates_rps: tuple[float, ...],
    means_s: tuple[float, ...],
) -> float:
    """A quantity of a class counted from 1, or one of all customers."""
    total = sum(rates_rps)
    name, found, number = quantity.rpartition("_class")
    if found:
        if not number.isdigit() or not 1 <= int(number) <= len(rates_rps):
            raise ConfigError(f"quantity: {quantity!r} names no class; there are {len(rates_rps)}")
        k = int(number) - 1
        value = _of_class(answer, name, parameters, k)
        return value if value is not None else _by_flow(answer, name, k, (rates_rps[k], means_s[k]))
    head, _, time = quantity.partition("_")
    laws = {"wait": answer.wait_by_class, "response": answer.response_by_class}.get(time)
    if laws is not None and head != "mean":
        mixed = MixedLaw(laws, tuple(rate / total for rate in rates_rps))
        value = float(mixed.sf(0.0)) if quantity == "prob_wait" else of_law(mixed, head, parameters)
        if value is not None:
            return value
    if quantity == "throughput":
        return total
    return quantity_of(answer, quantity, parameters)


def _of_class(answer: PriorityResult, name: str, parameters: dict[str, object], k: int) -> float | None:
    """What the laws and means of a class say."""
    head, _, time = name.partition("_")
    if name == "mean_wait":
        return answer.mean_wait_s_by_class[k]
    if name == "mean_response":
        return answer.mean_response_s_by_class[k]
    laws = {"wait": answer.wait_by_class, "response": answer.response_by_class}.get(time)
    if laws is None:
        return None
    return float(laws[k].sf(0.0)) if name == "prob_wait" else of_law(laws[k], head, parameters)


def _by_flow(answer: PriorityResult, name: str, k: int, flow: tuple[float, float]) -> float:
    """What follows from the rate and the mean service of a class by Little's law."""
    rate, mean_s = flow
    known = {
        "throughput": rate,
        "arrival_rate": rate,
        "mean_number": rate * answer.mean_response_s_by_class[k],
        "mean_queue": rate * answer.mean_wait_s_by_class[k],
        "mean_running": rate * mean_s,
    }
    if name not in known:
        raise ConfigError(f"quantity: {name!r} is not given for each class")
    return known[name]
