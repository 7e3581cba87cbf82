"""Flags that commands share: those of a scenario, made from its fields, and those of the output."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import shown_name
from qtheory.report import check_figure_path
from qtheory.system.config import load_scenario
from qtheory.system.scenario import Scenario
from qtheory.system.specfile import read_mapping

from .files import check_targets, spare_inputs, stat_of
from .values import choice, file_name, reader

__all__ = [
    "INFO_OUTPUT",
    "OUTPUT",
    "RUN_OUTPUT",
    "Given",
    "InfoOutput",
    "Output",
    "RunOutput",
    "flag_of",
    "scenario_flags",
    "spell_as_flags",
]

_SHORT = {"rate_rps": "--rate", "duration_s": "--duration"}
_METAVARS = {
    "_bytes_per_s": "BYTES/S",
    "_s": "SECONDS",
    "_rps": "REQ/S",
    "_frac": "SHARE",
    "_tokens": "TOKENS",
}
_SCENARIO = Group("Scenario", sort_key=1)
_OUTPUT = Group("Output", sort_key=2)


def flag_of(name: str) -> str:
    """The flag of a scenario field, as people write it.

    Examples
    --------
    >>> flag_of("rate_rps"), flag_of("max_seqs")
    ('--rate', '--max-seqs')
    """
    return _SHORT.get(name, _long(name))


def _long(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class Given:
    """Scenario flags as given on the command line; None where a flag was left out."""

    def load(self, **overrides: Any) -> Scenario:
        """The scenario of ``--scenario``, if any, with the given flags and then ``overrides`` on top."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        path = given.pop("scenario", None)
        chosen = {name: value for name, value in (given | overrides).items() if value is not None}
        return load_scenario(path, chosen)

    def load_for(self, output: Output, **overrides: Any) -> Scenario:
        """The same, if no file that is read for it is one that ``output`` writes."""
        scenario = self.load(**overrides)
        values = [getattr(scenario, item.name) for item in fields(scenario)]
        texts = [value for value in (getattr(self, "scenario", None), *values) if isinstance(value, str)]
        spare_inputs(output.targets(), texts)
        return scenario

    def in_file(self) -> dict[str, Any]:
        """What the file of ``--scenario`` says; nothing without one."""
        path = getattr(self, "scenario", None)
        return {} if path is None else dict(read_mapping(path))


def _metavar(name: str, kind: type) -> str:
    ends = (end for end in _METAVARS if name.endswith(end))
    return _METAVARS.get(next(ends, ""), {int: "N", float: "NUMBER"}.get(kind, "TEXT"))


def _flag(name: str, kind: type, text: str) -> Any:
    names = list(dict.fromkeys((flag_of(name), _long(name))))
    if kind is bool:
        negative = f"--no-{_long(name)[2:]}"
        return Annotated[bool | None, Parameter(name=names, negative=negative, help=text, group=_SCENARIO)]
    return Annotated[
        kind | None,
        Parameter(
            name=names,
            help=text,
            group=_SCENARIO,
            converter=reader(name, kind),
            metavar=_metavar(name, kind),
            n_tokens=1,
            negative=(),
        ),
    ]


def scenario_flags(*, without: Iterable[str] = (), only: Iterable[str] | None = None) -> Any:
    """A dataclass with a field, and so a flag, for each field of `Scenario`, and ``--scenario``.

    Parameters
    ----------
    without : iterable of str
        Fields to leave out, because the command has its own flag for them.
    only : iterable of str, optional
        Fields to keep (default: all).

    Returns
    -------
    type
        A subclass of `Given`; every field is None unless its flag was given.

    Examples
    --------
    >>> flags = scenario_flags(only=["hardware", "tp"])
    >>> flags(hardware="rtx3050").load().hardware
    'rtx3050'
    """
    hints = get_type_hints(Scenario)
    unwanted, wanted = set(without), None if only is None else set(only)
    file_help = "TOML or JSON file with the same keys as these flags (underscores for dashes); flags win"
    made: list[tuple[str, Any, Any]] = [("scenario", _flag("scenario", str, file_help), field(default=None))]
    for item in fields(Scenario):
        if item.name in unwanted or (wanted is not None and item.name not in wanted):
            continue
        kinds = [
            kind for kind in (get_args(hints[item.name]) or (hints[item.name],)) if kind is not type(None)
        ]
        text = item.metadata["help"] + ("" if item.default is None else f" [{item.default}]")
        made.append((item.name, _flag(item.name, kinds[0], text), field(default=None)))
    flags = make_dataclass("ScenarioFlags", made, bases=(Given,), frozen=True, kw_only=True)
    flags.__module__ = __name__  # cyclopts takes a class of the module "types" for a built-in one
    return flags


