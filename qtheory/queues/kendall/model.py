"""A queueing model under its name, and the registry of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .notation import Notation, read_notation
from .parameters import PARAMETERS, Parameter

if TYPE_CHECKING:
    from qtheory.queues.result import QueueResult

__all__ = ["KendallModel", "QueueModel", "find_model", "kendall_models", "register", "unregister"]


_SERVICES = ("service", "service_rate_rps", "mean_service_s", "service_s")


class QueueModel(Protocol):
    """What every queueing model can do."""

    def solve(self) -> QueueResult:
        """The steady state."""
        ...


Make = Callable[[Mapping[str, Any]], QueueModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class KendallModel:
    """A model under its name: what it takes, what it cannot give and why.

    Parameters
    ----------
    name : str
        In Kendall's notation, with letters for numbers (``M/M/c/K``), or words (``open Jackson network``).
    model : str or type
        The class, or where it stands below `qtheory.queues`, as ``multi.MMcK``.
    takes, may : tuple of str
        Parameters that are needed, and those that can be left out. One way to say the arrivals and one to say
        the service are enough: ``rate_rps`` and ``service_rate_rps`` stand for all ways that the letters of
        the name allow.
    each : tuple of str
        Those that are lists with one value a class.
    also : tuple of str
        Other names.
    fields : mapping
        Field of the class to the parameter that fills it, where the names differ.
    fixed : mapping
        Field of the class to a value that the name decides.
    make : str or callable, optional
        Makes the model from all values, in place of the class called with its fields; a name is one of
        the module ``_makers``.
    own : tuple of Parameter
        Parameters that no other model has.
    by_moments : bool
        Whether means and squared coefficients of variation can stand for laws.
    lacks : mapping
        What the model does not give (``wait``, ``wait law``, ``number law``, ...) to the reason.
    example : mapping
        Parameters that work.

    Raises
    ------
    ConfigError
        If a parameter is not known.

    Examples
    --------
    >>> print(find_model("M/M/8")[0].name)
    M/M/c
    """

    name: str
    model: str | type
    takes: tuple[str, ...]
    may: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    make: str | Make | None = None
    own: tuple[Parameter, ...] = ()
    by_moments: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.takes, *self.may, *self.each):
            self.parameter(name)

    def parameter(self, name: str) -> Parameter:
        """The parameter of this name, with its unit and meaning."""
        known = PARAMETERS | {parameter.name: parameter for parameter in self.own}
        checks.one_of("parameter", name, known)
        return known[name]

    def is_each(self, name: str) -> bool:
        """Whether a parameter, in whatever way it is given, is a list with one value a class."""
        return name in self.each or (name in _SERVICES and any(other in _SERVICES for other in self.each))

    @property
    def kind(self) -> type:
        """The class of the model."""
        if isinstance(self.model, type):
            return self.model
        folder, _, name = self.model.rpartition(".")
        found: type = getattr(import_module(f"qtheory.queues.{folder}"), name)
        return found

    @property
    def says(self) -> str:
        """What the model is, the first line of its description."""
        line = (self.kind.__doc__ or "").strip().partition("\n")[0]
        return re.sub(r"\s*\[\d+\]_|``|:\w+:(?=`)", "", line)

    @property
    def pattern(self) -> Notation | None:
        """The name taken apart; None for words."""
        return read_notation(self.name)

    @property
    def tail(self) -> str:
        """What stands behind the places of the name, with what separates it."""
        pattern = self.pattern
        if pattern is None or not pattern.rule:
            return ""
        return self.name[-len(pattern.rule) - 1 :]


_MODELS: dict[str, KendallModel] = {}


def register(model: KendallModel) -> KendallModel:
    """Make a model known under its names.

    Parameters
    ----------
    model : KendallModel

    Returns
    -------
    KendallModel
        The same.

    Raises
    ------
    ConfigError
        If the name is taken.

    Examples
    --------
    >>> from qtheory.queues.single import MM1
    >>> mine = KendallModel(name="M/M/1-mine", model=MM1, takes=("rate_rps", "service_rate_rps"))
    >>> find_model(register(mine).name)[0] is mine
    True
    >>> unregister("M/M/1-mine")
    """
    _load()
    taken = {_folded(name) for known in _MODELS.values() for name in (known.name, *known.also)}
    for name in (model.name, *model.also):
        if _folded(name) in taken:
            raise ConfigError(f"name: {name!r} is taken; choose another")
    _MODELS[model.name] = model
    return model


def unregister(name: str) -> None:
    """Forget a model that was registered.

    Parameters
    ----------
    name : str
        Its first name.

    Raises
    ------
    ConfigError
        If there is none.

    Examples
    --------
    >>> unregister("M/Q/1")
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: name: 'M/Q/1' was never registered
    """
    if name not in _MODELS:
        raise ConfigError(f"name: {name!r} was never registered")
    del _MODELS[name]


def kendall_models() -> tuple[KendallModel, ...]:
    """All models, in the order of the table.

    Examples
    --------
    >>> [model.name for model in kendall_models()][:3]
    ['M/M/1', 'M/D/1', 'M/E_k/1']
    """
    _load()
    return tuple(_MODELS.values())


def _load() -> None:
    """The models of this package, read once; here, since their tables need the class above."""
    if not _MODELS:
        from ._tables import TABLES

        _MODELS.update({model.name: model for table in TABLES for model in table})


def find_model(name: str) -> tuple[KendallModel, Notation | None]:
    """The model that a name means, and the name taken apart (None for words).

    The first of the models that fits the letters, else the first that fits more general ones: M/E2/1-SRPT is
    M/G/1-SRPT with Erlang services.

    Parameters
    ----------
    name : str
        As in ``M/M/8/20`` or ``open Jackson network``.

    Raises
    ------
    ConfigError
        If there is no such model; with the nearest right spelling.

    Examples
    --------
    >>> find_model("M/E2/3")[0].name
    'PH/PH/c'
    >>> find_model("M/G/1-SRTP")
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: model: unknown 'M/G/1-SRTP' (did you mean 'M/G/1-SRPT'?);
    sched-sim queue --list shows all
    """
    checks.text("model", name)
    folded = _folded(name)
    for model in kendall_models():
        if folded in [_folded(each) for each in (model.name, *model.also)]:
            return model, read_notation(name) or model.pattern
    notation = read_notation(name)
    for wider in [] if notation is None else notation.wider():
        for model in kendall_models():
            if any(wider.fits(pattern) for pattern in _patterns(model)):
                return model, notation
    raise ConfigError(
        f"model: unknown {checks.shown(name)}{_nearest(name, notation)}; sched-sim queue --list shows all"
    )


def _patterns(model: KendallModel) -> Iterator[Notation]:
    for name in (model.name, *model.also):
        if (pattern := read_notation(name)) is not None:
            yield pattern


def _folded(name: str) -> str:
    """The name without what does not count: large letters, blanks, dashes, marks of raised letters."""
    signs = re.sub(r"/\s*-", "/\u2212", name.lower())  # M/M/-1 is not M/M/1
    return "".join(letter for letter in signs if letter not in " -_^{}")


def _nearest(name: str, notation: Notation | None) -> str:
    """The most similar name, with the numbers of the wrong one left where they were."""
    names = [each for model in kendall_models() for each in (model.name, *model.also)]
    if notation is not None and notation.capacity is not None:
        names = [each for each in names if each.count("/") > 2] + names
    return checks.nearest(name, names)
