"""Numerical methods: Markov chains, transform inversion, root finding."""

from __future__ import annotations
