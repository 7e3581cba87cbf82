"""Numeric tier: from a solved chain to latencies and goodput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.system.slo import Slo

from ._backlog import Backlog
from ._first_token import FirstToken, first_token
from ._gaps import gap_law
from ._gridlaw import GridLaw, law_of_atoms, mixed_law
from ._per_token import DecodeAtoms, decode_atoms
from ._settled import settled
from ._steps import Rule
from .inputs import Engine

__all__ = ["Steady", "columns_of", "decoded", "gap_of", "steady", "steady_of"]

Floats = NDArray[np.float64]

_TTFT_LEVELS = np.array([0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.975, 0.9925])
_TTFT_MASS = np.diff(
    np.array([0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.91, 0.965, 0.985, 1])
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Steady:
    """Laws of one point."""

    backlog: Backlog
    first: FirstToken
    decode: DecodeAtoms
    by_little: float  # what makes the mean gap of the sums that of Little's law

    @property
    def gap_s(self) -> float:
        """Mean gap between tokens, by Little's law for the running requests."""
        return gap_of(self.backlog) * self.decode.lift


def steady(engine: Engine, rule: Rule, rate_rps: float) -> Steady:
    """Solve one point below the limit."""
    backlog = settled(engine, rule, rate_rps)
    return steady_of(backlog)


def steady_of(backlog: Backlog) -> Steady:
    """Laws of all requests."""
    first = first_token(backlog)
    decode, factor = decoded(backlog, first)
    return Steady(backlog=backlog, first=first, decode=decode, by_little=factor)


def decoded(backlog: Backlog, first: FirstToken, behind: Floats | None = None) -> tuple[DecodeAtoms, float]:
    """Decode times, and what makes the mean gap of the sums that of Little's law.

    The chain knows nothing of who follows later than at once, so its law is that of sums without those.
    """
    decode = decode_atoms(backlog, first, behind)
    if backlog.mesh.engine.demand.following is None:
        return decode, by_little(backlog, first, decode)
    return decode, by_little(backlog, first, decode_atoms(backlog, first, behind, at_once=True))


def gap_of(backlog: Backlog) -> float:
    """Mean gap between tokens, by Little's law for the running requests."""
    return backlog.mean_running / max(backlog.decodes_per_s, 1e-300)


def by_little(backlog: Backlog, first: FirstToken, decode: DecodeAtoms) -> float:
    """What makes the mean gap of the sums that of Little's law."""
    total = float(first.weights @ decode.mean_s @ decode.step_weights)
    gap_s = gap_of(backlog) * decode.lift
    return gap_s * backlog.mesh.engine.demand.mean_decode / total if total > 0 else 1.0


def columns_of(points: Sequence[tuple[float, Steady]], slo: Slo) -> dict[str, float]:
    """Columns of a prediction, of requests of several kinds (shares and laws) in one system."""
    laws: dict[str, list[tuple[float, GridLaw]]] = {"ttft": [], "tpot": [], "e2e": []}
    shares = {"goodput_frac": 0.0, "ttft_good_frac": 0.0, "tpot_good_frac": 0.0}
    for share, point in points:
        first, decode = point.first, point.decode
        seconds = decode.seconds * point.by_little
        weights = first.weights[:, None, None] * decode.step_weights[None, :, None] * decode.mass
        laws["ttft"].append((share, first.law))
        laws["e2e"].append((share, _whole(point, seconds, weights)))
        some = float(decode.step_weights.sum())
        if some > 0:
            each = (seconds / decode.steps[None, :, None]).ravel()
            laws["tpot"].append((share * some, law_of_atoms(each, weights.ravel())))
        for name, part in _good(point, seconds, slo).items():
            shares[name] += share * part
    backlog = points[0][1].backlog
    mixed = {
        name: parts[0][1] if len(parts) == 1 else mixed_law(parts) for name, parts in laws.items() if parts
    }
    if backlog.mesh.engine.demand.mean_decode > 0:
        mixed["itl"] = gap_law(backlog)
    found = statistics(mixed) | shares | {"mean_decoding": backlog.mean_running * points[0][1].decode.lift}
    return found | ({"mean_itl_s": points[0][1].gap_s} if "itl" in mixed else {})


