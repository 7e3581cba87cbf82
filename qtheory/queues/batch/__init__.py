"""Queues with batch service: one server, many customers at once."""

from __future__ import annotations

from .batch_queue import BatchQueue, BatchResult
from .mmb1 import MMb1
from .service import AffineService, BatchService, LongestMemberService
from .unlimited import UnlimitedBatchQueue

__all__ = [
    "AffineService",
    "BatchQueue",
    "BatchResult",
    "BatchService",
    "LongestMemberService",
    "MMb1",
    "UnlimitedBatchQueue",
]
