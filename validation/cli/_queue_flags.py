"""Flags of `sched-sim queue`: one a parameter of the models, those of its own, and where the answer goes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.queues.kendall.parameters import PARAMETERS
from qtheory.report import check_figure_path

from .options import Output, flag_of
from .values import reader, word_list

__all__ = ["ParameterFlags", "QueueOutput", "percentile_list", "queue_flags", "spelled"]

_SHORT = {
    "service_rate_rps": "--service-rate",
    "mean_service_s": "--mean-service",
    "percentiles": "--percentiles",
}
_QUEUE = Group("Queue", sort_key=1)
_METAVARS = {
    "number": "NUMBER",
    "whole": "N",
    "law": "LAW",
    "numbers": "LIST",
    "whole_numbers": "LIST",
    "matrix": "MATRIX",
    "word": "WORD",
}


def _flag(name: str) -> str:
    return _SHORT.get(name, flag_of(name))


def _long(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _without_unit(name: str) -> list[str]:
    """The flag as people say it, ``--mean-patience``, where no other parameter has that name."""
    plain = re.sub(r"(_per)?_(s|rps)$", "", name)
    return [] if plain in PARAMETERS else [_long(plain)]


@dataclass(frozen=True, kw_only=True)
class ParameterFlags:
    """Parameters of a queue as given on the command line; None where a flag was left out."""

    def given(self, more: tuple[str, ...]) -> dict[str, str]:
        """What was given, as text by name, with the ``NAME=VALUE`` of ``--set``."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        given = {name: value for name, value in found.items() if value is not None}
        for text in more:
            name, equals, value = text.partition("=")
            if not equals or not name.strip().isidentifier() or not value.strip():
                raise ConfigError(f"--set: {text!r} must be NAME=VALUE, as in --set gain=2")
            if name.strip() in given:
                raise ConfigError(f"--set: {name.strip()} is given twice")
            given[name.strip()] = value.strip()
        return given


def queue_flags() -> Any:
    """A dataclass with a field, and so a flag, for each parameter of the models."""
    made: list[tuple[str, Any, Any]] = []
    for name, parameter in PARAMETERS.items():
        if parameter.kind == "arrivals":
            continue
        names = list(dict.fromkeys((_flag(name), _long(name), *_without_unit(name))))
        flag = Parameter(
            name=names,
            help=parameter.meaning + (f", {parameter.unit}" if parameter.unit else ""),
            group=_QUEUE,
            converter=reader("", str),
            metavar=_METAVARS[parameter.kind],
            n_tokens=1,
            negative=(),
        )
        made.append((name, Annotated[str | None, flag], field(default=None)))
    flags = make_dataclass("QueueFlags", made, bases=(ParameterFlags,), frozen=True, kw_only=True)
    flags.__module__ = __name__  # cyclopts takes a class of the module "types" for a built-in one
    return flags


@dataclass(frozen=True, kw_only=True)
class QueueOutput(Output):
    """Where the answer goes, and the figure."""

    plot: str | None = None

    @classmethod
    def of(cls, output: Output, plot: str | None) -> QueueOutput:
        """The flags of every output with that of the figure."""
        return cls(**{item.name: getattr(output, item.name) for item in fields(output)}, plot=plot)

    def targets(self) -> dict[str, Path]:
        """The files that will be written, by the flag that asked for each."""
        return Output.targets(self) | ({} if self.plot is None else {"--plot": Path(self.plot)})

    def check(self) -> None:
        """Raise, before any work is done, unless every file can be written."""
        if self.plot is not None:
            try:
                check_figure_path(self.plot)
            except ConfigError as error:
                raise ConfigError(f"--plot: {error}") from None
        Output.check(self)


def percentile_list(text: str) -> list[float]:
    """Levels in per cent, in the order given.

    Raises
    ------
    ConfigError
        If one is not a number between 0 and 100, or comes twice.

    Examples
    --------
    >>> percentile_list("50, 99.9")
    [50.0, 99.9]
    """
    levels = []
    for word in word_list("--percentiles", text):
        try:
            level = float(word) if word.isascii() else float("nan")
        except ValueError:
            level = float("nan")
        if not 0 < level < 100:
            raise ConfigError(f"--percentiles: {word!r} is not a number between 0 and 100; as in 50,90,99")
        if level in levels:
            raise ConfigError(f"--percentiles: {level:g} comes twice in {text!r}; give each once")
        levels.append(level)
    return levels


@contextlib.contextmanager
def spelled(own: Mapping[str, str], given: Collection[str]) -> Iterator[None]:
    """Errors that begin with a parameter that was given, or is missing, begin with its flag instead."""
    try:
        yield
    except ServingError as error:
        text = str(error)
        head = re.match(r"\w+(?=[: =])", text)
        is_said = head is not None and (head[0] in given or text[head.end() :].startswith(": missing"))
        if head is None or not (head[0] in own or (is_said and head[0] in PARAMETERS)):
            raise
        flag = own.get(head[0], _flag(head[0]))
        kind = type(error) if type(error).__init__ is Exception.__init__ else ConfigError
        rest = text[head.end() :]
        raise kind(flag + (rest if head[0] == "solve" else _with_flags(rest))) from None


_LISTED = re.compile(r"(?<= needs )[^:]*|(?<=it takes ).*|(?<=did you mean ')\w+(?=')")
_LONE = re.compile(r"(?<![\w'-])\w+_\w+\b(?!=)")


def _with_flags(text: str) -> str:
    """Other parameters that a message advises, as flags too."""

    def flags(found: re.Match[str]) -> str:
        return re.sub(r"\w+", lambda word: _flag(word[0]) if word[0] in PARAMETERS else word[0], found[0])

    return _LONE.sub(flags, _LISTED.sub(flags, text))
