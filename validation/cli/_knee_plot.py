"""Goodput against the rate for each scheduler, with its knee, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.basics.errors import ConfigError
from qtheory.report.canvas import MARKERS, PALETTE, fitted, house_style, looks, new_figure, plain

from ._knee_text import load_of
from .heading import limits_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qtheory.planning import Knee
    from validation.knees import Asked

__all__ = ["draw_knees"]

_APART = 1.6  # per cent between the bars of intervals
_MARGIN = 1.5  # of the largest knee, on the axis of rates


def draw_knees(found: Sequence[Knee], asked: Sequence[Asked]) -> Figure:
    """A line a scheduler, theory without and simulation with dots, limits shaded, the knee marked below it.

    Parameters
    ----------
    found : sequence of Knee
    asked : sequence of Asked
        One for each.

    Raises
    ------
    ConfigError
        If there is no curve to draw.
    """
    if not any(one.curve for one in found):
        raise ConfigError("--plot: there is no curve to draw")
    places = looks([one.scheduler for one in found])
    level = 100 * found[0].goodput_frac
    with house_style():
        figure = new_figure(4.2)
        axes = figure.add_subplot()
        axes.axhline(level, color="#777777", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for place, one in enumerate(found):
            _line(axes, one, places[one.scheduler], level)
            _interval(axes, one, places[one.scheduler], level + _APART * (place - (len(found) - 1) / 2))
        axes.set_xlim(0, _last_rate(found))
        axes.set_ylim(-2, 104)
        axes.set_yticks(range(0, 101, 20))
        axes.set_xlabel("arrival rate (req/s)")
        axes.set_ylabel("goodput (% of the requests sent)")
        axes.set_title(fitted(_title(asked[0])))
        axes.legend(frameon=False, loc="lower left")
    return figure


def _last_rate(found: Sequence[Knee]) -> float:
    """Where the axis of rates ends: behind the curves and the intervals, but not far from the knees."""
    knees = [one.knee_rps for one in found if one.knee_rps is not None]
    ends = [one.curve[-1][0] for one in found if one.curve]
    ends += [1.02 * one.knee_rps_high for one in found if one.knee_rps_high is not None]
    return min(_MARGIN * max(knees), max(ends)) if knees else max(ends)


def _line(axes: Axes, one: Knee, place: int, level: float) -> None:
    color = PALETTE[place % len(PALETTE)]
    is_simulated = any(low is not None for _, _, low, _ in one.curve)
    rates = [point[0] for point in one.curve]
    good = [100 * point[1] for point in one.curve]
    knee = "never" if one.knee_rps is None else f"{one.knee_rps:.3g} req/s"
    axes.plot(
        rates,
        good,
        color=color,
        linewidth=1.8,
        marker=MARKERS[place % len(MARKERS)] if is_simulated else "",
        markersize=4,
        label=f"{plain(one.scheduler)}: {knee} ({one.answered_by})",
        zorder=3,
    )
    if is_simulated:
        low, high = ([100 * (point[i] or 0.0) for point in one.curve] for i in (2, 3))
        axes.fill_between(rates, low, high, color=color, alpha=0.15, linewidth=0)
    if one.knee_rps is None:
        return
    axes.plot([one.knee_rps], [level], color=color, marker="o", markersize=6, zorder=4)


def _interval(axes: Axes, one: Knee, place: int, height: float) -> None:
    """A bar; those of several schedulers lie side by side."""
    if one.knee_rps is None or one.knee_rps_low is None or one.knee_rps_high is None:
        return
    color = PALETTE[place % len(PALETTE)]
    axes.hlines(height, one.knee_rps_low, one.knee_rps_high, color=color, linewidth=3, alpha=0.5)


def _title(one: Asked) -> str:
    good = limits_text(one.workload.slo).replace("<=", "\u2264")
    return f"{one.replica.model.name} on {one.replica.hardware.name}, {load_of(one)}\ngood request: {good}"
