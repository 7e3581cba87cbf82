"""Batches that run to their end, without a chain: mean and variance of the batch by a fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.system.slo import Slo

from ._clumps import Clumps
from ._mixture import Mixture
from ._rounds import Rounds

__all__ = ["RoundFormulas"]

Floats = NDArray[np.float64]

_ROUNDS = 60
_EDGES = np.array(
    [0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.9995, 1.0]
)  # of a batch's seconds
_PARTS = np.diff(_EDGES)
_AGES = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)  # of a batch, at which the rest of a clump is counted
_NODES = np.array([-2.857, -1.356, 0.0, 1.356, 2.857])  # of the normal law, by Gauss and Hermite
_WEIGHTS = np.array([0.01126, 0.22208, 0.53332, 0.22208, 0.01126])
_LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, eq=False)
class RoundFormulas:
    """The batch is what came while the last one was served, and what that one left."""

    rounds: Rounds

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        """Mean and variance (most,) of the seconds of a batch, and seconds of its prompts."""
        rounds = self.rounds
        return rounds.mean_s(), rounds.var_s(), rounds.prompt_s.mean(axis=1)

    @cached_property
    def _full(self) -> dict[str, float]:
        """Mean and variance of size and seconds of batches that leave somebody."""
        rounds, sizes = self.rounds, np.arange(1.0, self.rounds.most + 1)
        mean_s, var_s = rounds.mean_s(full=True), rounds.var_s(full=True)
        size, seconds = float(rounds.full @ sizes), float(rounds.full @ mean_s)
        return {
            "size": size,
            "size_var": float(rounds.full @ sizes**2) - size**2,
            "s": seconds,
            "s_var": float(rounds.full @ (var_s + mean_s**2)) - seconds**2,
        }

    def _at(self, column: Floats, size: Floats) -> Floats:
        return np.asarray(np.interp(size, np.arange(1.0, self.rounds.most + 1), column))

    @cached_property
    def _parts_s(self) -> Floats:
        """Means (most, k) of parts of the law of the seconds of a batch."""
        seconds, weights, (_, _, prompts) = *self.rounds.decode_laws, self._tables
        below, sums = np.cumsum(weights, axis=1), np.cumsum(weights * seconds, axis=1)
        rows = [
            np.interp(_EDGES * b[-1], np.append(0.0, b), np.append(0.0, total))
            for b, total in zip(below, sums, strict=True)
        ]
        return np.asarray(np.diff(np.array(rows), axis=1) / _PARTS + prompts[:, None])

    def _state(self, rate: Floats, clumps: Clumps) -> dict[str, Floats]:
        """Sizes of batches and what they last: of one, which ends an idle time, and of those that follow it.

        Who comes in a batch is served by the next one; in the first one the rest of the clump comes as well.
        """
        mean_s, var_s, _ = self._tables
        full, first_s = self._full, self._parts_s[0][:, None]
        mates = clumps.following(first_s, rate)
        goes_on = 1 - _PARTS @ (np.exp(-rate * first_s / (1 + mates)) / (1 + mates))
        first = _PARTS @ (rate * first_s + mates)  # who come in the first one
        room = np.maximum(full["size"] - rate * full["s"], 1e-9)
        longest = 1 + 2 * clumps.following(np.asarray(full["s"]), rate)
        step = longest * rate * full["s"] + rate**2 * full["s_var"] + full["size_var"]
        size, var, left = np.ones_like(rate), np.zeros_like(rate), np.zeros_like(rate)
        for _ in range(_ROUNDS):
            sizes = _sizes(size + left, var, full["size"])
            each = self._at(mean_s, sizes)
            mean = _WEIGHTS @ each
            bursts = 1 + 2 * clumps.following(mean, rate)
            spread = np.maximum(_WEIGHTS @ (self._at(var_s, sizes) + each**2) - mean**2, 0.0)
            ends = _WEIGHTS @ np.exp(-2 * rate * each / (1 + bursts))
            size = size + 0.5 * (np.maximum(first * ends / goes_on + rate * mean, 1.0) - size)
            var = var + 0.5 * (bursts * rate * mean + rate**2 * spread + left**2 - var)
            sd = np.sqrt(np.maximum(var + full["size_var"], 1e-9))
            over = ndtr((size + left - full["size"]) / sd)
            left = left + 0.3 * (np.minimum(over, 1.0) * step / (2 * room) - left)
        more = (_WEIGHTS @ sizes**2) / (
            _WEIGHTS @ sizes
        ) - _WEIGHTS @ sizes  # who is counted is in large ones
        later = goes_on / np.maximum(ends, 1e-12) * rate * mean
        whole = 1 + first + later
        shares = np.array([1 / whole, first / whole, later / whole])  # of who comes when
        return {
            "sizes": sizes,
            "left": left,
            "seen": np.minimum(sizes + more, full["size"]),
            "shares": shares,
        }

    def _first_token(self, rate: Floats, state: dict[str, Floats], clumps: Clumps) -> Mixture:
        """The rest of the batch that is found, full ones ahead, and the prompts of the own one."""
        full, (idle, first, later) = self._full, state["shares"]
        alone = np.full_like(rate, self._tables[2][0])
        rows = [(idle, alone, np.full_like(rate, 1e-9))]  # share, base, width
        firsts = self._parts_s[0]
        come = rate * firsts[:, None] + clumps.following(firsts[:, None], rate)
        for seconds, part in zip(firsts, _PARTS, strict=True):
            known = [
                rate * seconds * age + clumps.following(np.asarray(seconds * age), rate) for age in _AGES
            ]
            for young, old, before, after in zip(_AGES[:-1], _AGES[1:], known[:-1], known[1:], strict=True):
                share = first * part * (after - before) / (_PARTS @ come)
                own = self._own_s(2 * known[-1] - rate * seconds)
                rows.append((share, own + seconds * (1 - old), np.full_like(rate, seconds * (old - young))))
        longer = np.array(
            [self._at(column, state["sizes"]) for column in self._parts_s.T]
        )  # (k, nodes, rates)
        weights = longer * _WEIGHTS[:, None] * _PARTS[:, None, None]
        weights = later * weights / weights.sum(axis=(0, 1))
        ahead = state["left"] / full["size"] * full["s"]
        for part, share in zip(longer, weights, strict=True):
            own = self._own_s(rate * part + clumps.following(part, rate))
            rows += zip(share, own, part + 2 * ahead, strict=True)
        shares, base, width = (np.array([row[k] for row in rows]) for k in range(3))
        return Mixture(shares, base, 0 * base, width / 2, width**2 / 3, law="even")

    def _own_s(self, others: Floats) -> Floats:
        """Seconds of the prompts of a batch in which there are so many others."""
        return self._at(self._tables[2], np.minimum(1 + others, self._full["size"]))

    def columns(self, rates_rps: Floats, clumps: Clumps, slo: Slo) -> dict[str, Floats]:
        """Columns of a prediction, an array over the rates each."""
        demand, state = self.rounds.engine.demand, self._state(rates_rps, clumps)
        ttft = self._first_token(rates_rps, state, clumps)
        steps, probs, seconds = self.rounds.decodes
        some = float(probs.sum())
        found: dict[str, Floats] = {}
        laws = {"ttft": ttft, "e2e": ttft}
        found["tpot_good_frac"] = np.ones_like(rates_rps)
        found["mean_decoding"] = np.zeros_like(rates_rps)
        if some > 0:
            decode = np.array([self._at(column, state["seen"]) for column in seconds.T])  # (d, nodes, rates)
            weights = np.outer(probs, _WEIGHTS / _WEIGHTS.sum()).ravel()
            flat = decode.reshape(-1, len(rates_rps))
            laws["tpot"] = _fixed(weights / some, (decode / steps[:, None, None]).reshape(flat.shape))
            laws["e2e"] = self._whole(ttft, flat, weights)
            found["tpot_good_frac"] = 1 - some + some * laws["tpot"].within(slo.tpot_s)
            found["mean_itl_s"] = (weights @ flat) / demand.mean_decode
            found["mean_decoding"] = rates_rps * demand.mean_decode * found["mean_itl_s"]
            found |= self._gaps(state, found["mean_itl_s"])
        for name, law in laws.items():
            found[f"mean_{name}_s"] = law.mean
            found |= {f"{key}_{name}_s": law.quantile(level) for key, level in _LEVELS.items()}
        found["ttft_good_frac"] = ttft.within(slo.ttft_s)
        found["goodput_frac"] = (
            found["ttft_good_frac"] * found["tpot_good_frac"] * laws["e2e"].within(slo.e2e_s)
        )
        return found

    def _whole(self, ttft: Mixture, decode_s: Floats, weights: Floats) -> Mixture:
        """Time to the last token: the first one as a gamma law, and the decodes."""
        one = self.rounds.engine.demand.one_token_prob
        base = np.concatenate([decode_s, np.zeros((1, decode_s.shape[1]))])
        mean, second = ttft.mean + 0 * base, ttft.var + ttft.mean**2 + 0 * base
        return Mixture(np.append(weights, one), base, 0 * base, mean, second)

    def _gaps(self, state: dict[str, Floats], mean: Floats) -> dict[str, Floats]:
        """Percentiles of the gap: the steps that members see."""
        rounds = self.rounds
        counts = rounds.left * np.diff(rounds.places, prepend=0.0)
        table = rounds.by_size(rounds.member_steps_s)
        gaps = np.array([self._at(column, state["seen"]) for column in table.T]).reshape(-1, len(mean))
        weights = np.outer(counts, _WEIGHTS).ravel()
        law = _fixed(weights / weights.sum(), gaps)
        return {f"{key}_itl_s": law.quantile(level) for key, level in _LEVELS.items()}


def _sizes(mean: Floats, var: Floats, most: float) -> Floats:
    """Sizes (nodes, r): one, and a lognormal number of others."""
    others = np.maximum(mean - 1, 1e-3)
    sigma = np.sqrt(np.log1p(var / np.maximum(others, 0.5) ** 2))
    factors = np.exp(_NODES[:, None] * sigma)
    return np.asarray(np.minimum(1 + others * factors / (_WEIGHTS @ factors), most))


def _fixed(probs: Floats, seconds: Floats) -> Mixture:
    """Atoms."""
    one = np.ones_like(seconds)
    return Mixture(probs, seconds, one, 1e-9 * one, 2e-18 * one)
