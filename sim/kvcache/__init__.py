"""Paged KV memory."""

from __future__ import annotations