def statistics(laws: Mapping[str, GridLaw]) -> dict[str, float]:
    """Mean and percentiles by name of field."""
    found = {}
    for name, law in laws.items():
        found[f"mean_{name}_s"] = law.mean_s
        for level in (50, 90, 95, 99):
            found[f"p{level}_{name}_s"] = law.quantile(level / 100)
    return found


def _ttft_atoms(law: GridLaw) -> Floats:
    atoms = np.interp(_TTFT_LEVELS * law.cdf[-1], law.cdf, law.times_s)
    return np.asarray(atoms * (law.mean_s / float(atoms @ _TTFT_MASS)))


def _whole(point: Steady, seconds: Floats, weights: Floats) -> GridLaw:
    """Law of the time to the last token."""
    times, mass = [], []
    one = 1 - float(point.decode.step_weights.sum())  # requests of one token
    for k, law in enumerate(point.first.by_running):
        atoms = _ttft_atoms(law)
        times += [(atoms[:, None] + seconds[k].ravel()[None, :]).ravel(), atoms]
        mass += [(_TTFT_MASS[:, None] * weights[k].ravel()[None, :]).ravel()]
        mass += [_TTFT_MASS * point.first.weights[k] * one]
    return law_of_atoms(np.concatenate(times), np.concatenate(mass))


def _good(point: Steady, seconds: Floats, slo: Slo) -> dict[str, float]:
    """Shares within the limits; TTFT and the rest are independent given the number running."""
    first, decode = point.first, point.decode
    one = 1 - float(decode.step_weights.sum())
    tpot_limit = np.inf if slo.tpot_s is None else slo.tpot_s
    quick = (seconds <= tpot_limit * decode.steps[None, :, None]) * decode.mass
    quick = _smoothed(seconds / decode.steps[None, :, None], quick, decode.mass, tpot_limit)
    good = ttft_good = tpot_good = 0.0
    for k, law in enumerate(first.by_running):
        in_time = law.within(slo.ttft_s)
        by_length = quick[k].sum(axis=1) @ decode.step_weights + one
        ttft_good += first.weights[k] * in_time
        tpot_good += first.weights[k] * by_length
        if slo.e2e_s is None:
            good += first.weights[k] * in_time * by_length
            continue
        for atom, part in zip(_ttft_atoms(law), _TTFT_MASS, strict=True):
            if slo.ttft_s is not None and atom > slo.ttft_s:
                continue
            both = quick[k] * (atom + seconds[k] <= slo.e2e_s)
            lone = one * (atom <= slo.e2e_s)
            good += first.weights[k] * part * (both.sum(axis=1) @ decode.step_weights + lone)
    return {
        "goodput_frac": min(good, 1.0),
        "ttft_good_frac": ttft_good,
        "tpot_good_frac": min(tpot_good, 1.0),
    }


def _smoothed(times: Floats, inside: Floats, mass: Floats, limit: float) -> Floats:
    """Mass within a limit, if each atom but the first stands for the space up to its neighbours."""
    if not np.isfinite(limit):
        return inside
    middle = (times[:, :, 1:-1] + times[:, :, 2:]) / 2
    upper = np.concatenate([times[:, :, :1], middle, times[:, :, -1:] * 1.3], axis=2)
    lower = np.concatenate([times[:, :, :1], times[:, :, :1], middle], axis=2)
    width = np.maximum(upper - lower, 1e-12)
    share = np.where(
        np.arange(times.shape[2]) == 0, times <= limit, np.clip((limit - lower) / width, 0.0, 1.0)
    )
    return np.asarray(share * mass)
