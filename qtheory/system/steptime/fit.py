"""Efficiencies and overheads from measured steps, with how well each is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError

from .ideal import FRACTIONS, OVERHEADS, IdealSteps

__all__ = ["USUALLY_OFF", "StepFit", "fit_steps"]

Array = NDArray[np.float64]
_LEAST_FRAC = 0.01
_ROOM = 3.0  # a share is searched to here, so that one above 1 shows itself and is refused
_LONGEST_S = {"overhead_per_step_s": 1.0, "overhead_per_layer_s": 0.01}
_START = {"overhead_per_step_s": 1e-3, "overhead_per_layer_s": 50e-6}
_USUAL = {"mfu_frac": 0.75, "mbu_frac": 0.85, "attention_mbu_frac": 0.8, "link_frac": 0.7} | _START
USUALLY_OFF = dict.fromkeys(FRACTIONS, 0.15) | {
    "mfu_frac": 0.12,
    "overhead_per_step_s": 2e-3,
    "overhead_per_layer_s": 50e-6,
}
"""How far usual values are off (standard deviation): shares among the accelerators and engines of
``fitted.csv``, host times of engines."""
_UNCLEAR = 0.5  # relative standard error from which a parameter counts as not told by the measurements
_UNCLEAR_S = {"overhead_per_step_s": 1e-3, "overhead_per_layer_s": 50e-6}  # the same of overheads, at least
_FEW = 0.1  # share of steps that may be faster than the datasheet: clocks above the boost clock, noise
_WRONG = "wrong accelerator, model or precision, cached prompts counted as computed, or another unit"
_ROBUST = 0.05  # relative error beyond which a step counts less and less


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFit:
    """Efficiencies and overheads that meet measured steps best.

    Parameters
    ----------
    values : mapping of str to float
        All six, fitted or held.
    errors : mapping of str to float
        Standard error of each fitted one.
    held : tuple of str
        Parameters that were not fitted.
    unclear : tuple of str
        Those that the measurements hardly tell (standard error above half of the value): held as well.
    median_frac, p90_frac, worst_frac : float
        Relative errors of the steps: half of them are below the first, nine of ten below the second.
    n_steps : int
        Steps that were fitted.

    Examples
    --------
    >>> fit = StepFit(values={"mfu_frac": 0.7}, errors={"mfu_frac": 0.01}, held=(), unclear=(),
    ...               median_frac=0.02, p90_frac=0.05, worst_frac=0.1, n_steps=20)
    >>> [round(limit, 3) for limit in fit.interval("mfu_frac")]
    [0.68, 0.72]
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    held: tuple[str, ...]
    unclear: tuple[str, ...]
    median_frac: float
    p90_frac: float
    worst_frac: float
    n_steps: int

    def interval(self, name: str) -> tuple[float, float]:
        """95 % interval of a fitted parameter."""
        checks.one_of("name", name, tuple(self.errors))
        half = 1.96 * self.errors[name]
        return self.values[name] - half, self.values[name] + half


