"""Measured attainment of DistServe's evaluation: prefill first on one instance, and prefill apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from qtheory.system.workload import PairLengths

from ._distserve_data import FILES, Curve, read_curves, read_fits, read_pairs, read_tokens
from ._distserve_served import System, system_of, workload_of
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_REQUESTS = {("opt-13b", "vllm"): 100, ("opt-13b", "distserve"): 300}
_REQUESTS |= {("opt-66b", "vllm"): 100, ("opt-66b", "distserve"): 200}  # of the authors' client scripts
_RUNS = {"vllm": 16, "distserve": 6}
_GOOD, _MOST_POINTS, _MOST_RATE = 0.9, 8.0, 0.2
_THEORY_PAIRS = 400

Floats = NDArray[np.float64]


def _answer(folder: Path) -> Finding:
    fits, tokens = read_fits(folder), read_tokens(folder)
    prompts, outputs = read_pairs(folder)
    means = f"{prompts.mean():.0f} and {outputs.mean():.0f}"
    notes = [f"lengths: {len(prompts):,} pairs, means of {means} tokens"]
    parts, points = [], []
    for curve in read_curves(folder):
        system = system_of(curve, fits, tokens)
        name = f"{curve.model} {curve.system}"
        pairs = _pairs(prompts, outputs)
        draws = _simulated(curve, system, pairs)
        shares, half = draws.mean(axis=1), _half_width(draws)
        miss = 100 * np.abs(shares - curve.good_frac)
        what = f"{name}: simulated share of good within {_MOST_POINTS:g} points, mean of {len(miss)} rates"
        mean, most = 100 * half.mean(), 100 * half.max()
        found = f"{miss.mean():.1f} (interval of a rate +-{mean:.1f}, at most +-{most:.1f})"
        parts.append(Measured(what=what, found=found, holds=bool(miss.mean() <= _MOST_POINTS)))
        parts += _goodput(curve, system, pairs, shares, name)
        notes += _spread(curve, draws, name)
        theory = _predicted(curve, system, _pairs(prompts, outputs, _THEORY_PAIRS))
        has = np.isfinite(theory)
        if has.any():
            far = 100 * np.abs(theory - curve.good_frac)[has].mean()
            notes.append(f"{name}: theory is {far:.1f} points off, mean of {has.sum()} of {len(has)} rates")
        for route, found_frac in (("theory", theory), ("simulation", shares)):
            points += _points(curve, found_frac, route)
    return Finding(parts=tuple(parts), points=tuple(points), notes=tuple(notes))


def _pairs(prompts: NDArray[np.int64], outputs: NDArray[np.int64], most: int | None = None) -> PairLengths:
    """All pairs, or every so many of them."""
    chosen = np.linspace(0, len(prompts) - 1, min(most or len(prompts), len(prompts))).astype(np.int64)
    return PairLengths(prompt_tokens=prompts[chosen], output_tokens=outputs[chosen])


def _simulated(curve: Curve, system: System, pairs: PairLengths) -> Floats:
    """Shares (n, draws) of good requests in as many requests as were measured; a draw has its lengths."""
    load, n = workload_of(curve, pairs), _REQUESTS[curve.model, curve.system]
    runs = range(_RUNS[curve.system])
    shares = [[system.good_frac(load, float(rate), n, seed) for seed in runs] for rate in curve.rate_rps]
    return np.array(shares)


def _half_width(draws: Floats) -> Floats:
    """Half-widths (n,) at 95 % of the means of shares (n, draws)."""
    n = draws.shape[1]
    wide = float(stdtrit(n - 1, 0.975))  # Student's t
    half: Floats = wide * draws.std(axis=1, ddof=1) / np.sqrt(n)
    return half


def _predicted(curve: Curve, system: System, pairs: PairLengths) -> Floats:
    """Shares (n,) by theory, NaN without an answer."""
    load, n = workload_of(curve, pairs), _REQUESTS[curve.model, curve.system]
    found = [system.predicted_frac(load, float(rate), n) for rate in curve.rate_rps]
    return np.array([np.nan if share is None else share for share in found])


def _goodput(curve: Curve, system: System, pairs: PairLengths, shares: Floats, name: str) -> list[Measured]:
    """The rate at which 90 % are good, where the measured curve has a knee there.

    A simulated curve that is above 90 % at the last measured rate is followed up to the most that holds.
    """
    if curve.good_frac[0] <= _GOOD:
        return []
    measured = _crossing(curve.rate_rps / curve.n_gpus, curve.good_frac)
    if measured is None:
        return []
    found = _crossing(curve.rate_rps / curve.n_gpus, shares)
    if found is None:
        most = (1 + _MOST_RATE) * measured * curve.n_gpus
        further = replace(
            curve, rate_rps=np.array([curve.rate_rps[-1], max(most, 1.01 * curve.rate_rps[-1])])
        )
        found = _crossing(further.rate_rps / curve.n_gpus, _simulated(further, system, pairs).mean(axis=1))
    told = "more than that" if found is None else f"{found:.2f} ({found / measured - 1:+.0%})"
    what = f"{name}: 90 % good up to {measured:.2f} req/s a GPU, within {_MOST_RATE:.0%}"
    holds = found is not None and abs(found / measured - 1) <= _MOST_RATE
    return [Measured(what=what, found=told, holds=holds)]


def _spread(curve: Curve, draws: Floats, name: str) -> list[str]:
    """Where single draws of as many requests fall below 90 %."""
    found = [_crossing(curve.rate_rps / curve.n_gpus, each) for each in draws.T]
    inside = [rate for rate in found if rate is not None]
    if not inside:
        return []
    often = f"{len(inside)} of {len(found)} draws"
    between = f"{min(inside):.2f} to {max(inside):.2f} req/s a GPU"
    return [f"{name}: {often} of its requests fall below 90 % at {between}"]


def _crossing(rates: Floats, shares: Floats) -> float | None:
    """Where a curve falls below 90 %, between its points."""
    below = np.flatnonzero(shares < _GOOD)
    if not len(below) or below[0] == 0:
        return None
    k = int(below[0])
    part = (shares[k - 1] - _GOOD) / (shares[k - 1] - shares[k])
    return float(rates[k - 1] + part * (rates[k] - rates[k - 1]))


def _points(curve: Curve, shares: Floats, route: str) -> list[Compared]:
    return [
        Compared(
            what=f"{curve.model} {curve.system} {rate / curve.n_gpus:g} req/s a GPU",
            hardware="a100",
            engine={"vllm": "vLLM 2023", "distserve": "DistServe"}[curve.system],
            metric="share of good requests",
            route=route,
            setting="step times fitted by the authors",
            load="90 % good or more" if good >= _GOOD else "fewer than 90 % good",
            measured=100 * float(good),
            found=100 * float(share),
            unit="points",
        )
        for rate, good, share in zip(curve.rate_rps, curve.good_frac, shares, strict=True)
        if np.isfinite(share)
    ]


CLAIM = Claim(
    name="distserve",
    question="Do the authors' step times give the measured shares of good requests, with prefill apart too?",
    source="Zhong et al. (2024), DistServe, OSDI 24; LLMServe/DistServe @ 82831f1: fits, plots, scripts",
    calibrated="nothing here: step times and memory are the authors'; lengths of ShareGPT as their script "
    "draws them; as many requests as in their runs and at the moments at which their client sends them, from "
    "empty; prompts beside each other as vLLM 0.2.3 pads them; a link of 200 GB/s",
    teaches="an engine's own time beside its steps counts, or lengths differ from those that were sent: "
    "theirs are one draw of the same hundred at every rate, so that a whole curve may be high or low",
    answer=_answer,
    needs=FILES,
)
