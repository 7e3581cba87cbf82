"""One note a paper: the formulas, where they are in the code, and what of it the library reproduces."""

from __future__ import annotations
