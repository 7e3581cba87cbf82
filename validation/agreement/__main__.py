"""``python -m validation.agreement``: ask the theory about all cells that are kept, and write the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.files import read_text
from validation.answer import Workers
from validation.trust import renewed

from .comparison import agree
from .effort import EFFORTS
from .page import TABLES, tables_of
from .simulations import read_simulations

__all__ = ["main"]

_PAGE = Path(__file__).parents[2] / "docs" / "agreement.md"
_MOST_BYTES = 1 << 20


def main(words: Sequence[str] | None = None) -> int:
    """Write the tables of the page; 2 for bad input, and the page stays as it was."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.agreement", description="Write the tables of the page on agreement anew."
    )
    parser.add_argument("--page", type=Path, default=_PAGE, help="page to write to [docs/agreement.md]")
    parser.add_argument("--jobs", type=int, help="processes [number of cores]")
    asked = parser.parse_args(words)
    try:
        renewed(_text(asked.page), dict.fromkeys(TABLES, ""))  # a place for each, before the work
        kept = read_simulations()
        if not kept.cells:
            raise ConfigError(
                "no cell is simulated yet; sched-sim validate agreement --grid full --simulate N"
            )
        cells = [one.cell for one in kept.cells.values()]
        with Workers(asked.jobs) as workers:
            executor = workers if workers.jobs > 1 else None
            scores = agree(cells, EFFORTS["full"], executor=executor, simulated=kept.cells)
        beside = asked.page.with_name(f"{asked.page.name}.new")
        beside.write_text(renewed(_text(asked.page), tables_of(scores, kept)), encoding="utf-8")
        os.replace(beside, asked.page)
    except (ServingError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _text(page: Path) -> str:
    return read_text(page, most_bytes=_MOST_BYTES, wanted="a page")


if __name__ == "__main__":
    sys.exit(main())