def spell_as_flags(message: str, tokens: Iterable[str]) -> str:
    """The message with the name that it starts with as the caller wrote it, if that was a flag.

    Examples
    --------
    >>> spell_as_flags("rate_rps: -1.0 must be > 0", ["run", "--rate", "-1"])
    '--rate: -1.0 must be > 0'
    >>> spell_as_flags("case.toml: rate_rps: -1.0 must be > 0", ["run", "--scenario", "case.toml"])
    'case.toml: rate_rps: -1.0 must be > 0'
    >>> spell_as_flags("give a horizon (duration_s or n_requests)", ["predict"])
    'give a horizon (--duration or --requests)'
    """
    message = message.replace("(duration_s or n_requests)", "(--duration or --requests)")
    head = re.match(r"\w+(?=[: =])", message)
    if head is None:
        return message
    written = {token.split("=", 1)[0] for token in tokens}
    flag = next((flag for flag in (flag_of(head[0]), _long(head[0])) if flag in written), None)
    return message if flag is None else flag + message[head.end() :]


def _file(flag: str, text: str) -> Parameter:
    return Parameter(
        name=flag,
        help=text,
        group=_OUTPUT,
        converter=file_name,
        n_tokens=1,
        negative=(),
        metavar="FILE",
    )


def _switch(names: str | list[str], text: str) -> Parameter:
    return Parameter(name=names, help=text, group=_OUTPUT, negative=(), show_default=False)


def _format(*forms: str) -> Parameter:
    first, *others = forms
    return Parameter(
        name="--format",
        help=f"{first} (for people), {', '.join(others)} (for programs: plain names with units) [{first}]",
        group=_OUTPUT,
        converter=choice(*forms),
        metavar="FORM",
        n_tokens=1,
        show_default=False,
    )


_OUT = _file("--out", "write the result to this file instead of the terminal")
_PLOT = _file("--plot", "draw a figure to this file: .png, .svg or .pdf")
_RECORDS = _file("--records-out", "write one line a request to this CSV file")
_FORCE = _switch("--force", "replace files that exist")
_RESUME = _switch("--resume", "go on where an interrupted command with the same --out stopped")
_JOBS = Parameter(
    name="--jobs",
    help="processes that simulate side by side; the numbers do not depend on it [number of cores]",
    group=_OUTPUT,
    converter=reader("", int),
    n_tokens=1,
    negative=(),
    metavar="N",
)
_QUIET = _switch(["--quiet", "-q"], "no progress and no notes on the error output")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes and in which form."""

    format: Annotated[str, _format("table", "json", "csv")] = "table"
    out: Annotated[str | None, _OUT] = None
    force: Annotated[bool, _FORCE] = False
    quiet: Annotated[bool, _QUIET] = False

    def targets(self) -> dict[str, Path]:
        """The files that will be written, by the flag that asked for each."""
        return {"--out": Path(self.out)} if self.out is not None else {}

    def check(self) -> None:
        """Raise, before any work is done, unless every file can be written."""
        check_targets(self.targets(), force=self.force)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOutput(Output):
    """The same for commands that run simulations."""

    plot: Annotated[str | None, _PLOT] = None
    records_out: Annotated[str | None, _RECORDS] = None
    resume: Annotated[bool, _RESUME] = False
    jobs: Annotated[int | None, _JOBS] = None

    def partial(self) -> Path | None:
        """The file of the points that are finished before the command is, if there is an ``--out``."""
        return None if self.out is None else Path(f"{self.out}.partial")

    def drop_partial(self) -> None:
        """Remove that file: everything is in its place, or nothing is worth keeping."""
        if (partial := self.partial()) is not None:
            partial.unlink(missing_ok=True)

    def targets(self) -> dict[str, Path]:
        """The files that will be written, by the flag that asked for each."""
        more = {"--plot": self.plot, "--records-out": self.records_out}
        return Output.targets(self) | {flag: Path(text) for flag, text in more.items() if text is not None}

    def check(self) -> None:
        """Raise, before any work is done, unless every file can be written."""
        if self.plot is not None:
            try:
                check_figure_path(self.plot)
            except ConfigError as error:
                raise ConfigError(f"--plot: {error}") from None
        if self.resume and self.out is None:
            raise ConfigError("--resume: needs --out, the file that the interrupted command was to write")
        if self.resume and self.records_out is not None:
            raise ConfigError("--resume: records of requests are not kept; leave out --records-out")
        Output.check(self)
        partial = self.partial()
        there = partial is not None and stat_of(partial, f"--out: {shown_name(partial)}") is not None
        if there and not (self.resume or self.force):
            raise ConfigError(
                f"--out: {partial}: holds points of an interrupted command; --resume to go on, "
                "--force to begin again"
            )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InfoOutput(Output):
    """The same for presets, which can be written as files that describe them."""

    format: Annotated[str, _format("table", "json", "csv", "toml")] = "table"


OUTPUT, RUN_OUTPUT, INFO_OUTPUT = Output(), RunOutput(), InfoOutput()
