"""Above the limit for a while: how far a run strays from the path of means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from ._fluid import Fluid

__all__ = ["Astray", "diffused"]

Floats = NDArray[np.float64]

_N_AWAY = 240  # cells of the distance from the path
_N_TIMES = 120  # moments at which it is known


@dataclass(frozen=True, eq=False)
class Astray:
    r"""Distance of the requests in system from the fluid path, as a diffusion [1]_.

    Its variance is :math:`\lambda(c_a^2+c_s^2)` a second, where :math:`c_s^2` is of the work of a request; as
    long as places are free, more running requests end more often, which draws the run back.

    References
    ----------
    .. [1] Newell (1982), "Applications of queueing theory", 2nd edition, chapter 7.
    """

    fluid: Fluid

    @cached_property
    def variance(self) -> float:
        """Of the requests in system, a second."""
        return self.fluid.rate_rps * (self.fluid.engine.demand.burstiness + self.work_scv)

    @cached_property
    def work_scv(self) -> float:
        """Variance of the work of a request over its squared mean, as work of what binds."""
        demand = self.fluid.engine.demand
        if self.fluid.limit.binds == "token budget":
            share = demand.mean_prompt / (demand.mean_prompt + demand.mean_decode)
        else:
            share = min(
                self.fluid.limit.rate_rps * demand.mean_prompt * self.fluid.token_s(self.fluid.full), 1.0
            )
        d = max(demand.mean_decode, 1e-9)
        scv_s = demand.prompt_moment(2) / demand.mean_prompt**2 - 1
        scv_d = demand.decode_moment(2) / d**2 - 1
        joint = demand.prompt_decode / (demand.mean_prompt * d) - 1 if demand.mean_decode else 0.0
        scv = share**2 * scv_s + (1 - share) ** 2 * scv_d + 2 * share * (1 - share) * joint
        return max(scv, 0.0)

    @cached_property
    def away(self) -> tuple[Floats, Floats, Floats]:
        """Moments of arrival (t,), distances (x,) in requests from the path, and their laws (t, x)."""
        path, end = self.fluid.path, self.fluid.duration_s
        times = (np.arange(_N_TIMES) + 0.5) * end / _N_TIMES
        reach = 5.5 * np.sqrt(self.variance * end) + 3
        x = np.linspace(-reach, reach, _N_AWAY + 1)
        dx, dt = x[1] - x[0], end / _N_TIMES
        law = np.zeros(len(x))
        law[_N_AWAY // 2] = 1.0
        laws = []
        mean = np.interp(times, path.times_s, path.present)
        ended = np.interp(times, path.times_s, path.ended)
        for k in range(_N_TIMES):
            drift = -self._restoring(mean[k], ended[k], x)
            laws.append(diffused(law, drift, self.variance, dx, dt / 2))
            law = diffused(law, drift, self.variance, dx, dt)
        return times, x, np.array(laws)

    def _restoring(self, mean: float, ended: float, x: Floats) -> Floats:
        """How much faster requests end, each second, if there are ``x`` more than on the path."""
        nodes, speeds = self._speeds
        here = max(float(np.interp(mean, nodes, speeds)), 1e-9)
        return np.asarray(ended * (np.interp(mean + x, nodes, speeds) / here - 1))

    @cached_property
    def _speeds(self) -> tuple[Floats, Floats]:
        """Numbers running, and how fast they end, up to a factor."""
        each = self.fluid.per_step
        nodes = np.linspace(0.0, self.fluid.full, 16)
        gaps = [
            self.fluid.seconds(min(self.fluid.limit.rate_rps * self.fluid.seconds(0.0, n), each), n)
            for n in nodes
        ]
        return nodes, nodes / np.array(gaps)

    def waits(self) -> tuple[Floats, Floats, Floats]:
        """Moments of arrival (t,), and seconds (t, x) until admission with their probabilities."""
        times, x, laws = self.away
        path = self.fluid.path
        mean_wait = path.wait_s(times)
        present = np.interp(times, path.times_s, path.present)
        slack = np.where(mean_wait > 1e-6, 0.0, np.maximum(self.fluid.full - present, 0.0))
        waits = mean_wait[:, None] + (x[None, :] - slack[:, None]) / self.fluid.limit.rate_rps
        return times, np.maximum(waits, 0.0), laws


def diffused(law: Floats, drift: Floats, variance: float | Floats, dx: float, dt: float) -> Floats:
    """The law a time later: a walk with this drift and variance, reflected at the ends."""
    spread = np.maximum(variance - np.abs(drift) * dx, 0.05 * variance) / (2 * dx**2)
    up, down = spread + np.maximum(drift, 0.0) / dx, spread + np.maximum(-drift, 0.0) / dx
    up[-1] = down[0] = 0.0
    bands = np.zeros((3, len(law)))
    bands[0, 1:] = -dt * down[1:]
    bands[1] = 1 + dt * (up + down)
    bands[2, :-1] = -dt * up[:-1]
    found = np.asarray(solve_banded((1, 1), bands, law)).clip(0.0)
    return np.asarray(found / found.sum())
