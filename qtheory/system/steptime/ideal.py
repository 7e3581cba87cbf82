"""Seconds that each part of many steps would take at datasheet rates: what efficiencies divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware
from qtheory.system.models import ModelSpec

from ._costs import Costs, costs
from .protocol import StepLoad

__all__ = ["FRACTIONS", "OVERHEADS", "IdealSteps", "ideal_steps"]

Seconds = NDArray[np.float64]
FRACTIONS = ("mfu_frac", "mbu_frac", "attention_mbu_frac", "link_frac")
"""Fields of `Hardware` that divide a part of a step."""
OVERHEADS = ("overhead_per_step_s", "overhead_per_layer_s")
"""Fields of `Hardware` that add to a step."""
_ALL_ONE = dict.fromkeys(FRACTIONS, 1.0) | dict.fromkeys(OVERHEADS, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdealSteps:
    """Parts of steps in seconds at datasheet rates, each an array with an element a step.

    Parameters
    ----------
    layers : array
        Layers of the model.
    constant : array
        What no efficiency touches: latency of collectives, activations.
    linear_compute, linear_read, expert_compute, expert_read, head_compute, head_read : array
        Products of each group: computing, and reading weights.
    decode, state : array
        Keys and values read by decodes; recurrent state.
    prompt_compute, prompt_read : array
        Attention of prompt chunks: computing, and reading keys and values.
    link : array
        Collectives.
    corner : float
        `Hardware.corner_power`, 0 for the larger of two times.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.models import find_model
    >>> steps = ideal_steps(find_hardware("h100"), find_model("llama-3.1-8b"), [StepLoad(prefill_tokens=512)])
    >>> print(f"{steps.linear_compute[0] * 1e3:.2f} ms")
    7.23 ms
    """

    layers: Seconds
    constant: Seconds
    linear_compute: Seconds
    linear_read: Seconds
    expert_compute: Seconds
    expert_read: Seconds
    head_compute: Seconds
    head_read: Seconds
    decode: Seconds
    state: Seconds
    prompt_compute: Seconds
    prompt_read: Seconds
    link: Seconds
    corner: float

    def seconds(
        self,
        *,
        mfu_frac: float,
        mbu_frac: float,
        attention_mbu_frac: float,
        link_frac: float,
        overhead_per_step_s: float,
        overhead_per_layer_s: float,
    ) -> Seconds:
        """Seconds of each step with these efficiencies, as `Roofline.step_s` has them."""
        reading = {"linear": self.linear_read, "expert": self.expert_read, "head": self.head_read}
        computing = {"linear": self.linear_compute, "expert": self.expert_compute, "head": self.head_compute}
        total = self.constant + overhead_per_step_s + self.layers * overhead_per_layer_s
        total = total + self.link / link_frac + self.decode / attention_mbu_frac + self.state / mbu_frac
        for group, read in reading.items():
            total = total + _joined(computing[group] / mfu_frac, read / mbu_frac, self.corner)
        return total + np.maximum(self.prompt_compute / mfu_frac, self.prompt_read / attention_mbu_frac)

    def joined_with(self, other: IdealSteps) -> IdealSteps:
        """These steps, then the others (another model or tensor-parallel degree of the same accelerator)."""
        if self.corner != other.corner:
            raise ConfigError("corner_power: differs between the steps; they are of two accelerators")
        names = [name for name in self.__slots__ if name != "corner"]
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return IdealSteps(**both, corner=self.corner)

    def where(self, chosen: NDArray[np.bool_]) -> IdealSteps:
        """The steps for which ``chosen`` is true."""
        names = [name for name in self.__slots__ if name != "corner"]
        return IdealSteps(**{name: getattr(self, name)[chosen] for name in names}, corner=self.corner)


def _joined(compute: Seconds, read: Seconds, corner: float) -> Seconds:
    if corner:
        both: Seconds = (compute**corner + read**corner) ** (1 / corner)
        return both
    return np.maximum(compute, read)


def ideal_steps(
    hardware: Hardware,
    model: ModelSpec,
    loads: Sequence[StepLoad] | Sequence[tuple[float, ...]],
    *,
    tp: int = 1,
    weights: str | None = None,
    kv_dtype: str = "bf16",
) -> IdealSteps:
    """Parts of steps at the datasheet rates of an accelerator.

    Parameters
    ----------
    hardware : Hardware
        Datasheet rates, ``link_latency_s``, ``prefill_attention_frac``, ``activation_mbu_frac`` and
        ``corner_power`` are taken from it; the efficiencies that `IdealSteps.seconds` takes are not.
    model : ModelSpec
        What is served.
    loads : sequence of StepLoad
        One a step; tuples in the same order do as well.
    tp : int
        Accelerators that share every layer, >= 1.
    weights : str or None
        Format of the weights; None is the published one.
    kv_dtype : str
        Format of keys and values.

    Raises
    ------
    ConfigError
        If the link is missing where ``tp`` needs it, or a format is unknown.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.models import find_model
    >>> steps = ideal_steps(find_hardware("a100"), find_model("llama-3.1-8b"), [StepLoad(n_decodes=1)])
    >>> print(f"{steps.linear_read[0] * 1e3:.2f} ms")
    6.85 ms
    """
    at_peak = replace(hardware, **_ALL_ONE)  # type: ignore[arg-type]
    found = costs(at_peak, model, tp, weights or model.weights, kv_dtype)
    bare = costs(replace(at_peak, activation_mbu_frac=None), model, tp, weights or model.weights, kv_dtype)
    columns = np.array(loads, dtype=float).reshape(len(loads), 6).T
    return _parts(found, bare.link, model.layers, columns)


def _parts(c: Costs, link: float, layers: int, columns: NDArray[np.float64]) -> IdealSteps:
    n, context, prompt, work, read, sampled = columns
    tokens = n + prompt
    with_prompt = np.sign(prompt)
    decode = c.decode_full * np.minimum(context, n * c.top_k)
    decode = decode + c.decode_short * np.minimum(context, n * c.window)
    pairs = c.prompt_full * np.minimum(work, prompt * c.top_k)
    pairs = pairs + c.prompt_short * np.minimum(work, prompt * c.window)
    keys = c.prompt_read_full * read + c.prompt_read_short * np.minimum(read, prompt + c.window)
    return IdealSteps(
        layers=np.full(len(n), float(layers)),
        constant=c.fixed + (c.link - link) * tokens,
        linear_compute=c.linear_compute * tokens,
        linear_read=c.linear_read + c.linear_write * tokens,
        expert_compute=c.expert_compute * tokens,
        expert_read=c.expert_read * (1 - c.expert_miss**tokens),
        head_compute=c.head_compute * sampled,
        head_read=c.head_read * np.sign(sampled),
        decode=decode,
        state=c.state * n,
        prompt_compute=with_prompt * (pairs + c.prompt_expand * (read - prompt)),
        prompt_read=with_prompt * keys,
        link=link * tokens,
        corner=c.corner,
    )
