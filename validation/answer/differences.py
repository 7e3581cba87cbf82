"""What tells schedulers apart: paired differences over replications that saw the same requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sim.statistics import compare_all

from .point import Run
from .work import COMPARED

__all__ = ["Difference", "differences"]

_DIGITS = 12  # of the largest value; what is beyond is what sums in another order leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two schedulers in one quantity, replication by replication.

    Parameters
    ----------
    quantity : str
        Field of a result, as in ``p99_tpot_s``.
    a, b : str
        The schedulers.
    difference : float
        Mean of a - b, in the unit of the quantity.
    low, high : float
        Its confidence limits, all pairs of schedulers together.
    level : float
        Coverage of one pair's limits: higher than that of all of them.
    p_value : float
        Two-sided, corrected for the number of pairs.
    verdict : str
        ``a lower``, ``b lower`` (with the names), or ``no difference`` that these replications would tell.
    n_replications : int
        Pairs behind it.
    """

    quantity: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    verdict: str
    n_replications: int

    def row(self) -> dict[str, Any]:
        """Plain data, a key a field."""
        return asdict(self)


def differences(runs: Sequence[Run], *, level: float = 0.95) -> list[Difference]:
    """All pairs of schedulers in goodput, mean and p99 of TTFT, and p99 of TPOT.

    Replications in which one of the schedulers has no value are left out, and so is a quantity with fewer
    than two left.

    Parameters
    ----------
    runs : sequence of Run
        One a scheduler, of the same scenario otherwise.
    level : float
        Of all pairs together in one quantity, in (0, 1).

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> from validation.answer import compare
    >>> runs = compare(Scenario(hardware="rtx3050", requests=40, rate_rps=4.0), ["fcfs", "chunked"])
    >>> [found.verdict for found in differences(runs) if found.quantity == "p99_tpot_s"]
    ['chunked lower']
    """
    found: list[Difference] = []
    for quantity in COMPARED if len(runs) > 1 else ():
        together = zip(*(run.values[quantity] for run in runs), strict=False)
        pairs = _rounded([values for values in together if None not in values])
        if len(pairs) < 2:
            continue
        columns = zip(*pairs, strict=True)
        values: dict[str, Any] = {
            run.result.scheduler: column for run, column in zip(runs, columns, strict=True)
        }
        for seen in compare_all(values, level=level):
            found.append(
                Difference(
                    quantity=quantity,
                    a=seen.a,
                    b=seen.b,
                    difference=seen.difference.estimate,
                    low=seen.difference.low,
                    high=seen.difference.high,
                    level=seen.difference.level,
                    p_value=seen.p_value,
                    verdict=seen.verdict,
                    n_replications=len(pairs),
                )
            )
    return found


def _rounded(pairs: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Values without their last digits, so that what is the same to rounding differs by 0."""
    largest = max((abs(value) for values in pairs for value in values), default=0.0)
    digits = _DIGITS - 1 - math.floor(math.log10(largest)) if largest else 0
    return [tuple(round(value, digits) for value in values) for values in pairs]
