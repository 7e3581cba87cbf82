"""`sched-sim predict`: what theory says of one scheduler under one load, without simulating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.ranges import at_most

from .emit import Answer, emit
from .options import OUTPUT, Given, Output, scenario_flags, spell_as_flags
from .shared_flags import tier_flag, value_flag
from .values import number_list

if TYPE_CHECKING:
    from qtheory.predict import OverTime, Prediction

    PredictFlags = Given
else:
    PredictFlags = scenario_flags(without=["rate_rps"])
_NO_FLAGS = PredictFlags()

__all__ = ["predict"]

_TIER = tier_flag("closed (formulas) or numeric (a chain, seconds)", "closed", "numeric")
_WINDOWS = value_flag(
    "--windows",
    "parts of the time that are told apart; also of a rate that stays [24 of a day or a profile]",
    kind=int,
    metavar="N",
    read_as="windows",
)
_RATES = value_flag(
    ["--rate", "--rate-rps"],
    "mean arrival rate, requests per second; several, separated by commas, give a row each",
    metavar="LIST",
)


def predict(
    *,
    rate: Annotated[str | None, _RATES] = None,
    tier: Annotated[str, _TIER] = "numeric",
    windows: Annotated[int | None, _WINDOWS] = None,
    flags: Annotated[PredictFlags, Parameter(name="*")] = _NO_FLAGS,
    output: Output = OUTPUT,
) -> None:
    """What theory says of one scheduler under one load, in seconds and without simulating.

    The steady state at each ``--rate``; with ``--duration`` or ``--requests`` also above the limit. A day or
    a profile (``--arrivals day(..)`` or ``profile(FILE)``) is answered part by part, with what an overload
    leaves behind; a closed loop by the rate it comes to. What has no model is refused.
    """
    output.check()
    from qtheory.predict import MOST_STRETCHES
    from qtheory.system.provenance import Provenance
    from qtheory.system.replica import replica_of
    from qtheory.system.workload import workload_of
    from validation.knees import Asked
    from validation.predicted import predicted, predicted_at

    from ._predict_text import predict_heading, predict_text

    if windows is not None:
        checks.at_least(1, windows=windows)
        at_most(MOST_STRETCHES, windows=windows)
    rates = [] if rate is None else number_list("--rate", rate)
    scenario = flags.load_for(output, rate_rps=rates[0] if rates else None)
    replica, workload = replica_of(scenario), workload_of(scenario)
    if len(rates) > 1:
        found, why_not = predicted_at(scenario, replica, workload, rates, tier=tier, n_stretches=windows)
    else:
        found, why_not = [predicted(scenario, replica, workload, tier=tier, n_stretches=windows)], []
    asked = Asked(scenario=scenario, replica=replica, workload=workload, why_simulated=None)
    lead = {"hardware": replica.hardware.name, "model": replica.model.name}
    why_not = [spell_as_flags(text, ["--rate"]) for text in why_not]
    changed = scenario.changed() | ({"rate_rps": rates} if len(rates) > 1 else {})
    answer = Answer(
        rows=[one.row() for one in found],
        text=f"{predict_heading(asked)}\n\n{predict_text(found, why_not)}",
        provenance=asdict(Provenance(scenario=changed, seed=scenario.seed)),
        more=_parts(found) | ({"not_answered": why_not} if why_not else {}),
        lead=lead | {"workload": workload.name},
    )
    emit(answer, output)


def _parts(found: Sequence[Prediction | OverTime]) -> dict[str, Any]:
    """What is told apart over time; of several rates with the rate it is of."""
    from qtheory.predict import OverTime

    parts = [one.parts() | {"mean_rate_rps": one.rate_rps} for one in found if isinstance(one, OverTime)]
    if len(parts) == 1:
        return {name: parts[0][name] for name in ("stretches", "overloads")}
    return {"times": parts} if parts else {}
