"""What all figures share: style, colours, kinds of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "MARKERS",
    "PALETTE",
    "SUFFIXES",
    "check_figure_path",
    "fitted",
    "house_style",
    "log_ticks",
    "looks",
    "new_figure",
    "plain",
    "save_figure",
]

SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito (2008), "Color universal design", jfly.uni-koeln.de/color: can be told apart by everyone.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PLACES = ("fcfs", "chunked", "slo", "sjf", "priority", "orca", "static")  # a look each, in every figure
_FEW_LABELS = 100.0  # ends of a logarithmic axis so far apart: a label a power of ten
_TITLE_LETTERS = 66  # of a line that fits the usual width
_STYLE: Any = {
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "svg.hashsalt": "queueserve",
}


def check_figure_path(path: Path | str) -> Path:
    """The path, if its suffix names a kind of picture that can be written.

    Parameters
    ----------
    path : path or str
        A file name that ends in ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    ConfigError
        If it ends in anything else.

    Examples
    --------
    >>> check_figure_path("knee.svg").suffix
    '.svg'
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        kind = f"{path.suffix} picture" if path.suffix else "picture without a suffix"
        raise ConfigError(f"{path}: cannot write a {kind}; end the name in {', '.join(SUFFIXES)}")
    return path


def looks(names: Iterable[str]) -> dict[str, int]:
    """Places in `PALETTE` and `MARKERS`: a known scheduler always has its own, others take what is left.

    Parameters
    ----------
    names : iterable of str
        Schedulers, in order of appearance.

    Examples
    --------
    >>> looks(["slo", "mine", "fcfs"])
    {'slo': 2, 'mine': 1, 'fcfs': 0}
    """
    wanted = list(dict.fromkeys(names))
    taken = {_PLACES.index(name) for name in wanted if name in _PLACES}
    free = [place for place in range(len(PALETTE)) if place not in taken] or list(range(len(PALETTE)))
    others = [name for name in wanted if name not in _PLACES]
    places = {name: free[index % len(free)] for index, name in enumerate(others)}
    return {name: places[name] if name in places else _PLACES.index(name) for name in wanted}


def fitted(title: str) -> str:
    """A title in lines short enough for the usual width.

    Parameters
    ----------
    title : str

    Examples
    --------
    >>> fitted("the goodput of a scheduler " * 5).count(chr(10))
    2
    """
    return "\n".join(fill(plain(line), _TITLE_LETTERS) for line in title.splitlines())


def plain(name: str) -> str:
    r"""A name as a figure shows it letter by letter: two dollar signs in it are no formula.

    Parameters
    ----------
    name : str
        Such as that of a file.

    Examples
    --------
    >>> print(plain("a$b$.csv"))
    a\$b\$.csv
    """
    return name.replace("$", r"\$")


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Labels of a logarithmic axis as plain numbers, as many as do not run into each other.

    Parameters
    ----------
    axis : Axis
        Such as ``axes.xaxis``; its scale is logarithmic already.
    low, high : float
        Its ends, > 0.

    Examples
    --------
    >>> axes = new_figure(4.0).add_subplot()
    >>> axes.set(xscale="log", xlim=(0.05, 0.9))  # doctest: +ELLIPSIS
    [...]
    >>> log_ticks(axes.xaxis, 0.05, 0.9)
    >>> [f"{place:g}" for place in axes.get_xticks() if 0.05 <= place <= 0.9]
    ['0.05', '0.1', '0.2', '0.5']
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    steps = (1.0,) if high > _FEW_LABELS * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this block for the look of the house; nothing is changed outside of it.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> with house_style():
    ...     mpl.rcParams["axes.spines.top"]
    False
    >>> mpl.rcParams["axes.spines.top"]
    True
    """
    import matplotlib as mpl  # slow to import, so only here

    with mpl.rc_context(_STYLE):
        yield


def new_figure(height_in: float) -> Figure:
    """An empty figure of the usual width that needs no window system and is kept by nobody.

    Parameters
    ----------
    height_in : float
        Height in inches, > 0.

    Examples
    --------
    >>> float(new_figure(4.0).get_figheight())
    4.0
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure  # not pyplot, which keeps every figure

    figure = Figure(figsize=(7.2, height_in), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: Path | str) -> None:
    """Write a figure; the suffix of the path chooses PNG, SVG or PDF. Equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
        As in ``draw_goodput(...).figure``.
    path : path or str
        File to write; an existing one is replaced.

    Raises
    ------
    ConfigError
        If the suffix is none of ``.png``, ``.svg``, ``.pdf``.

    Examples
    --------
    >>> save_figure(new_figure(4.0), "knee.gif")
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: knee.gif: cannot write a .gif picture; end the name in .png, .svg, .pdf
    """
    kind = check_figure_path(path).suffix.lower()
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind, {})
    with house_style():
        figure.savefig(path, format=kind[1:], metadata=undated)
