"""Time between tokens in closed form: stalls by the prompts of others, and the number that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._mixture import Mixture
from ._normal import FIVE, FIVE_WEIGHTS
from ._percentiles import LEVELS

if TYPE_CHECKING:
    from ._closed import Formulas

__all__ = ["behind_s", "gap_percentiles", "per_token", "placed_frac"]

Floats = NDArray[np.float64]
State = dict[str, Floats]

_SHORT = 8.0  # steps


def per_token(formulas: Formulas, rate: Floats, state: State) -> Mixture:
    """Seconds per token by the length of the output: a lognormal number runs, stalls come besides."""
    in_parts = _in_parts(formulas)
    steps, probs = _in_pairs(*formulas.groups) if in_parts else formulas.groups
    d, alone = steps[:, None], state["alone"]
    stay = d / state["memory"]
    slow = _kept(stay) * np.minimum(state["slope"] ** 2 * state["var"], _most_slow(formulas, alone))
    above, stalls, none = (_beside if in_parts else _between)(formulas, rate, state, steps)
    some = np.maximum(1 - none, 1e-9)
    weights, base = np.outer(FIVE_WEIGHTS, probs / probs.sum()), _decodes(formulas, state, stay, slow)
    if not in_parts:
        tilt = np.exp(FIVE[:, None, None] * np.minimum(np.sqrt(stalls) / (2 * above), 1.0))
        each = above * tilt / np.tensordot(FIVE_WEIGHTS, tilt, axes=1)  # an arrival brings both
        left = stalls + above**2 - np.tensordot(FIVE_WEIGHTS, each**2, axes=1)  # of what is not the same
        each, second = each / some, np.maximum(left, 0.01 * above**2) + each**2
        return Mixture(weights, base, 1 - some, each, second / some, law="passage")
    most = formulas.costs.full_at(state["n"]) - alone
    some = np.minimum(np.maximum(some, above / (0.99 * most)), 1.0)
    none, mean, second = 1 - some, above / some, (stalls + above**2) / some
    return Mixture(weights, base, none, mean, second, law="bounded", most=most)


def _decodes(formulas: Formulas, state: State, stay: Floats, slow: Floats) -> Floats:
    """Mean steps without prompts (atoms, steps, rates) of variance ``slow``: a lognormal number runs."""
    share = np.sqrt(_kept(stay) * state["var"]) / state["n"] + 1e-9  # by which more or fewer run
    grown = np.exp(FIVE[:, None, None] * np.sqrt(np.log1p(share**2)))
    grown = grown / np.tensordot(FIVE_WEIGHTS, grown, axes=1) - 1
    most = np.maximum(formulas.costs.at(np.array(formulas.costs.engine.slots))[0], state["alone"])
    longer = state["alone"] + grown * np.sqrt(slow) / share
    return np.asarray(np.clip(longer, formulas.costs.decode_s[0], most))


def _most_slow(formulas: Formulas, alone: Floats) -> Floats:
    """Variance of a step of decodes of which three atoms are no longer than one of all places."""
    return np.maximum(formulas.costs.at(np.array(formulas.costs.engine.slots))[0] - alone, 0.0) ** 2 / 3


def _in_parts(formulas: Formulas) -> bool:
    """Whether prompts are computed beside decodes, and a step often ends before all that waits is."""
    return formulas.costs.rule.mixed and not formulas.costs.takes_all


def _in_pairs(steps: Floats, probs: Floats) -> tuple[Floats, Floats]:
    """Groups of outputs, two neighbours in one where they are long."""
    short = min(int((steps <= _SHORT).sum()), len(steps))
    short += (len(steps) - short) % 2
    pairs, work = (part[short:].reshape(-1, 2).sum(axis=1) for part in (probs, probs * steps))
    return np.append(steps[:short], work / pairs), np.append(probs[:short], pairs)


def _kept(z: Floats) -> Floats:
    """Variance of the mean over a time z of what forgets as exp(-t), over that of its value."""
    return np.asarray(np.clip(2 / z * (1 + np.expm1(-z) / z), 0.0, 1.0))


def _before_s(formulas: Formulas, rate: Floats, state: State) -> Floats:
    """Seconds before the first token in which those come who are computed behind it."""
    own = formulas.costs.engine.demand.prompt_groups[1] @ formulas.costs.own_at(state["n"])
    seen = formulas.waits.steps_seen(rate, state)[0] / 2 if formulas.costs.takes_all else 0.0
    return np.asarray(own + formulas.waits.wait_s(rate, state) - seen)


def behind_s(formulas: Formulas, rate: Floats, state: State) -> Floats:
    """Mean stall by those behind a request when its first token comes, besides the usual ones.

    Where steps spend their budget none is longer than a full one, so short outputs see less of a long queue
    than it holds.
    """
    if _in_parts(formulas):
        steps, probs = _in_pairs(*formulas.groups)
        above = _steps_beside(formulas, rate, state, steps)[0]
        return np.asarray((probs * steps) @ (state["alone"] + above - state["gap"]))
    one = state["token"] * formulas.costs.engine.demand.mean_prompt
    mine, usual = _before_s(formulas, rate, state), state["gap" if formulas.costs.rule.mixed else "alone"]
    mates = _mates(formulas, rate, state, formulas.costs.engine.demand.mean_decode)[0]
    return np.asarray(np.maximum(rate * (mine - usual) + mates, 0.0) * one / (1 - state["work"]))


def placed_frac(formulas: Formulas, behind: Floats, n: Floats) -> Floats:
    """Share of those behind that find a place: the fewer of two exponential numbers, those and the places."""
    free = np.maximum(formulas.costs.engine.slots - n, 1e-9)
    return np.asarray(free / (free + np.maximum(behind, 0.0)))


def _mates(formulas: Formulas, rate: Floats, state: State, d: Floats | float) -> tuple[Floats, ...]:
    """Requests of the own clump behind it before the last of d tokens: mean, mean square, P(none)."""
    follow, until = formulas.waits.clumps.following, _before_s(formulas, rate, state) + d * state["gap"]
    behind = follow(until, rate)
    if not formulas.costs.takes_all:
        return behind, behind * (1 + 2 * behind), 1 / (1 + behind)
    rest = formulas.waits.found_s(
        rate, state
    )  # who comes in it is in the own step, unless that begins at once
    first = (1 - state["work"]) / (1 + np.maximum(state["queueing"] - 1, 0.0) / 2)
    whole = follow(rest + until, rate)
    later = whole - follow(rest, rate)
    mean = first * behind + (1 - first) * later
    square = first * behind * (1 + 2 * behind) + (1 - first) * later * (1 + 2 * whole)
    return mean, square, first / (1 + behind) + (1 - first) * (1 - later / (1 + whole))


def _between(formulas: Formulas, rate: Floats, state: State, steps: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of the stalls by whole prompts, and the probability of none.

    Where all places are taken only as many prompts are computed as requests end, and none bring others.
    """
    d, work, alone = steps[:, None], state["work"], state["alone"]
    one, square = state["token"] * formulas.costs.engine.demand.mean_prompt, state["square"]
    mine = _before_s(formulas, rate, state)
    mates, mates2, alone_frac = _mates(formulas, rate, state, d)
    stalls = rate * alone * (square + 2 * mates * one**2) / (1 - work) ** 3 / d
    own = mates * (square - one**2) + (mates2 - mates**2) * one**2
    is_mixed = formulas.costs.rule.mixed  # then each step holds what came in the last one
    usual, grown = (state["gap"], 1 - work**d) if is_mixed else (alone, np.ones_like(d))
    more = (rate * (mine - usual) + mates) * grown / (1 - work)
    placed = placed_frac(formulas, more, state["n"])
    behind = more * placed * one / d
    late = formulas.waits.slot_wait(rate, state)[0]
    stalls = (1 - late) * stalls + late * rate * state["gap"] * square / d
    stalls = stalls + placed**2 * (rate * mine * square + own) / (1 - work) ** 2 / d**2
    none = np.exp(-rate * (alone * d + mine) / (1 + mates)) * alone_frac
    return np.maximum(state["gap"] + behind - alone, 1e-9), stalls, none


