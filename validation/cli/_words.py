"""The words of the command line that is being answered, for a page that says how it is made again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

__all__ = ["SAID", "command_line"]

SAID: ContextVar[Sequence[str]] = ContextVar("SAID", default=())
"""Words behind the program's name."""


def command_line() -> str:
    """The command as it would be typed.

    Examples
    --------
    >>> before = SAID.set(["knee", "--prompt", "lognormal(mean=1000,cv=0.8)"])
    >>> command_line()
    "sched-sim knee --prompt 'lognormal(mean=1000,cv=0.8)'"
    >>> SAID.reset(before)
    """
    return shlex.join(["sched-sim", *SAID.get()])
