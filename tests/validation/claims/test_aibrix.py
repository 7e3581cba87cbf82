"""The claim on routing of long histories: what stays, what is drawn, and the form of the files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from validation.claims import aibrix, check_claims
from validation.claims._aibrix_runs import FILES, Run, read_experiments
from validation.claims._aibrix_served import Setting, served

NAME = "aibrix-routing"
DATA = Path(__file__).parents[2] / "data" / "claims"


def _run(users: list[int], gap_s: float) -> Run:
    n = len(users)
    one = np.ones(n, dtype=np.int64)
    return Run(
        rate_rps=1 / gap_s,
        sent_s=gap_s * np.arange(n, dtype=np.float64),
        user=np.array(users),
        prompt_tokens=21_073 * one,
        output_tokens=10 * one,
        ttft_s=2.0 * np.ones(n),
        decode_s=np.ones(n),
    )


def _setting(is_sticky: bool) -> Setting:
    return Setting(hit_s=0.2, cold_s=2.0, prompt_tokens=21_073, token_s=0.014, is_sticky=is_sticky)


def test_users_who_stay_find_their_history_and_others_mostly_do_not() -> None:
    runs = [_run([1, 2, 3], 5.0), _run([3, 1, 2, 1, 3], 5.0)]
    stays, drawn = (served(runs, _setting(is_sticky), 1) for is_sticky in (True, False))
    assert all(np.all(ttft < 0.3) for ttft, _ in stays)
    assert float(drawn[0][0].min()) > 1.5
    assert [len(ttft) for ttft, _ in drawn] == [3, 5]


def test_more_histories_than_the_memory_holds_are_lost_in_turn() -> None:
    """With 60 users a replica in place of 20 they push each other out of its 120 GiB."""
    few, many = (served([_run(list(range(n)), 1.0)] * 2, _setting(True), 0)[1][0] for n in (8 * 20, 8 * 60))
    assert np.mean(few > 1.0) < 0.02
    assert np.mean(many > 1.0) > 0.5


def test_what_a_larger_run_leaves_behind_decides_on_the_smaller_one_after_it() -> None:
    """8 x 50 users do not fit, 8 x 40 do, unless the others came before them and left the latest."""
    runs = [_run(list(range(8 * n)), 2.0) for n in (40, 50)]
    up, down = (served(runs, _setting(True), 0, from_the_top=top)[0][0] for top in (False, True))
    assert np.mean(up > 1.0) < 0.1
    assert np.mean(down > 1.0) > 0.3


def test_extracts_have_the_form_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aibrix, "_DRAWS", 2)
    (result,) = check_claims([NAME], data=DATA).results
    text = result.text()
    assert "v0.3.0 aibrix_kvcache_dram: left out, as no service without a router tells its prompts" in text
    assert "v0.2.1 naive: mean TTFT within 25%, in the median over 2 rates" in text
    assert "v0.2.1 ps_stack_low_high: first tokens" in text
    assert result.finding is not None
    assert len(result.finding.points) == 2 * 2 * 2


def test_one_rate_is_too_few_and_a_cell_without_a_number_is_told(tmp_path: Path) -> None:
    for file in FILES:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        lines = gzip.decompress((DATA / file).read_bytes()).decode().splitlines(keepends=True)
        path.write_bytes(gzip.compress("".join(lines[:4]).encode()))
    with pytest.raises(ConfigError, match="at least two rates"):
        read_experiments(tmp_path)
    path.write_bytes(gzip.compress("".join(lines[:4]).replace("0.1,0.0", "0.1,x", 1).encode()))
    with pytest.raises(ConfigError, match="launch_s: 'x' is not a number"):
        read_experiments(tmp_path)
