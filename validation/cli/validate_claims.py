"""`sched-sim validate claims`: reports from the field, put to the simulator as questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from ._queue_flags import QueueOutput
from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import file_name, reader

__all__ = ["claims"]

CLAIM_FAILED = 1

_NAMES = Parameter(name="NAME", help="claims to answer [all]")
_DATA = Parameter(
    help="folder of published measurements, with benchmarks, traces, distserve, sarathi and splitwise in it; "
    "without it claims that read them are not run [none]",
    converter=reader("", str),
    n_tokens=1,
)
_PLOT = Parameter(
    name="--plot",
    help="draw what was measured beside what was found to this file: .png, .svg or .pdf",
    group=Group("Output", sort_key=2),
    converter=file_name,
    n_tokens=1,
    negative=(),
    metavar="FILE",
)


def claims(
    *names: Annotated[str, _NAMES],
    data: Annotated[str | None, _DATA] = None,
    plot: Annotated[str | None, _PLOT] = None,
    output: Output = OUTPUT,
) -> int:
    """Answer claims: what is asked, by whom it was seen, what was found, then ``N passed, N failed``.

    A claim that does not hold is shown with what that teaches, and the exit code is 1, as it is if none was
    run; it is 2 if there is no claim of a name. Claims that need published measurements are not run without
    ``--data``.
    """
    from qtheory.report import save_figure  # slow to import, so only here
    from validation.claims import CLAIMS, check_claims

    from ._claims_plot import draw_points

    written = QueueOutput.of(output, plot)
    written.check()
    if data is not None:
        spare_inputs(
            written.targets(), [str(Path(data) / name) for claim in CLAIMS.values() for name in claim.needs]
        )
    results = check_claims(names, data=data)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    if results.n_not_run:
        counts["n_not_run"] = results.n_not_run
    more = {"claims": results.told(), "points": results.points(), "summary": counts}
    files = {"--plot": lambda path: save_figure(draw_points(results.points()), path)}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), written, files)
    return 0 if results.is_good and results.n_passed else CLAIM_FAILED
