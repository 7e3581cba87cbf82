"""``python -m validation.trust``: write the tables of the page on trust anew."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.files import read_text

from .page import renewed
from .sections import SECTIONS

__all__ = ["main"]

_PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
_MOST_BYTES = 4 << 20


def main(words: Sequence[str] | None = None) -> int:
    """Write the tables that were asked for, all by default; 2 for bad input, and the page stays as it was."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.trust", description="Write the tables of the page on trust anew."
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} [all]")
    parser.add_argument("--data", type=Path, required=True, help="folder of published measurements")
    parser.add_argument("--page", type=Path, default=_PAGE, help="page to write to [docs/trust.md]")
    asked = parser.parse_args(words)
    try:
        for name in asked.sections:
            checks.one_of("SECTION", name, tuple(SECTIONS))
        if not asked.data.is_dir():
            raise ConfigError(f"--data: {asked.data} is not a folder")
        before = read_text(asked.page, most_bytes=_MOST_BYTES, wanted="a page")
        chosen = dict.fromkeys(asked.sections or SECTIONS)
        renewed(before, dict.fromkeys(chosen, ""))  # that all have a place is known before the work
        _replace(asked.page, renewed(before, _made(list(chosen), asked.data)))
    except (ServingError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _made(names: list[str], data: Path) -> dict[str, str]:
    """The tables, side by side where there are several; the same bytes either way."""
    if len(names) == 1:
        return {names[0]: SECTIONS[names[0]](data)}
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1)) as pool:
        return dict(zip(names, pool.map(_section, names, repeat(data)), strict=True))


def _section(name: str, data: Path) -> str:
    return SECTIONS[name](data)


def _replace(path: Path, text: str) -> None:
    """All of it or nothing."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


if __name__ == "__main__":
    sys.exit(main())
