"""Measured serving points against simulator and theory: errors by engine, judged as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from .engines import ENGINES
from .points import Point, read_points
from .predicted import predicted
from .simulated import PointTimes, simulated
from .system import is_kv_bound, system_of

__all__ = ["MOST_ERROR_FRAC", "PointResults", "Verdict", "Where", "check_points"]

MOST_ERROR_FRAC = {
    ("simulator", "tpot"): 0.06,
    ("simulator", "ttft"): 0.25,
    ("theory", "tpot"): 0.08,
    ("theory", "ttft"): 0.30,
}
"""Largest mean error that passes."""
UNJUDGED_TTFT = {"trtllm": "its TTFT falls as load rises: the start-up of the engine is in the mean"}
"""Engines whose measured TTFT is no steady state, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A point, what two routes say of it, and whether memory holds requests back."""

    point: Point
    is_kv_bound: bool
    simulator: PointTimes
    theory: PointTimes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Mean absolute relative error of one quantity over the points of a group.

    Parameters
    ----------
    group : str
        Engine, model, accelerator and count.
    route : str
        ``simulator`` or ``theory``.
    quantity : str
        ``tpot`` or ``ttft``.
    is_kv_bound : bool
        Whether the points are those where memory holds requests back; reported, not judged.
    n_points : int
        Points averaged.
    mean_error_frac, worst_error_frac, bias_frac : float
        Of |predicted / measured - 1| the mean and largest; of predicted / measured - 1 the mean.
    most_error_frac : float or None
        Largest mean error that passes; None: not judged.

    Examples
    --------
    >>> Verdict(group="vllm", route="theory", quantity="tpot", is_kv_bound=False, n_points=2,
    ...     mean_error_frac=0.03, worst_error_frac=0.04, bias_frac=0.0, most_error_frac=0.06).line()
    'vllm, theory: TPOT off by 3.0 % in the mean of 2 points, worst 4.0 %, bias +0.0 % (<= 6 %) ... passed'
    """

    group: str
    route: str
    quantity: str
    is_kv_bound: bool
    n_points: int
    mean_error_frac: float
    worst_error_frac: float
    bias_frac: float
    most_error_frac: float | None

    @property
    def has_failed(self) -> bool:
        """Whether it is judged, and off by too much."""
        return self.most_error_frac is not None and not self.mean_error_frac <= self.most_error_frac

    def line(self) -> str:
        """One line of text."""
        bound = ", memory full" if self.is_kv_bound else ""
        said = (
            f"{self.group}{bound}, {self.route}: {self.quantity.upper()} off by "
            f"{100 * self.mean_error_frac:.1f} % in the mean of {self.n_points} points, "
            f"worst {100 * self.worst_error_frac:.1f} %, bias {100 * self.bias_frac:+.1f} %"
        )
        if self.most_error_frac is None:
            return said
        end = "failed" if self.has_failed else "passed"
        return f"{said} (<= {100 * self.most_error_frac:.0f} %) ... {end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointResults:
    """All verdicts, the points behind them and the rows that were skipped."""

    verdicts: tuple[Verdict, ...]
    points: tuple[Where, ...]
    skipped: tuple[Point, ...]

    @property
    def n_failed(self) -> int:
        """Verdicts that failed."""
        return sum(verdict.has_failed for verdict in self.verdicts)

    @property
    def n_passed(self) -> int:
        """Judged verdicts that passed."""
        judged = [verdict for verdict in self.verdicts if verdict.most_error_frac is not None]
        return len(judged) - self.n_failed

    @property
    def is_good(self) -> bool:
        """Whether something was judged and nothing failed."""
        return self.n_failed == 0 and self.n_passed > 0

    def text(self) -> str:
        """What is assumed of each engine, a line a verdict, why rows were skipped, and the closing line."""
        used = dict.fromkeys(where.point.engine for where in self.points)
        lines = [f"{name}: {_assumed(name)}" for name in used]
        lines += [verdict.line() for verdict in self.verdicts]
        lines += [f"{name}: TTFT is left out: {why}" for name, why in UNJUDGED_TTFT.items() if name in used]
        lines += [
            f"skipped {count} rows: {why}"
            for why, count in Counter(point.skipped for point in self.skipped).items()
        ]
        rows = f"{len(self.skipped)} skipped"
        return "\n".join([*lines, f"{self.n_passed} passed, {self.n_failed} failed, {rows}"])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a point."""
        return [
            {
                **{name: value for name, value in asdict(where.point).items() if name != "skipped"},
                "simulated_ttft_s": where.simulator.ttft_s,
                "simulated_tpot_s": where.simulator.tpot_s,
                "predicted_ttft_s": where.theory.ttft_s if where.theory else None,
                "predicted_tpot_s": where.theory.tpot_s if where.theory else None,
                "is_kv_bound": where.is_kv_bound,
            }
            for where in self.points
        ]

    def verdict_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a verdict."""
        return [asdict(verdict) for verdict in self.verdicts]


