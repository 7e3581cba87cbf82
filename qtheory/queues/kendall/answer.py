"""What a queue answers: every number of a result by name, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError

from ._convert import with_name
from .front import NamedQueue
from .model import QueueModel
from .quantity import NUMBER, PART, PERCENTILE, TAIL, bare, percentile_name, variance_name

if TYPE_CHECKING:
    from qtheory.numerics.numberlaw import NumberLaw
    from qtheory.queues.result import QueueResult, TimeLaw

__all__ = ["NotGivenError", "QueueAnswer", "answer"]

_ALWAYS = (
    "utilization_frac",
    "mean_wait_s",
    "mean_response_s",
    "mean_number",
    "mean_queue",
    "prob_wait",
    "prob_empty",
)


_MOST_COUNTED = 4096  # probabilities of the number asked for one by one


class NotGivenError(ConfigError):
    """A quantity that the model does not give; ``reason`` says why."""

    def __init__(self, name: str, title: str, reason: str) -> None:
        super().__init__(f"{name}: {title} does not give it, because {reason}")
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class QueueAnswer:
    """The steady state of a named queue.

    Parameters
    ----------
    asked : NamedQueue
        What was asked.
    model : QueueModel
        The model that it is.
    result : QueueResult
        What that gave.

    Examples
    --------
    >>> one = answer(NamedQueue(name="M/M/1", given={"rate_rps": 0.8, "service_rate_rps": 1.0}))
    >>> print(f"{one.value('p99_wait_s'):.3f} {one.value('tail_wait(2)'):.3f} {one.value('var_number'):.3f}")
    21.910 0.536 20.000
    """

    asked: NamedQueue
    model: QueueModel
    result: QueueResult

    @cached_property
    def laws(self) -> dict[str, TimeLaw]:
        """Laws of times that the result holds, those of classes under names as ``wait_class1``."""
        found: dict[str, TimeLaw] = {}
        for item in fields(self.result):
            value = getattr(self.result, item.name)
            if hasattr(value, "ppf"):
                found[item.name] = value
            elif item.name.endswith("_by_class") and value and hasattr(value[0], "ppf"):
                head = item.name.removesuffix("_by_class")
                found |= {f"{head}_class{k}": law for k, law in enumerate(value, 1)}
        return found

    @cached_property
    def number_laws(self) -> dict[str, NumberLaw]:
        """Laws of the number present, of all or of each class under names as ``number_class1``."""
        from qtheory.numerics.numberlaw import NumberLaw  # slow to import, so only here

        found = {} if self.result.number_pmf is None else {"number": self.result.number_pmf}
        for k, pmf in enumerate(getattr(self.result, "number_pmf_by_class", None) or (), 1):
            found[f"number_class{k}"] = pmf
        return {what: NumberLaw(pmf, most=_MOST_COUNTED) for what, pmf in found.items()}

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """Plain numbers of the result by name; None where the model has none."""
        found: dict[str, float | None] = {}
        for item in fields(self.result):
            value = getattr(self.result, item.name)
            if item.name in ("exactness", "route") or callable(value) or item.name in self.laws:
                continue
            if value is None or isinstance(value, int | float) or hasattr(value, "__float__"):
                found[item.name] = None if value is None else float(value)
            head, by, part = item.name.partition("_by_")
            if by and isinstance(value, tuple) and all(isinstance(one, int | float | None) for one in value):
                found |= {
                    f"{head}_{part}{k}": math.inf if one is None else float(one)
                    for k, one in enumerate(value, 1)
                }
        return {name: value for name, value in found.items() if value is not None or name in _ALWAYS}

    def value(self, name: str) -> float:
        """One number.

        Parameters
        ----------
        name : str
            A number of the result (``mean_wait_s``, ``prob_block``), a percentile (``p99_response_s``), a
            variance (``var_wait_s2``) or a tail (``tail_wait(2)``: the probability of more than 2 s);
            ``_class1``, ``_station1`` behind it for one of several.

        Raises
        ------
        ConfigError
            If no model has it.
        NotGivenError
            If this model does not give it.
        """
        plain = name.replace(" ", "")
        if (percentile := PERCENTILE.fullmatch(plain)) is not None:
            return self._percentile(name, float(percentile["level"]), bare(percentile["what"]))
        if (tail := TAIL.fullmatch(plain)) is not None:
            return self._tail(name, bare(tail["what"]) + tail["rest"], tail["time"])
        if plain.startswith("var_") and (what := bare(plain[4:])) and plain not in self.numbers:
            return self._variance(name, what)
        return self._plain(name, plain)

    def _plain(self, name: str, plain: str) -> float:
        for spelled in (plain, f"{plain}_s", f"{plain}_frac", f"{plain}_rps"):
            found = self.numbers.get(spelled)
            if found is None and spelled == "prob_empty" and self.result.number_pmf is not None:
                found = self.result.number_pmf(0)  # dear for some models, so only when asked for
            if found is not None:
                if not math.isfinite(found):
                    raise NotGivenError(name, self.asked.title, "it is infinite")
                return found
            if spelled in self.numbers:
                raise self._missing(name, bare(spelled.removeprefix("mean_")), "mean")
        known = [*_ALWAYS, *self.numbers, *(percentile_name(99, what) for what in (*self.laws, "number"))]
        raise ConfigError(
            f"{name}: unknown quantity{checks.nearest(plain, known)}; one of {', '.join(sorted(set(known)))}"
        )

    def _law(self, name: str, what: str) -> TimeLaw:
        if what in self.laws:
            return self.laws[what]
        whole = (part := PART.fullmatch(what)) is not None and part["name"] in ("wait", "response")
        if what not in ("wait", "response") and not whole:
            known = [*self.laws, "wait", "response", "number"]
            hint = checks.nearest(what, known)
            raise ConfigError(f"{name}: {what!r} is no law of {self.asked.title}{hint}")
        raise self._missing(name, what, "law")

    def _percentile(self, name: str, level: float, what: str) -> float:
        if not 0 < level < 100:
            raise ConfigError(f"{name}: a percentile lies between 0 and 100")
        if what in self.number_laws:
            return float(self.number_laws[what].ppf(level / 100))
        if NUMBER.fullmatch(what):
            raise self._missing(name, what, "law")
        return float(self._law(name, what).ppf(level / 100))

    def _tail(self, name: str, what: str, text: str) -> float:
        try:
            time_s = float(text)
        except ValueError:
            raise ConfigError(f"{name}: {text!r} is not a number of seconds; as in tail_wait(2)") from None
        checks.non_negative(**{name: time_s})
        return float(self._law(name, what).sf(time_s))

    def _variance(self, name: str, what: str) -> float:
        own = getattr(self.model, f"var_{what}_s2", None)
        if what in self.laws or callable(own):
            try:
                found = self.laws[what].var_s2 if own is None or what in self.laws else float(own())
            except ConfigError as error:
                raise NotGivenError(name, self.asked.title, str(error).partition(": ")[2]) from None
        elif (number := self.numbers.get(f"var_{what}_s2", self.numbers.get(f"var_{what}"))) is not None:
            found = number
        elif any(_computes(self.result, f"var_{what}{unit}") for unit in ("_s2", "")):
            raise NotGivenError(name, self.asked.title, "it is infinite, as a moment that it needs is")
        elif what in self.number_laws and (mean := self.numbers.get(f"mean_{what}")) is not None:
            found = self.number_laws[what].var(mean)
        elif what in ("wait", "response", "number") or PART.fullmatch(what):
            raise self._missing(name, what, "law")
        else:
            return self._plain(name, name)
        if not math.isfinite(found):
            raise NotGivenError(name, self.asked.title, "it is infinite")
        return float(found)

    def _missing(self, name: str, what: str, aspect: str) -> NotGivenError:
        """Why there is none: the reason of the registry, else what the model computes."""
        lacks, title = self.asked.entry.lacks, self.asked.title
        part_of = {"prob_wait": "wait", "queue": "wait"}.get(what, what)
        for key in (name, f"{what} {aspect}", what, aspect, part_of):
            if key in lacks:
                return NotGivenError(name, title, lacks[key])
        if aspect == "law" and f"{what}_class1" in {**self.laws, **self.number_laws}:
            return NotGivenError(
                name, title, "each class has its own: see names that end in _class1 and so on"
            )
        has_mean = self.numbers.get(f"mean_{what}_s") or self.numbers.get(f"mean_{what}")
        only = f"for the {what} the model has the mean alone" if aspect == "law" and has_mean else ""
        return NotGivenError(name, title, only or "the model does not compute it")

    def row(self, percentiles: Sequence[float] = (50, 90, 99)) -> dict[str, Any]:
        """All that it gives, by name, ready to be written; under ``not_given`` a reason for all else.

        Parameters
        ----------
        percentiles : sequence of float
            Levels in per cent.
        """
        head = {"model": self.asked.title, **self.asked.said()}
        found: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name in self.quantities(percentiles):
            try:
                found[name] = self.value(name)
            except NotGivenError as error:
                reasons[name] = error.reason
            except ConvergenceError as error:
                reasons[name] = str(error)
        good = {"exactness": self.result.exactness, "route": self.result.route}
        return {**head, **good, **found, "not_given": reasons}

    def quantities(self, percentiles: Sequence[float]) -> Iterator[str]:
        """Names of what is told without being asked for one by one."""
        yield from self.numbers
        laws = list(dict.fromkeys(("wait", "response", *self.laws)))
        for what in laws:
            if variance_name(what) not in self.numbers:
                yield variance_name(what)
            yield from (percentile_name(level, what) for level in percentiles)
        for what in dict.fromkeys(("number", *self.number_laws)):
            if variance_name(what) not in self.numbers:
                yield variance_name(what)
            yield from (percentile_name(level, what) for level in percentiles)


def _computes(result: QueueResult, name: str) -> bool:
    """Whether the result of this model has a field of its own for it, not only the one of all results."""
    from qtheory.queues.result import QueueResult  # slow to import, so only here

    ours = [kind for kind in type(result).__mro__ if kind not in QueueResult.__mro__]
    return any(name in vars(kind).get("__annotations__", {}) for kind in ours)


def answer(asked: NamedQueue) -> QueueAnswer:
    """The steady state of a named queue.

    Parameters
    ----------
    asked : NamedQueue

    Returns
    -------
    QueueAnswer

    Raises
    ------
    ConfigError
        If a parameter is missing, too much or wrong.
    UnstableError
        If there is no steady state; the message says what would make it stable.

    Examples
    --------
    >>> one = answer(NamedQueue(name="M/D/1", given={"rate_rps": 0.5, "service_s": 1.0}))
    >>> one.result.exactness, one.row()["mean_wait_s"]
    ('exact', 0.5)
    """
    model = asked.model()
    try:
        return QueueAnswer(asked=asked, model=model, result=model.solve())
    except ZeroDivisionError:  # a load that is 1 but for rounding
        raise UnstableError(
            f"the load of {asked.title} cannot be told from 1; lower the rate or shorten the service"
        ) from None
    except ConfigError as error:
        raise with_name(error, asked.values) from None
