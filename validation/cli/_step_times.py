"""`sched-sim validate step-times`: step times against measured passes."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader

__all__ = ["step_times"]

CLAIM_FAILED = 1

_TABLE = Parameter(
    name="FILE",
    help="CSV file of measured passes, with the columns of a forward-pass grid or a mixed-step grid",
    converter=reader("", str),
)


def step_times(table: Annotated[str, _TABLE], /, *, output: Output = OUTPUT) -> int:
    """Hold step times against measured passes: in sample, a model left out, an accelerator left out.

    Relative errors of each accelerator and engine, then of all passes; an accelerator left out is foretold
    from its datasheet and the middle of the others. The exit code is 1 if an error is larger than allowed,
    and 2 if the file cannot be read.
    """
    from validation.step_times import check_step_times  # slow to import, so only here

    output.check()
    spare_inputs(output.targets(), [table])
    results = check_step_times(table)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    more = {"notes": list(results.notes), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
