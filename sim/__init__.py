"""Discrete-event simulation of an LLM serving engine: scheduler, paged KV memory, clock."""

from __future__ import annotations
