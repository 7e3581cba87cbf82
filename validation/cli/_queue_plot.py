"""Wait and response of a queue against the arrival rate, as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError
from qtheory.queues.kendall.quantity import percentile_head
from qtheory.report.canvas import MARKERS, PALETTE, fitted, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_rates"]

_FEW = 16  # points up to which each has a mark


def draw_rates(rows: Sequence[Mapping[str, Any]], percentiles: Sequence[float], *, title: str) -> Figure:
    """A panel each for wait and response: the mean and the percentiles that there are.

    Raises
    ------
    ConfigError
        If no rate has any of them.
    """
    heads = ["mean", *map(percentile_head, percentiles)]
    panels = [
        what
        for what in ("wait", "response")
        if any(row.get(f"{head}_{what}_s") is not None for row in rows for head in heads)
    ]
    if not panels:
        raise ConfigError("--plot: there is neither a wait nor a response to draw at these rates")
    with house_style():
        figure = new_figure(3.0 * len(panels) + 0.8)
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for ax, what in zip(axes, panels, strict=True):
            _draw(ax, rows, what, heads)
        axes[0].set_title(fitted(title))
        axes[-1].set_xlabel("arrival rate (req/s)")
    return figure


def _draw(ax: Any, rows: Sequence[Mapping[str, Any]], what: str, heads: Sequence[str]) -> None:
    largest = 0.0
    for place, head in enumerate(heads):
        points = [(row["rate_rps"], row.get(f"{head}_{what}_s")) for row in rows]
        drawn = [(rate, value) for rate, value in points if value is not None]
        if not drawn:
            continue
        mark = MARKERS[place % len(MARKERS)] if len(rows) <= _FEW else ""
        color = PALETTE[place % len(PALETTE)]
        ax.plot(*zip(*drawn, strict=True), color=color, marker=mark, label=head)
        largest = max(largest, *(value for _, value in drawn))
    ax.set_ylabel(f"{what} (s)")
    ax.set_ylim(0, 1.05 * largest if largest > 0 else 1)
    ax.legend(frameon=False)
