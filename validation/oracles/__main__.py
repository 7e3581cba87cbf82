"""``python -m validation.oracles KNOWN_VALUES.csv`` prints the page ``docs/models.md``."""

from __future__ import annotations

import sys

from qtheory.basics.errors import ServingError

from .page import page


def main(argv: list[str]) -> int:
    """Print the page; 2 with one line where the table cannot be read."""
    if len(argv) != 1:
        print("usage: python -m validation.oracles KNOWN_VALUES.csv", file=sys.stderr)
        return 2
    try:
        print(page(argv[0]), end="")
    except ServingError as error:
        print(f"validation.oracles: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
