"""From a name in Kendall's notation and what is said of the queue to a model of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast

from qtheory.basics.errors import ConfigError

from . import _makers
from ._convert import converted, with_name
from ._needs import ARRIVAL_SIDE, SERVICE_SIDE, check_given, from_name, has_side, needs_of
from ._sides import arrival_values, service_values
from .model import KendallModel, QueueModel, find_model
from .notation import Notation

__all__ = ["NamedQueue", "queue"]


@dataclass(frozen=True, kw_only=True)
class NamedQueue:
    """A name with what is said of the queue, from which variants can be made.

    Parameters
    ----------
    name : str
        In Kendall's notation, as ``M/M/8``; see `qtheory.queues.kendall.find_model`.
    given : mapping
        Parameters by name: numbers, laws, lists, or text of them. None counts as not given.

    Raises
    ------
    ConfigError
        If the name is unknown, a parameter is missing, too much or wrong.

    Examples
    --------
    >>> asked = NamedQueue(name="m/m/8", given={"rate_rps": 6.0, "service_rate_rps": 1.0})
    >>> asked.title, asked.with_rate(7.0).model().rate_rps
    ('M/M/8', 7.0)
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {name: value for name, value in self.given.items() if value is not None}
        object.__setattr__(self, "given", kept)
        _ = self._known  # an unknown name is refused at once

    @cached_property
    def _known(self) -> tuple[KendallModel, Notation | None]:
        return find_model(self.name)

    @property
    def entry(self) -> KendallModel:
        """The model of the registry."""
        return self._known[0]

    @property
    def title(self) -> str:
        """The name as it is usually written, numbers included."""
        entry, notation = self._known
        return entry.name if notation is None else f"{replace(notation, rule='')}{entry.tail}"

    @cached_property
    def values(self) -> dict[str, Any]:
        """Everything that is known of the queue, by parameter, text turned into values."""
        entry, notation = self._known
        check_given(entry, notation, self.title, self.given)
        found: dict[str, Any] = dict(from_name(entry, notation))
        for name, value in self.given.items():
            found[name] = converted(entry.parameter(name), value, each=entry.is_each(name))
        if notation is None:
            return found
        try:
            if has_side(entry, SERVICE_SIDE):
                found |= service_values(entry, notation, found)
            if has_side(entry, ARRIVAL_SIDE):
                found |= arrival_values(entry, notation, found)
        except ConfigError as error:
            raise with_name(error, found) from None
        return found

    def model(self) -> QueueModel:
        """The model, an object of `qtheory.queues`."""
        entry, values = self.entry, self.values
        if entry.make is not None:
            make = getattr(_makers, entry.make) if isinstance(entry.make, str) else entry.make
            return cast(QueueModel, make(values))
        sources = {item.name: entry.fields.get(item.name, item.name) for item in fields(entry.kind)}
        taken = {name: values[source] for name, source in sources.items() if source in values}
        return cast(QueueModel, entry.kind(**taken | dict(entry.fixed)))

    def open_names(self) -> list[str]:
        """Parameters that the name leaves open, in all ways to give them."""
        entry, notation = self._known
        needs = needs_of(entry, notation)
        names = [name for need in needs for name in (*need.first.split(" and "), *sorted(need.names))]
        return list(dict.fromkeys(names))

    def takes(self) -> tuple[list[str], list[str]]:
        """What is needed, each in the way named first, and what can be left out."""
        needs = needs_of(*self._known)
        return [need.first for need in needs if not need.optional], [n.first for n in needs if n.optional]

    def said(self) -> dict[str, Any]:
        """Parameters as they can be written: laws as text; the arrival rate where it follows."""
        known = {"rate_rps": self.values.get("rate_rps"), **from_name(*self._known), **self.given}
        made = {name: self.values.get(name) if name in self.given else value for name, value in known.items()}
        return {name: _written(value) for name, value in made.items() if value is not None}

    def having(self, name: str, value: Any) -> NamedQueue:
        """The same with one parameter changed or added."""
        return NamedQueue(name=self.name, given={**self.given, name: value})

    def with_rate(self, rate_rps: float) -> NamedQueue:
        """The same at another arrival rate, of all classes together where there are classes.

        Raises
        ------
        ConfigError
            If the queue has no arrival rate, or the rates of its classes are not given.
        """
        if "rate_rps" not in self.entry.each:
            return self.having("rate_rps", rate_rps)
        if "rate_rps" not in self.given:
            raise ConfigError(f"rate_rps: missing; {self.title} needs one a class, whose shares are kept")
        rates = converted(self.entry.parameter("rate_rps"), self.given["rate_rps"], each=True)
        return self.having("rate_rps", [rate * rate_rps / sum(rates) for rate in rates])


def _written(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return value if isinstance(value, int | float | str) else str(value)


def queue(name: str, /, **parameters: Any) -> QueueModel:
    """A queueing model from its name in Kendall's notation.

    Parameters
    ----------
    name : str
        As in ``M/M/1``, ``M/M/8/20``, ``E2/M/3``, ``M^X/G/1``, ``M/D[1,16]/1``, ``M/M/c+G``, ``M/G/1-SRPT``
        or ``closed network``; numbers can stand in the name or be given as parameters. `kendall_models` has
        all names.
    **parameters
        What the model takes, by name: numbers, laws and lists, or text of them, as
        ``service="lognormal(mean=1, cv=1.5)"``. Arrivals and services can be said in each way that the
        letters allow (``service_rate_rps`` or ``mean_service_s`` for M); a rate or mean beside a law
        stretches it.

    Returns
    -------
    QueueModel
        An object of the model's class, with ``solve()``.

    Raises
    ------
    ConfigError
        If the name is unknown, or a parameter is missing, too much or wrong.

    References
    ----------
    Kendall (1953), "Stochastic processes occurring in the theory of queues and their analysis by the method
    of the imbedded Markov chain", Annals of Mathematical Statistics 24, 338-354.

    Examples
    --------
    >>> model = queue("M/G/1", rate_rps=0.8, service="lognormal(mean=1, cv=1.5)")
    >>> print(f"{model.solve().mean_wait_s:.4f} s")
    6.5000 s
    >>> queue("M/M/8", rate_rps=6.0, service_rate_rps=1.0)
    MMc(rate_rps=6.0, service_rate_rps=1.0, n_servers=8)
    >>> queue("M/G/1", rate_rps=0.8)
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: service: missing; M/G/1 needs service: law of the service time, as in
    lognormal(mean=1, cv=1.5) (s)
    """
    return NamedQueue(name=name, given=parameters).model()
