"""Arrivals from text, as on the command line and in scenario files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Call, parse_call

from .arrivals import Arrivals, ConstantArrivals, GammaArrivals, PoissonArrivals
from .loops import ClosedLoop, Replay

__all__ = ["ARRIVAL_FORMS", "parse_arrivals"]

_KINDS: dict[str, tuple[Callable[..., Arrivals], tuple[str, ...], tuple[str, ...]]] = {
    "poisson": (PoissonArrivals, (), ("client_cap",)),
    "gamma": (GammaArrivals, ("cv",), ("client_cap",)),
    "constant": (ConstantArrivals, (), ("client_cap",)),
    "closed": (ClosedLoop, ("concurrency",), ("think_s",)),
    "replay": (Replay, (), ("speed", "client_cap")),
}
_ALSO = {"deterministic": "constant", "exponential": "poisson", "trace": "replay"}

ARRIVAL_FORMS: dict[str, str] = {
    name: f"{name}({', '.join([*needed, *(f'[{key}]' for key in optional)])})"
    for name, (_, needed, optional) in _KINDS.items()
}
"""Every kind of arrivals that `parse_arrivals` knows, with its parameters; optional ones in brackets."""


def parse_arrivals(text: str, *, where: str = "arrivals") -> Arrivals:
    """Arrivals from their text; ``str(arrivals)`` gives one that reads back as an equal value.

    Parameters
    ----------
    text : str
        One of `ARRIVAL_FORMS`: ``poisson``, ``gamma(cv=2)``, ``constant``,
        ``closed(concurrency=64, think_s=1)``, ``replay(speed=2)``; the first parameter may go
        without its name.
    where : str
        What it is for; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name or a number is not allowed.

    Examples
    --------
    >>> parse_arrivals("gamma(cv=2)")
    GammaArrivals(cv=2, client_cap=0)
    >>> parse_arrivals("closed(64)").in_flight_cap
    64
    >>> parse_arrivals("possion")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: arrivals: unknown 'possion' (did you mean 'poisson'?); one of
    poisson([client_cap]), gamma(cv, [client_cap]), constant([client_cap]), closed(concurrency, [think_s]),
    replay([speed], [client_cap])
    """
    call = parse_call(text, where=where)
    if not isinstance(call, Call):
        raise ConfigError(f"{where}: {text!r} is a number; one of {', '.join(ARRIVAL_FORMS.values())}")
    name = _ALSO.get(call.name, call.name)
    if name not in _KINDS:
        hint = checks.nearest(name, [*_KINDS, *_ALSO])
        raise ConfigError(f"{where}: unknown {name!r}{hint}; one of {', '.join(ARRIVAL_FORMS.values())}")
    try:
        return _KINDS[name][0](**_arguments(name, call))
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from None


def _arguments(name: str, call: Call) -> dict[str, Any]:
    _, needed, optional = _KINDS[name]
    known = [*needed, *optional]
    if len(call.args) > 1 or (call.args and known[0] in call.named):
        raise ConfigError(f"write the parameters by name: {ARRIVAL_FORMS[name]}")
    given = {**dict(zip(known, call.args, strict=False)), **call.named}
    for key, value in given.items():
        if key not in known:
            raise ConfigError(f"unknown parameter {key!r}{checks.nearest(key, known)}; {ARRIVAL_FORMS[name]}")
        if isinstance(value, Call | tuple):
            raise ConfigError(f"{key}: a finite number is needed")
    for key in needed:
        if key not in given:
            raise ConfigError(f"{key} is needed; {ARRIVAL_FORMS[name]}")
    return given
