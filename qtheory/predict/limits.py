"""Stability limits: the largest rate that a scheduler sustains, and what stands in its way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from ._alike import Alike
from ._cells import spread
from ._release import releases_per_step
from ._steps import Rule
from .inputs import Engine

__all__ = ["Limit", "Rule", "gaps_at", "limit_of"]

Floats = NDArray[np.float64]

_CELLS = 400
_HARDLY = 1e-3  # share of what runs that memory may cost and is passed over
_NEVER = 1e-280
_SETTLED, _LEAST_SLOPE = 1e-9, 0.05  # of a fixed point


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The rate at which a queue that never empties is worked off.

    Parameters
    ----------
    rate_rps : float
        Requests per second; stable below it.
    running : float
        Requests that decode at once there.
    binds : str
        ``token budget``, ``slots`` or ``KV memory``.
    redone_frac : float
        Prompt tokens computed again after preemption, as a share of those computed once.

    Examples
    --------
    >>> Limit(rate_rps=8.0, running=60.0, binds="slots", redone_frac=0.0).binds
    'slots'
    """

    rate_rps: float
    running: float
    binds: str
    redone_frac: float


def limit_of(engine: Engine, rule: Rule) -> Limit:
    r"""Approximation: throughput with a queue that never empties.

    Where prompts share steps with decodes and the budget :math:`B` is what is spent, a request of :math:`s`
    prompt tokens and :math:`d` decodes takes :math:`s+d` of it: :math:`n=dB/(s+d)` decode, and the rate is
    :math:`(B-n)/(s\,\tau)` [1]_. Where slots or memory hold :math:`n_c` requests, each step ends
    :math:`n_c/d` of them, and as many prompts are computed. With memory at its end, a request whose prompt
    just fitted is thrown out again if the running ones grow into what is left before the next one ends.

    Parameters
    ----------
    engine : Engine
    rule : Rule

    References
    ----------
    .. [1] Dai et al. (2025), "Throughput-optimal scheduling algorithms for LLM inference and AI agents",
       arXiv:2504.07347.

    Examples
    --------
    >>> from qtheory.predict.demand import demand_of
    >>> from qtheory.predict.inputs import engine_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload.profiles import find_profile
    >>> demand = demand_of(find_profile("chat").workload(n_requests=1))
    >>> limit = limit_of(engine_of(replica_of(Scenario(model="llama-3.1-8b")), demand), Rule(mixed=True))
    >>> print(f"{limit.rate_rps:.2f} rps, {limit.binds}")
    9.01 rps, slots
    """
    return _limit_of(Alike(engine), rule)


@lru_cache(maxsize=8)
def _limit_of(alike: Alike, rule: Rule) -> Limit:
    """Once for all rates of a sweep, and both tiers."""
    engine, by_slots = alike.engine, _by_slots(alike.engine, rule)
    if not rule.mixed:
        return by_slots
    demand = engine.demand
    n = demand.mean_decode * engine.budget_tokens / (demand.mean_prompt + demand.mean_decode)
    room = engine.budget_tokens - n
    rate_rps = room / (demand.mean_prompt * engine.step_s(room, n))
    held = _held_up(engine, n) if engine.is_kv_limited else n
    found = by_slots
    if n <= engine.slots and rate_rps <= by_slots.rate_rps:
        found = Limit(rate_rps=rate_rps, running=n, binds="token budget", redone_frac=0.0)
    if held < (1 - _HARDLY) * min(n, engine.slots):
        rate_rps = _between_rps(engine, by_slots, held)
        return replace(found, rate_rps=rate_rps, running=held, redone_frac=by_slots.redone_frac)
    return found


