"""`sched-sim validate serving-points`: measured closed loops against the simulator."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader

__all__ = ["serving_points"]

CLAIM_FAILED = 1

_TABLE = Parameter(
    name="FILE",
    help="CSV file with the columns model_path, system, backend, precision, tp_size, isl, osl, concurrency, "
    "silicon_ttft_ms, silicon_tpot_ms",
    converter=reader("", str),
)


def serving_points(table: Annotated[str, _TABLE], /, *, output: Output = OUTPUT) -> int:
    """Run measured closed loops again: mean TTFT and TPOT by engine, then ``N passed, N failed, N skipped``.

    One setting an engine, none a row; it is printed. The exit code is 1 if an engine's mean error is too
    large or no row can be judged, and 2 if the file cannot be read.
    """
    from validation.serving_points import check_points  # slow to import, so only here

    output.check()
    spare_inputs(output.targets(), [table])
    results = check_points(table)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed, "n_skipped": len(results.skipped)}
    more = {"verdicts": results.verdict_rows(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
