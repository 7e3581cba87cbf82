"""Errors of step times with given or fitted efficiencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import efficiencies_of, shaped
from qtheory.system.models import find_model
from qtheory.system.steptime import FRACTIONS, IdealSteps, ideal_steps
from qtheory.system.steptime.fit import StepFit, fit_steps

from .passes import Pass

__all__ = ["Ideal", "errors_with", "fitted", "ideal_of"]

Array = NDArray[np.float64]
HOST_S = 0.0  # the passes are times of kernels
_FREE_BYTES_PER_S = 1e16


class Ideal(NamedTuple):
    """Passes of one accelerator and engine, as parts at datasheet rates, and what they took."""

    card: str
    layer_s: float
    steps: IdealSteps
    seconds: Array
    models: NDArray[np.str_]
    is_trusted: NDArray[np.bool_]

    def where(self, chosen: NDArray[np.bool_]) -> Ideal:
        """The passes for which ``chosen`` is true."""
        return Ideal(
            self.card,
            self.layer_s,
            self.steps.where(chosen),
            self.seconds[chosen],
            self.models[chosen],
            self.is_trusted[chosen],
        )


def ideal_of(passes: Sequence[Pass], *, has_link: bool = True) -> Ideal:
    """Parts of the passes of one accelerator, at the rates of its datasheet.

    Without ``has_link`` the passes hold no collectives, however many accelerators share a layer.
    """
    card = shaped(find_hardware(passes[0].card))
    if not has_link:
        card = replace(card, link_bytes_per_s=_FREE_BYTES_PER_S, link_latency_s=0.0)
    systems: dict[tuple[str, int, str], list[Pass]] = {}
    for measured in passes:
        systems.setdefault((measured.model, measured.tp, measured.weights), []).append(measured)
    parts: IdealSteps | None = None
    for (model, tp, weights), rows in systems.items():
        made = ideal_steps(card, find_model(model), [row.load for row in rows], tp=tp, weights=weights)
        parts = made if parts is None else parts.joined_with(made)
    ordered = [row for rows in systems.values() for row in rows]
    if parts is None:
        raise ValueError("no passes")
    return Ideal(
        passes[0].card,
        card.overhead_per_layer_s,
        parts,
        np.array([row.seconds for row in ordered]),
        np.array([row.model for row in ordered]),
        np.array([row.is_trusted for row in ordered]),
    )


def fitted(ideal: Ideal) -> StepFit:
    """The four constants that meet these passes best, none above 1; passes not to be trusted are left out.

    Their attention is then that of another engine on the same accelerator.
    """
    held = {"overhead_per_step_s": HOST_S, "overhead_per_layer_s": ideal.layer_s}
    if not ideal.is_trusted.all():
        held["attention_mbu_frac"] = efficiencies_of(ideal.card, "vllm").constants()["attention_mbu_frac"]
    usable = ideal.where(ideal.is_trusted)
    return fit_steps(usable.steps, usable.seconds, held=held, capped=True)


def errors_with(ideal: Ideal, constants: Mapping[str, float]) -> Array:
    """Signed relative error of each pass."""
    four = {name: constants[name] for name in FRACTIONS}
    made = ideal.steps.seconds(**four, overhead_per_step_s=HOST_S, overhead_per_layer_s=ideal.layer_s)
    error: Array = made / ideal.seconds - 1
    return error
