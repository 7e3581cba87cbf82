"""The command as a whole: help, version, exit codes, what goes where."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from qtheory.basics.errors import ApproximationWarning, ConfigError
from validation.cli import app as application
from validation.cli.app import COMMANDS, main

HEAVY = ("numpy", "scipy", "pandas", "matplotlib", "sympy", "jinja2")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("words", [[], *([command] for command in COMMANDS)], ids=str)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        f"import sys; from validation.cli.app import main; main({[*words, '--help']}); "
        f"print('heavy:', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = python(code)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "heavy: []"
    assert words or all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr()
    assert f"sched-sim {command}" in shown.out
    assert shown.err == ""


def test_no_words_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Usage: sched-sim" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (ConfigError("rate_rps: -1 must\n be > 0"), 2, "sched-sim: rate_rps: -1 must be > 0\n"),
        (MemoryError(), 2,
         "sched-sim: out of memory; a shorter run, fewer --jobs or fewer --windows need less\n"),
        (RecursionError("deep"), 2, "sched-sim: the input is nested too deeply\n"),
        (OverflowError("int too large"), 2,
         "sched-sim: a number is too large to calculate with (int too large)\n"),
        (OSError(28, "No space left on device"), 2,
         "sched-sim: standard output: cannot be used (No space left on device)\n"),
        (PermissionError(13, "Permission denied", "a.csv"), 2,
         "sched-sim: a.csv: cannot be used (Permission denied)\n"),
        (KeyboardInterrupt(), 130,
         "sched-sim: interrupted; nothing is kept (with --out FILE finished points are)\n"),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_an_exit_code(
    raised: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(application, "app", fail)
    assert main(["run"]) == code
    assert capsys.readouterr() == ("", line)


def test_a_bug_shows_its_trace_and_has_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "app", lambda *_, **__: 1 // 0)
    assert main(["run"]) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "notes"), [([], 1), (["-q"], 0)])
def test_a_warning_is_a_note_of_one_line_unless_quiet_is_wanted(
    words: list[str], notes: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn(*_: object, **__: object) -> None:
        warnings.warn("load above 0.9: outside\nthe range", ApproximationWarning, stacklevel=1)

    monkeypatch.setattr(application, "app", warn)
    assert main(["run", *words]) == 0
    assert capsys.readouterr().err == notes * "sched-sim: note: load above 0.9: outside the range\n"


def test_a_closed_pipe_is_quiet() -> None:
    call = [sys.executable, "-m", "validation.cli", "info", "--format", "json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()  # long before anything is written
        complaint = started.stderr.read()
    assert (started.returncode, complaint) == (141, b"")


@pytest.mark.parametrize(
    ("shell", "code", "words"),
    [
        ("info > /dev/full", 2, "standard output: cannot be used (No space left on device)"),
        ("info >&-", 2, "standard output: is closed"),
        ("info lost 2>/dev/full", 2, ""),
        ("info lost 2>&-", 2, ""),
    ],
)
def test_an_output_that_takes_nothing_is_told_in_one_line(shell: str, code: int, words: str) -> None:
    line = f"{sys.executable} -m validation.cli {shell}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == bool(words)


def test_a_help_that_nobody_reads_to_its_end_is_a_closed_pipe() -> None:
    call = [sys.executable, "-m", "validation.cli", "run", "--help"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        complaint = started.stderr.read()
    assert (started.returncode, complaint) == (141, b"")
