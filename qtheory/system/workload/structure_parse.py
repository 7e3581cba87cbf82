"""Prefixes, conversations and tenants from text, as on the command line and in scenario files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Call, Constant, Law, parse_call, parse_law

from .conversations import Conversations
from .prefixes import SharedPrefix
from .tenants import Tenant

__all__ = ["STRUCTURE_FORMS", "parse_conversations", "parse_prefixes", "parse_tenants"]

T = TypeVar("T")

STRUCTURE_FORMS: dict[str, dict[str, str]] = {
    "prefix": {"shared": "shared(tokens, [n], [zipf])"},
    "conversations": {
        "turns": "turns(n, think_s, [message])",
        "agent": "agent(steps, tool_s, [result])",
    },
    "tenants": {"tenant": "tenant(share, [priority], [weight], [ttft_slo_s], [tpot_slo_s])"},
}
"""What gives a load structure, by the field of a scenario; optional parameters in brackets."""

_LAWS = {"tokens", "n", "think_s", "message", "steps", "tool_s", "result"}
_WHOLE = {("shared", "n"), ("tenant", "priority")}


def parse_prefixes(text: str, *, where: str = "prefix") -> tuple[SharedPrefix, ...]:
    """Prefixes from their text, in the order in which they stand before a prompt.

    Parameters
    ----------
    text : str
        Such as ``shared(tokens=1000, n=10, zipf=0.9)``, several joined by ``+``.
    where : str
        What it is for; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name or a number is not allowed.

    Examples
    --------
    >>> [str(one) for one in parse_prefixes("shared(200) + shared(tokens=1000, n=10, zipf=0.9)")]
    ['shared(tokens=200)', 'shared(tokens=1000, n=10, zipf=0.9)']
    """
    return tuple(_built(SharedPrefix, call, "prefix", where) for call in _calls(text, "prefix", where))


def parse_conversations(text: str, *, where: str = "conversations") -> Conversations:
    """Conversations from their text.

    Parameters
    ----------
    text : str
        Such as ``turns(n=5, think_s=exponential(mean=30), message=80)`` or
        ``agent(steps=10, tool_s=2, result=500)``.
    where : str
        What it is for; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name or a number is not allowed.

    Examples
    --------
    >>> parse_conversations("agent(10, tool_s=2)").mean_turns
    10.0
    """
    calls = _calls(text, "conversations", where)
    if len(calls) > 1:
        raise ConfigError(f"{where}: {checks.shown(text)} names {len(calls)} kinds; give one")

    def build(**given: Any) -> Conversations:
        turns, think_s, *message = given.values()
        return Conversations(
            turns=turns, think_s=think_s, message=message[0] if message else None, kind=calls[0].name
        )

    return _built(build, calls[0], "conversations", where)


def parse_tenants(text: str, *, where: str = "tenants") -> tuple[Tenant, ...]:
    """Tenants from their text, in the order of their numbers.

    Parameters
    ----------
    text : str
        Such as ``tenant(share=0.2, ttft_slo_s=1) + tenant(share=0.8, priority=1)``.
    where : str
        What it is for; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name or a number is not allowed.

    Examples
    --------
    >>> [tenant.priority for tenant in parse_tenants("tenant(0.2) + tenant(0.8, priority=1)")]
    [0, 1]
    """
    return tuple(_built(Tenant, call, "tenants", where) for call in _calls(text, "tenants", where))


def _calls(text: str, field: str, where: str) -> list[Call]:
    """The parts of a text that are joined by ``+``, each of a form of the field."""
    checks.text(where, text)
    forms, parts, depth = STRUCTURE_FORMS[field], [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "+" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    calls = []
    for part in parts:
        call = parse_call(part, where=where)
        if not isinstance(call, Call):
            raise ConfigError(f"{where}: {checks.shown(part.strip())} is a number; write {_usage(forms)}")
        if call.name not in forms:
            near = checks.nearest(call.name, forms)
            raise ConfigError(f"{where}: unknown {checks.shown(call.name)}{near}; write {_usage(forms)}")
        calls.append(call)
    return calls


def _usage(forms: dict[str, str]) -> str:
    return " or ".join(forms.values())


def _built(make: Callable[..., T], call: Call, field: str, where: str) -> T:
    usage, name = STRUCTURE_FORMS[field][call.name], call.name
    words = usage[usage.index("(") + 1 : -1].split(", ")
    known = [word.strip("[]") for word in words]
    if len(call.args) > 1 or (call.args and known[0] in call.named):
        raise ConfigError(f"{where}: {name}: write the parameters by name: {usage}")
    given = dict(zip(known, call.args, strict=False)) | call.named
    for key in given:
        if key not in known:
            near = checks.nearest(key, known)
            raise ConfigError(f"{where}: {name}: unknown parameter {checks.shown(key)}{near}; {usage}")
    for key, word in zip(known, words, strict=True):
        if key not in given and key == word:
            raise ConfigError(f"{where}: {name}: {key} is needed; {usage}")
    arguments = {
        key: _argument(name, key, given[key], f"{where}: {name}: {key}") for key in known if key in given
    }
    try:
        return make(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from None


def _argument(name: str, key: str, value: Any, where: str) -> Any:
    """A law where one may stand, else a number, whole where only such are allowed."""
    if key in _LAWS and (name, key) not in _WHOLE:
        return (
            parse_law(_text_of(value), where=where)
            if isinstance(value, Call | tuple)
            else _constant(value, where)
        )
    if isinstance(value, Call | tuple):
        raise ConfigError(f"{where}: a finite number is needed")
    if (name, key) in _WHOLE and isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _constant(value: float, where: str) -> Law | None:
    if value == 0 and where.endswith("_s"):
        return None  # at once
    try:
        return Constant(value=value)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _text_of(value: Any) -> str:
    """What `parse_call` has read, written again."""
    if isinstance(value, Call):
        inside = [
            *map(_text_of, value.args),
            *(f"{key}={_text_of(item)}" for key, item in value.named.items()),
        ]
        return f"{value.name}({', '.join(inside)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text_of, value))}]"
    return repr(value)
