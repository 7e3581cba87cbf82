"""Arrivals from text, as on the command line and in scenario files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Call, parse_call

from ._text import begins_with, quoted, split_call
from .arrivals import Arrivals, ConstantArrivals, GammaArrivals, PoissonArrivals
from .day import DayArrivals
from .loops import ClosedLoop, Replay
from .mmpp import MmppArrivals
from .rate_profile import ProfileArrivals

__all__ = ["ARRIVAL_FORMS", "parse_arrivals", "with_file"]

_TEXTS = ("workload", "client")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    build: Callable[..., Arrivals]
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ("client_cap",)
    lists: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        inside = ", ".join([*self.needed, *(f"[{key}]" for key in self.optional)])
        return f"{name}({inside})" if inside else name


_KINDS: dict[str, _Form] = {
    "poisson": _Form(build=PoissonArrivals),
    "gamma": _Form(build=GammaArrivals, needed=("cv",)),
    "constant": _Form(build=ConstantArrivals),
    "mmpp": _Form(build=MmppArrivals, needed=("rates", "mean_s"), lists=("rates", "mean_s")),
    "day": _Form(build=DayArrivals, optional=("peak_to_mean", "period_s", "start_s", "cv", "client_cap")),
    "profile": _Form(
        build=ProfileArrivals,
        needed=("rates", "lengths_s"),
        optional=("start_s", "cv", "client_cap"),
        lists=("rates", "lengths_s"),
    ),
    "closed": _Form(build=ClosedLoop, needed=("concurrency",), optional=("think_s",)),
    "replay": _Form(build=Replay, optional=("speed", "client_cap")),
}
_FROM_FILE = _Form(
    build=ProfileArrivals.from_file, needed=("FILE",), optional=(*_TEXTS, "start_s", "cv", "client_cap")
)
_ALSO = {
    "deterministic": "constant",
    "exponential": "poisson",
    "trace": "replay",
    "diurnal": "day",
    "daily": "day",
    "sinusoid": "day",
}

ARRIVAL_FORMS: dict[str, str] = {name: form.text(name) for name, form in _KINDS.items()} | {
    "profile": f"{_FROM_FILE.text('profile')} or {_KINDS['profile'].text('profile')}"
}
"""Every kind of arrivals that `parse_arrivals` knows, with its parameters; optional ones in brackets."""


def parse_arrivals(text: str, *, where: str = "arrivals") -> Arrivals:
    """Arrivals from their text; ``str(arrivals)`` gives one that reads back as an equal value.

    Parameters
    ----------
    text : str
        One of `ARRIVAL_FORMS`: ``poisson``, ``gamma(cv=2)``, ``constant``,
        ``mmpp(rates=[1, 5], mean_s=[60, 20])``, ``day(peak_to_mean=1.5)``,
        ``profile(rates.csv, workload=m-large)``, ``closed(concurrency=64, think_s=1)``,
        ``replay(speed=2)``; the first parameter may go without its name.
    where : str
        What it is for; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name, a number or a file is not allowed.

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
    poisson, gamma, constant, mmpp, day, profile, closed, replay
    """
    begun = begins_with(text) if isinstance(text, str) else None
    if begun is not None:
        name = _known(begun, where)
        if name == "profile":
            return _profile(text, where)
    call = parse_call(text, where=where)
    if not isinstance(call, Call):
        raise ConfigError(f"{where}: {checks.shown(text)} is a number; one of {', '.join(_KINDS)}")
    return _built(_known(call.name, where), call, where)


def with_file(text: str, found: Callable[[str], str]) -> str:
    """The text of arrivals or lengths with the name of the file in it as ``found`` would have it.

    Parameters
    ----------
    text : str
        ``profile(FILE, ...)`` or ``quantiles(FILE, ...)``; any other is given back as it is.
    found : callable (str) -> str
        From the name that is written to the one that is meant.

    Examples
    --------
    >>> with_file("profile(rates.csv, workload=m-large)", lambda file: f"data/{file}")
    'profile(data/rates.csv, workload=m-large)'
    >>> with_file("gamma(cv=2)", str.upper)
    'gamma(cv=2)'
    """
    if begins_with(text) not in ("profile", "quantiles"):
        return text
    try:
        parts = split_call(text, where="")
    except ConfigError:  # who reads the text will say so
        return text
    if parts.first is None or parts.first.startswith("[") or found(parts.first) == parts.first:
        return text
    named = [f"{key}={quoted(value)}" for key, value in parts.named.items()]
    return f"{begins_with(text)}({', '.join([quoted(found(parts.first)), *named])})"


def _known(name: str, where: str) -> str:
    name = _ALSO.get(name, name)
    if name not in _KINDS:
        hint = checks.nearest(name, [*_KINDS, *_ALSO])
        raise ConfigError(f"{where}: unknown {checks.shown(name)}{hint}; one of {', '.join(_KINDS)}")
    return name


def _built(name: str, call: Call, where: str) -> Arrivals:
    try:
        return _KINDS[name].build(**_arguments(_KINDS[name], ARRIVAL_FORMS[name], call))
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from None


def _profile(text: str, where: str) -> Arrivals:
    """A profile, of a file (which `parse_call` cannot read) or with its numbers spelled out."""
    if "(" not in text:
        raise ConfigError(f"{where}: profile: a file is needed; {ARRIVAL_FORMS['profile']}")
    parts = split_call(text, where=where)
    if parts.first is None or parts.first.startswith("["):
        return _built("profile", _call(parts.named, parts.first, where), where)
    texts = {key: value for key, value in parts.named.items() if key in _TEXTS}
    numbers = {key: value for key, value in parts.named.items() if key not in _TEXTS}
    try:
        given = _arguments(_FROM_FILE, ARRIVAL_FORMS["profile"], _call(numbers, None, where), skip=("FILE",))
        return _FROM_FILE.build(parts.first, **texts, **given)
    except ConfigError as error:
        raise ConfigError(f"{where}: profile: {error}") from None


def _call(named: dict[str, str], first: str | None, where: str) -> Call:
    pieces = [*([first] if first else []), *(f"{key}={value}" for key, value in named.items())]
    call = parse_call(f"profile({', '.join(pieces)})", where=where)
    return call if isinstance(call, Call) else Call("profile")


def _arguments(form: _Form, usage: str, call: Call, *, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    known = [key for key in (*form.needed, *form.optional) if key not in skip]
    if len(call.args) > 1 or (call.args and known[0] in call.named):
        raise ConfigError(f"write the parameters by name: {usage}")
    given = {**dict(zip(known, call.args, strict=False)), **call.named}
    for key, value in given.items():
        if key not in known:
            raise ConfigError(f"unknown parameter {checks.shown(key)}{checks.nearest(key, known)}; {usage}")
        if key in form.lists:
            if not isinstance(value, tuple) or any(isinstance(part, Call | tuple) for part in value):
                raise ConfigError(f"{key}: numbers in brackets are needed, such as [1, 5]")
        elif isinstance(value, Call | tuple):
            raise ConfigError(f"{key}: a finite number is needed")
    for key in form.needed:
        if key not in given and key not in skip:
            raise ConfigError(f"{key} is needed; {usage}")
    return given
