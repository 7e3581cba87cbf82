"""Flags of `sched-sim queue` as people write them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from validation.cli.app import main

MM1 = ["queue", "M/M/1", "--rate", "0.8", "--service-rate", "1"]


def asked(line: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*line, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["result"][0])


def test_percentiles_of_many_nines_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    levels = "99.99999,99.9999999999999,0.0000001"
    row = asked([*MM1, "--percentiles", levels], capsys)
    for level in levels.split(","):
        tail = 0.8 / (1 - float(level) / 100)
        wanted = max(math.log(tail) / 0.2, 0.0)
        assert row[f"p{level}_wait_s"] == pytest.approx(wanted, rel=1e-2)
    assert main([*MM1, "--percentiles", levels]) == 0
    assert " p99.99999 " in capsys.readouterr().out


def test_flags_can_leave_their_unit_out(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["queue", "Erlang A", "--rate", "55", "--mean-service", "1", "--n-servers", "50"]
    short, long = (asked([*line, flag, "2"], capsys) for flag in ("--mean-patience", "--mean-patience-s"))
    assert short == long
