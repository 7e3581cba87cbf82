"""Progress speaks only where it helps."""

from __future__ import annotations

import io

import pytest

from validation.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_short_work_says_nothing() -> None:
    stream = io.StringIO()
    with Progress(what="runs", stream=stream, patience_s=60.0) as progress:
        progress(1, 2)
    assert stream.getvalue() == ""


def test_quiet_says_nothing_however_long_it_takes() -> None:
    stream = Terminal()
    with Progress(what="runs", quiet=True, stream=stream, patience_s=0.0) as progress:
        progress(1, 2)
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_is_wiped_at_the_end() -> None:
    stream = Terminal()
    with Progress(what="runs", stream=stream, patience_s=0.0) as progress:
        progress(1, 2)
        progress(2, 2)
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("runs: 2 of 2\r\033[K")


def test_a_log_has_whole_lines_and_few_of_them() -> None:
    stream = io.StringIO()
    with Progress(what="runs", stream=stream, patience_s=0.0) as progress:
        progress(1, 2)
    assert stream.getvalue() == "runs: 1 of 2, about 1 s left\n"
    stream = io.StringIO()
    with Progress(what="runs", stream=stream, patience_s=30.0) as progress:
        for done, waited_s in ((1, 31.0), (2, 301.0), (3, 31.0)):
            progress._last_s -= waited_s  # as if so many seconds had gone by
            progress(done, 4)
    assert stream.getvalue() == "runs: 2 of 4, about 1 s left\n"


@pytest.mark.parametrize(
    ("spent_s", "there", "words"),
    [(60.0, 0, "about 90 s left"), (600.0, 0, "about 15 min left"), (36000.0, 0, "about 15.0 h left"),
     (60.0, 2, "about 90 s left")],
)  # fmt: skip
def test_what_is_left_follows_from_what_was_done_here(spent_s: float, there: int, words: str) -> None:
    stream = io.StringIO()
    with Progress(what="points", stream=stream, patience_s=0.0) as progress:
        progress._began_s -= spent_s / 2
        progress(there + 1, there + 5)
        progress._began_s -= spent_s / 2
        progress(there + 2, there + 5)
    assert stream.getvalue().splitlines()[-1] == f"points: {there + 2} of {there + 5}, {words}"
