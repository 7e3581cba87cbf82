"""A published engine's answers on given inputs, held against those of the simulator by the same rules."""

from __future__ import annotations

from .check import CaseOutcome, Comparison, PeerResults, check_peer

__all__ = ["CaseOutcome", "Comparison", "PeerResults", "check_peer"]
