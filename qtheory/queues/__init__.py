"""Classical queueing models, one a file; no word about language models here."""

from __future__ import annotations

from .kendall import queue

__all__ = ["queue"]
