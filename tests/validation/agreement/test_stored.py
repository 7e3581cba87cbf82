"""A comparison that was kept is read back as it was, or refused with the place where it is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from tests.validation.agreement.kept import ORIGIN, as_kept, made, refused
from validation.agreement import agreement_text, read_agreement

Data = dict[str, Any]
SCORES = [made(0, 0.01), made(1, -0.3), made(2, 0.01, half=0.5), refused(3, "no <memory> & no hope")]


def test_cells_come_back_with_all_their_verdicts_numbers_that_are_not_finite_included(
    tmp_path: Path,
) -> None:
    path = tmp_path / "full.json"
    path.write_text(as_kept(SCORES))
    found = read_agreement(path)
    assert found.scores == SCORES
    assert found.provenance == ORIGIN
    assert agreement_text(found.scores) == agreement_text(SCORES)


def test_the_lower_end_of_an_interval_of_few_runs_may_be_below_zero(tmp_path: Path) -> None:
    wide = {"p95_itl_s": 0.02, "p95_itl_s_low": -0.08, "p95_itl_s_high": 0.12}
    one = made(0, 0.01)
    one = made(0, 0.01, simulated=one.simulated | wide)
    path = tmp_path / "full.json"
    path.write_text(as_kept([one]))
    assert read_agreement(path).scores == [one]


def _set(value: Any, *path: Any) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def _drop(*path: Any) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("queueserve/0", "schema"), "its schema is not queueserve/1"),
        (_set([], "result"), "result: holds no cells"),
        (_set([1], "result"), "result: holds no cells"),
        (_drop("result", 0), "summary: does not count its 3 cells"),
        (_set("numeric", "result", 0, "errors"), "result 1: errors: 'numeric' must have names among"),
        (
            _set(0.0, "result", 1, "errors", "numeric", "mean_ttft_s"),
            "result 2: errors of numeric do not follow from its numbers",
        ),
        (
            _drop("result", 1, "errors", "numeric", "mean_ttft_s"),
            "result 2: errors of numeric do not follow from its numbers",
        ),
        (_drop("result", 1, "errors", "closed"), "result 2: errors and predicted are not of the same names"),
        (_set("within", "result", 1, "verdicts", "numeric"), "result 2: verdicts are not those"),
        (_set(0, "result", 1, "cell", "number"), "result 2: cell 0 is result 1 too"),
        (
            _set("chunkd", "result", 1, "cell", "scheduler"),
            "result 2: cell: scheduler: unknown 'chunkd' (did you mean 'chunked'?); one of fcfs, chunked",
        ),
        (_drop("provenance"), "provenance: must be a table with version, grid and effort"),
        (_drop("provenance", "grid"), "provenance: must be a table with version, grid and effort"),
        (_set(True, "result", 1, "cell", "load_frac"), "result 2: cell: load_frac: True must be a number"),
        (_set(0, "result", 1, "cell", "load_frac"), "result 2: cell: load_frac=0 must be > 0"),
        (
            _set(10**400, "result", 1, "cell", "load_frac"),
            "result 2: cell: load_frac: 1e+400 must be a number",
        ),
        (_set(1.5, "result", 1, "cell", "number"), "result 2: cell: number=1.5 must be a whole number"),
        (_set(3, "result", 1, "cell", "model"), "result 2: cell: model: 3 must be text"),
        (
            _set("x", "result", 1, "simulated", "rate_rps"),
            "result 2: simulated: rate_rps: 'x' must be a number",
        ),
        (_set(-1.0, "result", 1, "overload", "rate_rps"), "result 2: overload: rate_rps=-1 must be > 0"),
        (
            _set(-1.0, "result", 1, "overload", "limit_error_rps"),
            "result 2: overload: limit_error_rps=-1 must be >= 0",
        ),
        (_set(-1.0, "result", 1, "knee", "half_frac"), "result 2: knee: half_frac=-1 must be >= 0"),
        (
            _set(-0.1, "result", 1, "simulated", "mean_ttft_s_half"),
            "result 2: simulated: mean_ttft_s_half=-0.1 must be >= 0",
        ),
        (
            _set(-0.1, "result", 1, "simulated", "p95_itl_s"),
            "result 2: simulated: p95_itl_s=-0.1 must be >= 0",
        ),
        (_drop("provenance", "effort"), "provenance: must be a table with version, grid and effort"),
        (_drop("provenance", "effort", "seed"), "provenance: effort: lacks seed"),
        (
            _set(1, "provenance", "effort", "n_replications"),
            "provenance: effort: n_replications: 1 must be",
        ),
        (
            _set("many", "provenance", "effort", "most_requests"),
            "provenance: effort: most_requests='many' must be a whole number",
        ),
        (_set([], "result", 1, "knee"), "result 2: knee: [] must be a table"),
        (_drop("result", 1, "binds"), "result 2: lacks binds"),
        (_set(1, "result", 1, "bind"), "result 2: has an unknown 'bind'"),
    ],
)
def test_what_was_changed_by_hand_is_refused_with_its_place(
    change: Callable[[Data], None], said: str, tmp_path: Path
) -> None:
    data = json.loads(as_kept(SCORES))
    change(data)
    path = tmp_path / "full.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))}: {re.escape(said)}") as error:
        read_agreement(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("[1, 2]", "its schema is not"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": NaN}', "NaN is no number of JSON"),
    ],
)
def test_another_file_is_refused(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "full.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(said)):
        read_agreement(path)
