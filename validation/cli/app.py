"""The command `sched-sim`: commands by import path, and every error as one line with an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from cyclopts import App, CycloptsError

from qtheory.basics.errors import ServingError

from ._words import SAID

__all__ = ["app", "main"]

COMMANDS = {
    "run": "Simulate one scheduler under one load.",
    "compare": "Put schedulers side by side under the same requests.",
    "sweep": "Goodput of schedulers against the arrival rate, and where it falls.",
    "predict": "What theory says of one scheduler under one load, also over a day, without simulating.",
    "knee": "How much load each scheduler takes before goodput falls: by theory, or by simulation.",
    "plan": "The cheapest fleet that carries a load within its limits, and what it is sensitive to.",
    "trace": "Replay a recorded trace, at one or several speeds.",
    "calibrate": "An accelerator from measurements: efficiencies, overheads, and how well they are known.",
    "info": "Show presets, what they hold and where it is from, and what follows for a system.",
    "queue": "A queueing model by its name, such as M/G/1: waits, responses, what rate or size is enough.",
    "validate": "Check the simulator and the queue models against known answers.",
}
DONE, BAD_INPUT, BUG, INTERRUPTED, CLOSED_PIPE = 0, 2, 70, 130, 141
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Cores are shared out among processes; sums that threads share need not have the same bytes."""


def _version() -> str:
    from qtheory.system.provenance import version  # slow to import, so only here

    return version()


app = App(
    name="sched-sim",
    help="Queueing theory and simulation for LLM serving: how much load can this take, and why.",
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    verbose=False,
)
for _place, (_name, _help) in enumerate(COMMANDS.items()):
    app.command(f"validation.cli.{_name}:{_name}", name=_name, help=_help, sort_key=_place)


@contextlib.contextmanager
def _notes(tokens: Sequence[str]) -> Iterator[None]:
    """Warnings in one line each on the error output, or not at all where the caller wants quiet."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not {"-q", "--quiet"}.intersection(tokens):
            _say(f"note: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _say(message: str) -> None:
    """One line on the error output, whatever the message holds."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # full or closed: there is no place left to say anything
            print(f"sched-sim: {' '.join(message.split())}", file=sys.stderr, flush=True)


def _drop_pipe() -> None:
    """Nobody takes any more; keep the interpreter from complaining about it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _limit_of_the_machine(error: Exception) -> str:
    """One line for what is no bug and no word of the caller's either, but too much for this machine."""
    if isinstance(error, MemoryError):
        return "out of memory; a shorter run, fewer --jobs or fewer --windows need less"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, OverflowError):
        return f"a number is too large to calculate with ({error})"
    where = getattr(error, "filename", None) or "standard output"
    return f"{where}: cannot be used ({getattr(error, 'strerror', None) or error})"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; never ends the process itself.

    Parameters
    ----------
    argv : sequence of str, optional
        Words behind the program's name (default: those of this process).

    Returns
    -------
    int
        0 done; 1 a claim failed; 2 bad input, or too much for this machine, told in one line on the error
        output; 70 a bug; 130 interrupted; 141 the reader of the output is gone.

    Examples
    --------
    >>> main(["--version"]) == DONE
    0.1.0
    True
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    SAID.set(tokens)
    for name in _ONE_THREAD:  # read when numpy comes in, with the first command
        os.environ.setdefault(name, "1")
    try:
        with _notes(tokens):
            status = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:
            sys.stdout.flush()
    except ServingError as error:
        from .options import spell_as_flags

        _say(spell_as_flags(str(error), tokens))
        return BAD_INPUT
    except CycloptsError as error:
        from .complaints import complaint

        _say(complaint(error))
        return BAD_INPUT
    except BrokenPipeError:
        _drop_pipe()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        from .interrupted import interrupted

        _say(interrupted(tokens))
        return INTERRUPTED
    except SystemExit as stop:  # how the help ends where nobody reads it to its end
        return CLOSED_PIPE if stop.code == 1 else DONE
    except (MemoryError, RecursionError, OverflowError, OSError) as error:
        _drop_pipe()
        _say(_limit_of_the_machine(error))
        return BAD_INPUT
    except Exception:
        traceback.print_exc()
        return BUG
    return status if isinstance(status, int) else DONE
