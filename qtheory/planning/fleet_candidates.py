"""What a fleet could be made of: accelerators, their number in a replica, precision, scheduler, budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware, find_hardware
from qtheory.system.models import WEIGHT_BYTES, find_model
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler_text import parse_scheduler

from .prices import Price

__all__ = ["Candidate", "Choices", "candidates_of"]

_MOST = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Values that are tried in every combination.

    Parameters
    ----------
    hardware : tuple of str
        Accelerators, as in a scenario; at least one.
    tps : tuple of int
        Accelerators in one replica, each >= 1.
    weights : tuple of str or None
        Precisions of the weights; None is the published one.
    schedulers : tuple of str
        With options as in a scenario.
    budgets : tuple of int or None
        Tokens a step, for schedulers that cut prompts; the others compute prompts whole and keep their own.
        None is the usual one.

    Raises
    ------
    ConfigError
        If a list is empty, a name is unknown, or there are too many combinations.

    Examples
    --------
    >>> Choices(hardware=("h100", "l4"), tps=(1, 2)).n_combinations
    4
    """

    hardware: tuple[str, ...]
    tps: tuple[int, ...] = (1,)
    weights: tuple[str | None, ...] = (None,)
    schedulers: tuple[str, ...] = ("chunked",)
    budgets: tuple[int | None, ...] = (None,)

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name):
                raise ConfigError(f"{name}: give at least one")
        checks.integer(**{f"tp[{place}]": tp for place, tp in enumerate(self.tps)})
        for given in self.weights:
            if given is not None:
                checks.one_of("weights", given, WEIGHT_BYTES)
        for name in self.schedulers:
            parse_scheduler(name)
        if self.n_combinations > _MOST:
            raise ConfigError(f"hardware: {self.n_combinations:,} combinations to try; at most {_MOST:,}")

    @property
    def n_combinations(self) -> int:
        """How many combinations there are."""
        lists = (self.hardware, self.tps, self.weights, self.schedulers, self.budgets)
        count = 1
        for each in lists:
            count *= len(each)
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One replica that a fleet could be made of.

    Parameters
    ----------
    scenario : Scenario
        Of one replica.
    hardware : Hardware
    price : Price
        Of one accelerator.
    replica : ReplicaSpec or None
        None if it cannot be.
    reason : str
        Why it cannot be.

    Examples
    --------
    >>> card, price = find_hardware("l4"), Price(hardware="l4", usd_per_hour=1.0)
    >>> scenario = Scenario(hardware="l4", model="llama-3.1-8b", tp=2)
    >>> one = Candidate(scenario=scenario, hardware=card, price=price, replica=replica_of(scenario))
    >>> one.told, one.usd_per_hour
    ('2 x l4, bf16, chunked, 2,048 tokens a step', 2.0)
    """

    scenario: Scenario
    hardware: Hardware
    price: Price
    replica: ReplicaSpec | None
    reason: str = ""

    @property
    def tp(self) -> int:
        """Accelerators in one instance."""
        return self.scenario.tp

    @property
    def n_accelerators(self) -> int:
        """Accelerators in one replica: of all its instances where prefill and decode are apart."""
        pools = None if self.replica is None else self.replica.pools
        return self.tp * (1 if pools is None else pools.n_instances)

    @property
    def usd_per_hour(self) -> float:
        """Price of one replica."""
        return self.n_accelerators * self.price.usd_per_hour

    @property
    def tdp_w(self) -> float | None:
        """Power limit of the accelerators of one replica, W; None if unknown."""
        return None if self.hardware.tdp_w is None else self.n_accelerators * self.hardware.tdp_w

    @property
    def weights(self) -> str:
        """Precision of the weights."""
        if self.replica is not None:
            return self.replica.roofline.weight_format
        return self.scenario.weights or "as published"

    @property
    def told(self) -> str:
        """What it is, in words."""
        budget = self.scenario.budget_tokens if self.replica is None else self.replica.budget_tokens
        steps = "" if budget is None else f", {budget:,} tokens a step"
        return f"{self._instances}, {self.weights}, {self.scenario.scheduler}{steps}"

    @property
    def _instances(self) -> str:
        """Accelerators of one replica; ``1+2`` where one instance prefills and two decode."""
        pools = None if self.replica is None else self.replica.pools
        if pools is None:
            return f"{self.tp} x {self.hardware.name}"
        each = self.hardware.name if self.tp == 1 else f"({self.tp} x {self.hardware.name})"
        return f"{pools.n_prefill}+{pools.n_decode} x {each}"


def candidates_of(scenario: Scenario, choices: Choices, prices: Mapping[str, Price]) -> list[Candidate]:
    """Every combination, built; one that cannot be has the reason instead of a replica.

    Combinations that come to the same are there once.

    Parameters
    ----------
    scenario : Scenario
        What they have in common: model, memory, load, limits.
    choices : Choices
    prices : mapping of str to Price
        By the name of the accelerator.

    Raises
    ------
    ConfigError
        If an accelerator or the model is unknown or without a price, or the scenario names no model: each
        accelerator would have another.

    Examples
    --------
    >>> scenario = Scenario(model="llama-3.1-70b")
    >>> prices = {"l4": Price(hardware="l4", usd_per_hour=1.0)}
    >>> small, large = candidates_of(scenario, Choices(hardware=("l4",), tps=(1, 8)), prices)
    >>> small.reason[:44], large.replica is None
    ('model: llama-3.1-70b does not fit on 1 x l4:', False)
    """
    if scenario.model is None:
        raise ConfigError("model: missing; accelerators are compared by what they do for one and the same")
    find_model(scenario.model)
    seen: dict[Scenario, Candidate] = {}
    lists = (choices.hardware, choices.tps, choices.weights, choices.schedulers, choices.budgets)
    for name, tp, weights, scheduler, budget in product(*lists):
        card = find_hardware(name)
        if card.name not in prices:
            raise ConfigError(
                f"price: there is none of {card.name}; give --price {card.name}=DOLLARS an hour"
            )
        whole = parse_scheduler(scheduler).whole_prompts
        one = replace(
            scenario,
            hardware=name,
            tp=tp,
            weights=weights,
            scheduler=scheduler,
            budget_tokens=scenario.budget_tokens if whole else (budget or scenario.budget_tokens),
            replicas=1,
            router="round_robin",
            load_delay_s=0.0,
        )
        if one not in seen:
            seen[one] = _built(one, card, prices[card.name])
    return _unlike(list(seen.values()))


def _built(scenario: Scenario, card: Hardware, price: Price) -> Candidate:
    try:
        return Candidate(scenario=scenario, hardware=card, price=price, replica=replica_of(scenario))
    except ConfigError as error:
        return Candidate(scenario=scenario, hardware=card, price=price, replica=None, reason=str(error))


def _unlike(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those that are another's like by another way, such as the published precision by its name."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for one in candidates:
        kept.setdefault((one.told, one.price.usd_per_hour, one.scenario.hardware), one)
    return list(kept.values())
