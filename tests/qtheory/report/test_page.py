"""A page holds everything in one file, says what it is told and nothing that could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.report.canvas import new_figure
from qtheory.report.page import Page, Section, check_page_path
from qtheory.system.provenance import Provenance


def _drawn() -> Section:
    figure = new_figure(3.0)
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], clip_on=True)
    return Section(title="Goodput", figure=figure, caption='goodput "against" rate')


def _page(*sections: Section, **changes: object) -> Page:
    said = {
        "title": "Where is the knee?",
        "answer": ["7.9 requests/s", "within 1 %"],
        "command": "sched-sim knee",
    }
    return Page(**{**said, "sections": sections, **changes})  # type: ignore[arg-type]


class _Reader(HTMLParser):
    """Open elements, names and outside addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.asked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what opens."""
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href") and not (value or "").startswith(("#", "data:")):
                self.asked.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        """Check what closes."""
        assert self.open.pop() == tag


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader


def test_elements_close_in_order_and_nothing_is_loaded_from_elsewhere() -> None:
    found = _read(_page(_drawn(), Section(title="Marks", rows=[{"knee_rps": 7.9}])).html())
    assert not found.open
    assert not found.asked


def test_two_pictures_share_no_name_and_every_reference_is_there() -> None:
    html = _page(_drawn(), _drawn()).html()
    found = _read(html)
    assert len(found.ids) == len(set(found.ids)) > 10
    assert set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html)) <= set(
        found.ids
    )


def test_pictures_shrink_with_the_window_and_say_what_they_show() -> None:
    head = re.search(r"<svg[^>]*>", _page(_drawn()).html())
    assert head is not None
    assert "viewBox" in head[0]
    assert " width=" not in head[0]
    assert 'aria-label="goodput &#34;against&#34; rate"' in head[0]


def test_what_people_name_cannot_run() -> None:
    html = _page(Section(title="<script>x</script>", text=["a & b"], rows=[{"<i>": "<b>"}])).html()
    assert "<script" not in html
    assert "<b>" not in html
    assert "a &amp; b" in html


def test_values_are_those_of_the_tables_with_their_limits() -> None:
    row = {"scheduler": "chunked", "knee_rps": 7.91, "knee_rps_low": 7.8, "knee_rps_high": 8.0, "miss": None}
    html = _page(Section(title="Marks", rows=[row], columns=("scheduler", "knee_rps", "miss"))).html()
    assert '<td>chunked</td><td class="number">7.91 ±0.10</td><td>-</td>' in html
    assert '<th scope="col" class="number">knee (req/s)</th>' in html


def test_equal_results_give_equal_text_with_their_origin() -> None:
    origin = Provenance(version="1.2", scenario={"hardware": "h100"}, seed=7)
    first, second = (_page(_drawn(), provenance=origin).html() for _ in range(2))
    assert first == second
    assert "queueserve 1.2, seed 7; hardware = h100" in first
    assert "<pre>sched-sim knee</pre>" in first


def test_facts_stand_with_their_names_and_inputs_below_the_origin() -> None:
    facts = {"step_s": 0.0123, "KV memory": "9 blocks & more"}
    html = _page(Section(title="Assumed", facts=facts), inputs={"a<b>.csv": "SHA-256 12"}).html()
    assert "<dt>step</dt><dd>12.3 ms</dd>" in html
    assert "<dt>KV memory</dt><dd>9 blocks &amp; more</dd>" in html
    assert '<p class="mute">a&lt;b&gt;.csv: SHA-256 12</p>' in html
    assert not _read(html).open


@pytest.mark.parametrize(
    ("value", "is_right"),
    [
        ("+1.4*", True),
        ("-", False),
        ("12,345", True),
        ("0.95 points", True),
        ("44.7 %", True),
        ("2 x l4", False),
    ],
)
def test_numbers_that_are_written_out_stand_to_the_right(value: str, is_right: bool) -> None:
    html = _page(Section(title="Cells", rows=[{"0": value}], labels={"0": "error"})).html()
    assert ('<th scope="col" class="number">error</th>' in html) is is_right


def test_a_page_needs_the_name_of_a_page() -> None:
    with pytest.raises(ConfigError, match=r"report: knee.png must end in .html"):
        check_page_path("knee.png")