def fit_steps(
    steps: IdealSteps,
    measured_s: Sequence[float] | Array,
    *,
    held: Mapping[str, float] = MappingProxyType({}),
    prior: Mapping[str, float] = MappingProxyType({}),
    capped: bool = False,
) -> StepFit:
    """Least squares of the logarithms, robust against a few steps that took far longer.

    Parameters
    ----------
    steps : IdealSteps
        What the steps would take at datasheet rates.
    measured_s : sequence of float
        What they took, seconds, > 0.
    held : mapping of str to float
        Parameters (`FRACTIONS`, `OVERHEADS`) that are known. Parts that no step has are held at 1 by
        themselves, and the overhead per layer too where all steps have as many layers: only the sum shows.
    prior : mapping of str to float
        Where parameters are held that the measurements do not tell (default: usual values).
    capped : bool
        Whether a share that would be clearly above 1 is set to 1; otherwise it is refused.

    Raises
    ------
    ConfigError
        If there are fewer steps than parameters, a time is not positive, or a share is clearly above 1.
    ConvergenceError
        If the search does not end.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.models import find_model
    >>> from qtheory.system.steptime import Roofline, StepLoad, ideal_steps
    >>> loads = [StepLoad(prefill_tokens=n, prefill_work=n * n / 2, prefill_context_tokens=n, n_sampled=1)
    ...          for n in (64, 256, 1024, 4096)]
    >>> loads += [StepLoad(n_decodes=n, decode_context_tokens=n * 1000, n_sampled=n) for n in (1, 4, 16, 64)]
    >>> card, model = find_hardware("h100"), find_model("llama-3.1-8b")
    >>> seconds = [Roofline(hardware=card, model=model).step_s(load) for load in loads]
    >>> fit = fit_steps(ideal_steps(card, model, loads), seconds, held={"overhead_per_layer_s": 46e-6})
    >>> [round(fit.values[name], 3) for name in ("mfu_frac", "mbu_frac", "attention_mbu_frac")]
    [0.68, 0.8, 0.8]
    """
    took = np.asarray(measured_s, dtype=float)
    for name in held:
        checks.one_of("held", name, (*FRACTIONS, *OVERHEADS))
    if len(took) == 0 or not np.all(np.isfinite(took) & (took > 0)):
        raise ConfigError("measured_s: every step must have taken a time > 0")
    if not capped:
        _refuse_too_fast(steps, took)
    fixed = _absent(steps) | dict(held)
    names = [name for name in (*FRACTIONS, *OVERHEADS) if name not in fixed]
    if len(took) < len(names) + 1:
        raise ConfigError(f"measured_s: {len(took)} steps cannot tell {len(names)} parameters")
    values, errors, residuals, unclear = _told(steps, took, fixed, _USUAL | dict(prior), capped=capped)
    off = np.abs(np.expm1(residuals))
    median, p90, worst = (float(np.quantile(off, q)) for q in (0.5, 0.9, 1.0))
    return StepFit(
        values={name: float(values[name]) for name in (*FRACTIONS, *OVERHEADS)},
        errors=errors,
        held=tuple(name for name in (*FRACTIONS, *OVERHEADS) if name not in errors),
        unclear=tuple(unclear),
        median_frac=median,
        p90_frac=p90,
        worst_frac=worst,
        n_steps=len(took),
    )


def _refuse_too_fast(steps: IdealSteps, took: Array) -> None:
    """Complain if more than a few steps took less time than at the datasheet's peak."""
    peak = dict.fromkeys(FRACTIONS, 1.0) | dict.fromkeys(OVERHEADS, 0.0)
    least = replace(steps, corner=0.0, constant=np.zeros(len(took))).seconds(**peak)
    n = int(np.sum(took < 0.98 * least))
    if n > _FEW * len(took):
        raise ConfigError(
            f"measured_s: {n} of {len(took)} steps took less time than at the peak of the datasheet, so "
            f"efficiencies would be above 1; {_WRONG}"
        )


def _absent(steps: IdealSteps) -> dict[str, float]:
    """Parameters that these steps cannot tell, and where they are held."""
    fixed: dict[str, float] = {}
    if not steps.link.any():
        fixed["link_frac"] = 1.0
    if not (steps.decode.any() or steps.prompt_read.any()):
        fixed["attention_mbu_frac"] = 1.0
    if np.ptp(steps.layers) == 0:
        fixed["overhead_per_layer_s"] = _START["overhead_per_layer_s"]
    return fixed


def _search(
    steps: IdealSteps, took: Array, names: list[str], fixed: dict[str, float], *, capped: bool
) -> tuple[Array, Array, Array]:
    from scipy.optimize import least_squares  # slow to import, so only here

    def residuals(x: Array) -> Array:
        made = steps.seconds(**(fixed | dict(zip(names, x, strict=True))))
        gap: Array = np.log(made / took)
        return gap

    shares = [name in FRACTIONS for name in names]
    start = [0.7 if share else _START[name] for name, share in zip(names, shares, strict=True)]
    low = [_LEAST_FRAC if share else 0.0 for share in shares]
    top = 1.0 if capped else _ROOM
    high = [top if share else _LONGEST_S[name] for name, share in zip(names, shares, strict=True)]
    scale = [1.0 if share else _START[name] for name, share in zip(names, shares, strict=True)]
    result = least_squares(
        residuals, start, bounds=(low, high), x_scale=scale, loss="soft_l1", f_scale=_ROBUST, max_nfev=400
    )
    if not result.success:
        raise ConvergenceError(f"measured_s: the search for {', '.join(names)} did not end")
    return result.x, np.asarray(result.jac, dtype=float), residuals(result.x)