def _held_up(engine: Engine, n: float) -> float:
    r"""Mean requests that run if the budget is spent as long as memory is free for prompts.

    What runs holds :math:`x` mean contexts :math:`c`. Each step adds the budget :math:`B`, and requests end
    at the rate :math:`x/d`, each with :math:`e=s+d` tokens, so :math:`x` drifts by :math:`B/c-xE[e]/dc` and
    has the variance :math:`xE[e^2]/dc^2` a step: a diffusion whose law is a gamma law, here cut off where
    memory ends [1]_.

    References
    ----------
    .. [1] Karlin and Taylor (1981), "A second course in stochastic processes", chapter 15.
    """
    demand, context = engine.demand, engine.demand.mean_context
    ends = demand.mean_prompt + demand.mean_decode
    square = demand.prompt_moment(2) + 2 * demand.prompt_decode + demand.decode_moment(2)
    rate = 2 * ends * context / square
    shape, top = rate * n, rate * engine.slots
    below = float(gammainc(shape, top))
    if below < _NEVER:  # memory is always at its end
        return min(n, engine.slots)
    return n * float(gammainc(shape + 1, top)) / below


def _between_rps(engine: Engine, by_slots: Limit, held: float) -> float:
    """Rate where budget and memory both bind at times: with steps of all of the budget or none, or with such
    as memory is released for, whichever take less time; both take longer than what is between them."""
    seconds, mass = _spent_or_none(engine, held, by_slots.redone_frac)
    ends = held / max(engine.demand.mean_decode, 1.0)
    return max(ends / float(seconds @ mass), by_slots.rate_rps * held / engine.slots)


def _spent_or_none(engine: Engine, held: float, redone: float) -> tuple[Floats, Floats]:
    """Seconds (2,) of steps of all of the budget and of none, and their shares."""
    room = max(engine.budget_tokens - held, 1.0)
    once = held / max(engine.demand.mean_decode, 1.0) * engine.demand.mean_prompt / room
    spent = min(once * (1 + redone * max(1 - once, 0.0)), 1.0)
    seconds = np.array([engine.step_s(room, held), engine.decode_s(held)])
    return seconds, np.array([spent, 1 - spent])


def _by_slots(engine: Engine, rule: Rule) -> Limit:
    """Slots, or the memory that they stand for, always taken."""
    n, steps, seconds, mass = _taken(engine, rule)
    per_step = n / max(engine.demand.mean_decode, 1.0)  # requests that a step of decodes ends
    rate_rps = per_step * float(mass @ steps) / float(mass @ seconds)
    binds = "KV memory" if engine.is_kv_limited else "slots"
    return Limit(rate_rps=rate_rps, running=n, binds=binds, redone_frac=redone_frac(engine))


def gaps_at(engine: Engine, rule: Rule, limit: Limit) -> tuple[Floats, Floats]:
    """Approximation: gaps (k,) between tokens while a queue never empties, and probabilities.

    Prompts that the budget does not hold take several steps, of which each is a gap where decodes run beside
    them, and which are one gap where they run before.

    Parameters
    ----------
    engine : Engine
    rule : Rule
    limit : Limit
        Of these.

    Examples
    --------
    >>> from qtheory.predict.demand import demand_of
    >>> from qtheory.predict.inputs import engine_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload.profiles import find_profile
    >>> demand = demand_of(find_profile("rag").workload(n_requests=1))
    >>> engine, rule = engine_of(replica_of(Scenario(model="llama-3.1-8b")), demand), Rule(mixed=True)
    >>> seconds, probs = gaps_at(engine, rule, limit_of(engine, rule))
    >>> print(f"{seconds[0]:.3f} s, share {probs[0]:.2f}")
    0.145 s, share 1.00
    """
    if limit.binds == "token budget":
        return _spent_or_none(engine, limit.running, limit.redone_frac)
    _, steps, seconds, mass = _taken(engine, rule)
    return seconds / steps, mass * steps / float(mass @ steps)


