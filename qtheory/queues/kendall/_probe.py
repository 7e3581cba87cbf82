"""Conditions evaluated at one value of an unknown after another, each once."""

from __future__ import annotations

from dataclasses import dataclass, field

from qtheory.basics.errors import ConfigError, ConvergenceError, ServingError, UnstableError

from ._grid import Grid
from .answer import NotGivenError, QueueAnswer, answer
from .condition import Condition
from .front import NamedQueue

__all__ = ["BROKEN", "FAILS", "HOLDS", "UNSTABLE", "Probe"]

HOLDS, FAILS, UNSTABLE, BROKEN = "holds", "fails", "unstable", "broken"
_SETTLED = 0.01  # share of the way to the limit that a large step may still change


@dataclass(kw_only=True)
class Probe:
    """What the conditions say at each index of a grid."""

    asked: NamedQueue
    name: str
    conditions: tuple[Condition, ...]
    grid: Grid
    seen: dict[int, str] = field(default_factory=dict)
    answers: dict[int, QueueAnswer] = field(default_factory=dict)
    values: dict[int, tuple[float, ...]] = field(default_factory=dict)
    errors: dict[int, ServingError] = field(default_factory=dict)

    def queue_at(self, index: int) -> NamedQueue:
        """The queue with the value of an index."""
        value = self.grid.value(index)
        return self.asked.with_rate(value) if self.name == "rate_rps" else self.asked.having(self.name, value)

    def check(self, index: int) -> None:
        """Raise, before all else, what is wrong with the other parameters."""
        _ = self.queue_at(index).values

    def __call__(self, index: int) -> str:
        """What the conditions say."""
        if index not in self.seen:
            self.seen[index] = self._ask(index)
        return self.seen[index]

    def _ask(self, index: int) -> str:
        try:
            found = answer(self.queue_at(index))
            values = tuple(found.value(condition.quantity) for condition in self.conditions)
        except UnstableError as error:
            self.errors[index] = error
            return UNSTABLE
        except ConvergenceError as error:
            self.errors[index] = error
            return BROKEN
        except ConfigError as error:
            known = isinstance(error, NotGivenError) and self.values  # far out only means may be there
            if not known and _is_of_the_question(error, self.conditions):
                raise ConfigError(f"solve: {error}") from None
            self.errors[index] = error
            return BROKEN
        self.answers[index], self.values[index] = found, values
        met = all(one.holds(value) for one, value in zip(self.conditions, values, strict=True))
        return HOLDS if met else FAILS

    def scale(self) -> float:
        """A value of the right order of magnitude to begin with."""
        service_s, rate_rps = self._mean_service_s(), self._rate_rps()
        if self.grid.whole:
            return (rate_rps or 0.0) * (service_s or 0.0) if self.name == "n_servers" else 1.0
        if self.name == "rate_rps":
            return self._n_servers() / service_s if service_s else 1.0
        if self.name == "service_rate_rps":
            return rate_rps or 1.0
        if self.name.endswith("_s"):
            return service_s or (1.0 / rate_rps if rate_rps else 1.0)
        return 1.0

    def _known(self) -> dict[str, object]:
        """Values of the queue at any value of the unknown, as far as they can be had."""
        try:
            one = self.asked.with_rate(1.0) if self.name == "rate_rps" else self.asked.having(self.name, 1.0)
            return dict(one.values)
        except ServingError:
            return {}

    def _mean_service_s(self) -> float | None:
        values = self._known()
        if self.name in ("mean_service_s", "service_s"):
            return None
        found = values.get("mean_service_s", values.get("base_s"))
        found = max(found) if isinstance(found, list) else found
        steps = values.get("mean_steps", 1.0)
        if not isinstance(found, float) or not found > 0:
            return None
        return found * steps if isinstance(steps, float) else found

    def _rate_rps(self) -> float | None:
        found = self._known().get("rate_rps")
        found = sum(found) if isinstance(found, list) else found
        return found if isinstance(found, float) and found > 0 else None

    def _n_servers(self) -> int:
        found = self._known().get("n_servers", 1)
        return found if isinstance(found, int) and found > 0 else 1

    def is_settled(self, before: int, here: int, there: int) -> bool:
        """Whether large steps change ever less, and next to nothing of what is missing to the limit."""
        if not all(index in self.values for index in (before, here, there)) or not self.conditions:
            return False
        if not self.seen[before] == self.seen[here] == self.seen[there]:
            return False
        values = (self.values[index] for index in (before, here, there))
        return all(
            abs(c - b) <= min(abs(b - a) / 2, _SETTLED * abs(c - one.limit))
            for a, b, c, one in zip(*values, self.conditions, strict=True)
        )

    def narrowed(self, held: int, other: int) -> tuple[int, int]:
        """Neighbours of which the conditions hold at the first alone, between two that may be far apart."""
        halve = True
        while (width := abs(other - held)) > 1:
            middle = (held + other) // 2 if halve else self._crossing(held, other)
            held, other = (middle, other) if self(middle) == HOLDS else (held, middle)
            halve = abs(other - held) > width // 2 and not halve
        return held, other

    def _crossing(self, held: int, other: int) -> int:
        """Where a straight line between the values meets the limit, at least one step inside."""
        if held not in self.values or other not in self.values:
            return (held + other) // 2
        shares = [
            (one.limit - a) / (b - a)
            for a, b, one in zip(self.values[held], self.values[other], self.conditions, strict=True)
            if not one.holds(b) and a != b
        ]
        low, high = min(held, other) + 1, max(held, other) - 1
        return min(max(held + round(min(shares) * (other - held)), low), high)

    def last_stable(self, stable: int, beyond: int) -> int:
        """The last index with a steady state between one that has it and one that has not."""
        while abs(beyond - stable) > 1:
            middle = (stable + beyond) // 2
            stable, beyond = (stable, middle) if self(middle) == UNSTABLE else (middle, beyond)
        return stable

    def is_refused(self, index: int) -> bool:
        """Whether a value is one that the model does not take, such as more servers than places."""
        error = self.errors.get(index)
        return isinstance(error, ConfigError) and not isinstance(error, NotGivenError)

    def last_allowed(self, here: int, refused: int) -> int:
        """The last index that the model takes between one that it takes and one that it does not."""
        while abs(refused - here) > 1:
            middle = (here + refused) // 2
            here, refused = (here, middle) if self(middle) == BROKEN else (middle, refused)
        return here

    def is_worse(self, index: int, *, than: int | None) -> bool:
        """Whether a condition fails at an index by more than at another one."""
        if than not in self.values or index not in self.values:
            return False
        found = zip(self.conditions, self.values[index], self.values[than], strict=True)
        return any(not one.holds(a) and abs(a - one.limit) > abs(b - one.limit) for one, a, b in found)

    def middle(self) -> tuple[int, int]:
        """The part of the grid where values were found, for a closer look."""
        known = sorted(self.values)
        return (known[0], known[-1]) if known else (0, 0)

    def told(self, index: int) -> str:
        """What happens at an index, in words."""
        value = self.grid.value(index)
        if index in self.errors:
            return f"with {value:.10g}: {self.errors[index]}"
        said = " and ".join(
            f"{one.quantity} = {_beside(found, one.limit)}"
            for one, found in zip(self.conditions, self.values[index], strict=True)
        )
        return f"with {value:.10g} it is {said}"

    def closest(self) -> str:
        """The value that comes nearest to the first condition that is not met."""
        if not self.values:
            return str(next(iter(self.errors.values())))
        limits = [one.limit for one in self.conditions]

        def gap(index: int) -> float:
            return max(
                abs(found - limit) / max(abs(limit), 1e-300)
                for one, found, limit in zip(self.conditions, self.values[index], limits, strict=True)
                if not one.holds(found)
            )

        return self.told(min(self.values, key=gap))

    def raise_if_broken(self) -> None:
        """If nothing could be computed where there may be a steady state, say why."""
        broken = [index for index, verdict in self.seen.items() if verdict == BROKEN]
        if not self.values and broken:
            raise self.errors[broken[0]]


def _is_of_the_question(error: ConfigError, conditions: tuple[Condition, ...]) -> bool:
    """Whether the message speaks of a quantity that was asked for, not of a parameter."""
    return any(str(error).startswith(f"{one.quantity}:") for one in conditions)


def _beside(value: float, limit: float) -> str:
    """The value with six digits, or as many as tell it from the limit."""
    for digits in range(6, 18):
        if float(text := f"{value:.{digits}g}") != limit:
            return text
    return f"{value:.6g}"
