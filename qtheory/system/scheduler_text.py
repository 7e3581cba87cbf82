"""Schedulers as people write them: a name, or a name with options."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .own_scheduler import is_own
from .scheduler import CHOICES, SCHEDULERS, SchedulerSpec

__all__ = ["orders_by_prefix", "parse_scheduler"]

_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)
_WORDS = {word.replace("-", "_"): word for words in CHOICES.values() for word in words}
_TRUTH = {"true": True, "false": False, "yes": True, "no": False}
_OPTIONS = [item.name for item in fields(SchedulerSpec) if item.name != "name"]


def orders_by_prefix(spec: SchedulerSpec) -> bool:
    """Whether a scheduler puts waiting requests in the order of their cached prefixes.

    Parameters
    ----------
    spec : SchedulerSpec

    Examples
    --------
    >>> [orders_by_prefix(parse_scheduler(text)) for text in ("cache_aware", "fair")]
    [True, False]
    """
    return spec.name == "cache_aware" or spec.cache_order is not None


def parse_scheduler(text: str, **usual: Any) -> SchedulerSpec:
    """The scheduler of a text.

    Parameters
    ----------
    text : str
        A name such as ``chunked``, or one with options of `SchedulerSpec` such as
        ``cache_aware(cache_order=dfs-weight, max_skip=8)`` or ``fair(client_weights=[1, 2])``; also a
        person's own, ``FILE.py:NAME``, whose options are not read here.
    **usual
        Options that hold where the text says nothing else.

    Raises
    ------
    ConfigError
        If it is anything else, or a name or a number is not allowed.

    Examples
    --------
    >>> parse_scheduler("cache_aware(cache_order=dfs-weight, max_skip=8)").options()
    {'cache_order': 'dfs-weight', 'max_skip': 8}
    >>> parse_scheduler("fair(clinet_weights=[1, 2])")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: scheduler: fair: unknown option 'clinet_weights' (did you mean
    'client_weights'?)
    """
    checks.text("scheduler", text)
    if "(" not in text or (text.partition("(")[0].strip() not in SCHEDULERS and is_own(text)):
        return SchedulerSpec(name=text.strip(), **usual)
    match = _CALL.fullmatch(text)
    if match is None:
        raise ConfigError(f"scheduler: {checks.shown(text)} is neither a name nor name(option=value, ...)")
    name = match[1]
    SchedulerSpec(name=name)  # a wrong name before a wrong option
    given = _options(name, match[2], text)
    try:
        return SchedulerSpec(name=name, **usual | given)
    except ConfigError as error:
        raise ConfigError(f"scheduler: {name}: {error}") from None


def _options(name: str, inside: str, text: str) -> dict[str, Any]:
    from qtheory.laws import Call, parse_call  # slow to import, so only here

    for spelled, word in _WORDS.items():
        inside = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", spelled, inside)
    try:
        call = parse_call(f"options({inside})", where="scheduler")
    except ConfigError:
        call = None
    if not isinstance(call, Call) or call.args:
        raise ConfigError(
            f"scheduler: {checks.shown(text)} is neither a name nor name(option=value, ...)"
        ) from None
    given: dict[str, Any] = {}
    for option, value in call.named.items():
        if option not in _OPTIONS:
            near = checks.nearest(option, _OPTIONS)
            raise ConfigError(f"scheduler: {name}: unknown option {checks.shown(option)}{near}")
        given[option] = _plain(value)
    return given


def _plain(value: Any) -> Any:
    """A word as a text or as a truth, a list or number as it is."""
    word = getattr(value, "name", None)
    if not isinstance(word, str):
        return value
    return _TRUTH.get(word, _WORDS.get(word, word))
