"""`sched-sim validate peer-des`: the simulator against a published engine's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader, word_list

__all__ = ["peer_des"]

CLAIM_FAILED = 1

_FOLDER = Parameter(
    name="DIR", help="folder with settings.json and the files that it names", converter=reader("", str)
)
_ONLY = Parameter(
    help="beginnings of the ids of the cases to replay, such as radix-vllm,tiny5 [all]",
    converter=reader("", str),
    n_tokens=1,
)


def peer_des(
    folder: Annotated[str, _FOLDER],
    /,
    *,
    only: Annotated[str | None, _ONLY] = None,
    output: Output = OUTPUT,
) -> int:
    """Replay a published engine's inputs by its rules: one line a case, then ``N passed, N failed``.

    Tolerances stand in the settings; a case that is only informative is shown and not counted. The exit code
    is 1 if a case fails, and 2 if the folder or one of its files cannot be read.
    """
    from validation.peer_des import check_peer  # slow to import, so only here

    output.check()
    spare_inputs(output.targets(), map(str, Path(folder).glob("*")))
    results = check_peer(folder, only=None if only is None else word_list("--only", only))
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    more = {"comparisons": results.comparisons(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
