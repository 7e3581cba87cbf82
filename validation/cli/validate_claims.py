"""`sched-sim validate claims`: reports from the field, put to the simulator as questions."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .options import OUTPUT, Output

__all__ = ["claims"]

CLAIM_FAILED = 1

_NAMES = Parameter(name="NAME", help="claims to answer [all]")


def claims(*names: Annotated[str, _NAMES], output: Output = OUTPUT) -> int:
    """Answer claims: what is asked, by whom it was seen, what was found, then ``N passed, N failed``.

    A claim that does not hold is shown with what that teaches, and the exit code is 1; it is 2 if there is no
    claim of a name.
    """
    from validation.claims import check_claims  # slow to import, so only here

    output.check()
    results = check_claims(names)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    more = {"claims": results.told(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
