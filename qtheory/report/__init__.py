"""Text, figures and pages: draws any result; results know nothing of pictures."""

from __future__ import annotations
