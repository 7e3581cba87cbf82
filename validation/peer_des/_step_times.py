"""Step times of a published engine: what prompts take and what decodes take, added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.steptime.table import read_table

from ._reading import file_in, number, numbers, only_keys, taken, word

__all__ = ["AddedFixed", "AddedPolynomial", "read_step_time"]

_KEYS = {
    "added_fixed": ("prefill_ms", "decode_ms"),
    "added_polynomial": ("prefill_ms", "decode_ms", "decode_in", "decode_min_ms"),
    "added_table": ("file",),
}
_LEAST_MS = 1e-6
_SHARE = "share of KV in use"


def read_step_time(where: str, given: Mapping[str, Any], folder: Path, *, pool_tokens: int) -> StepTime:
    """The step time that a case names: ``added_fixed``, ``added_polynomial`` or ``added_table``.

    Raises
    ------
    ConfigError
        If a key is unknown or missing, or a value is out of its range.
    """
    kind = word(f"{where}.kind", taken(where, given, "kind"), _KEYS)
    only_keys(where, given, ("kind", *_KEYS[kind]))
    if kind == "added_table":
        path = file_in(f"{where}.file", folder, taken(where, given, "file"))
        return read_table(path, outside="hold")
    prefill, decode = (taken(where, given, key) for key in ("prefill_ms", "decode_ms"))
    if kind == "added_fixed":
        return AddedFixed(
            prefill_s=number(f"{where}.prefill_ms", prefill, least=_LEAST_MS) / 1000,
            decode_s=number(f"{where}.decode_ms", decode, least=_LEAST_MS) / 1000,
        )
    word(f"{where}.decode_in", given.get("decode_in", _SHARE), (_SHARE,))
    return AddedPolynomial(
        prefill_s=[value / 1000 for value in numbers(f"{where}.prefill_ms", prefill)],
        decode_s=[value / 1000 for value in numbers(f"{where}.decode_ms", decode)],
        decode_min_s=number(f"{where}.decode_min_ms", given.get("decode_min_ms", 0), least=0) / 1000,
        pool_tokens=pool_tokens,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFixed:
    """So long for a step with prompts, so long for one with decodes, and the sum for one with both.

    Parameters
    ----------
    prefill_s, decode_s : float
        Seconds, > 0.

    Examples
    --------
    >>> AddedFixed(prefill_s=0.02, decode_s=0.01).step_s(StepLoad(n_decodes=3, prefill_tokens=50))
    0.03
    """

    prefill_s: float
    decode_s: float

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load."""
        n_decodes, _, prompt, _, _, _ = load
        return (self.prefill_s if prompt else 0.0) + (self.decode_s if n_decodes else 0.0)

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """A flat line."""
        return self.decode_s, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPolynomial:
    """A polynomial in the new tokens of the prompts, plus one in the share of the pool that decodes know.

    The share is the sum of the known tokens of all decodes, shared ones counted each time, over the tokens
    of the pool, at most one.

    Parameters
    ----------
    prefill_s, decode_s : sequence of float
        Coefficients in seconds, the constant first.
    decode_min_s : float
        Seconds that decodes take at least.
    pool_tokens : int
        Tokens of the KV memory, >= 1.

    Examples
    --------
    >>> steps = AddedPolynomial(
    ...     prefill_s=[0.01, 1e-5], decode_s=[0.005, 0.05], decode_min_s=0.0, pool_tokens=100
    ... )
    >>> round(steps.step_s(StepLoad(prefill_tokens=1000)), 6)
    0.02
    >>> round(steps.step_s(StepLoad(n_decodes=1, decode_context_tokens=300)), 6)
    0.055
    """

    prefill_s: Sequence[float]
    decode_s: Sequence[float]
    decode_min_s: float
    pool_tokens: int

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load."""
        n_decodes, context, prompt, _, _, _ = load
        seconds = _polynomial(self.prefill_s, prompt) if prompt else 0.0
        if n_decodes:
            share = min(1.0, context / self.pool_tokens)
            seconds += max(self.decode_min_s, _polynomial(self.decode_s, share))
        return seconds

    def decode_line(self, n_decodes: int) -> None:
        """None: it is no line."""


def _polynomial(coefficients: Sequence[float], value: float) -> float:
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * value + coefficient
    return total
