"""A line on the error output when an answer is long in coming."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

__all__ = ["told_if_slow"]


@contextmanager
def told_if_slow(hint: str, *, quiet: bool = False, after_s: float = 5.0) -> Iterator[None]:
    """Say once, after some seconds of computing, that it goes on and what would be faster.

    Seconds of this process count, not those in which the machine did something else.
    """
    done, began_s = Event(), time.process_time()

    def watch() -> None:
        while not done.wait(min(after_s, 1.0)):
            if time.process_time() - began_s > after_s:
                with suppress(OSError, ValueError, AttributeError):  # nobody there to be told
                    print(f"sched-sim: note: {hint}", file=sys.stderr, flush=True)
                return

    watcher = Thread(target=watch, daemon=True)
    if not quiet:
        watcher.start()
    try:
        yield
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join()
