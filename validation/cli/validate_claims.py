"""`sched-sim validate claims`: reports from the field, put to the simulator as questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader

__all__ = ["claims"]

CLAIM_FAILED = 1

_NAMES = Parameter(name="NAME", help="claims to answer [all]")
_DATA = Parameter(
    help="folder of published measurements, with benchmarks, traces and distserve in it; without it claims "
    "that read them are not run [none]",
    converter=reader("", str),
    n_tokens=1,
)


def claims(
    *names: Annotated[str, _NAMES],
    data: Annotated[str | None, _DATA] = None,
    output: Output = OUTPUT,
) -> int:
    """Answer claims: what is asked, by whom it was seen, what was found, then ``N passed, N failed``.

    A claim that does not hold is shown with what that teaches, and the exit code is 1, as it is if none was
    run; it is 2 if there is no claim of a name. Claims that need published measurements are not run without
    ``--data``.
    """
    from validation.claims import CLAIMS, check_claims  # slow to import, so only here

    output.check()
    if data is not None:
        spare_inputs(
            output.targets(), [str(Path(data) / name) for claim in CLAIMS.values() for name in claim.needs]
        )
    results = check_claims(names, data=data)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    if results.n_not_run:
        counts["n_not_run"] = results.n_not_run
    more = {"claims": results.told(), "points": results.points(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good and results.n_passed else CLAIM_FAILED
