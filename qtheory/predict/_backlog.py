"""The heart of the numeric tier: waiting prompt tokens and remaining decode work as one Markov chain.

Embedded at the starts of steps. The state is w, prompt tokens that wait (in cells), and y, decode work of
all requests in the system, waiting ones included, as a number of running requests. Those that run are y less
what waits, at most the slots. A step takes its prompt tokens off w and a decode step of each running request
off y; the arrivals of its seconds add a compound Poisson number of tokens to w, and the decode steps that
belong to them to y. Decodes alone are processor sharing, whatever the law of the outputs; stalls by prompts,
full slots and queues that build up need no rule of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._levels import law_on_levels
from ._mesh import MOST_LEVELS, Mesh

__all__ = ["Backlog", "solve_backlog"]

Floats = NDArray[np.float64]

_MOST_TRIES = 4
_MOST_UP = 4
_FAULT, _WORST = 0.006, 0.06  # mass below zero, or decode work that comes and is not done
_MOST_HIGHER = 2.5
_LEAN = 0.01
_ABOVE = 3e-4  # share of time above the levels


@dataclass(frozen=True, kw_only=True, eq=False)
class Backlog:
    """Stationary law of the chain."""

    mesh: Mesh
    at_steps: Floats  # (n_w, n_y) at the starts of steps

    @cached_property
    def _total_s(self) -> float:
        return float((self.at_steps * self.mesh.stays_s).sum())

    @cached_property
    def in_time(self) -> Floats:
        """Law (n_w, n_y) of the step, or the idle time before it, that a moment falls into."""
        return np.asarray(self.at_steps * self.mesh.stays_s / self._total_s)

    @cached_property
    def decoded_share(self) -> float:
        """Decode steps done over those that come, 1 but for what the levels cut off."""
        mesh = self.mesh
        done, wanted = (float((self.at_steps * part).sum()) for part in (mesh.decoded, mesh.come))
        return done / wanted if wanted > 0 else 1.0

    @cached_property
    def decodes_per_s(self) -> float:
        """Decode steps of those that stay, a second."""
        return float((self.at_steps * self.mesh.come).sum()) / self._total_s

    @cached_property
    def mean_running(self) -> float:
        """Running decodes, time average."""
        return self._moment(self.mesh.running)

    @cached_property
    def var_running(self) -> float:
        """Variance of the running decodes in time."""
        running = self.mesh.running
        return self._moment(running * np.maximum(running, 1.0)) - self.mean_running**2

    def _moment(self, column: Floats) -> float:
        """Time average of what is there while a step lasts."""
        return float((self.at_steps * self.mesh.seconds * column).sum()) / self._total_s


def _moves(mesh: Mesh, j: int) -> Floats:
    """Transitions (n_up + 2, n_w, n_w) out of level ``j``: y moves by -1, 0, ..., n_up levels."""
    demand, work = mesh.engine.demand, mesh.engine.work
    rows, gained = mesh.arrivals(mesh.seconds[:, j], mesh.left[:, j], mesh.then_running[:, j])
    rows[0], gained[0] = mesh.first_of_busy(rows[0], gained[0], float(mesh.idle[0, j]))
    mean = (rows * gained).sum(axis=1, keepdims=True)
    full = mesh.x[:, j] > mesh.shut
    many = mesh.x[:, j] > max(mesh.n_mean, 1.0)  # below, it is their number that matters
    noise = np.where(full, work.unit_full_steps, np.where(many, mesh.spread, 1.0) * work.unit_steps)
    by_ends = mean[:, 0] * noise  # half of what gives decodes alone the variance that they have
    burst = np.where(full, demand.mean_decode, work.burst_steps)
    whole_var = by_ends + mean[:, 0] * (demand.lasting - 1) * burst
    told = (rows * (gained - mean) ** 2).sum(axis=1)
    hidden = np.maximum(whole_var - told, 0.0)[:, None]  # what the tokens do not tell
    slow = mean[:, 0] * (demand.lasting - demand.burstiness) * burst  # their prompts hold up decodes as well
    hidden += np.where(full, 0.0, slow * (mesh.drawn_out**2 - 1))[:, None]
    unit = mesh.remaining * mesh.level
    var = hidden * gained / np.maximum(mean, 1e-300) / unit**2
    move = _within((gained - mesh.decoded[:, j][:, None]) / unit, rows, float(mesh.n_up))
    whole = np.clip(np.rint(move), 0, mesh.n_up - 1)
    rest = np.clip(move - whole, -1.0, 1.0)
    share = np.clip(1 - (told - whole_var) / np.maximum(by_ends, 1e-300), 0.0, 1.0)  # less if they tell more
    ends = (share * noise * mesh.decoded[:, j] / unit**2)[:, None]
    is_even = mesh.level <= 1 and demand.lasting < 1
    least = np.abs(rest) if is_even else 0.0  # whole requests come and go, however evenly
    q = np.minimum(np.maximum(var + ends + rest**2, least), 1.0)
    if j == 0:  # nothing falls below no work at all
        q = np.where(whole == 0, np.maximum(rest, 0.0), q)
    down, up = rows * (q - rest) / 2, rows * (q + rest) / 2
    stay = rows - down - up
    moves = np.zeros((mesh.n_up + 2, rows.size))
    place = whole.astype(np.intp).ravel() * rows.size + np.arange(rows.size)
    for more, part in enumerate((down, stay, up)):
        moves.ravel()[place + more * rows.size] = part.ravel()
    return moves.reshape(-1, *rows.shape)


def _within(move: Floats, rows: Floats, most: float) -> Floats:
    """Moves cut to -1 .. most; what that takes off the mean of a row is given to its other cells."""
    cut = np.clip(move, -1.0, most)
    lost = (rows * (move - cut)).sum(axis=1, keepdims=True)
    room = np.where(lost > 0, most - cut, cut + 1.0)
    whole = np.maximum((rows * room).sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(np.clip(cut + np.clip(lost / whole, -1.0, 1.0) * room, -1.0, most))


def solve_backlog(mesh: Mesh) -> Backlog:
    """Stationary law, on finer and higher levels until little is cut off and all that comes is decoded."""
    best: tuple[float, float, Backlog] | None = None
    for _ in range(_MOST_TRIES):
        found, negative = _solved(mesh)
        above = float(found.in_time[:, -1].sum())
        leaner, change = mesh.leaner_by(found.at_steps)
        fault = max(negative, abs(found.decoded_share - 1), above)
        if best is None or fault + change < best[0] + best[1]:
            best = fault, change, found
        if fault < _FAULT and above < _ABOVE and change < _LEAN:
            break
        higher = _higher(found) if above >= _ABOVE else 1.0
        rough = max(negative, abs(found.decoded_share - 1)) >= _FAULT
        finer = min(1.5, mesh.level) if rough and higher == 1.0 else 1.0  # part of a request is none
        if max(higher, finer) == 1.0 and change < _LEAN:
            break
        n_y = math.ceil(higher * finer * mesh.n_y)
        coarser = max(n_y / MOST_LEVELS, 1.0)
        top, level = mesh.level / finer * n_y, mesh.level * coarser / finer
        if higher == 1.0 and level >= mesh.level and change < _LEAN:
            break  # as fine as can be
        mesh = replace(
            mesh,
            n_y=math.ceil(n_y / coarser),
            level=mesh.met_by(level, top),
            leaner=leaner,
            n_up=max(mesh.n_up, min(math.ceil(finer * mesh.n_up), _MOST_UP)),
        )
    if best is None or best[0] > _WORST:
        raise ConvergenceError(
            f"rate_rps={mesh.rate_rps:g}: no stationary law within {_WORST:.0%} was found on the mesh; "
            "take the closed tier, or simulate"
        )
    return best[2]


def _higher(found: Backlog) -> float:
    """How much higher the levels have to reach, if the law falls on as it does at their end."""
    law = found.in_time.sum(axis=0)
    n = len(law)
    near, last = float(law[-max(n // 4, 3) - 1]), float(law[-2])
    if last >= near:
        return _MOST_HIGHER
    more = math.log(last / _ABOVE) / math.log(near / last) * max(n // 4, 3) if last > _ABOVE else 0.0
    return min(max(1.25, 1 + 1.2 * more / n), _MOST_HIGHER)


def _solved(mesh: Mesh) -> tuple[Backlog, float]:
    """Stationary law, and the mass that came out below zero."""
    reference = min(round(mesh.n_mean / mesh.level), mesh.n_y - 1)
    law = law_on_levels(lambda j: list(_moves(mesh, j)), mesh.n_y, reference).T
    law = law / law.sum()
    negative = -law[law < 0].sum()
    law = law.clip(0.0)
    return Backlog(mesh=mesh, at_steps=law / law.sum()), float(negative)