def _taken(engine: Engine, rule: Rule) -> tuple[float, Floats, Floats, Floats]:
    """Requests that decode; decode steps (k,) from one end of requests to the next, their seconds with the
    prompts that begin, and probabilities."""
    demand, n = engine.demand, engine.slots
    if rule.mixed and not engine.is_kv_limited:
        n = _decoding(engine)
    factor, room = 1 + redone_frac(engine), rule.room_tokens(engine, n)
    each = per_step = n / max(demand.mean_decode, 1.0)  # requests that a step of decodes ends
    before: tuple[float, float] | None = None
    for _ in range(12 if rule.mixed else 1):
        tokens, mass = _served_tokens(engine, each, factor, n)
        steps = np.maximum(tokens / room, 1.0) if rule.mixed else np.ones_like(tokens)
        more = per_step * float(mass @ steps) - each
        if abs(more) <= _SETTLED * each:
            break
        slope = -1.0 if before is None else min((more - before[1]) / (each - before[0]), -_LEAST_SLOPE)
        each, before = each - more / slope, (each, more)
    if engine.is_kv_limited and not rule.mixed:
        tokens, mass = _in_clumps(engine, n, tokens, mass)
    return n, steps, _seconds(engine, rule, n, tokens, room), mass


def _in_clumps(engine: Engine, n: float, tokens: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """The same tokens in fewer steps, as memory is released."""
    some = tokens > 0
    wanted, share = releases_per_step(engine, n), float(mass[some].sum())
    if share <= wanted:
        return tokens, mass
    found, less = tokens * share / wanted, np.where(some, mass * wanted / share, 0.0)
    less[~some] = (1 - wanted) / max(int((~some).sum()), 1)
    return found, less


def _seconds(engine: Engine, rule: Rule, n: float, tokens: Floats, room: float) -> Floats:
    """The steps of these prompt tokens, with all decodes in each or one step of them behind."""
    alone, some = engine.decode_s(n), tokens > 0
    decodes, behind = (n, 0.0) if rule.mixed else (0.0, alone)
    taken = np.where(some, np.minimum(tokens, room), 1.0)
    seconds = np.maximum(tokens / room, 1.0) * engine.steps_s(taken, decodes) + behind
    return np.where(some, seconds, alone)


def _decoding(engine: Engine) -> float:
    """Decodes while all slots are taken: who is under prefill holds one, and leaves its token to prompts."""
    demand, n = engine.demand, float(engine.slots)
    for _ in range(3):  # from above: with fewer decodes prompts take fewer steps
        room = max(engine.budget_tokens - n, 1.0)
        steps = np.ceil(demand.prompt_tokens / room - _SETTLED)  # (k,) of a prompt
        n = engine.slots / (1 + float(steps @ demand.prompt_probs) / max(demand.mean_decode, 1.0))
    return n


def redone_frac(engine: Engine) -> float:
    """Prompt and output tokens computed again, to prompt tokens computed once."""
    if not engine.is_kv_limited:
        return 0.0
    demand = engine.demand
    order = np.argsort(demand.prompt_tokens)
    tokens, probs = demand.prompt_tokens[order], demand.prompt_probs[order]
    grown = max(demand.mean_decode, 1e-9)
    undershoot = float(probs @ (1 - np.exp(-tokens / grown))) * grown / demand.mean_prompt
    share = min(undershoot, 1.0)
    return share * (1 + demand.mean_remaining / demand.mean_prompt)


def _served_tokens(engine: Engine, each: float, factor: float, n: float) -> tuple[Floats, Floats]:
    """Prompt tokens that are computed between two steps of decodes, and their probabilities.

    Each of the ``n`` running requests ends with the same probability, and a prompt takes its place.
    """
    demand = engine.demand
    longest = float(engine.weighted_tokens.max())
    reach = 1.2 * longest + each * demand.mean_prompt + 8 * math.sqrt(each * demand.prompt_moment(2))
    cell = reach / _CELLS
    one = np.fft.rfft(spread(engine.weighted_tokens / cell, demand.prompt_probs, 4 * _CELLS))
    places = max(math.ceil(n), 1)
    ends = min(each / places, 1.0)
    law = np.fft.irfft((1 - ends + ends * one) ** places).clip(0.0)[:_CELLS]
    kept = law > 1e-9
    return np.asarray(factor * cell * np.arange(_CELLS)[kept]), np.asarray(law[kept] / law[kept].sum())
