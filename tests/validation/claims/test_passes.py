"""The claims on measured passes of Sarathi-Serve and Splitwise: what is fitted on what, and left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.claims import check_claims
from validation.claims._pass_loads import chunk, decodes, prompts
from validation.claims.claim import Finding
from validation.claims.sarathi import PASSES
from validation.claims.splitwise import FILE

DATA = Path(__file__).parents[2] / "data" / "claims"


def _answered(name: str, folder: Path) -> Finding:
    (result,) = check_claims([name], data=folder).results
    assert result.finding is not None
    return result.finding


def _copied(folder: Path, file: str, old: str, new: str) -> Path:
    part = Path(file).parent
    shutil.copytree(DATA / part, folder / part)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def test_chunks_have_the_attention_of_the_whole_prompt() -> None:
    whole = prompts(1000)
    pieces = [chunk(250, work=250 * k + 250 * 251 / 2, behind=k) for k in range(0, 1000, 250)]
    assert sum(piece.prefill_work for piece in pieces) == whole.prefill_work
    assert pieces[-1].prefill_context_tokens == whole.prefill_context_tokens
    assert decodes(3, 100.5).decode_context_tokens == 302


def test_chunks_and_decodes_are_compared_and_what_a_longer_prompt_undercuts_is_not_fitted(
    tmp_path: Path,
) -> None:
    finding = _answered("sarathi-chunks", DATA)
    assert [part.holds for part in finding.parts] == [True, True, False, False]
    assert len(finding.points) == 8 + 1 + 11  # decodes, the hybrid step, prompts that are cut
    worse = _copied(tmp_path, PASSES, "prefill,256,0,0.12135", "prefill,256,0,9.9")
    again = _answered("sarathi-chunks", worse)
    assert (again.parts, again.points, again.notes[0]) == (finding.parts, finding.points, finding.notes[0])
    assert finding.notes[1].startswith("left out, as a longer prompt took less: 256; with all 8: ")
    assert again.notes[1] != finding.notes[1]


def test_a_prompt_that_no_longer_one_undercuts_is_fitted(tmp_path: Path) -> None:
    like_others = _copied(tmp_path, PASSES, "prefill,256,0,0.12135", "prefill,256,0,0.07")
    told, left_out, _ = _answered("sarathi-chunks", like_others).notes
    assert told.startswith("told by 8 whole prompts")
    assert left_out.startswith("left out, as a longer prompt took less: none")


def test_slower_decodes_change_their_verdict_alone(tmp_path: Path) -> None:
    slow = _copied(tmp_path, PASSES, "decode,0,32,0.08790", "decode,0,32,0.04790")
    before, after = (_answered("sarathi-chunks", folder).parts for folder in (DATA, slow))
    assert before[:3] == after[:3]
    assert before[3].found != after[3].found


def test_batches_are_foretold_and_what_did_not_run_at_once_is_left_out() -> None:
    finding = _answered("splitwise-batches", DATA)
    prompt, token = finding.parts
    assert prompt.holds
    assert token.holds
    assert len(finding.points) == 10  # two to thirty-two sequences; 64 prompts took less than 32
    left_out, split, _ = finding.notes
    assert left_out == "left out, as not known: bloom-176b on a100-80gb, llama2-70b on h100-80gb-pcap"
    assert split.startswith("1 batches took less")


def test_slow_batches_are_missed(tmp_path: Path) -> None:
    rows = (DATA / FILE).read_text(encoding="utf-8").splitlines()
    batches = [
        row.split(",") for row in rows if ",512," in row and row.split(",")[4] not in ("1", "batch_size")
    ]
    text = "\n".join(rows)
    for row in batches:
        slow = [*row]
        slow[9] = str(9 * float(row[9]))
        text = text.replace(",".join(row), ",".join(slow))
    (tmp_path / "splitwise").mkdir()
    (tmp_path / FILE).write_text(text + "\n", encoding="utf-8")
    prompt, token = _answered("splitwise-batches", tmp_path).parts
    assert prompt.holds
    assert not token.holds


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "said"),
    [
        ("sarathi-chunks", PASSES, "hybrid", "mixed", "no row of kind hybrid"),
        ("sarathi-chunks", PASSES, "iteration_s", "seconds", "no column"),
        ("splitwise-batches", FILE, "h100-80gb,", "h800,", "no model and card that are known"),
    ],
)
def test_tables_of_another_form_are_told(
    tmp_path: Path, name: str, file: str, old: str, new: str, said: str
) -> None:
    folder = _copied(tmp_path, file, old, new)
    with pytest.raises(ConfigError, match=said):
        check_claims([name], data=folder)
