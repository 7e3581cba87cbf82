"""`sched-sim calibrate`: an accelerator from measurements, for every command to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from qtheory.basics.errors import ConfigError

from .emit import Answer, emit
from .files import check_targets, spare_inputs
from .options import OUTPUT, Given, Output, scenario_flags
from .toml import as_toml
from .values import file_name, reader

if TYPE_CHECKING:
    SystemFlags = Given
else:
    SystemFlags = scenario_flags(
        only=(
            "hardware",
            "tp",
            "model",
            "weights",
            "kv_dtype",
            "scheduler",
            "budget_tokens",
            "max_seqs",
            "max_model_len_tokens",
            "kv_blocks",
            "memory_frac",
            "block_tokens",
            "prompt",
            "output",
        )
    )
_NO_FLAGS = SystemFlags()

__all__ = ["calibrate"]

_FILES = Parameter(
    name="FILE",
    help="results of a load tool, requests of an engine, or a table of steps; told apart by content",
    negative=(),
)
_WHERE = Parameter(
    name="--where",
    help="of a table, only these rows, as in backend=vllm,tp_size=2",
    converter=reader("", str),
    n_tokens=1,
    metavar="COLUMN=TEXT",
)
_IN_FLIGHT = Parameter(
    name="--in-flight",
    help="requests in flight at the client, where the file does not say it",
    converter=reader("", int),
    n_tokens=1,
    metavar="N",
)
_SENT = Parameter(
    name="--sent-rate",
    help="rate at which requests were sent, where the file does not say it",
    converter=reader("rate_rps", float),
    n_tokens=1,
    metavar="REQ/S",
)
_HARDWARE_OUT = Parameter(
    name="--hardware-out",
    help="write the accelerator to this TOML file, for --hardware",
    group=Group("Output", sort_key=2),
    converter=file_name,
    n_tokens=1,
    negative=(),
    metavar="FILE",
)


def calibrate(
    *files: Annotated[str, _FILES],
    flags: Annotated[SystemFlags, Parameter(name="*")] = _NO_FLAGS,
    where: Annotated[str | None, _WHERE] = None,
    in_flight: Annotated[int | None, _IN_FLIGHT] = None,
    sent_rate: Annotated[float | None, _SENT] = None,
    hardware_out: Annotated[str | None, _HARDWARE_OUT] = None,
    output: Output = OUTPUT,
) -> None:
    """Efficiencies and overheads of an accelerator from measurements, and how well they are known.

    The flags say what was measured. Steps are fitted directly; for load tests and requests the simulated
    server is inverted. What the measurements do not tell is said, with what to measure next.
    ``--hardware-out`` writes an accelerator that every command takes.
    """
    from validation.calibrate import calibrate as fitted  # slow to import, so only here

    more_files = {} if hardware_out is None else {"--hardware-out": Path(hardware_out)}
    check_targets(output.targets() | more_files, force=output.force)
    if not files:
        raise ConfigError("FILE: missing; a load test's result, requests of an engine, or a table of steps")
    spare_inputs(output.targets() | more_files, files)
    scenario = flags.load_for(output)
    name = "" if hardware_out is None else Path(hardware_out).stem
    found = fitted(files, scenario, where=_pairs(where), in_flight=in_flight, rate_rps=sent_rate, name=name)
    text = found.text()
    if hardware_out is not None:
        Path(hardware_out).write_text(as_toml(found.hardware) + "\n", encoding="utf-8")
        text += f"\n\nwritten: {hardware_out}; use it with --hardware {hardware_out}"
    more = {"measured": found.met_rows(), "unclear": list(found.unclear), "notes": list(found.notes)}
    notes = "".join(f"\nnote: {note}" for note in found.notes)
    emit(Answer(rows=found.rows(), text=text + notes, more=more), output)


def _pairs(text: str | None) -> dict[str, str] | None:
    """Columns and texts of ``--where``."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not (column.strip() and sign) for column, sign, _ in pairs):
        raise ConfigError(f"--where: {text!r} is not COLUMN=TEXT, separated by commas")
    return {column.strip(): wanted.strip() for column, _, wanted in pairs}
