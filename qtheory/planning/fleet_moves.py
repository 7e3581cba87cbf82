"""What a fleet is sensitive to: replicas away, and inputs that turn out a tenth worse than was thought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.workload import PairLengths, Workload

from .fleet_candidates import Candidate
from .fleet_curve import theory_curve
from .fleet_load import Load, share_of
from .fleet_size import Fleet, Need, good_at, replicas_for

__all__ = ["Away", "Worse", "away", "worse_inputs"]

_TENTH = 0.1
_N_PAIRS, _SEED = 2_000, 1
_World = tuple[ReplicaSpec, Workload]


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A fleet with replicas away.

    Parameters
    ----------
    what : str
        Why they are.
    n_left : int
    goodput_frac : float or None
        Share of good requests of all; None where there is no answer.
    is_enough : bool or None
        Whether that is what is needed.
    n_for_it : int
        Replicas that a fleet needs to bear it.

    Examples
    --------
    >>> Away(what="one lost", n_left=2, goodput_frac=0.8, is_enough=False, n_for_it=4).n_left
    2
    """

    what: str
    n_left: int
    goodput_frac: float | None
    is_enough: bool | None
    n_for_it: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    """A fleet whose inputs are a tenth worse.

    Parameters
    ----------
    what : str
    knee_change_frac : float or None
        Knee of a replica, new over old, less one, by closed forms; None if there is no prediction.
    n_replicas : int or None
        Replicas that are needed then.

    Examples
    --------
    >>> Worse(what="prompts 10 % longer", knee_change_frac=-0.08, n_replicas=4).n_replicas
    4
    """

    what: str
    knee_change_frac: float | None
    n_replicas: int | None


def away(fleet: Fleet, need: Need) -> list[Away]:
    """One replica lost, one in a rolling update, and both.

    Parameters
    ----------
    fleet : Fleet
    need : Need

    Examples
    --------
    >>> from qtheory.planning.fleet_curve import Curve
    >>> from qtheory.planning.fleet_doubt import Doubt
    >>> curve = Curve(answered_by="simulation", knee_rps=4.0, at=lambda rate: {"goodput_frac": 1 - rate / 40})
    >>> fleet = Fleet(n_replicas=3, n_needed=3, curve=curve, doubt=Doubt(), point={})
    >>> [(one.n_left, one.is_enough, one.n_for_it) for one in away(fleet, Need(rate_rps=10.0))]
    [(2, False, 4), (1, False, 5)]
    """
    found = []
    said = {1: "one replica lost, or out for a rolling update", 2: "one lost during the update of another"}
    needed = replicas_for(need.rate_rps, fleet.knee_rps, fleet.doubt, need.miss_prob)
    for n_away, what in said.items():
        left = fleet.n_replicas - n_away
        good = 0.0 if left < 1 else good_at(fleet.curve, need.rate_rps / left)
        enough = None if good is None else good >= need.goodput_frac
        found.append(
            Away(
                what=what, n_left=max(left, 0), goodput_frac=good, is_enough=enough, n_for_it=needed + n_away
            )
        )
    return found


