"""What a queueing model answers: numbers, laws, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import units

__all__ = ["Exactness", "QueueResult", "TimeLaw"]

Exactness = Literal["exact", "bound", "approximation", "numerical"]
Floats = NDArray[np.float64]


class TimeLaw(Protocol):
    """The law of a time (wait, response): all that a percentile or a tail needs."""

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        ...

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        ...

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        ...

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueResult:
    """Steady state of a queue; subclasses add fields. A quantity that the model does not give is None.

    Parameters
    ----------
    exactness : str
        ``exact``, ``numerical`` (exact up to a stated error), ``bound`` or ``approximation``.
    route : str
        How it was computed, and for an approximation the range in which it was checked.
    utilization_frac : float
        Busy share of the servers.
    mean_wait_s, mean_response_s : float or None
        Arrival to start of service; arrival to departure. Of the accepted customers in a finite system.
    mean_number, mean_queue : float or None
        Time averages of customers present and of customers waiting.
    var_number : float or None
        Variance of the number present, over time.
    prob_wait : float or None
        P(wait > 0) for an arrival; of the accepted customers in a finite system.
    prob_empty : float or None
        Share of the time with nobody present.
    wait, response : TimeLaw or None
        Laws of the two times.
    number_pmf : callable (int) -> float, or None
        P(n customers present).

    Examples
    --------
    >>> answer = QueueResult(exactness="bound", route="a formula", utilization_frac=0.5, mean_wait_s=0.1)
    >>> print(answer.summary())
    exactness        bound
    route            a formula
    utilization (%)  50.0
    mean wait (s)    0.1
    """

    exactness: Exactness
    route: str
    utilization_frac: float
    mean_wait_s: float | None = None
    mean_response_s: float | None = None
    mean_number: float | None = None
    mean_queue: float | None = None
    var_number: float | None = None
    prob_wait: float | None = None
    prob_empty: float | None = None
    wait: TimeLaw | None = None
    response: TimeLaw | None = None
    number_pmf: Callable[[int], float] | None = None

    def summary(self) -> str:
        """Aligned text, one quantity a line, of the plain numbers."""
        rows = [
            (units.label(field.name), units.format_value(field.name, getattr(self, field.name)))
            for field in fields(self)
            if isinstance(getattr(self, field.name), int | float | str)
        ]
        width = max(len(text) for text, _ in rows)
        return "\n".join(f"{text:<{width}}  {shown}" for text, shown in rows)
