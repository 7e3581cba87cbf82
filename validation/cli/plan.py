"""`sched-sim plan`: the cheapest fleet that carries a load within its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.report import save_figure

from ._page import file_marks, page_writer
from ._plan_flags import LISTED, NEEDED, TIERS, ListFlags, NeedFlags, PlanOutput
from .emit import Answer, emit
from .options import Given, scenario_flags
from .progress import Progress
from .shared_flags import switch_flag, tier_flag, value_flag

if TYPE_CHECKING:
    from qtheory.planning.fleet_load import Load
    from qtheory.planning.fleet_plan import FleetPlan
    from qtheory.planning.fleet_side_by_side import SideBySide
    from qtheory.planning.prices import Price
    from qtheory.report import Page
    from qtheory.system.scenario import Scenario

    from ._plan_rows import Found

    PlanFlags = Given
else:
    PlanFlags = scenario_flags(without=[*LISTED, "replicas"])
_NO_FLAGS, _LISTS = PlanFlags(), ListFlags()

__all__ = ["plan"]

NO_FLEET = 1
_TIER = tier_flag(
    "closed (formulas), numeric (formulas, the cheapest fleets by a chain), sim (these and what has no model "
    "by simulation)",
    *TIERS,
)
_LATENCY = value_flag(
    "--latency",
    "what is set against the cost: mean, p50, p90, p95 or p99 of ttft, tpot or e2e [p90_e2e_s]",
    metavar="NAME",
)
_VERIFY = switch_flag(
    "--verify", "simulate the chosen fleet behind --router; exit code 1 if it does not hold"
)
_TO_TERMINAL = PlanOutput()


def plan(
    *,
    lists: ListFlags = _LISTS,
    demands: NeedFlags = NEEDED,
    tier: Annotated[str, _TIER] = "numeric",
    latency: Annotated[str, _LATENCY] = "p90_e2e_s",
    verify: Annotated[bool, _VERIFY] = False,
    flags: Annotated[PlanFlags, Parameter(name="*")] = _NO_FLAGS,
    output: PlanOutput = _TO_TERMINAL,
) -> int:
    """The cheapest fleet of equal replicas that carries a load within its limits, and what it hangs on.

    Every combination of the accelerators, replica sizes, precisions, schedulers and budgets is tried for
    ``--model``. The load is a rate, a trace, or a day (``--arrivals day(..)`` or ``profile(FILE)``), which
    gets its replicas hour by hour. Exit code 1 if no fleet does.
    """
    output.check()
    demands.check()
    from qtheory.planning.fleet_candidates import candidates_of
    from qtheory.planning.fleet_curve import LATENCIES
    from qtheory.planning.fleet_load import load_of
    from qtheory.system.workload import workload_of

    checks.one_of("latency", latency, LATENCIES)
    scenario, said = flags.load_for(output), flags.in_file()
    _check_waits(scenario)
    choices, prices, unpriced = lists.choices(said)
    candidates = candidates_of(scenario, choices, prices)
    load = load_of(workload_of(scenario), window_s=demands.window_s)
    question = _Question(scenario, load, demands, tier, verify)
    found = question.answer(candidates, latency, jobs=output.jobs, quiet=output.quiet)

    _emit(question, found, _Listed(prices, unpriced), output)
    failed = found.verdict is not None and found.verdict.word == "fails"
    return NO_FLEET if found.plan.best is None or failed else 0


@dataclass(frozen=True)
class _Listed:
    """What was tried at which prices, and what was not for want of one."""

    prices: Mapping[str, Price]
    unpriced: Sequence[str]


def _check_waits(scenario: Scenario) -> None:
    """Refuse what a plan does not heed: its clients send when they want to and wait as long as it takes."""
    told = {
        "timeout_s": (scenario.timeout_s is not None, "clients wait as long as it takes"),
        "client_cap": (scenario.client_cap > 0, "clients send whatever is in flight"),
        "stop_s": (scenario.stop_s is not None, "the clock never stops"),
    }
    for name, (given, instead) in told.items():
        if given:
            raise ConfigError(f"{name}: given, but in a plan {instead}; leave it out")


@dataclass(frozen=True)
class _Question:
    """What is asked, with the load found."""

    scenario: Scenario
    load: Load
    demands: NeedFlags
    tier: str
    verify: bool

    def answer(self, candidates: Any, latency: str, *, jobs: int | None, quiet: bool) -> Found:
        """The plan, and what follows from it."""
        from validation.answer import Workers

        from ._plan_rows import found_of

        with Workers(jobs) as workers:
            simulator = self._simulator(workers)
            with Progress(what="candidates", quiet=quiet) as progress:
                made = self._plan(candidates, simulator, progress, self._beside(workers))
            verdict = self._verified(made, simulator) if self.verify else None
            return found_of(made, latency, verdict)

    def _simulator(self, workers: Any) -> Any:
        from ._plan_simulated import Simulator

        return Simulator(workers=workers, goodput_frac=self.demands.goodput_frac)

    def _beside(self, workers: Any) -> SideBySide | None:
        """Where candidates are asked; a simulation has its runs side by side instead."""
        from qtheory.planning.fleet_side_by_side import SideBySide

        is_alone = workers.jobs == 1 or self.tier == "sim"
        return None if is_alone else SideBySide(executor=workers, jobs=workers.jobs)

    def _plan(
        self, candidates: Any, simulator: Any, progress: Progress, beside: SideBySide | None
    ) -> FleetPlan:
        from qtheory.planning.fleet import TheoryAnswer, plan_fleet

        need = self.demands.need(self.load.peak_rps)
        better: Any = None
        if self.tier == "numeric":
            better = TheoryAnswer(goodput_frac=need.goodput_frac, tier="numeric")
        if self.tier == "sim":
            better = simulator.curve
        return plan_fleet(
            candidates,
            self.load,
            need,
            better=better,
            answers_all=self.tier == "sim",
            progress=progress,
            side_by_side=beside,
        )

    def _verified(self, made: FleetPlan, simulator: Any) -> Any:
        from ._plan_simulated import verdict_of

        if made.best is None or made.best.fleet is None:
            return None
        return verdict_of(
            simulator,
            made.best.candidate,
            self.load.workload,
            n_replicas=made.best.fleet.n_replicas,
            router=self.scenario.router,
            load_delay_s=self.scenario.load_delay_s,
        )

    def provenance(self, prices: Mapping[str, Any]) -> dict[str, Any]:
        """Version, scenario, seed, and prices with their sources."""
        from qtheory.system.provenance import Provenance

        made = Provenance(scenario=self.scenario.changed(), seed=self.scenario.seed)
        demands = asdict(self.demands) | {"tier": self.tier}
        return asdict(made) | {"demands": demands, "prices": [asdict(price) for price in prices.values()]}


def _emit(question: _Question, found: Found, listed: _Listed, output: PlanOutput) -> None:
    from ._plan_text import plan_text

    scenario, load = question.scenario, question.load
    told = Answer(
        rows=_rows(found),
        text=plan_text(found, listed.prices, listed.unpriced, str(scenario.model)),
        provenance=question.provenance(listed.prices),
        more=_more(found),
        lead={"model": scenario.model, "workload": load.workload.name, "rate_rps": load.peak_rps},
    )

    def draw(path: Path) -> None:
        from ._plan_page import picture

        save_figure(picture(found, str(scenario.model)), path)

    def page() -> Page:
        from ._plan_page import plan_page

        marks = file_marks(scenario.changed().values(), output)
        return plan_page(found, listed.prices, listed.unpriced, scenario, inputs=marks)

    emit(told, output, {"--plot": draw, "--report": page_writer(page)})


def _rows(found: Found) -> list[dict[str, Any]]:
    from ._plan_rows import option_rows

    return option_rows(found)


def _more(found: Found) -> dict[str, Any]:
    """Further entries of the JSON form."""
    from ._plan_rows import day_rows, fixed_rows, front_rows

    return {
        "away": [asdict(one) for one in found.away],
        "worse_inputs": [asdict(one) for one in found.worse],
        "front": front_rows(found),
        "hours": day_rows(found),
        "fixed_fleets": fixed_rows(found),
        "why_no_fixed_fleets": found.why_not_fixed or None,
        "verified": None if found.verdict is None else asdict(found.verdict),
    }
