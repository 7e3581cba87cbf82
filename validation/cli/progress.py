"""Progress on the error output: a line that rewrites itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

__all__ = ["Progress"]


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
    runs: 1 of 15
    """

    what: str
    quiet: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    patience_s: float = 1.0
    _last_s: float = field(default_factory=time.monotonic, init=False)
    _shown: bool = field(default=False, init=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()

    def __call__(self, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` parts are done."""
        terminal = self.stream.isatty()
        wait_s = self.patience_s * (10 if not terminal else 0.1 if self._shown else 1)
        now_s = time.monotonic()
        if self.quiet or now_s - self._last_s < wait_s:
            return
        self._last_s, self._shown = now_s, True
        line = f"{self.what}: {done} of {total}"
        self.stream.write(f"\r\033[K{line}" if terminal else f"{line}\n")
        self.stream.flush()
