"""Published measurements beside what was found for them, as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError
from qtheory.report.canvas import MARKERS, PALETTE, fitted, house_style, log_ticks, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_points"]

_SHARES = "points"


def draw_points(points: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel for each claim: what was found over what was measured, or the difference of shares.

    Parameters
    ----------
    points : sequence of mapping
        As `validation.claims.ClaimResults.points` gives them.

    Raises
    ------
    ConfigError
        If there are none.
    """
    panels: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for point in points:
        panels.setdefault((point["claim"], point["unit"] == _SHARES), []).append(point)
    if not panels:
        raise ConfigError("--plot: no claim that was answered has measurements to draw")
    with house_style():
        figure = new_figure(2.6 * len(panels) + 0.8)
        axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for ax, ((claim, is_share), own) in zip(axes, panels.items(), strict=True):
            _draw(ax, own, is_share=is_share)
            ax.set_title(fitted(claim))
    return figure


def _draw(ax: Any, points: Sequence[Mapping[str, Any]], *, is_share: bool) -> None:
    kinds = dict.fromkeys((point["metric"], point["route"]) for point in points)
    for place, kind in enumerate(kinds):
        own = [point for point in points if (point["metric"], point["route"]) == kind]
        measured = [point["measured"] for point in own]
        found = [
            point["found"] - point["measured"] if is_share else point["found"] / point["measured"]
            for point in own
        ]
        color, mark = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
        ax.plot(measured, found, mark, color=color, markersize=4, label=f"{kind[0]}, {kind[1]}")
    ax.axhline(0.0 if is_share else 1.0, color="black", linewidth=0.8)
    if is_share:
        ax.set(xlabel="measured (%)", ylabel="found less measured (points)")
    else:
        ax.set(xscale="log", yscale="log", ylabel="found / measured")
        for axis in (ax.xaxis, ax.yaxis):
            log_ticks(axis, *axis.get_view_interval())
        ax.set_xlabel(f"measured ({', '.join(dict.fromkeys(point['unit'] for point in points))})")
    ax.legend(frameon=False, fontsize=8)
