"""TTFT, freed of chance by queues that are solved: one server with the same works at the same times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.record import Records
from validation.refine import Work

from ._freed import Controlled, Freed, in_pieces, long_enough
from ._one_server import wait_law

__all__ = ["controlled_ttft", "controlled_values", "waits_of"]

Floats = NDArray[np.float64]
_LONG, _LONGER = 0.95, 0.99  # percentiles of a wait
_MOST_LOAD = 0.99
_LEAST_SERVED = 0.5  # share of the requests: the others are shed or rejected


def controlled_ttft(
    records: Sequence[Records], work: Work, full_rps: float, *, gap_scv: float, n_cut: int
) -> dict[str, Freed | None]:
    """Mean and 99th percentile of TTFT of served requests; nothing where one server has no steady state.

    A server is busy with a request for as long as one of these says, scaled to the same load: its share of
    full steps, its prompt alone, its decode steps alone, and the room that it takes while they last.

    Parameters
    ----------
    records : sequence of Records
        One a replication.
    work : Work
    full_rps : float
        Requests a second that the server can take, > 0.
    gap_scv : float
        Squared coefficient of variation of the times between arrivals: gamma gaps; 1: Poisson.
    n_cut : int
        Requests of the warm-up, the first of each replication.
    """
    values, gaps_s, weights = list[Floats](), list[Floats](), list[list[Floats]]()
    for one in records:
        order = np.argsort(one.requests.arrival_s, kind="stable")
        prompts = one.requests.prompt_tokens[order].astype(float)
        steps = (one.requests.output_tokens[order] - 1).astype(float)
        whole = work.prompt_s * prompts + work.decode_s * steps
        values.append((one.first_token_s - one.requests.arrival_s)[order])
        gaps_s.append(np.diff(one.requests.arrival_s[order], prepend=0.0))
        weights.append([whole, prompts, steps, steps * (prompts + steps / 2)])
    if np.isfinite(np.concatenate(values)).mean() < _LEAST_SERVED:
        return {}
    mean_s = float(np.concatenate([each[0] for each in weights]).mean())
    load = mean_s / work.mean_s / (full_rps * float(np.concatenate(gaps_s).mean()))
    found = controlled_values(values, gaps_s, weights, load=load, gap_scv=gap_scv, n_cut=n_cut)
    if found is None:
        return {}
    return {"mean_ttft_s": found.mean(), "p99_ttft_s": found.percentile(0.99)}


def controlled_values(
    values: Sequence[Floats],
    gaps_s: Sequence[Floats],
    weights: Sequence[Sequence[Floats]],
    *,
    load: float,
    gap_scv: float,
    n_cut: int,
) -> Controlled | None:
    """Values with the waits at one server for each kind of work as controls, or None.

    Of a wait these are its mean, the mean excess over its 95th percentile and the share above its 99th.
    Their expectations are those for just the works that were drawn and their mean rate, so what is left of
    chance is the order.

    Parameters
    ----------
    values, gaps_s : sequence of array of float
        One a run, in order of arrival; times since the arrival before.
    weights : sequence of sequence of array of float
        Of each run, for each kind of work, that of its requests in any unit.
    load : float
        Share of its time that the server works.
    gap_scv : float
    n_cut : int
    """
    if load > _MOST_LOAD or not all(long_enough(len(each) - n_cut) for each in values):
        return None
    gap_s, controls = float(np.concatenate(gaps_s).mean()), list[Floats]()
    for kind in zip(*weights, strict=True):
        mean = float(np.concatenate(kind).mean())
        if mean > 0:
            works_s = [load * gap_s / mean * each for each in kind]
            controls += _controls(gaps_s, works_s, gap_s, gap_scv, n_cut)
    return Controlled(values=[each[n_cut:] for each in values], controls=np.stack(controls, axis=2))


def _controls(
    gaps_s: Sequence[Floats], works_s: Sequence[Floats], gap_s: float, gap_scv: float, n_cut: int
) -> Iterator[Floats]:  # (runs, pieces) each
    law = wait_law(gap_s=gap_s, gap_scv=gap_scv, works_s=np.concatenate(works_s))
    waits_s = [waits_of(*each)[n_cut:] for each in zip(gaps_s, works_s, strict=True)]
    yield np.stack([in_pieces(each) for each in waits_s]) - law.mean_s
    long_s, longer_s = law.quantile_s(_LONG), law.quantile_s(_LONGER)
    excess_s = [in_pieces(np.maximum(each - long_s, 0.0)) for each in waits_s]
    yield np.stack(excess_s) - law.excess_s(long_s)
    yield np.stack([in_pieces((each > longer_s).astype(float)) for each in waits_s]) - law.above(longer_s)


def waits_of(gap_s: Floats, work_s: Floats) -> Floats:
    """Waits at one server in order of arrival, from an empty start: Lindley's recursion."""
    steps = np.concatenate([[0.0], np.cumsum(work_s[:-1] - gap_s[1:])])
    return np.asarray(steps - np.minimum.accumulate(steps))
