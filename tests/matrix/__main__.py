"""What each command says of each scheduler under each kind of load: a simulation, theory, or nothing yet.

``python -m tests.matrix`` prints the table of ``docs/matrix.md``.
"""

from __future__ import annotations

from pathlib import Path

from qtheory.predict import MODELLED_SCHEDULERS
from qtheory.system.scheduler import SCHEDULERS
from validation.cli.app import COMMANDS

SIMULATION, THEORY, ABSENT = "simulation", "theory", "not in this version"
NO_FILE = "– (a law has no file: run, sweep)"
ANSWERS = (SIMULATION, THEORY, ABSENT, NO_FILE)
KINDS = ("law", "day", "trace", "prefixes", "conversations", "replicas")
NO_LOAD = ("calibrate", "info", "queue", "validate")
"""Commands that answer no question about a load."""
EVERY = (
    *("fcfs", "static", "orca", "chunked", "sjf", "priority", "slo", "cache_aware", "fair", "lifo"),
    *("vllm", "vllm-v0", "sglang", "trtllm", "sarathi", "disaggregated"),
)

_WORDS = {
    ("run", "law"): "run --scheduler {name} --requests 4 --replications 2",
    ("run", "trace"): "run --scheduler {name} --trace {trace}",
    ("compare", "law"): "compare --schedulers {name},{other} --requests 4 --replications 2",
    ("compare", "trace"): "compare --schedulers {name},{other} --trace {trace}",
    ("sweep", "law"): "sweep --schedulers {name} --rates 1,2 --requests 4 --replications 2",
    ("sweep", "trace"): "sweep --schedulers {name} --rates 1,2 --trace {trace}",
    ("trace", "trace"): "trace {trace} --scheduler {name} --speed 1,2",
    ("run", "day"): "run --scheduler {name} --requests 4 --replications 2 {day}",
    ("compare", "day"): "compare --schedulers {name},{other} --requests 4 --replications 2 {day}",
    ("sweep", "day"): "sweep --schedulers {name} --rates 1,2 --requests 4 --replications 2 {day}",
    ("knee", "day"): "knee --schedulers {name} {knee} {day}",
    ("plan", "day"): "plan --schedulers {name} {plan} {day}",
    ("predict", "law"): "predict --scheduler {name} {predict}",
    ("predict", "day"): "predict --scheduler {name} {predict} {day}",
    ("predict", "replicas"): "predict --scheduler {name} {predict} --replicas 2",
    ("knee", "law"): "knee --schedulers {name} {knee}",
    ("knee", "trace"): "knee --schedulers {name} --trace {knee_trace} --ttft-slo-s 1 --tier closed",
    ("knee", "prefixes"): "knee --schedulers {name} {knee} {prefixes}",
    ("knee", "conversations"): "knee --schedulers {name} {knee} {conversations}",
    ("knee", "replicas"): "knee --schedulers {name} {knee} --replicas 2",
    ("plan", "law"): "plan --schedulers {name} {plan}",
    ("plan", "trace"): "plan --schedulers {name} {plan} --trace {trace}",
    ("plan", "prefixes"): "plan --schedulers {name} {plan} {prefixes}",
    ("plan", "conversations"): "plan --schedulers {name} {plan} {conversations}",
    ("plan", "replicas"): "plan --schedulers {name} {plan} --rate 40",
    ("run", "replicas"): "run --scheduler {name} --requests 4 --replications 2 --replicas 2",
    ("compare", "replicas"): "compare --schedulers {name},{other} --trace {trace} --replicas 2 "
    "--router least_requests",
    ("sweep", "replicas"): "sweep --schedulers {name} --rates 1,2 --requests 4 --replications 2 --replicas 2",
    ("trace", "replicas"): "trace {trace} --scheduler {name} --speed 1,2 --replicas 2 --router kv_cost",
    ("run", "prefixes"): "run --scheduler {name} {load} {prefixes}",
    ("compare", "prefixes"): "compare --schedulers {name},{other} {load} {prefixes}",
    ("sweep", "prefixes"): "sweep --schedulers {name} --rates 1,2 {load} {prefixes}",
    ("trace", "prefixes"): "trace {trace} --scheduler {name} {prefixes}",
    ("run", "conversations"): "run --scheduler {name} {load} {conversations}",
    ("compare", "conversations"): "compare --schedulers {name},{other} {load} {conversations}",
    ("sweep", "conversations"): "sweep --schedulers {name} --rates 1,2 {load} {conversations}",
    ("trace", "conversations"): "trace {turns} --scheduler {name} --prefix-cache",
}
"""Words behind ``sched-sim`` that ask for a cell."""
_PARTS = {
    "load": "--requests 6 --replications 2",
    "plan": "--model qwen2.5-0.5b --tp 1 --price rtx3050=0.1",
    "knee": "--workload rag --requests 24 --ttft-slo-s 1 --tier closed --precision 0.5",
    "predict": "--rate 0.5 --tier closed",
    "day": "--arrivals day(peak_to_mean=1.5,period_s=40)",
    "prefixes": "--prefix-cache --prefix shared(tokens=64)",
    "conversations": "--prefix-cache --conversations turns(n=3,think_s=0.5,message=20)",
}


def commands() -> list[str]:
    """Commands that answer a question about a load."""
    return [name for name in COMMANDS if name not in NO_LOAD]


def schedulers() -> list[str]:
    """Schedulers of this version."""
    return list(SCHEDULERS)


def words(command: str, scheduler: str, kind: str, trace: str) -> str:
    """The smallest command of a cell that is simulated."""
    other = "fcfs" if scheduler != "fcfs" else "chunked"
    small = "--hardware rtx3050 --format json"
    files = {"trace": trace, "turns": str(Path(trace).with_suffix(".jsonl"))}  # the second with block ids
    files["knee_trace"] = str(Path(trace).with_name("knee.csv"))  # with enough requests to be too many
    return f"{_WORDS[command, kind]} {small}".format(name=scheduler, other=other, **files, **_PARTS)


def cell(command: str, scheduler: str, kind: str) -> str:
    """What a command says of a scheduler under a kind of load; empty where nobody has decided."""
    if (command, kind) in (("trace", "law"), ("trace", "day")):
        return NO_FILE
    if command == "plan":
        return _plan_cell(scheduler, kind)
    if command == "predict":
        return THEORY if scheduler in MODELLED_SCHEDULERS and (command, kind) in _WORDS else ABSENT
    if (command, kind) == ("knee", "law") and scheduler in MODELLED_SCHEDULERS:
        return THEORY
    if (command, scheduler, kind) == ("knee", "disaggregated", "replicas"):
        return THEORY  # one instance of each kind
    if scheduler in EVERY and (command, kind) in _WORDS:
        return SIMULATION
    return ""


def _plan_cell(scheduler: str, kind: str) -> str:
    """A plan is theory; what has no model it simulates with ``--tier sim``."""
    if scheduler in MODELLED_SCHEDULERS and kind not in ("prefixes", "conversations"):
        return THEORY
    return ABSENT if scheduler == "disaggregated" else SIMULATION


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
