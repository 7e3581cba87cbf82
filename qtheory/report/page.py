"""One self-contained page of a result: answer first, then pictures, tables, formulas and origin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label
from qtheory.system.provenance import Provenance

from .canvas import house_style
from .text import human, with_limits, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "Section", "check_page_path"]

_WRITTEN = re.compile(r"[+-]?\d[\d,.]*(e[+-]?\d+)?\*?( (%|points?))?")
_TEMPLATE = Path(__file__).with_name("page.html.jinja")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    title : str
        Its heading.
    text : sequence of str
        Paragraphs.
    figure : Figure, optional
        A picture, drawn into the page.
    caption : str
        What the picture shows, for those who do not see it.
    rows : sequence of mappings
        A table: a row each, from field name to value (units come from the names).
    columns : sequence of str
        Field names to show, in order (default: all).
    labels : mapping
        Heads of columns that replace those made from the field names.
    facts : mapping
        Values with their names before them, one a line.
    formulas : sequence of str
        Lines of plain text in a fixed width.

    Examples
    --------
    >>> Section(title="Marks", rows=[{"scheduler": "chunked", "knee_rps": 7.9}]).title
    'Marks'
    """

    title: str
    text: Sequence[str] = ()
    figure: Figure | None = None
    caption: str = ""
    rows: Sequence[Mapping[str, object]] = ()
    columns: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    formulas: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that opens without a network: everything it needs is in the one file.

    Parameters
    ----------
    title : str
        What was asked.
    answer : sequence of str
        The answer, then how certain it is, a line each.
    sections : sequence of Section
        What stands behind it.
    command : str
        What makes the page again.
    provenance : Provenance
        Version, scenario and seed.
    inputs : mapping
        Where else the numbers come from: files that were read, prices.

    Examples
    --------
    >>> page = Page(title="Knee", answer=["7.9 requests/s"], sections=[], command="sched-sim knee")
    >>> "<h1>Knee</h1>" in page.html()
    True
    """

    title: str
    answer: Sequence[str]
    sections: Sequence[Section]
    command: str
    provenance: Provenance = field(default_factory=Provenance)
    inputs: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The page as text; equal results give equal text.

        Examples
        --------
        >>> "&lt;b&gt;" in Page(title="<b>", answer=[], sections=[], command="").html()
        True
        """
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup

        places = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        svgs = [Markup(_svg(section, f"f{index}-")) for index, section in enumerate(self.sections)]
        return places.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
            page=self,
            svgs=svgs,
            grids=[_grid(section) for section in self.sections],
            facts=[_facts(section) for section in self.sections],
            scenario=", ".join(f"{name} = {value}" for name, value in self.provenance.scenario.items()),
        )


def _svg(section: Section, prefix: str) -> str:
    """The picture of a section as an element whose inner names begin with ``prefix``; empty without one."""
    if section.figure is None:
        return ""
    text = StringIO()
    with house_style():
        section.figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{_quoted(section.caption or section.title)}">{rest.strip()}'


def _quoted(words: str) -> str:
    from markupsafe import escape

    return str(escape(words))


def _facts(section: Section) -> list[tuple[str, str]]:
    """Names and values as text, with their units."""
    return [(words_of(name), human(name, value)) for name, value in section.facts.items()]


def _grid(section: Section) -> dict[str, Any]:
    """Texts of a table with whether they stand to the right, as numbers do."""
    rows = section.rows
    present = list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in section.columns or present if name in present]
    right = {name: any(_is_number(row.get(name)) for row in rows) for name in names}
    return {
        "head": [(section.labels.get(name, label(name)), right[name]) for name in names],
        "body": [[(with_limits(row, name), right[name]) for name in names] for row in rows],
    }


def _is_number(value: object) -> bool:
    """Whether a value is a number, or a number written out, perhaps with its unit or a mark."""
    if isinstance(value, str):
        return _WRITTEN.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_page_path(path: Path | str) -> Path:
    """The path, if it can be that of a page.

    Parameters
    ----------
    path : path or str
        A file name that ends in ``.html``.

    Raises
    ------
    ConfigError
        If it ends in anything else.

    Examples
    --------
    >>> check_page_path("knee.html").suffix
    '.html'
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"report: {path} must end in .html: a page is written")
    return path
