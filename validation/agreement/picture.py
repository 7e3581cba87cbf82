"""The picture: predicted against simulated, a panel a metric, a mark a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label
from qtheory.report.canvas import MARKERS, PALETTE, fitted, house_style, log_ticks, looks, new_figure

from .score import Score
from .tolerances import TOLERANCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["draw_agreement"]

_HEIGHT_IN = 8.0


def draw_agreement(scores: Sequence[Score], *, title: str = "", tier: str = "numeric") -> Figure:
    """Predicted against simulated on logarithmic axes; filled marks are decided, open ones are not.

    The band is what is allowed up to a load of 0.8.

    Parameters
    ----------
    scores : sequence of Score
    title : str
    tier : str

    Raises
    ------
    ConfigError
        If no cell has a prediction.
    """
    shown = [one for one in scores if one.errors.get(tier)]
    if not shown:
        raise ConfigError(f"--plot: none of the {len(scores)} cells has a prediction of the {tier} tier")
    places = looks(one.cell.scheduler for one in shown)
    with house_style():
        figure = new_figure(_HEIGHT_IN)
        for axes, metric in zip(figure.subplots(2, 2).ravel(), TOLERANCES, strict=True):
            _panel(axes, metric, shown, tier, places)
        figure.legend(handles=_marks(places), loc="outside lower center", ncols=6, frameon=False)
        figure.suptitle(fitted(title), x=0.01, ha="left", fontsize=11)
    return figure


def _marks(places: dict[str, int]) -> list[Line2D]:
    """One filled mark a scheduler, for the legend."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [], [], color=PALETTE[place], marker=MARKERS[place], label=name, linestyle="none", markersize=5
        )
        for name, place in places.items()
    ]


def _panel(axes: Axes, metric: str, scores: Sequence[Score], tier: str, places: dict[str, int]) -> None:
    values = []
    for one in scores:
        simulated, predicted = one.simulated.get(metric), one.predicted[tier].get(metric)
        if not simulated or not predicted:
            continue
        values += [simulated, predicted]
        place = places[one.cell.scheduler]
        sharp = one.judged(tier, metric) != "undecided"
        axes.plot(
            simulated,
            predicted,
            linestyle="none",
            marker=MARKERS[place],
            markersize=5,
            markeredgecolor=PALETTE[place],
            markerfacecolor=PALETTE[place] if sharp else "none",
        )
    low, high = (0.7 * min(values), 1.4 * max(values)) if values else (0.1, 1.0)
    allowed = TOLERANCES[metric]
    ends = [low, high]
    axes.fill_between(
        ends, [e * (1 - allowed) for e in ends], [e * (1 + allowed) for e in ends], color="#dddddd"
    )
    axes.plot(ends, ends, color="#777777", linewidth=1)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=label(metric))
    for axis in (axes.xaxis, axes.yaxis):
        log_ticks(axis, low, high)
    axes.set_xlabel("simulated")
    axes.set_ylabel("predicted")
