"""The simulated side of a cell, which does not depend on the theory and so can be kept while that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from qtheory.basics.errors import ServingError
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import GammaArrivals, PoissonArrivals
from qtheory.system.workload.from_scenario import workload_of
from sim.record import Records

from ._knee_simulated import METHOD, SimulatedKnee, simulate_knee
from ._simulate import numbers_of, simulate_until, within_reach
from ._surrogate import controlled_ttft
from ._work import work_of
from .capacity import Overload, overload_rps
from .effort import Effort
from .grid import Cell
from .tolerances import KNEE_SHARP_FRAC, TOLERANCES, tolerance

__all__ = ["CONTROLLED", "Simulated", "controlled_of", "lacks_knee", "simulate_cell", "with_knee"]

CONTROLLED = {name: f"controlled_{name}" for name in ("mean_ttft_s", "p99_ttft_s")}
"""Columns of which there are numbers of the same requests with the chance of their order taken out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What the simulator says of a cell.

    Parameters
    ----------
    cell : Cell
    overload : Overload or None
        None if the cell cannot be simulated.
    kind : str
        How far the numbers reach; or why there are none.
    n_requests : int or None
        Of a replication at the load: with the seed they say which requests these were.
    numbers : dict
        The columns of the result, and half-widths of 95 % intervals as ``NAME_half``, relative.
    knee : SimulatedKnee or None
        None if it was not looked for.
    """

    cell: Cell
    overload: Overload | None
    kind: str
    n_requests: int | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    knee: SimulatedKnee | None = None


def simulate_cell(cell: Cell, effort: Effort) -> Simulated:
    """Throughput in overload, the cell at its load until it is sharp enough, and the knee.

    A cell that the simulator refuses has a reason in place of numbers.

    Parameters
    ----------
    cell : Cell
    effort : Effort
    """
    scenario = cell.scenario()
    try:
        effort = within_reach(scenario, effort)
        found = overload_rps(scenario, n_requests=effort.overload_requests)
        wanted = {name: tolerance(cell, name) / 3 for name in TOLERANCES if cell.load_frac < 1}
        at_load = replace(scenario, rate_rps=cell.load_frac * found.rate_rps)
        served, result, records = simulate_until(at_load, effort, wanted)
    except ServingError as error:
        return Simulated(cell=cell, overload=None, kind=str(error))
    return Simulated(
        cell=cell,
        overload=found,
        kind=result.kind,
        n_requests=served.requests,
        numbers=numbers_of(result) | controlled_of(at_load, found, records, result.n_warm_up_requests),
        knee=simulate_knee(scenario, found, effort, sharp_frac=KNEE_SHARP_FRAC)
        if effort.knee_requests
        else None,
    )


def controlled_of(
    scenario: Scenario, overload: Overload, records: Sequence[Records], n_cut: int
) -> dict[str, float]:
    """Numbers of `CONTROLLED` and their relative half-widths, freed of chance; nothing where that cannot be.

    Parameters
    ----------
    scenario : Scenario
    overload : Overload
        Its throughput in overload; six digits of it count.
    records : sequence of Records
        One a replication.
    n_cut : int
        Requests of the warm-up, the first of each replication.
    """
    workload = workload_of(replace(scenario, requests=1))
    if not isinstance(workload.arrivals, PoissonArrivals | GammaArrivals):
        return {}
    found = controlled_ttft(
        records,
        work_of(replica_of(scenario), workload),
        float(f"{overload.rate_rps:.6g}"),
        gap_scv=workload.arrivals.scv,
        n_cut=n_cut,
    )
    numbers = dict[str, float]()
    for name, freed in found.items():
        if freed is not None:
            numbers |= {CONTROLLED[name]: freed[0], f"{CONTROLLED[name]}_half": freed[1] / freed[0]}
    return numbers


def with_knee(known: Simulated, effort: Effort) -> Simulated:
    """The same numbers and a knee; none where it was out of reach.

    Parameters
    ----------
    known : Simulated
    effort : Effort
        Of its simulation.
    """
    known = replace(known, knee=None)
    if not lacks_knee(known, effort) or known.overload is None:
        return known
    cell = known.cell
    knee = simulate_knee(cell.scenario(), known.overload, effort, sharp_frac=KNEE_SHARP_FRAC)
    return replace(known, knee=knee)


def lacks_knee(known: Simulated, effort: Effort) -> bool:
    """Whether a knee is missing, or is by an older method; cells within the reach of few requests have none.

    Parameters
    ----------
    known : Simulated
    effort : Effort
        Of its simulation.
    """
    if known.knee is not None:
        return known.knee.method < METHOD
    if known.n_requests is None or not effort.knee_requests:
        return False
    return known.n_requests * effort.n_replications >= effort.first_requests
