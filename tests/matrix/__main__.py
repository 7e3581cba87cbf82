"""What each command says of each scheduler under each kind of load: a simulation, theory, or nothing yet.

``python -m tests.matrix`` prints the table of ``docs/matrix.md``.
"""

from __future__ import annotations

from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import PLANNED_SCHEDULERS, SCHEDULERS
from validation.cli.app import COMMANDS

SIMULATION, THEORY, ABSENT = "simulation", "theory", "not in this version"
KINDS = ("law", "trace", "prefixes", "conversations", "replicas")
NO_LOAD = ("info", "validate")
"""Commands that answer no question about a load."""
NOT_A_FIELD = {"prefixes": "prefix_cache", "conversations": "conversations", "replicas": "replicas"}
"""The field of a scenario that a kind of load would need; as long as it is missing, so is the kind."""
EVERY = ("fcfs", "static", "orca", "chunked", "sjf", "priority", "slo")

_WORDS = {
    ("run", "law"): "run --scheduler {name} --requests 4 --replications 2",
    ("run", "trace"): "run --scheduler {name} --trace {trace}",
    ("compare", "law"): "compare --schedulers {name},{other} --requests 4 --replications 2",
    ("compare", "trace"): "compare --schedulers {name},{other} --trace {trace}",
    ("sweep", "law"): "sweep --schedulers {name} --rates 1,2 --requests 4 --replications 2",
    ("trace", "trace"): "trace {trace} --scheduler {name} --speed 1,2",
}
"""Words behind ``sched-sim`` that ask for a cell."""
_MISSING = {
    ("sweep", "trace"),
    ("trace", "law"),
    *((command, kind) for command in ("run", "compare", "sweep", "trace") for kind in NOT_A_FIELD),
}


def commands() -> list[str]:
    """Commands that answer a question about a load."""
    return [name for name in COMMANDS if name not in NO_LOAD]


def schedulers() -> list[str]:
    """Schedulers of this version, then those whose names are reserved."""
    return [*SCHEDULERS, *PLANNED_SCHEDULERS]


def words(command: str, scheduler: str, kind: str, trace: str) -> str:
    """The smallest command of a cell that is simulated."""
    other = "fcfs" if scheduler != "fcfs" else "chunked"
    small = "--hardware rtx3050 --format json"
    return f"{_WORDS[command, kind]} {small}".format(name=scheduler, other=other, trace=trace)


def cell(command: str, scheduler: str, kind: str) -> str:
    """What a command says of a scheduler under a kind of load; empty where nobody has decided."""
    if scheduler in PLANNED_SCHEDULERS or (command, kind) in _MISSING:
        return ABSENT
    if scheduler in EVERY and (command, kind) in _WORDS:
        return SIMULATION
    return ""


def missing_fields() -> dict[str, bool]:
    """For each kind of load that is not in this version, whether a scenario still has no field for it."""
    return {kind: field not in Scenario.__dataclass_fields__ for kind, field in NOT_A_FIELD.items()}


def main() -> None:
    """Print the table, a line a command and scheduler; equal lines of a command together."""
    print(f"| command | scheduler | {' | '.join(KINDS)} |")
    print("| --- " * (2 + len(KINDS)) + "|")
    for command in commands():
        lines: dict[tuple[str, ...], list[str]] = {}
        for name in schedulers():
            lines.setdefault(tuple(cell(command, name, kind) for kind in KINDS), []).append(name)
        for cells, names in lines.items():
            print(f"| {command} | {', '.join(names)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
