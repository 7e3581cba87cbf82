"""Processes end with the command that started them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Study, Workers, work
from validation.answer.workers import n_cores

LONG = (
    "import os, signal, time; from validation.answer import Workers\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may have switched it off
    "with Workers(2) as workers:\n"
    "    print(*{workers.submit(os.getpid).result() for _ in range(20)}, flush=True)\n"
    "    [each.result() for each in [workers.submit(time.sleep, 60) for _ in range(2)]]\n"
)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def _until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_no_process_outlives_its_parent(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        assert started.stdout is not None
        workers = [int(word) for word in started.stdout.readline().split()]
        assert workers
        assert all(_alive(pid) for pid in workers)
        started.send_signal(how)
        started.wait(20)
    assert _until(lambda: not any(_alive(pid) for pid in workers))


def test_an_error_in_the_block_ends_tasks_that_would_take_long() -> None:
    began = time.monotonic()
    workers = Workers(1)
    with contextlib.suppress(KeyError), workers:
        workers.submit(time.sleep, 60)
        raise KeyError
    assert time.monotonic() - began < 20
    assert not multiprocessing.active_children()


def test_nothing_is_started_for_nothing() -> None:
    with Workers(4):
        assert not multiprocessing.active_children()


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "replicate", _die)
    with pytest.raises(ServingError, match="ended unexpectedly"), Workers(1) as workers:
        answer.run(Scenario(hardware="rtx3050", requests=5), study=Study(), executor=workers)


def test_the_number_of_processes_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validation.answer.workers.n_cores", n_cores)  # not the one core of the tests
    assert Workers().jobs == n_cores() >= 1
    with pytest.raises(ConfigError, match="jobs: 0"):
        Workers(0)
