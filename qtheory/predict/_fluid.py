"""Above the limit for a while: the path of means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._rates import Rates
from ._steps import Rule
from .inputs import Engine
from .limits import Limit

__all__ = ["Fluid", "Path"]

Floats = NDArray[np.float64]

_MOST_STEPS = 6000  # of the path while requests come


@dataclass(frozen=True, kw_only=True, eq=False)
class Path:
    """Means of a run that starts empty, at moments (k,): arrived, admitted, running, decode steps so far."""

    times_s: Floats
    arrived: Floats
    admitted: Floats
    running: Floats
    ended: Floats
    steps: Floats  # decode steps of whoever runs throughout
    per_step: Floats  # requests admitted in a step

    @property
    def present(self) -> Floats:
        """Requests in system."""
        return self.arrived - self.admitted + self.running

    def wait_s(self, at_s: Floats) -> Floats:
        """Seconds until who arrives then is admitted."""
        number = np.interp(at_s, self.times_s, self.arrived)
        grown = np.maximum.accumulate(self.admitted + 1e-9 * np.arange(len(self.admitted)))
        return np.asarray(np.maximum(np.interp(number, grown, self.times_s) - at_s, 0.0))

    def decode_s(self, at_s: Floats, steps: Floats) -> Floats:
        """Seconds (at, steps) of so many decode steps from these moments on."""
        begun = np.interp(at_s, self.times_s, self.steps)
        last_s = (self.times_s[-1] - self.times_s[-2]) / max(self.steps[-1] - self.steps[-2], 1e-12)
        target = begun[:, None] + steps[None, :]
        beyond = np.maximum(target - self.steps[-1], 0.0) * last_s
        return np.asarray(np.interp(target, self.steps, self.times_s) + beyond - at_s[:, None])


@dataclass(frozen=True, kw_only=True, eq=False)
class Fluid:
    r"""Arrivals for a time, into an empty system that may not be able to take them.

    Mean path: in each step of :math:`n` decodes the requests are admitted that budget, slots and arrivals
    allow, and each decodes as many steps as its output has, so
    :math:`n(\psi)=\int a(\psi')P(d>\psi-\psi')d\psi'` in the time :math:`\psi` of decode steps. Seconds are
    scaled so that the end of the path has the throughput of the stability limit.
    """

    engine: Engine
    rule: Rule
    limit: Limit
    rate_rps: float
    duration_s: float
    rates: Rates | None = None  # where the rate changes; ``rate_rps`` is then its mean

    def arrived(self, time_s: float) -> float:
        """Requests that have come by a time."""
        until_s = min(time_s, self.duration_s)
        return self.rate_rps * until_s if self.rates is None else float(self.rates.arrived(np.array(until_s)))

    @property
    def full(self) -> float:
        """Requests that run when the queue never empties."""
        return max(self.limit.running, 1.0)

    @property
    def per_step(self) -> float:
        """Requests that each step ends when the queue never empties."""
        demand = self.engine.demand
        if demand.mean_decode >= 1:
            return self.full / demand.mean_decode
        room = self.rule.room_tokens(self.engine, 0.0) / demand.mean_prompt
        return min(room, float(self.engine.max_seqs))

    def token_s(self, n: float) -> float:
        """Seconds that a prompt token adds to a step, at a full budget."""
        room = self.rule.room_tokens(self.engine, n)
        if self.rule.mixed:
            return max(self.engine.step_s(room, n) - self.engine.decode_s(n), 0.0) / room
        return (self.engine.step_s(room, 0.0) - self.engine.step_s(room / 2, 0.0)) / (room / 2)

    @cached_property
    def seconds(self) -> Callable[[float, float], float]:
        """Seconds of a step by the requests admitted in it and the decodes."""
        engine, mean = self.engine, self.engine.demand.mean_prompt
        nodes = np.unique(np.concatenate([np.linspace(0.0, self.full, 24), [max(engine.slots, self.full)]]))
        alone = np.array([engine.decode_s(n) for n in nodes])
        if self.rule.mixed:
            top = max(engine.budget_tokens / mean, 1e-9)
            shares = np.linspace(0.0, 1.0, 12)
            table = np.array(
                [
                    [engine.step_s(max(s * (engine.budget_tokens - n), 0.0), max(n, 1.0)) for s in shares]
                    for n in nodes
                ]
            )

            def mixed(x: float, n: float) -> float:
                share = x * mean / max(engine.budget_tokens - n, 1.0)
                low = min(int(np.searchsorted(nodes, n, side="right")) - 1, len(nodes) - 2)
                f = (n - nodes[low]) / (nodes[low + 1] - nodes[low])
                row = (1 - f) * table[low] + f * table[low + 1]
                return float(np.interp(share, shares, row)) if x > 1e-9 * top else float(row[0])

            return mixed
        token = self.token_s(1.0)
        start = max(engine.step_s(mean, 0.0) - token * mean, 0.0)

        def apart(x: float, n: float) -> float:
            return float(np.interp(n, nodes, alone)) - start * math.expm1(-x) + token * mean * x

        return apart

    @cached_property
    def scale(self) -> float:
        """What makes the seconds of steps those of the stability limit."""
        return self.per_step / self.seconds(self.per_step, self.full) / self.limit.rate_rps

    def settled_rps(self, running: Floats) -> Floats:
        """Rates at which so many run once the path has settled."""
        x = running / max(self.engine.demand.mean_decode, 1.0)
        took = [self.scale * self.seconds(a, n) for a, n in zip(x.tolist(), running.tolist(), strict=True)]
        return np.asarray(x / np.array(took))

    @cached_property
    def path(self) -> Path:
        """The path of means, until all are admitted."""
        demand, seconds = self.engine.demand, self.seconds
        step_s = self.per_step / self.limit.rate_rps
        delta = max(1.0, demand.mean_decode / 60, self.duration_s / step_s / _MOST_STEPS)
        left = self._left(delta)
        admitted: list[float] = []
        rows: list[tuple[float, ...]] = []
        t = arrived = total = before = 0.0
        most = 40 * _MOST_STEPS
        while (t < self.duration_s or total < arrived - 1e-6) and len(rows) < most:
            recent = np.array(admitted[-len(left) :][::-1])
            n = float(recent @ left[: len(recent)])
            free = max(self.engine.slots if self.limit.binds == "token budget" else self.full, 1.0) - n
            x = self._admitted(arrived - total, max(free, 0.0), n, delta, t)
            took = delta * self.scale * seconds(x / delta, n)
            if n + x < 1e-3 and t < self.duration_s:
                took = max(took, 0.1 / self.rate_rps)
            ended = before + (admitted[-1] if admitted else 0.0) - n
            rows.append((t, arrived, total, n, ended / took, len(rows) * delta, x / delta))
            arrived = self.arrived(t + took)
            t, total, before = t + took, total + x, n
            admitted.append(x)
        rows.append((t, arrived, total, before, 0.0, len(rows) * delta, 0.0))
        return Path(**dict(zip(Path.__dataclass_fields__, np.array(rows).T, strict=True)))

    def _admitted(self, waiting: float, free: float, n: float, delta: float, t: float) -> float:
        """Requests that the next ``delta`` steps admit, those who come meanwhile among them."""
        mean = self.engine.demand.mean_prompt
        room = delta * max(self.engine.budget_tokens - n, 1.0) / mean if self.rule.mixed else np.inf
        x = min(waiting, free, room)
        for _ in range(3):
            took = delta * self.scale * self.seconds(x / delta, n)
            more = self.arrived(t + took) - self.arrived(t)
            x = 0.5 * x + 0.5 * min(waiting + more, free, room)
        return x

    def _left(self, delta: float) -> Floats:
        """P(d > k delta), averaged over each of the steps of the path."""
        demand = self.engine.demand
        order = np.argsort(demand.decode_steps)
        steps, below = demand.decode_steps[order], np.cumsum(demand.decode_probs[order])
        edges = delta * np.arange(int(np.ceil(steps[-1] / delta)) + 2)
        above = np.append(1.0, 1 - below)  # from each length on
        widths = np.diff(np.append(0.0, steps))
        area = np.append(0.0, np.cumsum(widths * above[:-1]))
        grown = np.interp(edges, np.append(0.0, steps), area)
        return np.asarray(np.diff(grown) / delta)
