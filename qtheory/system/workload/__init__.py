"""Who asks for what and when: requests, arrivals, lengths, profiles, readers of traces."""

from __future__ import annotations
