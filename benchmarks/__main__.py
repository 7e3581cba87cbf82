"""``python -m benchmarks [all | engine]``: print the speeds of a part."""

from __future__ import annotations

import sys

from . import engine

PARTS = {"engine": engine.main}


def main(argv: list[str]) -> int:
    """Run the named parts; 2 for a name that there is not."""
    names = argv or ["all"]
    for name in names:
        if name != "all" and name not in PARTS:
            print(f"benchmarks: unknown {name!r}; one of all, {', '.join(PARTS)}", file=sys.stderr)
            return 2
    for name, part in PARTS.items():
        if name in names or "all" in names:
            part()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
