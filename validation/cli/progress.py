"""Progress on the error output: a line that rewrites itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO

__all__ = ["Progress"]

_MINUTE_S, _HOUR_S = 60.0, 3600.0


def _about(seconds: float) -> str:
    """A length of time in words that nobody takes for exact."""
    if seconds < 2 * _MINUTE_S:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / _MINUTE_S:.0f} min" if seconds < 2 * _HOUR_S else f"{seconds / _HOUR_S:.1f} h"


@dataclass(kw_only=True)
class Progress:
    """Called with how many parts are done; tells it only if the work takes long. A context manager.

    Parameters
    ----------
    what : str
        What is being done, for the line.
    quiet : bool
        True: say nothing.
    stream : TextIO, optional
        Where to (default: the error output).
    patience_s : float
        Seconds before anything is said on a terminal, >= 0; elsewhere before each line ten times that.

    Examples
    --------
    >>> with Progress(what="runs", stream=sys.stdout, patience_s=0.0) as progress:
    ...     progress(1, 15)
    runs: 1 of 15, about 1 s left
    """

    what: str
    quiet: bool = False
    stream: TextIO | None = field(default_factory=lambda: sys.stderr)
    patience_s: float = 1.0
    _last_s: float = field(default_factory=time.monotonic, init=False)
    _shown: bool = field(default=False, init=False)
    _there: int | None = field(default=None, init=False)  # parts that were done before the first call
    _began_s: float = field(default_factory=time.monotonic, init=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self.stream is not None and self.stream.isatty():
            self._write("\r\033[K")

    def __call__(self, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` parts are done."""
        if self.quiet or self.stream is None:
            return
        terminal = self.stream.isatty()
        self._there = done - 1 if self._there is None else self._there
        wait_s = self.patience_s * (10 if not terminal else 0.1 if self._shown else 1)
        now_s = time.monotonic()
        if now_s - self._last_s < wait_s:
            return
        self._last_s, self._shown = now_s, True
        left_s = (now_s - self._began_s) / (done - self._there) * (total - done)
        line = f"{self.what}: {done} of {total}" + (f", about {_about(left_s)} left" if done < total else "")
        self._write(f"\r\033[K{line}" if terminal else f"{line}\n")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # progress that cannot be told is no reason to stop
            print(text, end="", file=self.stream, flush=True)
