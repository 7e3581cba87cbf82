"""Safe reading of texts like ``gamma(mean=2, cv=[1, 2])``: names, numbers, lists, nothing else."""

from __future__ import annotations

import ast
import math
import warnings
from dataclasses import dataclass, field

from qtheory.basics.errors import ConfigError

__all__ = ["Call", "Value", "parse_call", "spell"]

_LONGEST = 4_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """A name with its arguments, as written.

    Parameters
    ----------
    name : str
        Lower case.
    args : tuple
        Arguments without a name.
    named : dict
        Arguments with one.

    Examples
    --------
    >>> Call("gamma", named={"mean": 2.0, "cv": 0.5}).named["cv"]
    0.5
    """

    name: str
    args: tuple[Value, ...] = ()
    named: dict[str, Value] = field(default_factory=dict)


Value = float | Call | tuple["Value", ...]


def parse_call(text: str, *, where: str) -> Call | float:
    """A number, a name alone or a name with arguments; nothing is evaluated.

    Parameters
    ----------
    text : str
        What was written.
    where : str
        What it is for, such as ``prompt``; begins the error message.

    Raises
    ------
    ConfigError
        If the text is anything else.

    Examples
    --------
    >>> parse_call(" poisson ", where="arrivals")
    Call(name='poisson', args=(), named={})
    >>> parse_call("192", where="prompt")
    192
    """
    if not isinstance(text, str):
        raise ConfigError(f"{where}: {text!r} is not a text such as 'exponential(mean=2)'")
    shown = f"{where}: {_short(text)}"
    if len(text) > _LONGEST:
        raise ConfigError(f"{shown}: longer than {_LONGEST:,} characters")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConfigError(f"{shown} cannot be read; write a number or name(parameter=number, ...)") from None
    try:
        value = _value(tree, shown)
    except RecursionError:
        raise ConfigError(f"{shown} is nested too deeply") from None
    if isinstance(value, tuple):
        raise ConfigError(f"{shown} is a list; write a number or name(parameter=number, ...)")
    return value


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 70 else flat[:67] + "...")


def _value(node: ast.expr, shown: str) -> Value:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | None | complex()):
            pass
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -_bounded(number)
        case ast.Name(id=name):
            return Call(name.lower())
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return tuple(_value(item, shown) for item in items)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _call(name.lower(), args, keywords, shown)
        case _:
            pass
    raise ConfigError(
        f"{shown}: '{ast.unparse(node)[:40]}' is neither a number nor name(parameter=number, ...)"
    )


def _bounded(number: float) -> float:
    """The number; a whole one too large for a float as infinity, for the range checks to refuse."""
    return math.inf if isinstance(number, int) and number > 10**308 else number


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword], shown: str) -> Call:
    named: dict[str, Value] = {}
    for keyword in keywords:
        if keyword.arg is None:
            raise ConfigError(f"{shown}: '**' is not allowed")
        if keyword.arg in named:
            raise ConfigError(f"{shown}: {keyword.arg} is given twice")
        named[keyword.arg] = _value(keyword.value, shown)
    return Call(name, tuple(_value(arg, shown) for arg in args), named)


def spell(value: object) -> str:
    """Shortest text of a number that reads back the same; of a tuple in brackets; of anything else `str`.

    Parameters
    ----------
    value : object
        As it stands in a call such as ``gamma(mean=1, cv=2)``.

    Examples
    --------
    >>> spell(1000.0), spell(0.1), spell((1, 2.5))
    ('1000', '0.1', '[1, 2.5]')
    """
    if isinstance(value, tuple):
        return "[" + ", ".join(spell(item) for item in value) + "]"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
    return str(value)