def _steps_beside(formulas: Formulas, rate: Floats, state: State, steps: Floats) -> tuple[Floats, ...]:
    """Mean stall where a step is one with prompts, whose budget is spent, or one without.

    Steps change between the two as a Markov chain does. A request begins among steps with prompts if somebody
    is behind it, and what it sees of them goes over into their share of all steps. With the stall come what
    it is in a step with prompts, the share of those seen, of all and at first, and the own clump before the
    first token and later.
    """
    d, work, alone = steps[:, None], state["work"], state["alone"]
    demand, busy = formulas.costs.engine.demand, formulas.waits.busy(rate, state)
    full = formulas.costs.full_at(state["n"])
    one, more = state["token"] * demand.mean_prompt, np.maximum(full - alone, 1e-9)
    mine = _before_s(formulas, rate, state)
    mates = formulas.waits.clumps.following(mine, rate)  # of the own clump, before the first token, and later
    later = formulas.waits.clumps.following(mine + d * state["gap"], rate) - mates
    share = busy / full / (busy / full + (1 - busy) / alone)  # of the steps
    first = 1 - (1 - busy) / (1 + mates)
    wait = formulas.waits.wait_s(rate, state)
    queue = np.maximum(wait - ((1 - busy) * alone + busy * full) / 2, 0.0)  # of it tokens see less
    extra = (rate * mine + mates) * one - queue * more / full * share / busy
    extra = np.maximum(extra, 0.0) / (1 - work) / more  # steps, in the end
    lasts = np.maximum(extra / np.maximum(first - share, 1e-9), 1.0)
    seen = share - (first - share) * lasts / d * np.expm1(-d / lasts)
    seen = np.minimum(seen + later * one / (1 - work) / more / d, 0.99)
    return np.maximum(more * seen, 1e-9), more, seen, share, first, mates, later


