"""What a sweep measured against what a route says of it: plateau, knee, TTFT before the knee, TPOT."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from .knee import Knee, knee_of, knee_ttft_s
from .measured import Row, is_behind
from .served import ServedRow
from .sweep import Sweep

__all__ = ["Judged", "Pair", "compare"]

Pair = tuple[Row, ServedRow | None]
_UNITS = {"plateau_rps": "req/s", "knee_rps": "req/s"}
_NAMES = {
    "plateau_rps": "plateau", "knee_rps": "knee", "ttft": "TTFT", "tpot": "TPOT", "ttft_inside": "TTFT inside"
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One judged quantity.

    Parameters
    ----------
    quantity : str
        One of `JUDGED`.
    measured, predicted : float or None
        Of plateau and knee, requests per second.
    error_frac : float or None
        predicted / measured - 1 of those; of TTFT and TPOT the median over rows of |predicted/measured - 1|;
        of ``ttft_inside`` the share of rows outside. None: no answer.
    worst_frac : float or None
        Largest error of a row.
    most_frac : float
        Tolerance.
    n_rows : int
        Rows compared.
    holds : bool or None
        Within the tolerance; None: it could not be judged.
    note : str
        Why not, or what else is to be said.
    """

    quantity: str
    most_frac: float
    measured: float | None = None
    predicted: float | None = None
    error_frac: float | None = None
    worst_frac: float | None = None
    n_rows: int = 0
    holds: bool | None = None
    note: str = ""

    def text(self) -> str:
        """A few words with the numbers.

        Examples
        --------
        >>> print(Judged(quantity="tpot", most_frac=0.1, error_frac=0.034, worst_frac=0.05, n_rows=7,
        ...     holds=True).text())
        TPOT off by 3.4 % in the median of 7 rows, worst 5.0 % (<= 10 %) holds
        """
        name, note = _NAMES[self.quantity], f" ({self.note})" if self.note else ""
        end = {True: "holds", False: "MISSED", None: "not judged"}[self.holds]
        if self.error_frac is None:
            return f"{name} {end}{note}"
        if self.quantity in _UNITS:
            said = f"{name} {self.measured:.4g} req/s measured, {self.predicted:.4g} predicted"
            return f"{said}, {100 * self.error_frac:+.1f} % (<= {100 * self.most_frac:g} %) {end}{note}"
        if self.quantity == "ttft_inside":
            share = 1 - self.error_frac
            return (
                f"{name} the runs' range in {100 * share:.0f} % (>= {100 * self.most_frac:g} %) {end}{note}"
            )
        worst = f", worst {100 * (self.worst_frac or 0.0):.1f} %"
        rows = f"{self.n_rows} rows" if self.n_rows > 1 else "1 row"
        said = f"{name} off by {100 * self.error_frac:.1f} % in the median of {rows}{worst}"
        return f"{said} (<= {100 * self.most_frac:g} %) {end}{note}"


def compare(sweep: Sweep, pairs: Sequence[Pair]) -> list[Judged]:
    """Every judged quantity of a sweep, by one route.

    Parameters
    ----------
    sweep : Sweep
    pairs : sequence of (Row, ServedRow or None)
        In the order of the load; None where the route has no answer.

    Examples
    --------
    >>> from pathlib import Path
    >>> from qtheory.system.scenario import Scenario
    >>> sweep = Sweep(where="", file=Path(""), sweep_id="", role="datasheet", scenario=Scenario(),
    ...     judge={"tpot": 0.1})
    >>> row = Row(line=2, load="open_rate", rate_rps=1.0, tpot_s=0.010)
    >>> served = ServedRow(throughput_rps=1, ttft_s=0.1, tpot_s=0.012)
    >>> [each.holds for each in compare(sweep, [(row, served)])]
    [False]
    """
    knee, limit_s = _measured_knee(sweep, pairs)
    made: dict[str, Callable[[float], Judged]] = {
        "plateau_rps": lambda most: _plateau(sweep, pairs, knee, most),
        "knee_rps": lambda most: _knee(pairs, knee, limit_s, most),
        "ttft": lambda most: _times("ttft", "ttft_s", _before(pairs, knee), most),
        "tpot": lambda most: _times("tpot", "tpot_s", pairs, most),
        "ttft_inside": lambda most: _inside(pairs, most),
    }
    return [made[name](most) for name, most in sweep.judge.items()]


def _measured_knee(sweep: Sweep, pairs: Sequence[Pair]) -> tuple[Knee | None, float | None]:
    points = [(row.rate_rps, row.ttft_s) for row, _ in pairs if row.rate_rps and row.ttft_s]
    limit_s = knee_ttft_s(points, sweep.knee_ttft_s)
    return (knee_of(points, limit_s) if limit_s is not None else None), limit_s


def _before(pairs: Sequence[Pair], knee: Knee | None) -> list[Pair]:
    if knee is None:
        return list(pairs)
    return [pair for pair in pairs if pair[0].rate_rps is None or pair[0].rate_rps <= knee.low_rps]


def _plateau(sweep: Sweep, pairs: Sequence[Pair], knee: Knee | None, most: float) -> Judged:
    full = [
        pair
        for pair in pairs
        if is_behind(sweep, pair[0]) and (knee is None or (pair[0].rate_rps or 0.0) >= knee.high_rps)
    ]
    loops = [pair for pair in pairs if pair[0].rate_rps is None and pair[0].throughput_rps is not None]
    if not full and loops:
        full = [max(loops, key=lambda pair: pair[0].throughput_rps or 0.0)]
    if not full:
        return _at_least(pairs, most)
    measured = [row.throughput_rps for row, _ in full if row.throughput_rps is not None]
    predicted = [served.throughput_rps for _, served in full if served and served.throughput_rps is not None]
    if len(predicted) < len(measured):
        return Judged(quantity="plateau_rps", most_frac=most, note=_no_answer(full))
    return _of_rates("plateau_rps", fmean(measured), fmean(predicted), most, n_rows=len(full))