def worse_inputs(candidate: Candidate, fleet: Fleet, load: Load, need: Need) -> list[Worse]:
    """Replicas that are needed if an input is a tenth worse than was said, most sensitive first.

    Changes of the knee are those of the closed forms, whose errors before and after are nearly the same.
    Lengths are scaled on 2,000 pairs drawn from their laws, before and after alike.

    Parameters
    ----------
    candidate : Candidate
    fleet : Fleet
    load : Load
    need : Need

    Examples
    --------
    >>> from qtheory.planning.fleet import plan_fleet
    >>> from qtheory.planning.fleet_candidates import Choices, candidates_of
    >>> from qtheory.planning.fleet_load import load_of
    >>> from qtheory.planning.prices import Price
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> scenario = Scenario(model="llama-3.1-8b", workload="chat", rate_rps=30.0)
    >>> prices = {"h100": Price(hardware="h100", usd_per_hour=2.5)}
    >>> load, need = load_of(workload_of(scenario)), Need(rate_rps=30.0)
    >>> best = plan_fleet(candidates_of(scenario, Choices(hardware=("h100",)), prices), load, need).best
    >>> found = worse_inputs(best.candidate, best.fleet, load, need)
    >>> {one.what: one.n_replicas for one in found}["rate 10 % higher"]
    2
    """
    more = Worse(what="rate 10 % higher", knee_change_frac=0.0, n_replicas=_wanted(fleet, need, 1.0 + _TENTH))
    if candidate.replica is None:
        return [more]
    world = (candidate.replica, _sampled(share_of(load.workload, fleet.n_needed)))
    base = _knee(world, need)
    if base is None:
        return [more]
    found = [more]
    for what, change in _changes(world[1]):
        knee = _knee(change(world), need)
        ratio = None if knee is None else knee / base
        n = None if not ratio else _wanted(fleet, need, 1 / ratio)
        found.append(Worse(what=what, knee_change_frac=None if ratio is None else ratio - 1, n_replicas=n))
    return sorted(found[1:], key=lambda one: one.knee_change_frac or 0.0) + found[:1]


def _wanted(fleet: Fleet, need: Need, factor: float) -> int:
    """Replicas for so many times the rate."""
    rate = factor * need.sized_rps
    return replicas_for(rate, fleet.knee_rps, fleet.doubt, need.miss_prob) + need.spare


def _knee(world: _World, need: Need) -> float | None:
    try:
        return theory_curve(*world, goodput_frac=need.goodput_frac, tier="closed").knee_rps
    except ServingError:
        return None


def _sampled(workload: Workload) -> Workload:
    prompts, outputs = workload.lengths.sample(np.random.default_rng(_SEED), _N_PAIRS)
    return replace(workload, lengths=PairLengths(prompt_tokens=prompts, output_tokens=outputs))


@dataclass(frozen=True, slots=True)
class _Slower:
    """Step times a factor longer."""

    inner: StepTime
    factor: float

    def step_s(self, load: StepLoad) -> float:
        return self.factor * self.inner.step_s(load)

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        line = self.inner.decode_line(n_decodes)
        return None if line is None else (self.factor * line[0], self.factor * line[1])


def _changes(workload: Workload) -> Sequence[tuple[str, Callable[[_World], _World]]]:
    def slower(world: _World) -> _World:
        return replace(world[0], step_time=_Slower(world[0].step_time, 1 + _TENTH)), world[1]

    def smaller(world: _World) -> _World:
        return replace(world[0], n_blocks=max(1, int((1 - _TENTH) * world[0].n_blocks))), world[1]

    found = [
        ("steps 10 % slower", slower),
        ("KV memory 10 % smaller", smaller),
        ("prompts 10 % longer", lambda world: (world[0], _longer(world[1], "prompt_tokens"))),
        ("outputs 10 % longer", lambda world: (world[0], _longer(world[1], "output_tokens"))),
    ]
    for name, word in (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "E2E")):
        if getattr(workload.slo, name) is not None:
            found.append((f"{word} limit 10 % tighter", lambda world, name=name: _tighter(world, name)))  # type: ignore[misc]
    return found


def _longer(workload: Workload, name: str) -> Workload:
    lengths = {one: np.array(getattr(workload.lengths, one)) for one in ("prompt_tokens", "output_tokens")}
    lengths[name] = np.maximum(np.rint((1 + _TENTH) * lengths[name]), 1).astype(np.int64)
    return replace(workload, lengths=PairLengths(**lengths))


def _tighter(world: _World, name: str) -> _World:
    slo = world[1].slo
    return world[0], replace(world[1], slo=replace(slo, **{name: (1 - _TENTH) * getattr(slo, name)}))
