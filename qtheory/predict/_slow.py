"""Slow fluctuations of the time that a decode step takes, which a request sees all through its stay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._beside import Beside, Echo, third_of

__all__ = ["Slow"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slow:
    """Slow fluctuations of the seconds of a gap, by the number running and by what the running ones hold."""

    memory_s: float
    slope_s: float  # seconds of a gap by a request more that runs
    by_number_s: float  # standard deviation of a gap
    together: float  # correlation of the stall and the load that an arrival brings
    growth: float  # of a gap, relative, with what runs, as far as the number follows
    beside: Beside
    held: float  # requests whose tokens vary; none if the number stands for the tokens

    @classmethod
    def of(cls, backlog: Backlog, slope_s: float, memory_s: float, feedback: float) -> Slow:
        engine, running = backlog.mesh.engine, backlog.mean_running
        demand, spread = engine.demand, max(backlog.var_running, 0.0)
        whole, by_tokens = engine.slower_by(max(running, 1.0))
        follows = spread * (1 - feedback) / max(running * demand.lasting, 1e-12)
        moments = demand.prompt_moment(2) * demand.decode_moment(2)
        return cls(
            memory_s=memory_s,
            slope_s=slope_s,
            by_number_s=slope_s * math.sqrt(spread),
            together=min(demand.prompt_decode / math.sqrt(moments), 1.0),
            growth=feedback * min(follows, 1.0),
            beside=Beside(demand=demand, by_tokens=by_tokens / whole if whole > 0 else 0.0),
            held=0.0 if engine.is_memory_work else running,
        )

    @cached_property
    def _echo(self) -> Echo:
        return self.beside.echo(self.growth)

    def tokens(self, steps: Floats) -> tuple[Floats, Floats]:
        """Second and third cumulant (d,) of the mean seconds of a gap in stays of so many steps, by how much
        more the running ones hold than their number says."""
        load, number = self.beside.cumulants(steps * (1 - self.growth))
        grown, alone = self._echo.load_var, 1 / (1 - self.growth)
        second = np.maximum(grown * load[0] - alone * number[0], 0.0)
        third = third_of(grown) * load[1] - third_of(alone) * number[1]
        return self.held * self.slope_s**2 * second, self.held * self.slope_s**3 * third

    def own_s(self, steps: Floats, prompts: Floats) -> Floats:
        """Seconds of a gap (d,) beyond the mean, by what a request holds itself and who then gathers."""
        stay = steps * (1 - self.growth) / self.beside.age
        kept = -np.expm1(-stay) / stay
        own = self.beside.own(steps, prompts) - 1
        return np.asarray(self.slope_s * own * (1 + self.growth / (1 - self.growth) * (1 - kept)))

    def lift(self, gap_s: float) -> float:
        """Mean gap to that if all held the same: the long ones, which hold more, slow down just those beside
        whom others gather."""
        more = self._echo.together - 1 / (1 - self.growth)
        return 1 + (self.slope_s * more / gap_s if self.held > 0 else 0.0)

    def grown(self, var: Floats, d: float, time_s: float, tokens: float) -> Floats:
        """Variance of a sum of d gaps, given the number running seen: arrivals in the stay bring both a stall
        and a request that runs, whose ``tokens`` vary by so much a gap."""
        z = time_s / self.memory_s
        kept = -math.expm1(-z) / z
        share = max(2 / z * (1 - kept), 0.0)
        new = math.sqrt(max(1 - kept**2 / share, 0.0)) if share > 0 else 0.0
        slow = d * math.hypot(math.sqrt(share) * self.by_number_s, math.sqrt(tokens))
        return np.asarray(var + 2 * self.together * new * np.sqrt(var) * slow + d**2 * tokens)
