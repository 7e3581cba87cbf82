"""Figures: what is drawn, and the files that come out."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from qtheory.basics.errors import ConfigError
from qtheory.report import draw_comparison, draw_goodput, draw_timeline, save_figure
from qtheory.report.figures import _spread

RATES = (2.0, 6.0, 10.0)
SWEEP = [
    {"scheduler": name, "rate_rps": rate, "goodput_frac": 1 / (1 + math.exp(rate - knee))}
    for name, knee in (("fcfs", 4.0), ("chunked", 8.0), ("slo", 9.0))
    for rate in reversed(RATES)
]
TIMELINE = [
    {"start_s": 0.5 * i, "mean_waiting": float(i), "mean_running": 2.0, "mean_kv_frac": 0.1 * i}
    for i in range(6)
]
STARTS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF"}


def xy(line: Any) -> tuple[list[float], list[float]]:
    return list(line.get_xdata()), list(line.get_ydata())


def test_a_scheduler_is_a_line_in_order_of_the_rates_with_its_name_beside_it() -> None:
    ax = draw_goodput(SWEEP, title="TTFT within 2 s")
    lines = [xy(line) for line in ax.get_lines() if len(xy(line)[0]) == len(RATES)]
    assert [tuple(x) for x, _ in lines] == [RATES] * 3
    assert lines[0][1][0] == pytest.approx(100 / (1 + math.exp(RATES[0] - 4.0)))
    assert {text.get_text() for text in ax.texts} == {"fcfs", "chunked", "slo"}
    assert ax.get_title("left") == "TTFT within 2 s"


def test_limits_of_goodput_are_upright_lines_at_their_rate() -> None:
    limits = {"goodput_frac_low": 0.25, "goodput_frac_high": 0.75}
    ax = draw_goodput([{**row, **limits} for row in SWEEP])
    drawn: list[Any] = list(ax.collections)
    assert len(drawn) == len(SWEEP)
    (x, low), (_, high) = drawn[0].get_segments()[0]
    assert (x, low, high) == (RATES[-1], 25.0, 75.0)
    assert len(draw_goodput(SWEEP).collections) == 0


def test_a_figure_drawn_on_given_axes_makes_no_other() -> None:
    first = draw_goodput(SWEEP)
    again = draw_goodput(SWEEP[:3], first)
    assert again is first
    assert len(first.figure.axes) == 1


def test_names_do_not_overlap_where_lines_end_together() -> None:
    heights = _spread([0.0, 0.0, 99.0, 100.0, 0.3], gap=5.5, top=100.0)
    ordered = sorted(heights)
    assert all(high - low >= 5.5 - 1e-9 for low, high in itertools.pairwise(ordered))
    assert max(heights) <= 100.0
    assert heights[0] < heights[1] < heights[4] < heights[2] < heights[3]


def test_a_comparison_has_a_bar_a_scheduler_and_marks_the_limit() -> None:
    rows = [
        {"scheduler": "fcfs", "goodput_frac": 0.4, "p99_ttft_s": 1.0, "p99_tpot_s": 0.45},
        {"scheduler": "chunked", "goodput_frac": 0.9, "p99_ttft_s": None, "p99_tpot_s": 0.05},
    ]
    panels = draw_comparison(rows, limits={"p99_tpot_s": 0.1})
    bars: list[Any] = list(panels[0].patches)
    assert [bar.get_width() for bar in bars] == pytest.approx([40.0, 90.0])
    assert "-" in [text.get_text() for text in panels[1].texts]
    assert [len(panel.get_lines()) for panel in panels] == [0, 0, 1]
    assert xy(panels[2].get_lines()[0])[0] == pytest.approx([0.1, 0.1])


def test_a_timeline_shows_what_is_there_and_holds_the_last_value_for_a_window() -> None:
    panels = draw_timeline(TIMELINE)
    assert len(panels) == 3
    x, y = xy(panels[2].get_lines()[0])
    assert (x[-1], y[-1]) == pytest.approx((3.0, 50.0))
    assert len(draw_timeline([{"start_s": 0.0, "mean_waiting": 1.0}])) == 1


@pytest.mark.parametrize("suffix", STARTS)
def test_the_suffix_chooses_the_kind_and_equal_figures_give_equal_bytes(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for path in paths:
        save_figure(draw_goodput(SWEEP).figure, path)
    one, two = (path.read_bytes() for path in paths)
    assert one.startswith(STARTS[suffix])
    assert one == two


@pytest.mark.parametrize("name", ["knee.gif", "knee", "knee.png.txt"])
def test_an_unknown_kind_of_picture_is_refused_with_those_that_work(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg, \.pdf"):
        save_figure(draw_goodput(SWEEP).figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_draw_is_refused() -> None:
    for draw in (draw_goodput, draw_comparison, draw_timeline):
        with pytest.raises(ConfigError, match="nothing to draw"):
            draw([])
    with pytest.raises(ConfigError, match="axes: 0 given"):
        draw_timeline(TIMELINE, [])


def test_a_scheduler_has_the_same_colour_in_every_figure() -> None:
    def colours(rows: list[dict[str, Any]]) -> dict[str, Any]:
        ax = draw_goodput(rows)
        return {text.get_text(): text.get_color() for text in ax.texts}

    whole = colours(SWEEP)
    assert len(set(whole.values())) == 3
    assert colours(list(reversed(SWEEP))) == whole
    assert colours([row for row in SWEEP if row["scheduler"] == "slo"]) == {"slo": whole["slo"]}
    bars: list[Any] = list(draw_comparison([{"scheduler": "slo", "goodput_frac": 0.5}])[0].patches)
    assert to_hex(bars[0].get_facecolor()).upper() == whole["slo"]


def test_a_trace_is_drawn_against_its_speed() -> None:
    rows = [{"scheduler": "fcfs", "speed": s, "rate_rps": 7 * s, "goodput_frac": 1 / s} for s in (1.0, 2.0)]
    ax = draw_goodput(rows, against="speed")
    assert ax.get_xlabel().startswith("speed of the trace")
    assert [xy(line)[0] for line in ax.get_lines()][-1] == [1.0, 2.0]


def test_a_long_title_stays_inside_the_figure() -> None:
    ax = draw_goodput(SWEEP, title=f"fcfs: llama on h100, {'a_very_long_name_' * 9}.csv at 3 req/s")
    figure: Any = ax.figure
    figure.canvas.draw()
    box = ax._left_title.get_window_extent()  # type: ignore[attr-defined]
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
