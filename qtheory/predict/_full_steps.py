"""Decode times beside steps that spend the budget: no longer than these, which are not all alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from qtheory.system.steptime import StepLoad

from ._backlog import Backlog
from ._per_token import DecodeAtoms
from .demand import Demand

__all__ = ["FullSteps", "depth_varied"]

Floats = NDArray[np.float64]

_WIDER = 1.01  # for a slope


@dataclass(frozen=True, eq=False)
class FullSteps:
    """Steps that spend the budget, where those that run are soon gone while prompts wait.

    Such a step takes longer where its tokens lie deep in their prompts and where many decode beside them. A
    request that decodes beside many of them meets nearly their mean: both vary only by what is left over so
    many steps. The number running is taken as an Ornstein-Uhlenbeck process.
    """

    backlog: Backlog

    @cached_property
    def _room_tokens(self) -> float:
        mesh = self.backlog.mesh
        return mesh.rule.room_tokens(mesh.engine, self.backlog.mean_running)

    @cached_property
    def mean_s(self) -> float:
        """Seconds of one, beside as many decodes as run in the mean."""
        return self.backlog.mesh.engine.step_s(self._room_tokens, self.backlog.mean_running)

    def varied_s(self, steps: Floats) -> Floats:
        """Standard deviation of the mean step over so many of them, s."""
        engine, room = self.backlog.mesh.engine, self._room_tokens
        by_depth = self._slope_s * depth_varied(engine.demand, steps * room)
        by_number = self._by_number_s**2 * _kept(steps, self.backlog.mesh.remaining)
        return np.sqrt(by_depth**2 + by_number)

    @property
    def _slope_s(self) -> float:
        """What one step takes longer if all its tokens lie one token deeper."""
        engine, room = self.backlog.mesh.engine, self._room_tokens
        work = room * engine.demand.mean_depth
        alone = StepLoad(0, 0, room, work, room, 1)  # type: ignore[arg-type]
        deeper_s = engine.step_time.step_s(alone._replace(prefill_work=_WIDER * work))
        more = (_WIDER - 1) * engine.demand.mean_depth
        return (deeper_s - engine.step_time.step_s(alone)) / more

    @cached_property
    def _by_number_s(self) -> float:
        """Of one step, by the number running while the budget is spent."""
        mesh, n = self.backlog.mesh, max(self.backlog.mean_running, 1e-9)
        held = self.backlog.in_time * (mesh.taken == mesh.full_cells)
        total = max(float(held.sum()), 1e-300)
        mean = float((held * mesh.running).sum()) / total
        var = max(float((held * mesh.running**2).sum()) / total - mean**2, 0.0)
        more = _WIDER * n
        more_s = mesh.engine.step_s(mesh.rule.room_tokens(mesh.engine, more), more) - self.mean_s
        return more_s / (more - n) * math.sqrt(var)

    def bounded(self, decode: DecodeAtoms, factor: float) -> DecodeAtoms:
        """Decode times, to be multiplied by ``factor``, of no more than such steps."""
        alone_s = decode.seconds[:, :, :1] * factor
        most_s = self.mean_s * decode.steps[:, None]
        seconds = np.minimum(decode.seconds * factor, most_s)
        share = (seconds - alone_s) / np.maximum(most_s - alone_s, 1e-300)  # of the steps
        return self._varied(decode, seconds, np.clip(share, 0.0, 1.0), factor)

    def always(self, decode: DecodeAtoms, gap_s: float) -> DecodeAtoms:
        """Decode times of such steps alone, of a mean of ``gap_s``."""
        seconds = np.broadcast_to(gap_s * decode.steps[:, None], decode.seconds.shape)
        return self._varied(decode, seconds, np.ones(seconds.shape), 1.0)

    def _varied(self, decode: DecodeAtoms, seconds: Floats, share: Floats, factor: float) -> DecodeAtoms:
        """Atoms of the same masses, of sums in which a ``share`` (k, g, m) of the steps varies."""
        spread = share * (decode.steps * self.varied_s(decode.steps))[:, None]
        found = np.array(seconds)
        if not found.size:
            return decode
        parts = decode.mass[0, 0, 1:] / decode.mass[0, 0, 1:].sum()  # the same at all (k, g)
        points = seconds[:, :, 1:, None] + spread[:, :, 1:, None] * _normal_at(parts)
        points = points.reshape(*seconds.shape[:2], -1)
        mass = (decode.mass[:, :, 1:, None] * parts).reshape(points.shape)
        order = np.argsort(points, axis=2)
        points, mass = (np.take_along_axis(each, order, axis=2) for each in (points, mass))
        below, sums = np.cumsum(mass, axis=2), np.cumsum(mass * points, axis=2)
        upper = np.cumsum(decode.mass[:, :, 1:], axis=2)
        for k, g in np.ndindex(*seconds.shape[:2]):
            whole = np.interp(upper[k, g], np.append(0.0, below[k, g]), np.append(0.0, sums[k, g]))
            found[k, g, 1:] = np.diff(whole, prepend=0.0) / np.maximum(decode.mass[k, g, 1:], 1e-300)
        return replace(decode, seconds=np.maximum(found, 0.0) / factor)


def _normal_at(masses: Floats) -> Floats:
    """Atoms (m,) of these masses, of the mean and variance of the normal law: means between its quantiles."""
    edges = ndtri(np.append(0.0, np.minimum(np.cumsum(masses), 1.0)))
    density = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
    found = -np.diff(density) / masses
    return np.asarray((found - masses @ found) / math.sqrt(float(masses @ (found - masses @ found) ** 2)))


def depth_varied(demand: Demand, tokens: Floats) -> Floats:
    r"""Standard deviation of the mean depth of so many tokens of prompts one after the other.

    At a token the depth has the variance :math:`E[s^3]/3E[s]-E[s^2]^2/4E[s]^2`, and the sum over many tokens
    grows by the mean square of :math:`s^2/2-sE[s^2]/2E[s]` a prompt [1]_. In between it is taken as that of
    an Ornstein-Uhlenbeck process that has both.

    References
    ----------
    .. [1] Smith (1955), "Regenerative stochastic processes", Proceedings of the Royal Society A 232, 6-31.
    """
    middle = demand.prompt_moment(2) / (2 * demand.mean_prompt)
    var = max(demand.prompt_moment(3) / (3 * demand.mean_prompt) - middle**2, 0.0)
    sums = demand.prompt_tokens**2 / 2 - middle * demand.prompt_tokens
    grown = float(sums**2 @ demand.prompt_probs) / demand.mean_prompt
    memory_tokens = grown / (2 * var) if var > 0 else 0.0
    return np.sqrt(var * _kept(tokens, max(memory_tokens, 1e-9)))


def _kept(length: Floats, memory: float) -> Floats:
    """Share of the variance that the mean over a ``length`` keeps of an Ornstein-Uhlenbeck process."""
    z = np.maximum(length / memory, 1e-6)
    return np.asarray(2 / z * (1 + np.expm1(-z) / z))
