"""How large a mesh must be, and how fine: from a mean field and the chain of waiting tokens alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ._mesh import MOST_LEVELS, Mesh, StepsAt
from ._steps import Rule
from ._thinned import Thinned
from .inputs import Engine

__all__ = ["make_mesh", "mean_field"]

Floats = NDArray[np.float64]

_MOST_W, _MOST_Y, _MOST_Y_TOKENS, _MOST_Y_FULL = 110, 24, 48, 80
_FULL = 0.9  # load, or share of the places taken, with shedding: then the law is a ridge along full places
_WIDE = 3.0  # standard deviations of what runs
_MOST_UP = 3  # levels that y may rise in one step
_MOST_UP_FINE = 8  # where levels are finer than arrivals alone would have them
_NOT_WHOLE = 0.25
_HARDLY_BELOW = 1.3  # beyond what has no probability below zero
_MOST_DRAFTS = 5
_SETTLED = 1e-10  # relative change of a round
_BEYOND = 3e-5  # share of steps that may find more waiting than the cells hold
_SHORTER = 0.8  # of the reach; with more, cells would be finer by less than a fifth, and as good
_CUT = 0.004  # share of the arriving decode work that a step may have to leave for its other arrivals


def mean_field(engine: Engine, rule: Rule, rate_rps: float) -> tuple[float, float]:
    """Running requests and seconds between tokens if nothing fluctuated."""
    demand = engine.demand
    n, gap = 1.0, engine.decode_s(1.0)
    for _ in range(300):
        room = rule.room_tokens(engine, n)
        if rule.mixed:
            full = engine.step_s(room, n)
            busy = min(rate_rps * demand.mean_prompt * full / room, 0.999)
            shared = 1 / (busy / full + (1 - busy) / engine.decode_s(n))
            even = engine.step_s(min(rate_rps * demand.mean_prompt * gap, room), n)
            found = min(even if room > 2 * demand.mean_prompt else max(shared, even), full)
        else:
            tokens = min(max(demand.mean_prompt, rate_rps * demand.mean_prompt * gap), room)
            busy = min(rate_rps * demand.mean_prompt / tokens * engine.step_s(tokens, 0.0), 0.98)
            found = engine.decode_s(n) / (1 - busy)
        moved = 0.3 * (found - gap), 0.3 * (min(rate_rps * demand.mean_decode * gap, engine.slots) - n)
        gap, n = gap + moved[0], n + moved[1]
        if abs(moved[0]) < _SETTLED * gap and abs(moved[1]) < _SETTLED * n:
            break
    return n, gap


Patience = Callable[[Mesh], Thinned]
"""Who stays of those that come."""


def make_mesh(
    engine: Engine,
    rule: Rule,
    rate_rps: float,
    *,
    patience: Patience | None = None,
    load: float = 0.0,
    wider: float = 1.0,
) -> Mesh:
    """Cells and levels that hold the law with little beyond them; ``load``: needed where some do not stay.

    ``wider``: by how much the cells are to reach beyond what the chain of waiting tokens alone asks for.
    """
    served_rps = rate_rps if patience is None else rate_rps * min(1.0, 0.97 / load)
    n, gap = mean_field(engine, rule, served_rps)
    at_times = n + _WIDE * math.sqrt((n + 1) * max((1 + engine.demand.lasting) / 2, 1.0))
    ridge = patience is not None and max(load, at_times / engine.slots) > _FULL and _is_tight(engine, n)
    reach = _first_reach(engine, rule, served_rps, n, gap)
    if patience is not None:
        reach = _bounded_reach(patience, engine, rule, rate_rps, n=n, reach=reach)
    for _ in range(_MOST_DRAFTS):
        draft = _draft(engine, rule, rate_rps, n, reach, ridge=ridge)
        if patience is not None:
            draft = replace(draft, thinned=patience(draft))
        chain = StepsAt.of(draft, n)
        if float(chain.stationary[-3:].sum()) < _BEYOND:
            break
        reach *= 1.5
    if wider > 1:
        draft = _draft(engine, rule, rate_rps, n, wider * reach, ridge=ridge)
        if patience is not None:
            draft = replace(draft, thinned=patience(draft))
        chain = StepsAt.of(draft, n)
    return replace(_with_jumps(draft, chain), drawn_out=max(gap / engine.decode_s(n), 1.0))


def _first_reach(engine: Engine, rule: Rule, rate_rps: float, n: float, gap: float) -> float:
    """Tokens of waiting prompts that are seldom exceeded, to begin with."""
    demand, mean = engine.demand, engine.demand.mean_prompt
    longest = float(engine.weighted_tokens.max())
    second = float(engine.weighted_tokens**2 @ demand.prompt_probs) + (demand.burstiness - 1) * mean**2
    if rule.mixed:
        room = rule.room_tokens(engine, n)
        busy = min(rate_rps * mean * engine.step_s(room, n) / room, 0.97)
        reach = max(1.3 * longest, min(4 * second / mean / (1 - busy), 200 * mean))
    else:
        reach = max(1.3 * longest, 5 * (1 + demand.mean_batch) * mean, 4 * rate_rps * mean * gap)
    if _is_tight(engine, n):
        reach = max(reach, 40 * mean)
    return reach


def _bounded_reach(
    patience: Patience, engine: Engine, rule: Rule, rate_rps: float, *, n: float, reach: float
) -> float:
    """Tokens that wait at most where nobody stays behind too many: as many as somebody stays behind, one
    prompt more, and what comes in the step that is under way."""
    demand, longest = engine.demand, float(engine.weighted_tokens.max())
    step = rate_rps * engine.step_s(rule.room_tokens(engine, n), n)
    step_var = step * (demand.prompt_moment(2) + (demand.burstiness - 1) * demand.mean_prompt**2)
    beside = longest + step * demand.mean_prompt + 4 * math.sqrt(step_var)
    for _ in range(_MOST_DRAFTS):
        draft = _draft(engine, rule, rate_rps, n, reach)
        bound = (patience(draft).reached + 2) * draft.cell + beside
        if bound > _SHORTER * reach:
            break
        reach = bound
    return reach


def _is_tight(engine: Engine, n: float) -> bool:
    """Whether the slots are taken every now and then."""
    return n + 6 * math.sqrt(n + 1) > engine.slots


def _draft(
    engine: Engine, rule: Rule, rate_rps: float, n: float, reach: float, *, ridge: bool = False
) -> Mesh:
    demand, mean = engine.demand, engine.demand.mean_prompt
    room = rule.room_tokens(engine, n)
    cell = max(reach / _MOST_W, mean / 10)
    full_cells = max(1, math.ceil(room / cell))
    if rule.mixed and cell < room:
        cell = room / full_cells  # else a cell stands for more than one step
    n_w = int(min(1.4 * _MOST_W, max(60, math.ceil(reach / cell))))
    share = demand.mean_decode / engine.work.unit_steps / mean
    spread_n = 10 * math.sqrt(n + 1)
    if _is_tight(engine, n):
        top = engine.slots + 2 + share * n_w * cell
    else:
        top = n + spread_n + share * n_w * cell / 2
    n_y = _MOST_Y_TOKENS if engine.is_memory_work else _MOST_Y
    if ridge:
        n_y = _MOST_Y_FULL
    return Mesh(
        engine=engine, rule=rule, rate_rps=rate_rps, n_mean=n, cell=cell, n_w=n_w,
        full_cells=min(full_cells, n_w - 1), level=max(top / (n_y - 1), 1.0), n_y=n_y, n_up=1,
        waiting=share * cell * np.arange(float(n_w)),
    )  # fmt: skip


def _with_jumps(draft: Mesh, chain: StepsAt) -> Mesh:
    """Levels so wide, or so many of them in one step, that the arrivals of a long step are seldom cut off."""
    demand = draft.engine.demand
    each = demand.mean_decode / draft.remaining * max((1 + demand.burstiness) / 2, 1.0)
    top = draft.level * (draft.n_y - 1)
    flow = chain.stationary[:, None] * chain.rows
    jumps = chain.gained / draft.remaining
    whole = float((flow * jumps).sum())
    level, n_up = max(draft.level, 0.6 * each), 1
    while float((flow * np.maximum(jumps - n_up * level, 0.0)).sum()) > _CUT * whole:
        if n_up < _MOST_UP:
            n_up += 1
        else:
            level *= 1.25
    if draft.thinned is None:
        fine = max(
            _even_level(draft), _noise_level(draft), top / (MOST_LEVELS - 1), n_up * level / _MOST_UP_FINE
        )
        if fine < level:
            level, n_up = fine, math.ceil(n_up * level / fine - 1e-9)
    level = draft.met_by(level, top)
    n_y = max(8, math.ceil(top / level) + 1)
    return replace(draft, level=level, n_y=n_y, n_up=n_up, waiting=_waiting_work(draft, chain))


def _even_level(mesh: Mesh) -> float:
    """Width of levels at which a step of decodes moves the work down as evenly as requests end.

    In levels of width l a step with e ends has the mean e/l and the variance e/l^2. Moves of -1, 0 and 1 have
    both without a probability below zero if l is at most 1 + e.
    """
    return _HARDLY_BELOW * (1 + min(max(mesh.n_mean, 1.0), mesh.engine.slots) / mesh.remaining)


def _noise_level(mesh: Mesh) -> float:
    """Width of levels within which one request moves the work by chance: its own steps, and its burst.

    Noise moves the work by one level at most, so that on finer ones some of it would be lost; of the square
    of a level a quarter at most is for moves that are no whole levels.
    """
    demand, work = mesh.engine.demand, mesh.engine.work
    var = demand.mean_decode * (work.unit_steps + (demand.lasting - 1) * work.burst_steps)
    return math.sqrt(max(var, 0.0) / (1 - _NOT_WHOLE)) / mesh.remaining


def _waiting_work(mesh: Mesh, chain: StepsAt) -> Floats:
    """Decode work (n_w,) that waits with w tokens in the mean, in running requests.

    Not in proportion to w: a large w is more often one long prompt than many. In equilibrium the work that
    waits after a step is what waited behind the tokens taken plus what came; of the requests in w one ends
    with its last token and the others end anywhere before.
    """
    n, law = mesh.n_w, chain.stationary
    flow = law[:, None] * chain.rows
    arrived = flow.sum(axis=0)
    waits = np.arange(n) > chain.taken
    left = np.where(waits, 1 - chain.taken / np.maximum(np.arange(n), 1), 0.0)
    system = np.diag(arrived) - flow.T * left[None, :]
    behind = np.where(waits, mesh.engine.demand.mean_decode * (1 - left), 0.0)
    right = (flow * (chain.gained + behind[:, None])).sum(axis=0)
    known = arrived > 1e-7
    system[0], right[0] = 0.0, 0.0
    system[0, 0] = 1.0
    last = int(np.max(np.nonzero(known)[0]))
    for cell in (np.nonzero(~known[1:last])[0] + 1).tolist():  # cannot be: as its neighbours
        system[cell], right[cell] = 0.0, 0.0
        system[cell, cell - 1 : cell + 2] = -0.5, 1.0, -0.5
    slope = mesh.waiting[1] * mesh.remaining
    for cell in range(last + 1, n):  # hardly ever reached: many requests, in proportion
        system[cell] = 0.0
        system[cell, cell], system[cell, cell - 1], right[cell] = 1.0, -1.0, slope
    found = np.linalg.solve(system, right)
    return np.asarray(np.maximum(found, 0.0) / mesh.remaining)
