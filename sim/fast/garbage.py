"""Runs without a search for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_garbage"]


@contextmanager
def no_garbage() -> Iterator[None]:
    """Jobs refer to nothing that refers to them, so there is no garbage to look for."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