def _at_least(pairs: Sequence[Pair], most: float) -> Judged:
    """A sweep that keeps up throughout bounds the plateau from below: its last row must be served."""
    known = [(row, served) for row, served in pairs if row.throughput_rps is not None and row.rate_rps]
    if not known:
        return Judged(quantity="plateau_rps", most_frac=most, note="not measured")
    row, served = max(known, key=lambda pair: pair[0].rate_rps or 0.0)
    if served is None or served.throughput_rps is None or row.throughput_rps is None:
        return Judged(quantity="plateau_rps", most_frac=most, note=_no_answer(known))
    made = _of_rates("plateau_rps", row.throughput_rps, served.throughput_rps, most, n_rows=1)
    holds = served.throughput_rps >= (1 - most) * row.throughput_rps
    return replace(made, holds=holds, note="not reached: the last row is a bound from below")


def _knee(pairs: Sequence[Pair], knee: Knee | None, limit_s: float | None, most: float) -> Judged:
    if limit_s is None:
        return Judged(quantity="knee_rps", most_frac=most, note="no TTFT is measured")
    points = [
        (row.rate_rps, served.ttft_s) for row, served in pairs if row.rate_rps and served and served.ttft_s
    ]
    if len(points) < len([row for row, _ in pairs if row.rate_rps]):
        return Judged(quantity="knee_rps", most_frac=most, note=_no_answer(pairs))
    if knee is None:
        is_past = any(row.ttft_s > limit_s for row, _ in pairs if row.rate_rps and row.ttft_s)
        holds = all((wait > limit_s) is is_past for _, wait in points)
        note = f"not reached: TTFT does not pass {limit_s:.3g} s between rows, and must not in the answer"
        return Judged(quantity="knee_rps", most_frac=most, n_rows=len(points), holds=holds, note=note)
    found = knee_of(points, limit_s)
    told = f"TTFT of {limit_s:.3g} s between {knee.low_rps:g} and {knee.high_rps:g}"
    if found is None:
        side = "above" if max(points)[1] <= limit_s else "below"
        note = f"{told}; predicted {side} all rates of the sweep"
        return Judged(quantity="knee_rps", most_frac=most, measured=knee.rate_rps, holds=False, note=note)
    made = _of_rates("knee_rps", knee.rate_rps, found.rate_rps, most, n_rows=len(points))
    is_coarse = knee.high_rps / knee.low_rps - 1 > most
    holds = made.holds or (is_coarse and knee.holds(found.rate_rps))
    return Judged(
        quantity="knee_rps",
        most_frac=most,
        measured=made.measured,
        predicted=made.predicted,
        error_frac=made.error_frac,
        n_rows=made.n_rows,
        holds=holds,
        note=told,
    )


def _of_rates(quantity: str, measured: float, predicted: float, most: float, *, n_rows: int) -> Judged:
    error = predicted / measured - 1
    return Judged(
        quantity=quantity,
        most_frac=most,
        measured=measured,
        predicted=predicted,
        error_frac=error,
        worst_frac=abs(error),
        n_rows=n_rows,
        holds=abs(error) <= most,
    )


def _times(quantity: str, key: str, pairs: Sequence[Pair], most: float) -> Judged:
    measured = [pair for pair in pairs if getattr(pair[0], key) is not None]
    if not measured:
        return Judged(quantity=quantity, most_frac=most, note="not measured")
    errors = [
        abs(getattr(served, key) / getattr(row, key) - 1)
        for row, served in measured
        if served is not None and getattr(served, key) is not None
    ]
    if len(errors) < len(measured):
        return Judged(quantity=quantity, most_frac=most, note=_no_answer(measured))
    middle = median(errors)
    return Judged(
        quantity=quantity,
        most_frac=most,
        error_frac=middle,
        worst_frac=max(errors),
        n_rows=len(errors),
        holds=middle <= most,
    )


def _inside(pairs: Sequence[Pair], most: float) -> Judged:
    """Whether measured waits lie within those of the runs, and the runs tell more than one constant does."""
    known = [
        (row.ttft_s, served)
        for row, served in pairs
        if row.ttft_s is not None and served is not None and served.ttft_s and served.low_ttft_s is not None
    ]
    if not known or len(known) < len([row for row, _ in pairs if row.ttft_s is not None]):
        return Judged(quantity="ttft_inside", most_frac=most, note=_no_answer(pairs))
    inside = [(each.low_ttft_s or 0.0) <= wait <= (each.high_ttft_s or 0.0) for wait, each in known]
    centre = fmean(math.log(wait) for wait, _ in known)
    constant = fmean(abs(math.log(wait) - centre) for wait, _ in known)
    own = fmean(abs(math.log((each.ttft_s or wait) / wait)) for wait, each in known)
    outside = 1 - fmean(inside)
    return Judged(
        quantity="ttft_inside",
        most_frac=most,
        error_frac=outside,
        worst_frac=outside,
        n_rows=len(known),
        holds=1 - outside >= most and own < constant,
        note=f"mean log error {own:.2f}, of the best constant {constant:.2f}",
    )


def _no_answer(pairs: Sequence[Pair]) -> str:
    missing = [row.label for row, served in pairs if served is None]
    return f"no answer at {', '.join(missing)}" if missing else "no such number"
