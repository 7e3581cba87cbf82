"""Cost of fleets against their latency, and the front of those that no other beats, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label
from qtheory.report.canvas import MARKERS, PALETTE, fitted, house_style, log_ticks, new_figure, plain

from ._plan_rows import Found

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_front"]


def draw_front(found: Found, *, title: str) -> Figure:
    """All fleets as points, a colour an accelerator; the front as a staircase with its fleets named.

    Raises
    ------
    ConfigError
        If there is no fleet to draw.
    """
    if not found.points:
        raise ConfigError("--plot: there is no fleet to draw")
    most = 4.2 * min(point.usd_per_hour for point in found.points)
    near = [point for point in found.points if point.usd_per_hour <= most]
    names = list(dict.fromkeys(point.option.candidate.hardware.name for point in near))
    with house_style():
        figure = new_figure(4.6)
        ax = figure.add_subplot()
        for place, name in enumerate(names):
            mine = [point for point in near if point.option.candidate.hardware.name == name]
            ax.scatter(
                [point.usd_per_hour for point in mine],
                [point.latency_s for point in mine],
                color=PALETTE[place % len(PALETTE)],
                marker=MARKERS[place % len(MARKERS)],
                s=22,
                label=plain(name),
                alpha=0.75,
                zorder=3,
            )
        x = [point.usd_per_hour for point in found.front]
        y = [point.latency_s for point in found.front]
        ax.step(x, y, where="post", color="#777777", linewidth=1, linestyle=(0, (4, 3)), zorder=2)
        for point in found.front[:6]:
            one = point.option.candidate
            ax.annotate(
                f"{point.n_replicas} x {one.n_accelerators} {plain(one.hardware.name)}",
                (point.usd_per_hour, point.latency_s),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize=8,
            )
        ax.set_xlabel("cost ($ an hour)")
        ax.set_ylabel(label(found.latency))
        ax.set_yscale("log")
        log_ticks(ax.yaxis, *ax.get_ylim())
        ax.set_title(fitted(title))
        ax.legend(frameon=False, fontsize=8)
    return figure
