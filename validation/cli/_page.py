"""The flag `--report`: one page of an answer that opens without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError
from qtheory.report import check_page_path

from ._words import SAID
from .files import Writer, file_words
from .options import Output, RunOutput
from .values import file_name

if TYPE_CHECKING:
    from qtheory.report import Page

__all__ = ["PageOutput", "Paged", "file_marks", "output_flags", "page_writer"]

_REPORT = Parameter(
    name="--report",
    help="write one page with the answer, its picture and where it is from to this file: .html",
    group=Group("Output", sort_key=2),
    converter=file_name,
    n_tokens=1,
    negative=(),
    metavar="FILE",
)
_READ_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Paged(Output):
    """What the page adds to the flags of any output; comes before them in a list of bases."""

    report: Annotated[str | None, _REPORT] = None

    def targets(self) -> dict[str, Path]:
        """The files that will be written, by the flag that asked for each."""
        page = {} if self.report is None else {"--report": Path(self.report)}
        return super().targets() | page

    def check(self) -> None:
        """Raise, before any work is done, unless every file can be written."""
        if self.report is not None:
            try:
                check_page_path(self.report)
            except ConfigError as error:
                raise ConfigError(f"--{error}") from None
        super().check()


@dataclass(frozen=True, kw_only=True)
class PageOutput(Paged, RunOutput):
    """Where an answer goes that is simulated, has a figure, and a page."""


def output_flags(kind: type[Output], *, without: Iterable[str] = ()) -> Any:
    """The flags of a kind of output but for some, which keep their defaults.

    Parameters
    ----------
    kind : type
        `PageOutput`, or another made of several.
    without : iterable of str
        Fields that have no flag.
    """
    hints = get_type_hints(kind, include_extras=True)
    hints |= {hidden: Annotated[hints[hidden], Parameter(parse=False)] for hidden in without}
    made = [(item.name, hints[item.name], field(default=item.default)) for item in fields(kind)]
    flags = make_dataclass(f"{kind.__name__}Flags", made, bases=(kind,), frozen=True, kw_only=True)
    flags.__module__ = __name__  # cyclopts takes a class of the module "types" for a built-in one
    return Parameter(name="*")(flags)


def page_writer(make: Callable[[], Page]) -> Writer:
    """What writes the page that ``make`` makes.

    Parameters
    ----------
    make : callable
        Called when the file is written, and only then.
    """

    def write(path: Path) -> None:
        path.write_bytes(make().html().encode("utf-8", "backslashreplace"))  # words may hold any byte

    return write


def file_marks(values: Iterable[object], output: Output) -> dict[str, str]:
    """Fingerprints of the files that were read, so that one can tell whether they are still the same.

    Parameters
    ----------
    values : iterable
        Fields of the scenario, as those of its file may name others; the words of the command are added.
    output : Output
        What is written, and so was not read.
    """
    texts = [text for text in (*SAID.get(), *values) if isinstance(text, str)]
    written = {path.resolve() for path in output.targets().values()}
    names = [name for name in file_words(texts) if _is_file(name) and Path(name).resolve() not in written]
    return {name: f"SHA-256 {_digest(Path(name))}" for name in names}


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a zero in it
        return False


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_READ_BYTES):
            digest.update(data)
    return digest.hexdigest()
