"""`sched-sim validate sweeps`: measured sweeps of rate or concurrency against theory and simulator."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader

__all__ = ["sweeps"]

CLAIM_FAILED = 1

_MANIFEST = Parameter(
    name="MANIFEST",
    help="TOML file with a list of [[sweep]], or the name of a shipped one, such as kubecon",
    converter=reader("", str),
)
_DATA = Parameter(help="folder of the data files [that of the manifest]", converter=reader("", str))


def sweeps(
    manifest: Annotated[str, _MANIFEST],
    /,
    *,
    data: Annotated[str | None, _DATA] = None,
    output: Output = OUTPUT,
) -> int:
    """Put measured sweeps to simulator and theory: a line a sweep and route, then ``N passed, N failed``.

    Efficiencies are fitted on the sweeps that the manifest names for that, and nothing else is. Skipped is an
    answer without a miss in which something could not be judged. The exit code is 1 if something is missed or
    nothing passed, and 2 if a file cannot be used.
    """
    from validation.sweeps import check_sweeps, find_manifest, read_manifest  # slow to import, so only here

    output.check()
    path = find_manifest(manifest)
    read = read_manifest(path, data=data)
    files = [(str(one.file), one.scenario.hardware, one.scenario.model, one.scenario.lengths) for one in read]
    spare_inputs(output.targets(), [str(path), *(name for names in files for name in names if name)])
    results = check_sweeps(path, data=data)
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed, "n_skipped": results.n_skipped}
    more = {"verdicts": results.verdict_rows(), "summary": counts}
    emit(Answer(rows=results.rows(), text=results.text(), more=more), output)
    return 0 if results.is_good else CLAIM_FAILED