def _beside(formulas: Formulas, rate: Floats, state: State, steps: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of the stalls by parts of prompts, and the probability of none."""
    d, work, alone = steps[:, None], state["work"], state["alone"]
    above, more, seen, share, first, mates, later = _steps_beside(formulas, rate, state, steps)
    one = state["token"] * formulas.costs.engine.demand.mean_prompt
    long_run = rate * alone * (state["square"] + 2 * (mates + later) * one**2) / (1 - work) ** 3 / more**2
    memory = np.maximum(long_run / (2 * share * (1 - share)), 0.5)
    var = more**2 * seen * (1 - seen) * _kept(d / memory)
    none = (1 - first) * np.exp(-rate * alone * d / (1 + mates + later)) / (1 + later)
    return above, var, none


def gap_percentiles(formulas: Formulas, rate: Floats, state: State) -> State:
    """Percentiles of the gap: a step of decodes, or one with prompts of usual sizes."""
    engine, rule = formulas.costs.engine, formulas.costs.rule
    room = rule.room_tokens(engine, 1.0)
    sizes, probs = engine.demand.prompt_groups
    order = np.argsort(sizes)
    below = np.cumsum(probs[order])
    steps = np.maximum(1.0, sizes / room) @ probs  # of one prompt
    if rule.mixed:
        some = np.clip((1 - np.exp(-rate * state["gap"])) * steps, 1e-9, 0.98)
    else:
        some = np.maximum(1 - np.exp(-rate * state["alone"]), 1e-9)
    found = {}
    for name, level in LEVELS.items():
        beyond = np.clip((level - (1 - some)) / some, 0.0, 1.0)
        tokens = np.interp(beyond, below, sizes[order])
        if rule.mixed:
            stall = state["token"] * np.minimum(tokens, room)
        else:
            stall = (formulas.costs.start_s + state["token"] * tokens) / (1 - state["work"])
        found[f"{name}_itl_s"] = state["alone"] + np.where(level > 1 - some, stall, 0.0)
    return found
