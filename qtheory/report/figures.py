"""Figures: goodput against the rate, schedulers side by side, one run over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label

from .canvas import MARKERS, PALETTE, fitted, house_style, looks, new_figure, plain
from .text import human

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_comparison", "draw_goodput", "draw_timeline"]

Row = Mapping[str, object]

_OVER_TIME = {
    "mean_waiting": "waiting\nrequests",
    "mean_running": "running\nrequests",
    "mean_kv_frac": "KV memory\nused (%)",
}
_MOST_TICKS = 10
_AXES = {"rate_rps": "arrival rate (req/s)", "speed": "speed of the trace (times as recorded)"}
_SIDE_BY_SIDE = ("goodput_frac", "p99_ttft_s", "p99_tpot_s")


def _color(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _float(row: Row, name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else float("nan")


def _spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """The heights, moved so that labels stand ``gap`` apart and none is above ``top``; order is kept."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = [0.0] * len(heights)
    floor = float("-inf")
    for index in order:
        placed[index] = floor = max(heights[index], floor + gap)
    ceiling = top
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    return placed


def draw_goodput(
    rows: Sequence[Row],
    ax: Axes | None = None,
    *,
    title: str = "",
    goodput_frac: float = 0.9,
    against: str = "rate_rps",
) -> Axes:
    """Goodput against the arrival rate, or the speed of a trace, one labelled line a scheduler.

    Parameters
    ----------
    rows : sequence of mappings
        With ``scheduler``, ``rate_rps`` and ``goodput_frac`` (share in 0..1), in any order.
    ax : Axes, optional
        Where to draw (default: a new figure, at ``ax.figure``).
    title : str
        Text above the axes; say the limits that a good request meets.
    goodput_frac : float
        Where to draw the dashed line, share in 0..1.
    against : str
        ``rate_rps``, or ``speed`` (then the rows have that).

    Returns
    -------
    Axes

    Raises
    ------
    ConfigError
        If there is nothing to draw.

    Examples
    --------
    >>> rows = [{"scheduler": "fcfs", "rate_rps": rate, "goodput_frac": 1 / rate} for rate in (1.0, 2.0, 4.0)]
    >>> ax = draw_goodput(rows, title="TTFT <= 2 s")
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts][-1]
    ('arrival rate (req/s)', 'fcfs')
    """
    if not rows:
        raise ConfigError("rows: nothing to draw; give at least one result")
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        point = (_float(row, against), 100 * _float(row, "goodput_frac"))
        lines.setdefault(str(row["scheduler"]), []).append(point)
    with house_style():
        axes = new_figure(4.2).add_subplot() if ax is None else ax
        axes.axhline(100 * goodput_frac, color="#777777", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        _lines(axes, {name: sorted(points) for name, points in lines.items()})
        _limits(axes, rows, against)
        axes.set_ylim(-2, 104)
        axes.set_yticks(range(0, 101, 20))
        axes.set_xlabel(_AXES.get(against, label(against)))
        axes.set_ylabel("goodput (% of the requests sent)")
        axes.set_title(fitted(title))
    return axes


def _limits(axes: Axes, rows: Sequence[Row], against: str) -> None:
    """Confidence limits of goodput as thin upright lines, where the rows have them."""
    places = looks(str(row["scheduler"]) for row in rows)
    for row in rows:
        low, high = (100 * _float(row, f"goodput_frac_{end}") for end in ("low", "high"))
        if not math.isnan(low):
            color = _color(places[str(row["scheduler"])])
            axes.vlines(_float(row, against), low, high, colors=color, linewidth=1, clip_on=False)


def _lines(axes: Axes, lines: Mapping[str, list[tuple[float, float]]]) -> None:
    """Draw the lines, each with its name at the right end instead of in a legend."""
    right = max(points[-1][0] for points in lines.values())
    axes.set_xlim(0, 1.02 * right)
    rates = sorted({rate for points in lines.values() for rate, _ in points})
    if len(rates) <= _MOST_TICKS:
        axes.set_xticks([0, *rates])
    # lines that end at the same height are stacked in the order of their means
    ends = [points[-1][1] + 1e-6 * sum(y for _, y in points) / len(points) for points in lines.values()]
    heights = _spread(ends, gap=5.5, top=100.0)
    places = looks(lines)
    for index, (name, points) in enumerate(lines.items()):
        axes.plot(
            *zip(*points, strict=True),
            color=_color(places[name]),
            marker=MARKERS[places[name]],
            linewidth=1.8,
            markersize=5,
            clip_on=False,
            zorder=3,
        )
        axes.annotate(
            plain(name),
            (right, heights[index]),
            xytext=(10, 0),
            textcoords="offset points",
            va="center",
            color=_color(places[name]),
            fontweight="bold",
            annotation_clip=False,
        )


def draw_comparison(
    rows: Sequence[Row],
    axes: Sequence[Axes] | None = None,
    *,
    title: str = "",
    limits: Mapping[str, float] | None = None,
) -> list[Axes]:
    """Goodput and the 99th percentiles of TTFT and TPOT side by side, a bar a scheduler.

    Parameters
    ----------
    rows : sequence of mappings
        A row a scheduler, with ``scheduler``, ``goodput_frac``, ``p99_ttft_s``, ``p99_tpot_s``.
    axes : sequence of three Axes, optional
        Left to right (default: a new figure).
    title : str
        Text above the first axes.
    limits : mapping, optional
        From field name to a limit to mark with a dashed line, in the unit of the field.

    Returns
    -------
    list of Axes

    Raises
    ------
    ConfigError
        If there is nothing to draw, or the number of axes is not three.

    Examples
    --------
    >>> row = {"scheduler": "fcfs", "goodput_frac": 0.4, "p99_ttft_s": 1.0, "p99_tpot_s": 0.45}
    >>> [ax.get_title("left") for ax in draw_comparison([row], limits={"p99_tpot_s": 0.1})]
    ['goodput (%)', 'p99 TTFT (s)', 'p99 TPOT (s)']
    """
    if not rows:
        raise ConfigError("rows: nothing to draw; give at least one result")
    with house_style():
        if axes is None:
            figure = new_figure(1.4 + 0.35 * len(rows))
            panels: list[Axes] = list(figure.subplots(1, len(_SIDE_BY_SIDE), sharey=True))
            figure.suptitle(fitted(title), x=0.01, ha="left", fontsize=11)
        else:
            panels = list(axes)
        if len(panels) != len(_SIDE_BY_SIDE):
            raise ConfigError(f"axes: {len(panels)} given; give {len(_SIDE_BY_SIDE)}")
        for panel, name in zip(panels, _SIDE_BY_SIDE, strict=True):
            _bars(panel, rows, name, (limits or {}).get(name))
        panels[0].set_ylim(len(rows) - 0.1, -0.5)  # first row on top, and room for a word below the last
    return panels


def _bars(panel: Axes, rows: Sequence[Row], name: str, limit: float | None) -> None:
    scale = 100.0 if name.endswith("_frac") else 1.0
    heights = [0.0 if math.isnan(_float(row, name)) else scale * _float(row, name) for row in rows]
    names = [str(row["scheduler"]) for row in rows]
    places = looks(names)
    colors = [_color(places[name]) for name in names]
    bars = panel.barh(range(len(rows)), heights, color=colors, height=0.65)
    shown = [human(name, row.get(name)) for row in rows]
    for text in panel.bar_label(bars, shown, padding=3):
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    panel.set_yticks(range(len(rows)), list(map(plain, names)))
    panel.set_title(label(name), fontsize=10)
    panel.grid(visible=False, axis="y")
    panel.margins(x=0.4)
    panel.locator_params(axis="x", nbins=4)
    if limit is not None:
        panel.axvline(scale * limit, color="#777777", linewidth=1, linestyle=(0, (4, 3)))
        panel.annotate(
            "limit",
            (scale * limit, 0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            color="#777777",
            fontsize=8,
        )


def draw_timeline(rows: Sequence[Row], axes: Sequence[Axes] | None = None, *, title: str = "") -> list[Axes]:
    """Waiting requests, running requests and used KV memory over the time of one run.

    Parameters
    ----------
    rows : sequence of mappings
        In order of time, one a window: ``start_s`` and the averages ``mean_waiting``, ``mean_running``,
        ``mean_kv_frac`` (share in 0..1). A value holds until the next row; a quantity that no row has is
        left out.
    axes : sequence of Axes, optional
        One a quantity that is there, top to bottom (default: a new figure).
    title : str
        Text above the first axes.

    Returns
    -------
    list of Axes

    Raises
    ------
    ConfigError
        If there is nothing to draw, or the number of axes is wrong.

    Examples
    --------
    >>> rows = [{"start_s": t, "mean_waiting": t, "mean_running": 3, "mean_kv_frac": t / 5} for t in range(5)]
    >>> [ax.get_ylabel().split()[0] for ax in draw_timeline(rows)]
    ['waiting', 'running', 'KV']
    """
    names = [name for name in _OVER_TIME if any(name in row for row in rows)]
    if not names:
        raise ConfigError(f"rows: nothing to draw; give at least one row with one of {', '.join(_OVER_TIME)}")
    with house_style():
        if axes is None:
            grid = new_figure(1.2 + 1.5 * len(names)).subplots(len(names), 1, sharex=True, squeeze=False)
            panels: list[Axes] = list(grid[:, 0])
        else:
            panels = list(axes)
        if len(panels) != len(names):
            raise ConfigError(f"axes: {len(panels)} given for {len(names)} quantities ({', '.join(names)})")
        for index, (panel, name) in enumerate(zip(panels, names, strict=True)):
            _steps(panel, rows, name, _color(index))
        panels[-1].set_xlabel("time (s)")
        panels[0].set_title(fitted(title))
    return panels


def _steps(panel: Axes, rows: Sequence[Row], name: str, color: str) -> None:
    scale = 100.0 if name.endswith("_frac") else 1.0
    times = [_float(row, "start_s") for row in rows]
    heights = [scale * _float(row, name) for row in rows]
    if len(times) > 1:  # the last value holds for a window too
        times.append(2 * times[-1] - times[-2])
        heights.append(heights[-1])
    panel.step(times, heights, where="post", color=color, linewidth=1.2)
    panel.fill_between(times, heights, step="post", color=color, alpha=0.15, linewidth=0)
    panel.set_ylabel(_OVER_TIME[name])
    panel.set_ylim(0, 100 if name.endswith("_frac") else max(1.0, 1.08 * max(heights)))
    panel.margins(x=0)
