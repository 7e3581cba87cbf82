"""A command that is stopped anywhere goes on from there, and its file has the same bytes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from validation.cli.app import main
from validation.cli.interrupted import interrupted

WORDS = "sweep --hardware rtx3050 --schedulers fcfs,chunked,slo --rates 2,5,8,11 --format json --jobs 2"
Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Whole:
    """A command that nobody stopped: its length, its file, and the seconds it took."""

    n_requests: int
    data: bytes
    seconds: float


def _start(n_requests: int, out: Path, *more: str) -> Process:
    words = [*WORDS.split(), "--requests", str(n_requests), "--out", str(out), *more]
    call = [sys.executable, "-m", "validation.cli", *words]
    return subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _stop(process: Process, how: signal.Signals) -> tuple[int, str]:
    """As a terminal does for Ctrl-C: all processes of the command at once; else the command alone."""
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
    said = process.communicate(timeout=60)[1]
    return process.returncode, said


@pytest.fixture(name="whole", scope="module")
def _whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    out, began = tmp_path_factory.mktemp("whole") / "a.json", time.monotonic()
    assert _stop_not(_start(request.param, out)) == 0
    assert [path.name for path in out.parent.iterdir()] == ["a.json"]
    return Whole(request.param, out.read_bytes(), time.monotonic() - began)


def _stop_not(process: Process) -> int:
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    return process.returncode


def _stopped_and_resumed(whole: Whole, folder: Path, how: signal.Signals, share: float) -> bool:
    """Whether it was stopped midway; asserts that it is whole in the end."""
    out, partial = folder / "a.json", folder / "a.json.partial"
    process = _start(whole.n_requests, out)
    time.sleep(share * whole.seconds)
    midway = partial.exists()
    code, said = _stop(process, how)
    kept = partial.read_bytes().count(b"\n") if partial.exists() else 0
    if how == signal.SIGINT and midway and not out.exists():
        assert code in (130, -signal.SIGINT)  # a shell shows 130 for both
        assert said.count("\n") == 1
        assert f"{kept} finished points are kept in {partial}" in said
    if not out.exists():
        assert _stop_not(_start(whole.n_requests, out, "--resume")) == 0
    assert out.read_bytes() == whole.data
    if code == 0 or kept < 12:
        assert [path.name for path in folder.iterdir()] == ["a.json"]
    return bool(kept)


@pytest.mark.parametrize("whole", [150], indirect=True)
@pytest.mark.parametrize(
    ("how", "share"), [(signal.SIGKILL, 0.6), (signal.SIGINT, 0.6), (signal.SIGKILL, 0.8)]
)
def test_three_stopped_sweeps_go_on_to_the_same_bytes(
    whole: Whole, tmp_path: Path, how: signal.Signals, share: float
) -> None:
    _stopped_and_resumed(whole, tmp_path, how, share)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [1200], indirect=True)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_sweep_stopped_at_20_moments_goes_on_to_the_same_bytes(
    whole: Whole, tmp_path: Path, how: signal.Signals
) -> None:
    draw, midway = random.Random(how), 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        midway += _stopped_and_resumed(whole, folder, how, draw.random())
    assert midway >= 3


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_without_a_file_says_that_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("validation.answer.ask.simulate_points", _interrupt)
    assert main(["run", "--requests", "5"]) == 130
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "sched-sim: interrupted; nothing is kept (with --out FILE finished points are)\n"


@pytest.mark.parametrize("words", [["--out", "a.csv"], ["--out=a.csv"]])
def test_an_interrupt_between_points_and_table_says_what_is_kept(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv.partial").write_bytes(b"1\n2\n")
    said = "interrupted; 2 finished points are kept in a.csv.partial; the same words with --resume go on"
    assert interrupted(["sweep", *words]).startswith(said)
    assert interrupted(["info", "a100"]) == "interrupted"


def test_force_begins_again_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, partial = tmp_path / "a.csv", tmp_path / "a.csv.partial"
    words = f"sweep --hardware rtx3050 --requests 9 --rates 1,2 --jobs 1 --format csv --out {out}".split()
    with monkeypatch.context() as patch:
        patch.setattr("validation.cli.answers.emit", _interrupt)
        assert main(words) == 130
    assert "4 finished points are kept" in capsys.readouterr().err
    assert partial.read_bytes().count(b"\n") == 4
    assert main(words) == 2
    assert "--resume to go on, --force to begin again" in capsys.readouterr().err
    partial.write_bytes(b"not a point\n")
    assert main([*words, "--force"]) == 0
    assert not partial.exists()
    fresh = out.read_bytes()
    assert main([*words, "--resume"]) == 2  # the result is there: that alone is no reason to replace it
    assert main([*words, "--resume", "--force"]) == 0
    assert out.read_bytes() == fresh
