"""Flags of the command `plan`: lists of what to try, prices, and what the fleet must bear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError

from ._page import Paged, output_flags
from ._queue_flags import QueueOutput
from .answers import scheduler_list
from .shared_flags import share_flag, value_flag
from .values import check_inside, file_name, reader, word_list

if TYPE_CHECKING:
    from qtheory.planning.fleet_candidates import Choices
    from qtheory.planning.fleet_size import Need
    from qtheory.planning.prices import Price

__all__ = ["LISTED", "NEEDED", "TIERS", "ListFlags", "NeedFlags", "PlanOutput"]

LISTED = ("hardware", "tp", "weights", "scheduler", "budget_tokens")
"""Fields of a scenario of which this command takes several values."""
TIERS = ("closed", "numeric", "sim")
_ANY = 1.0

_TRY = Group("Candidates", sort_key=0)
_MUST = Group("Demands", sort_key=0)
_DEFAULT_TPS = "1,2,4,8"
_DEFAULT_SCHEDULERS = "chunked"


_HARDWARE = value_flag(
    "--hardware",
    "accelerators, separated by commas [all presets with a price]",
    group=_TRY,
    metavar="NAMES",
)
_TP = value_flag(
    "--tp",
    f"accelerators in one replica, separated by commas [{_DEFAULT_TPS}]",
    group=_TRY,
    metavar="LIST",
)
_WEIGHTS = value_flag(
    "--weights", "precisions of the weights, separated by commas [as published]", group=_TRY, metavar="LIST"
)
_SCHEDULERS = value_flag(
    ["--schedulers", "--scheduler"],
    f"schedulers, separated by commas [{_DEFAULT_SCHEDULERS}]",
    group=_TRY,
    metavar="NAMES",
)
_BUDGETS = value_flag(
    ["--budget-tokens", "--budgets"],
    "tokens a step, separated by commas, for schedulers that cut prompts [hardware preset]",
    group=_TRY,
    metavar="LIST",
)
_PRICE = Parameter(
    name="--price",
    help="US dollars for one accelerator and hour, as in h100=2.5; can be repeated [the preset's]",
    group=_TRY,
    negative=(),
    show_default=False,
    metavar="NAME=USD",
)
_BASIS = value_flag(
    "--price-basis", "kind of the stated prices to take, as in '3-year rental' [the preset's]", group=_TRY
)

_SHARE = share_flag("--goodput-frac", "share of all requests that must be good [0.9]", group=_MUST)
_HEADROOM = share_flag("--headroom-frac", "by how much more the rate may grow, as 0.2 [0]", group=_MUST)
_SPARE = value_flag(
    "--spare",
    "replicas that may be away, lost or being updated, at the full rate [0]",
    group=_MUST,
    kind=int,
    metavar="N",
)
_MISS = share_flag(
    "--miss-prob",
    "largest probability of missing the share because predictions err, as 0.05 [any]",
    group=_MUST,
)
_PLOT = Parameter(
    name="--plot",
    help="draw cost against latency to this file: .png, .svg or .pdf",
    group=Group("Output", sort_key=2),
    converter=file_name,
    n_tokens=1,
    negative=(),
    metavar="FILE",
)
_JOBS = value_flag(
    "--jobs",
    "processes that ask candidates, or simulate, side by side; the plan does not depend on it "
    "[number of cores]",
    group=Group("Output", sort_key=2),
    kind=int,
    metavar="N",
)
_WINDOW = value_flag(
    "--window-s", "windows of a day or a trace [an hour]", group=_MUST, kind=float, metavar="SECONDS"
)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ListFlags:
    """What is tried, and what it costs."""

    hardware: Annotated[str | None, _HARDWARE] = None
    tp: Annotated[str | None, _TP] = None
    weights: Annotated[str | None, _WEIGHTS] = None
    schedulers: Annotated[str | None, _SCHEDULERS] = None
    budget_tokens: Annotated[str | None, _BUDGETS] = None
    price: Annotated[tuple[str, ...], _PRICE] = ()
    price_basis: Annotated[str | None, _BASIS] = None

    def choices(self, said: Mapping[str, Any]) -> tuple[Choices, dict[str, Price], tuple[str, ...]]:
        """Values to combine, prices, and the presets that were left out for want of one.

        ``said`` is what the scenario file says.
        """
        from qtheory.planning.fleet_candidates import Choices
        from qtheory.planning.prices import parse_prices, prices_of
        from qtheory.system.hardware import find_hardware, hardware_names

        listed = self.hardware or said.get("hardware")
        names = word_list("--hardware", listed) if listed else []
        given = parse_prices(self.price, names=[find_hardware(name).name for name in names])
        names = names or [name for name in hardware_names() if name in given or self._has_price(name)]
        cards = [find_hardware(name) for name in names]
        known = [card.name for card in cards]
        foreign = next((name for name in given if name not in known), None)
        if foreign is not None:
            raise ConfigError(f"--price: {foreign} is not among --hardware {listed}; add it, or leave it out")
        prices = prices_of(cards, given, basis=self.price_basis)
        choices = Choices(
            hardware=tuple(names),
            tps=tuple(_wholes("--tp", self.tp or said.get("tp") or _DEFAULT_TPS)),
            weights=_or_none(self.weights or said.get("weights"), "--weights"),
            schedulers=tuple(scheduler_list(self.schedulers or said.get("scheduler") or _DEFAULT_SCHEDULERS)),
            budgets=_budgets(self.budget_tokens or said.get("budget_tokens")),
        )
        return choices, prices, () if listed else tuple(n for n in hardware_names() if n not in names)

    def _has_price(self, name: str) -> bool:
        """Whether a preset has a price of the kind that is asked for."""
        from qtheory.planning.prices import price_points, priced_names

        if self.price_basis is None:
            return name in priced_names()
        return any(point.basis == self.price_basis for point in price_points(name))


def _wholes(flag: str, given: Any) -> list[int]:
    whole = reader("", int)
    try:
        numbers = [int(whole(int, [_Word(word)])) for word in word_list(flag, str(given))]
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(flag) else f"{flag}: {text}; as in 1,2,4") from None
    for number in numbers:
        if number < 1:
            raise ConfigError(f"{flag}: {number} must be a whole number >= 1")
    return numbers


@dataclass
class _Word:
    value: str


def _or_none(given: Any, flag: str) -> tuple[str | None, ...]:
    return (None,) if given is None else tuple(word_list(flag, str(given)))


def _budgets(given: Any) -> tuple[int | None, ...]:
    return (None,) if given is None else tuple(_wholes("--budget-tokens", given))


@dataclass(frozen=True, kw_only=True)
class PlanFiles(Paged, QueueOutput):
    """Where a plan goes, with its figure and its page."""

    plot: Annotated[str | None, _PLOT] = None
    jobs: Annotated[int | None, _JOBS] = None


if TYPE_CHECKING:
    PlanOutput = PlanFiles
else:
    PlanOutput = output_flags(PlanFiles)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NeedFlags:
    """What the fleet must bear."""

    goodput_frac: Annotated[float, _SHARE] = 0.9
    headroom_frac: Annotated[float, _HEADROOM] = 0.0
    spare: Annotated[int, _SPARE] = 0
    miss_prob: Annotated[float | None, _MISS] = None
    window_s: Annotated[float | None, _WINDOW] = None

    def check(self) -> None:
        """Raise if a share is none."""
        check_inside("--goodput-frac", self.goodput_frac, 0.9)
        if self.miss_prob is not None:
            check_inside("--miss-prob", self.miss_prob, 0.05)

    def need(self, rate_rps: float) -> Need:
        """The demand at a rate."""
        from qtheory.planning.fleet_size import Need

        return Need(
            rate_rps=rate_rps,
            goodput_frac=self.goodput_frac,
            headroom_frac=self.headroom_frac,
            spare=self.spare,
            miss_prob=_ANY if self.miss_prob is None else self.miss_prob,
        )


NEEDED = NeedFlags()
