"""``python -m benchmarks [all | engine | cluster | queues | predict | coverage | knees | speed]``."""

from __future__ import annotations

import sys

from . import cluster, coverage, engine, knees, predict, queues, speed

PARTS = {
    "engine": engine.main,
    "cluster": cluster.main,
    "queues": queues.main,
    "predict": predict.main,
    "coverage": coverage.main,
    "knees": knees.main,
    "speed": speed.main,
}
LONG = ("coverage", "knees", "speed")  # a quarter of an hour or more, or writes a page: only where asked for


def main(argv: list[str]) -> int:
    """Run the named parts; 2 for a name that there is not, or input that a part refuses."""
    names = argv or ["all"]
    for name in names:
        if name != "all" and name not in PARTS:
            print(f"benchmarks: unknown {name!r}; one of all, {', '.join(PARTS)}", file=sys.stderr)
            return 2
    for name, part in PARTS.items():
        if (name in names or ("all" in names and name not in LONG)) and part():
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
