"""From what a caller wrote, text or objects, to the values that models take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .parameters import Parameter

if TYPE_CHECKING:
    from qtheory.laws import Law

__all__ = ["converted", "law_of", "with_name"]

_PHASES = {"phasetype": "PhaseType", "coxian": "Coxian"}


def converted(parameter: Parameter, value: Any, *, each: bool = False) -> Any:
    """The value as its kind; with ``each`` a list of such, one a class."""
    name, kind = parameter.name, parameter.kind
    if kind in ("numbers", "whole_numbers", "laws") or each:
        one = {"numbers": "number", "whole_numbers": "whole", "laws": "law"}.get(kind, kind)
        return [_ONE[one](name, item) for item in _items(name, value)]
    return _ONE[kind](name, value)


def _items(name: str, value: Any) -> Sequence[Any]:
    """The entries of a list, or of its text with or without brackets."""
    if isinstance(value, str):
        text = value.strip()
        found = _split(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
    elif isinstance(value, Sequence) or hasattr(value, "__array__"):
        found = list(value)
    else:
        found = [value]
    if not found or (isinstance(value, str) and not all(item.strip() for item in found)):
        raise ConfigError(f"{name}: {checks.shown(value)} has no entry or an empty one; as in [1, 2]")
    return found


def _split(text: str) -> list[str]:
    """At commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _number(name: str, value: Any) -> float:
    if isinstance(value, str):
        try:
            if not value.isascii():
                raise ValueError(value)
            return float(value)
        except ValueError:
            raise ConfigError(f"{name}: {checks.shown(value)} is not a number") from None
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ConfigError(f"{name}: {checks.shown(value)} is not a number")
    return float(value)


def _whole(name: str, value: Any) -> int:
    number = _number(name, value)
    if not float(number).is_integer() or abs(number) > 1e15:
        raise ConfigError(f"{name}: {checks.shown(value)} is not a whole number up to 1e15")
    return int(number)


def law_of(name: str, value: Any) -> Law:
    """A law from its text, from a number, or as it is."""
    from qtheory.laws import Constant, Law, parse_law

    if isinstance(value, Law):
        return value
    if not isinstance(value, str):
        return Constant(value=_number(name, value))
    head = value.strip().partition("(")[0].lower().replace("_", "")
    return _phase_law(name, head, value) if head in _PHASES else parse_law(value, where=name)


def _phase_law(name: str, head: str, text: str) -> Law:
    """A law in phases from text such as ``coxian(rates=[2, 1], go_on=[0.5])``."""
    from qtheory.laws import phase_type
    from qtheory.laws.calls import Call, parse_call

    call = parse_call(text, where=name)
    if not isinstance(call, Call) or call.args:
        raise ConfigError(f"{name}: {head}: write the parameters by name")
    try:
        law: Law = getattr(phase_type, _PHASES[head])(**call.named)
    except TypeError:
        wanted = ", ".join(getattr(phase_type, _PHASES[head]).__dataclass_fields__)
        raise ConfigError(f"{name}: {head}: takes {wanted}") from None
    except ConfigError as error:
        raise ConfigError(f"{name}: {head}: {error}") from None
    return law


def with_name(error: ConfigError, values: Mapping[str, Any]) -> ConfigError:
    """The error, with the parameter in front if it begins with the law that is given for it."""
    text = str(error)
    for name, value in values.items():
        laws = value if isinstance(value, list | tuple) else [value]
        if any(hasattr(law, "moment") and text.startswith(f"{law}:") for law in laws):
            return ConfigError(f"{name}: {text}")
    return error


def _matrix(name: str, value: Any) -> list[list[float]]:
    if isinstance(value, str) and "[" not in value and ";" in value:
        value = value.split(";")
    rows = _items(name, value)
    return [[_number(name, item) for item in _items(name, row)] for row in rows]


def _word(name: str, value: Any) -> str:
    checks.text(name, value)
    return str(value)


def _arrivals(name: str, value: Any) -> Any:
    from qtheory.laws.map_process import MarkovianArrivals

    if not isinstance(value, MarkovianArrivals):
        raise ConfigError(f"{name}: give without and with_arrival, or an object of MarkovianArrivals")
    return value


_ONE: dict[str, Callable[[str, Any], Any]] = {
    "number": _number,
    "whole": _whole,
    "law": law_of,
    "matrix": _matrix,
    "word": _word,
    "arrivals": _arrivals,
}
