"""`sched-sim validate`: checks that run on any file of a given form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from .emit import Answer, emit
from .files import spare_inputs
from .options import OUTPUT, Output
from .values import reader, word_list

__all__ = ["scenarios", "validate"]

CLAIM_FAILED = 1

validate = App(name="validate", help="Check the simulator and the queue models against known answers.")
validate.command(
    "validation.cli.validate_oracles:oracles",
    name="oracles",
    help="Check the queue models against a table of known values: one line a model.",
)
validate.command(
    "validation.cli._agreement:agreement",
    name="agreement",
    help="Check the predictions against the simulator, cell by cell, on a design drawn beforehand.",
)
validate.command(
    "validation.cli._step_times:step_times",
    name="step-times",
    help="Hold step times against measured passes of engines: one line an accelerator and engine.",
)
validate.command(
    "validation.cli.validate_peer:peer_des",
    name="peer-des",
    help="Replay a published engine's inputs by its rules and hold the answers against each other.",
)
validate.command(
    "validation.cli.validate_claims:claims",
    name="claims",
    help="Put reports from the field to the simulator as questions: what was found, and whether it holds.",
)
validate.command(
    "validation.cli._serving_points:serving_points",
    name="serving-points",
    help="Check simulated closed loops against measured ones: mean TTFT and TPOT, engine by engine.",
)
validate.command(
    "validation.cli.validate_sweeps:sweeps",
    name="sweeps",
    help="Put measured sweeps of rate or concurrency to simulator and theory: knee, plateau, TTFT, TPOT.",
)

_FOLDER = Parameter(name="DIR", help="folder of cases, one JSON file each", converter=reader("", str))
_ONLY = Parameter(
    help="beginnings of the ids of the cases to run, such as E01,E02 [all]",
    converter=reader("", str),
    n_tokens=1,
)


@validate.command
def scenarios(
    folder: Annotated[str, _FOLDER],
    /,
    *,
    only: Annotated[str | None, _ONLY] = None,
    output: Output = OUTPUT,
) -> int:
    """Run behaviour cases through the simulator: one line a case, then ``N passed, N failed``.

    The exit code is 1 if a case fails or its file cannot be read, and 2 if the folder is missing or empty.
    """
    from validation.scenarios import check_scenarios  # slow to import, so only here

    output.check()
    spare_inputs(output.targets(), map(str, Path(folder).glob("*.json")))
    results = check_scenarios(folder, only=None if only is None else word_list("--only", only))
    counts = {"n_passed": results.n_passed, "n_failed": results.n_failed}
    emit(Answer(rows=results.rows(), text=results.text(), more={"summary": counts}), output)
    return 0 if results.is_good else CLAIM_FAILED
