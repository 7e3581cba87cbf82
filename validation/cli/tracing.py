"""Flags on what is seen inside a run: its trace for Perfetto, and who made others wait."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ApproximationWarning, ConfigError
from qtheory.basics.files import shown_name

from .files import Writer
from .options import RunOutput
from .values import file_name, reader

if TYPE_CHECKING:
    from qtheory.system.scenario import Scenario
    from validation.answer import Run, Watched

__all__ = ["TRACE", "TraceFlags", "Traced", "TracedOutput", "traced"]

_GROUP = Group("Inside a run", sort_key=1)
_STALLS = 5


def _flag(name: str, kind: type, text: str, metavar: str) -> Parameter:
    return Parameter(
        name=name,
        help=text,
        group=_GROUP,
        converter=file_name if metavar == "FILE" else reader("", kind),
        n_tokens=1,
        negative=(),
        metavar=metavar,
        show_default=False,
    )


_TRACE_OUT = _flag(
    "--trace-out",
    str,
    "write the steps and requests of the first replication to this file, .json or .json.gz, for "
    "ui.perfetto.dev; at most 250,000 events",
    "FILE",
)
_WINDOW = _flag(
    "--trace-window",
    str,
    "seconds of the run that the trace shows and the stalls are of; the clock stops at the end [all]",
    "START,END",
)
_EXPLAIN = Parameter(
    name="--explain-stalls",
    help="show the longest gaps between tokens, and whose prompts made them long",
    group=_GROUP,
    negative=(),
    show_default=False,
)
_COUNT = _flag("--stalls", int, f"gaps to show; implies --explain-stalls [{_STALLS}]", "N")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """What of the inside of a run is wanted."""

    trace_out: Annotated[str | None, _TRACE_OUT] = None
    trace_window: Annotated[str | None, _WINDOW] = None
    explain_stalls: Annotated[bool, _EXPLAIN] = False
    stalls: Annotated[int | None, _COUNT] = None

    def window(self) -> tuple[float, float]:
        """Beginning and end of what is shown, seconds."""
        if self.trace_window is None:
            return 0.0, math.inf
        try:
            low_s, high_s = map(float, self.trace_window.split(","))
        except ValueError:
            low_s, high_s = math.nan, math.nan
        if not 0 <= low_s < high_s:
            shown = checks.shown(self.trace_window)
            raise ConfigError(f"--trace-window: {shown} is not START,END in seconds with 0 <= START < END")
        return low_s, high_s

    def n_stalls(self) -> int:
        """Gaps to show."""
        if self.stalls is not None:
            checks.integer(stalls=self.stalls)
            return self.stalls
        return _STALLS if self.explain_stalls else 0

    def check(self) -> None:
        """Raise, before any work is done, unless the flags make sense."""
        name = self.trace_out
        if name is not None and not name.lower().endswith((".json", ".json.gz")):
            raise ConfigError(f"--trace-out: {shown_name(name)}: must end in .json or .json.gz")
        self.window()
        if not self.n_stalls() and name is None and self.trace_window is not None:
            raise ConfigError("--trace-window: given, but there is neither --trace-out nor --explain-stalls")

    def check_for(self, scenario: Scenario) -> None:
        """Raise, before any work is done, unless a look inside a run of this scenario is possible."""
        if scenario.timeout_s is not None and (self.n_stalls() or self.trace_out is not None):
            raise ConfigError(
                f"timeout_s: {scenario.timeout_s:g} given, but no look inside a run has clients that time "
                "out; leave it out, or --trace-out and --explain-stalls"
            )


TRACE = TraceFlags()


@dataclass(frozen=True, kw_only=True)
class TracedOutput(RunOutput):
    """Output of a command that looks into its run too."""

    inside: TraceFlags = TRACE

    @classmethod
    def of(cls, output: RunOutput, inside: TraceFlags) -> TracedOutput:
        """Both together."""
        return cls(**vars(output), inside=inside)

    def targets(self) -> dict[str, Path]:
        """The files that will be written, by the flag that asked for each."""
        name = self.inside.trace_out
        return RunOutput.targets(self) | ({} if name is None else {"--trace-out": Path(name)})

    def check(self) -> None:
        """Raise, before any work is done, unless every file can be written."""
        self.inside.check()
        RunOutput.check(self)


@dataclass(frozen=True, kw_only=True)
class Traced:
    """What was seen, as it goes into the answer.

    Parameters
    ----------
    blocks : sequence of str
        Text for people.
    more : mapping
        Entries of the JSON form.
    files : mapping
        Writers of files, by flag.
    """

    blocks: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Writer] = field(default_factory=dict)


def traced(run: Run, inside: TraceFlags) -> Traced:
    """Look into the first replication of a run as far as the flags ask for it.

    Parameters
    ----------
    run : Run
    inside : TraceFlags

    Raises
    ------
    ServingError
        If it cannot be simulated.
    """
    if inside.trace_out is None and not inside.n_stalls():
        return Traced()
    from validation.answer import watch  # slow to import, so only here

    seen = watch(run, until_s=inside.window()[1])
    blocks, more = _stalls(seen, inside)
    files: dict[str, Writer] = {}
    if inside.trace_out is not None:
        files["--trace-out"] = _writer(run, seen, inside)
    return Traced(blocks=blocks, more=more, files=files)


def _writer(run: Run, seen: Watched, inside: TraceFlags) -> Writer:
    from sim.perfetto import trace_events, write_trace

    trace = trace_events(seen.lanes, seen.phases, window=inside.window())
    if math.isfinite(trace.end_s):
        warnings.warn(
            f"the trace ends at {trace.end_s:.3f} s, as it has its most events then; "
            "--trace-window START,END shows what comes later",
            ApproximationWarning,
            stacklevel=2,
        )
    about = {"scenario": run.scenario.changed(), "scheduler": run.result.scheduler}
    return lambda path: write_trace(trace, path, about=about)


def _stalls(seen: Watched, inside: TraceFlags) -> tuple[list[str], dict[str, Any]]:
    """A table of the longest gaps, and the same as plain data."""
    if not inside.n_stalls():
        return [], {}
    from qtheory.report import table
    from sim.perfetto import longest_stalls

    low_s, high_s = inside.window()
    found = longest_stalls(seen.watch, inside.n_stalls(), window=(low_s, high_s))
    rows = [
        {
            "gap_s": stall.gap_s,
            "from_s": stall.from_s,
            **({"replica": stall.lane} if len(seen.watch.steps) > 1 else {}),
            "waiting": _who(stall.n_requests, stall.requests),
            "steps": stall.n_steps,
            "because": stall.because,
        }
        for stall in found
    ]
    head = "Longest gaps between tokens in the first replication, and what was computed meanwhile"
    text = table(rows, labels={"waiting": "requests that waited", "because": "because of"})
    return [f"{head}\n{text or 'none: no request has two tokens'}"], {"stalls": rows}


def _who(n: int, named: Sequence[int]) -> str:
    return f"{n}: {', '.join(map(str, named))}{', ...' if n > len(named) else ''}"