def _assumed(name: str) -> str:
    """The setting of an engine in words."""
    setting = ENGINES[name]
    said = f"{setting.scheduler}, {setting.budget_tokens:,} tokens a step"
    if setting.output_spread:
        said += f", outputs within {100 * setting.output_spread:g} % of their mean"
    if setting.per_step_s:
        said += f", {1e3 * setting.per_step_s:+g} ms host time a step"
    if setting.per_sequence_s:
        said += f", {1e6 * setting.per_sequence_s:g} us a sequence"
    if setting.front_end_s:
        said += f", {1e6 * setting.front_end_s:g} us a prompt token before the engine"
    return f"{said}; runs of {setting.rounds} times those in flight"


def check_points(path: str | Path) -> PointResults:
    """Run every 16-bit point of a table through simulator and theory, and compare the means.

    The errors of an engine's points, over all models, accelerators and loads, are averaged and judged: TPOT
    within 6 % (theory 8 %), TTFT within 25 % (30 %). Points at which memory holds requests back are reported
    apart.

    Parameters
    ----------
    path : str or Path
        A table as `read_points` reads.

    Raises
    ------
    ConfigError
        If the file cannot be read (one line that says where and what).

    Examples
    --------
    >>> check_points("no/such/points.csv")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/points.csv: cannot be read: no such file
    """
    points = read_points(path)
    found = [_both(point) for point in points if not point.skipped]
    return PointResults(
        verdicts=tuple(_verdicts(found)),
        points=tuple(found),
        skipped=tuple(point for point in points if point.skipped),
    )


def _both(point: Point) -> Where:
    setting = ENGINES[point.engine]
    full = is_kv_bound(point, system_of(point, setting))
    return Where(
        point=point,
        is_kv_bound=full,
        simulator=simulated(point, setting),
        theory=None if full else predicted(point, setting),
    )


def _verdicts(found: Sequence[Where]) -> Iterable[Verdict]:
    """Of each engine as a whole, judged; of its models and counts and where memory is full, reported."""
    free = [where for where in found if not where.is_kv_bound]
    full = [where for where in found if where.is_kv_bound]
    for part, is_judged in ((free, True), (full, False)):
        for name in dict.fromkeys(where.point.engine for where in part):
            of_engine = [where for where in part if where.point.engine == name]
            yield from _verdict(name, of_engine, is_judged=is_judged)
            groups = dict.fromkeys(where.point.group for where in of_engine)
            for group in groups if is_judged else ():
                yield from _verdict(
                    f"  {group}",
                    [where for where in of_engine if where.point.group == group],
                    is_judged=False,
                )


def _verdict(group: str, part: Sequence[Where], *, is_judged: bool) -> Iterable[Verdict]:
    engine = part[0].point.engine
    for (route, quantity), most in MOST_ERROR_FRAC.items():
        name = f"{quantity}_s"
        served = [(where.point, getattr(where, route)) for where in part]
        errors = [getattr(found, name) / getattr(point, name) - 1 for point, found in served if found]
        if not errors or (quantity == "ttft" and engine in UNJUDGED_TTFT):
            continue
        yield Verdict(
            group=group,
            route=route,
            quantity=quantity,
            is_kv_bound=part[0].is_kv_bound,
            n_points=len(errors),
            mean_error_frac=fmean(map(abs, errors)),
            worst_error_frac=max(map(abs, errors)),
            bias_frac=fmean(errors),
            most_error_frac=most if is_judged else None,
        )
