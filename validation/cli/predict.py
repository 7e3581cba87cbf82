"""`sched-sim predict`: what theory says of one scheduler under one load, without simulating."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from qtheory.basics import checks
from qtheory.basics.ranges import at_most

from .emit import Answer, emit
from .options import OUTPUT, Given, Output, scenario_flags
from .values import choice, reader

if TYPE_CHECKING:
    PredictFlags = Given
else:
    PredictFlags = scenario_flags()
_NO_FLAGS = PredictFlags()

__all__ = ["predict"]

_ANSWER = Group("Answer", sort_key=0)
_TIER = Parameter(
    name="--tier",
    help="closed (formulas) or numeric (a chain, seconds) [numeric]",
    group=_ANSWER,
    converter=choice("closed", "numeric"),
    n_tokens=1,
    show_default=False,
    metavar="TIER",
)
_WINDOWS = Parameter(
    name="--windows",
    help="parts of the time that are told apart; also of a rate that stays [24 of a day or a profile]",
    group=_ANSWER,
    converter=reader("windows", int),
    n_tokens=1,
    metavar="N",
)


def predict(
    *,
    tier: Annotated[str, _TIER] = "numeric",
    windows: Annotated[int | None, _WINDOWS] = None,
    flags: Annotated[PredictFlags, Parameter(name="*")] = _NO_FLAGS,
    output: Output = OUTPUT,
) -> None:
    """What theory says of one scheduler under one load, in seconds and without simulating.

    The steady state at ``--rate``; with ``--duration`` or ``--requests`` also above the limit. A day or a
    profile (``--arrivals day(..)`` or ``profile(FILE)``) is answered part by part, with what an overload
    leaves behind; a closed loop by the rate it comes to. What has no model is refused.
    """
    output.check()
    from qtheory.predict import MOST_STRETCHES, OverTime
    from qtheory.system.provenance import Provenance
    from qtheory.system.replica import replica_of
    from qtheory.system.workload import workload_of
    from validation.knees import Asked
    from validation.predicted import predicted

    from ._predict_text import predict_heading, predict_text

    if windows is not None:
        checks.at_least(1, windows=windows)
        at_most(MOST_STRETCHES, windows=windows)
    scenario = flags.load_for(output)
    replica, workload = replica_of(scenario), workload_of(scenario)
    found = predicted(scenario, replica, workload, tier=tier, n_stretches=windows)
    asked = Asked(scenario=scenario, replica=replica, workload=workload, why_simulated=None)
    lead = {"hardware": replica.hardware.name, "model": replica.model.name}
    answer = Answer(
        rows=[found.row()],
        text=f"{predict_heading(asked)}\n\n{predict_text(found)}",
        provenance=asdict(Provenance(scenario=scenario.changed(), seed=scenario.seed)),
        more=found.parts() if isinstance(found, OverTime) else {},
        lead=lead | {"workload": workload.name},
    )
    emit(answer, output)
