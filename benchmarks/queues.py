"""The queueing library: milliseconds against targets, and ratios to other libraries within one run.

The others are installed for the benchmark only, into a virtual environment of their own below that of the
project; without them (no network, say) a line says so. All are asked the same, and differences are listed.
Times are CPU times, the best of several runs.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qtheory.laws import Erlang, Exponential, Gamma, Lognormal
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.queues.batch import AffineService, BatchQueue, MMb1
from qtheory.queues.kendall import QueueModel
from qtheory.queues.multi import ErlangA, MapPhC, MDc, MMc, MMcK
from qtheory.queues.priority import SJF, SRPT, NonpreemptivePriority, ProcessorSharing
from qtheory.queues.single import GM1, MD1, MG1, MM1, MultipleVacations

from .peers import PACKAGES

LOG = Lognormal(mean=1.0, cv=1.5)
ARRIVALS: dict[str, list[list[float]]] = {
    "without": [[-2.0, 0.5], [0.1, -0.6]],
    "with_arrival": [[1.3, 0.2], [0.1, 0.4]],
}
INSTALL_S, RUN_S = 1200.0, 300.0
LEAST_S = 0.3
SAME = 1e-6
SIMULATES = {"ciw"}


@dataclass(frozen=True)
class Target:
    """A call, and how many milliseconds it may take."""

    name: str
    most_ms: float
    call: Callable[[], object]


def _large_batch() -> BatchQueue:
    service, size = AffineService(base_s=0.05, slope_s=0.01), 256
    return BatchQueue(rate_rps=0.95 * size / service(size).mean, service=service, max_batch=size)


def targets() -> list[Target]:
    """Closed forms, percentiles by inversion, the chain of a large batch, the integral of SRPT."""
    gamma, two, uneven = Gamma(mean=1.0, cv=1.5), Erlang(k=2, mean=1.25), [Exponential(mean=1.0), LOG]
    closed: dict[str, QueueModel] = {
        "M/M/1": MM1(rate_rps=0.8, service_rate_rps=1.0),
        "M/D/1": MD1(rate_rps=0.8, service_s=1.0),
        "M/G/1 lognormal": MG1(rate_rps=0.8, service=LOG),
        "M/M/100": MMc(rate_rps=90.0, service_rate_rps=1.0, n_servers=100),
        "M/M/100,000": MMc(rate_rps=99_000.0, service_rate_rps=1.0, n_servers=100_000),
        "M/M/4/12": MMcK(rate_rps=3.0, service_rate_rps=1.0, n_servers=4, capacity=12),
        "M/G/1-PS": ProcessorSharing(rate_rps=0.8, service=LOG),
    }
    inverted: dict[str, QueueModel] = {
        "M/G/1 lognormal": MG1(rate_rps=0.8, service=LOG),
        "M/G/1 gamma": MG1(rate_rps=0.95, service=gamma),
        "M/G/1 vacations": MultipleVacations(rate_rps=0.7, service=LOG, vacation=Exponential(mean=2.0)),
        "M/G/1 priority, second class": NonpreemptivePriority(rate_rps=[0.3, 0.4], service=uneven),
        "M/G/1-PS": ProcessorSharing(rate_rps=0.8, service=LOG),
        "M/G/1-SRPT": SRPT(rate_rps=0.8, service=LOG),
        "M/G/1-SJF": SJF(rate_rps=0.8, service=LOG),
    }
    found = [Target(f"closed form, {name}", 0.2, model.solve) for name, model in closed.items()]
    for name, model in inverted.items():
        found.append(Target(f"p99 by inversion, {name}", 20.0, _percentile(model)))
    return [
        *found,
        Target("root of a transform, G/M/1", 20.0, GM1(interval=two, service_rate_rps=1.0).solve),
        Target("root, M/M[1,8]/1", 20.0, MMb1(rate_rps=6.0, service_rate_rps=1.0, max_batch=8).solve),
        Target("p99 of M/D/1 at load 0.999", 20.0, _percentile(MD1(rate_rps=0.999, service_s=1.0))),
        Target("chain of M/D[1,256]/1 at load 0.95", 50.0, lambda: _large_batch().solve()),
        Target("first p99 of the same", 50.0, lambda: _percentile(_large_batch())()),
        Target("mean of SRPT, lognormal", 200.0, SRPT(rate_rps=0.8, service=LOG).solve),
    ]


def _percentile(model: QueueModel) -> Callable[[], float]:
    def call() -> float:
        answer = model.solve()
        laws: Any = getattr(answer, "response_by_class", None) or (None, answer.response)
        return float(laws[1].ppf(0.99))

    return call


def cases() -> dict[str, Callable[[], object]]:
    """What the others are asked too, by its name in `peers`."""
    exponential, sizes = Exponential(mean=1.0), Gamma(mean=1.0, cv=1.5)
    return {
        "M/M/10 wait": lambda: MMc(rate_rps=9.0, service_rate_rps=1.0, n_servers=10).solve().mean_wait_s,
        "M/M/1000 wait": lambda: (
            MMc(rate_rps=970.0, service_rate_rps=1.0, n_servers=1000).solve().mean_wait_s
        ),
        "M/M/4/12 wait": lambda: (
            MMcK(rate_rps=3.0, service_rate_rps=1.0, n_servers=4, capacity=12).solve().mean_wait_s
        ),
        "M/G/1 wait": lambda: MG1(rate_rps=0.8, service=LOG).solve().mean_wait_s,
        "M/D/5 P(empty)": lambda: MDc(rate_rps=4.0, service_s=1.0, n_servers=5).solve().prob_empty,
        "M/M/10+M wait": lambda: (
            ErlangA(rate_rps=12.0, mean_patience_s=2.0, service_rate_rps=1.0, n_servers=10)
            .solve()
            .mean_wait_s
        ),
        "M/G/1-PS response": lambda: ProcessorSharing(rate_rps=0.8, service=LOG).solve().mean_response_s,
        "M/G/1-SRPT response": lambda: SRPT(rate_rps=0.8, service=sizes).solve().mean_response_s,
        "M/G/1 vacations wait": lambda: (
            MultipleVacations(rate_rps=0.7, service=exponential, vacation=Exponential(mean=2.0))
            .solve()
            .mean_wait_s
        ),
        "M/G/1 priority wait 2": lambda: (
            NonpreemptivePriority(rate_rps=[0.3, 0.4], service=[exponential] * 2)
            .solve()
            .mean_wait_s_by_class[1]
        ),
        **_by_matrices(),
        "M/M[1,8]/1 response": lambda: (
            MMb1(rate_rps=6.0, service_rate_rps=1.0, max_batch=8).solve().mean_response_s
        ),
    }


def _by_matrices() -> dict[str, Callable[[], object]]:
    two = Erlang(k=2, mean=1.0)
    faster = {name: (3.0 * np.array(rates)).tolist() for name, rates in ARRIVALS.items()}
    return {
        "MAP/PH/1 wait": lambda: (
            MapPhC(arrivals=MarkovianArrivals(**ARRIVALS), service=two).solve().mean_wait_s
        ),
        "MAP/PH/3 wait": lambda: (
            MapPhC(arrivals=MarkovianArrivals(**faster), service=two, n_servers=3).solve().mean_wait_s
        ),
    }


def fastest(call: Callable[[], object]) -> tuple[float, object]:
    """Seconds of the fastest of the runs that fit in a third of a second, at least three, and the answer."""
    best, spent, n, value = math.inf, 0.0, 0, None
    while spent < LEAST_S or n < 3:
        start = time.process_time()
        value = call()
        took = time.process_time() - start
        best, spent, n = min(best, took), spent + took, n + 1
    return best, value


def interpreter() -> Path:
    """That of the environment of the other libraries, made if it is not there."""
    folder = Path(sys.prefix) / "peers"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    return python


def installed(python: Path, name: str) -> str:
    """Why a library cannot be asked; empty if it can."""
    there = subprocess.run([str(python), "-c", f"import {PACKAGES[name]}"], capture_output=True, check=False)
    if there.returncode == 0:
        return ""
    print(f"installing {name} for the benchmark", flush=True)
    call = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", name]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=INSTALL_S)
    except (subprocess.TimeoutExpired, OSError) as error:
        return type(error).__name__
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return "" if done.returncode == 0 else (lines[-1] if lines else f"pip ended with {done.returncode}")


def answers(python: Path, name: str) -> Iterator[dict[str, object]]:
    """Lines of `peers` for one library."""
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run(
        [str(python), str(script), name],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_S,
    )
    for line in done.stdout.splitlines():
        yield json.loads(line)
    if done.returncode != 0:
        yield {"case": "the rest", "error": (done.stderr.splitlines() or ["ended without a word"])[-1]}


def show_targets() -> None:
    """Milliseconds of our own, against what they may be."""
    n_missed = 0
    for target in targets():
        ms = 1000 * fastest(target.call)[0]
        n_missed += ms > target.most_ms
        print(f"{target.name}: {ms:.3g} ms, target {target.most_ms:g} ms: {_verdict(ms <= target.most_ms)}")
    print(f"{len(targets()) - n_missed} targets met, {n_missed} missed")


def _verdict(met: bool) -> str:
    return "pass" if met else "miss"


def show_peers() -> None:
    """Ratios to the other libraries, and where they answer otherwise."""
    try:
        python = interpreter()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"other libraries: skipped, no environment for them ({error})")
        return
    ours: dict[str, tuple[float, float]] = {}
    differences: list[str] = []
    for name in PACKAGES:
        reason = installed(python, name)
        if reason:
            print(f"{name}: skipped, not installed ({reason})")
            continue
        for line in answers(python, name):
            case = str(line["case"])
            if "error" in line:
                print(f"{name}, {case}: no answer ({str(line['error'])[:100]})")
                continue
            if case not in ours:
                ours[case] = _own(case)
            _compare(name, line, ours[case], differences)
    if ours:
        print("differences:" if differences else "differences: none", *differences, sep="\n")


def _own(case: str) -> tuple[float, float]:
    seconds, value = fastest(cases()[case])
    return seconds, float(str(value))


def _compare(name: str, line: dict[str, object], own: tuple[float, float], differences: list[str]) -> None:
    case, value, seconds = str(line["case"]), float(str(line["value"])), float(str(line["seconds"]))
    print(f"{name}, {case}: {seconds / own[0]:.3g} times our {1000 * own[0]:.3g} ms")
    off = abs(value - own[1]) / abs(own[1])
    if off > SAME:
        kind = " (a simulation)" if name in SIMULATES else ""
        differences.append(f"  {name}, {case}: {value:.9g}{kind}, ours {own[1]:.9g}, {off:.1g} apart")


def main() -> None:
    """Print the tables."""
    show_targets()
    show_peers()
