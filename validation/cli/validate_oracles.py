"""`sched-sim validate oracles`: the queue models against a table of known values."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader

__all__ = ["oracles"]

CLAIM_FAILED = 1

_TABLE = Parameter(
    name="FILE",
    help="CSV file with the columns id, model, parameters (a JSON object), quantity, value, rtol",
    converter=reader("", str),
)


def oracles(table: Annotated[str, _TABLE], /, *, output: Output = OUTPUT) -> int:
    """Check the queue models against known values: one line a model, then ``N passed, N failed``.

    A row passes within its own tolerance. The exit code is 1 if a row fails or its model is not there, and
    2 if the file cannot be read.
    """
    from validation.oracles import check_oracles  # slow to import, so only here

    output.check()
    spare_inputs(output.targets(), [table])
    results = check_oracles(table)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    more = {"failures": results.failed_rows(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
