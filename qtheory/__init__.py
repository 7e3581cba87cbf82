"""Queueing theory for LLM serving: laws, queues, step times, predictions."""

from __future__ import annotations
