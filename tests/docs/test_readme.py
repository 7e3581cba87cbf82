"""The table of speeds in the README has the rows that are measured today."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.speed import rows
from validation.trust import section_names

README = Path(__file__).parents[2] / "README.md"
_TRACE = "Mooncake"  # measured where the trace is


def test_the_table_of_speeds_has_what_is_measured() -> None:
    text = README.read_text(encoding="utf-8")
    assert section_names(text) == ["speed"]
    table = text.split("<!-- table: speed -->")[1].split("<!-- end -->")[0]
    said = {
        (what, which)
        for what, found in re.findall(r"^\| (\w.*?) \| (.*) \|$", table, re.MULTILINE)
        for which in re.findall(r"(?:^|, )(.+?) [\d,]+ \([\d,]+\)(?=, |$)", found)
        if _TRACE not in what
    }
    assert said == {(what, which) for what, which, _, _ in rows() if _TRACE not in what}