def _errors(
    names: list[str], jacobian: Array, residuals: Array, width: Mapping[str, float] = MappingProxyType({})
) -> dict[str, float]:
    """Standard errors from the curvature; infinite where the measurements do not bend with a parameter.

    Parameters in ``width`` are held, but not known: they are off by so much, and what is known less for it
    are the others.
    """
    free = len(names) - len(width)
    spread = float(np.sum(residuals**2)) / max(len(residuals) - free, 1)
    size = np.sqrt(np.sum(jacobian**2, axis=0))
    told = size > 1e-12
    errors = dict.fromkeys(names, float("inf"))
    if told.any():
        scaled = jacobian[:, told] / size[told]
        usual = np.array([1 / width[name] if name in width else 0.0 for name in names])[told] / size[told]
        inverse = np.linalg.pinv(scaled.T @ scaled + spread * np.diag(usual**2), rcond=1e-12)
        known = np.sqrt(spread * np.diag(inverse)) / size[told]
        errors |= {name: float(err) for name, err in zip(np.array(names)[told], known, strict=True)}
    return {str(name): error for name, error in errors.items()}


def _told(
    steps: IdealSteps, took: Array, fixed: dict[str, float], prior: Mapping[str, float], *, capped: bool
) -> tuple[dict[str, float], dict[str, float], Array, list[str]]:
    """Values, errors of the fitted ones, residuals, and what is held as the measurements do not tell it.

    The others are fitted with a share at 1 that would be above it, and with what is not told at its usual
    value; both are still not known, and the errors say so.
    """
    unclear: list[str] = []
    at_one: list[str] = []
    while True:
        names = [name for name in (*FRACTIONS, *OVERHEADS) if name not in fixed]
        if not names:
            break
        found, jacobian, residuals = _search(steps, took, names, fixed, capped=capped)
        values = {name: float(value) for name, value in zip(names, found, strict=True)}
        errors = _errors(names, jacobian, residuals)
        doubt = {name: _doubt(name, values[name], errors[name]) for name in names}
        worst = max(doubt, key=lambda name: doubt[name])
        if doubt[worst] > 1:
            fixed = fixed | {worst: prior[worst]}
            unclear.append(worst)
            continue
        above = next((name for name in names if name in FRACTIONS and values[name] > 1), None)
        if above is None:
            break
        if values[above] - 2 * errors[above] > 1 + 1e-9 and not capped:
            raise ConfigError(
                f"{above}: the measurements ask for {values[above]:.2f}, more than the accelerator has; "
                f"{_WRONG}"
            )
        fixed = fixed | {above: 1.0}
        at_one.append(above)
    values = fixed | (values if names else {})
    residuals = np.log(steps.seconds(**values) / took)
    every, width = [*names, *at_one, *unclear], {name: USUALLY_OFF[name] for name in unclear}
    errors = _errors(every, _slopes(steps, values, every), residuals, width)
    return values, {name: errors[name] for name in (*names, *at_one)}, residuals, unclear


def _slopes(steps: IdealSteps, values: Mapping[str, float], names: list[str]) -> Array:
    """Slopes of the logarithms of the times, by differences to both sides (steps, names)."""
    columns = [np.empty((len(steps.seconds(**values)), 0))]
    for name in names:
        step = 1e-3 if name in FRACTIONS else 1e-3 * _START[name]
        up, down = values[name] + step, max(values[name] - step, 0.0)
        gap = np.log(steps.seconds(**{**values, name: up}) / steps.seconds(**{**values, name: down}))
        columns.append((gap / (up - down))[:, None])
    return np.hstack(columns)


def _doubt(name: str, value: float, error: float) -> float:
    """Standard error over the largest that still tells something."""
    return error / max(_UNCLEAR * value, _UNCLEAR_S.get(name, 0.0))
