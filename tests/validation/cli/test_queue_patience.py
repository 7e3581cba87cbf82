"""An answer that takes long is announced."""

from __future__ import annotations

import time

import pytest

from validation.cli._queue_patience import told_if_slow


def test_an_answer_long_in_coming_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    with told_if_slow("wait a little", after_s=0.02):
        end_s = time.process_time() + 0.3
        while time.process_time() < end_s:
            pass
    assert capsys.readouterr().err == "sched-sim: note: wait a little\n"
    with told_if_slow("wait a little", after_s=60.0):
        pass
    with told_if_slow("wait a little", quiet=True, after_s=0.0):
        time.sleep(0.02)
    assert capsys.readouterr().err == ""
