"""Batches that run to their end, by formulas: who comes in a batch by mean and variance of its seconds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.system.slo import Slo

from ._clumps import GAUSS, GAUSS_WEIGHTS, Clumps
from ._mixture import Mixture
from ._normal import THREE, THREE_WEIGHTS
from ._percentiles import LEVELS
from ._round_come import come_after
from ._round_steady import RoundSteady
from ._rounds import Rounds

__all__ = ["RoundFormulas"]

Floats = NDArray[np.float64]
Rows = tuple[Floats, ...]
"""(k, r): shares of the requests, bases and widths of waits, means and variances of the own prompts."""

_EDGES = np.array([0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0])  # of a batch's seconds
_PARTS = np.diff(_EDGES)
_AGES = np.array([0.0, 0.01, 0.05, 0.2, 0.5, 1.0])  # of a batch, at which the rest of a clump is counted
_WEIGHTS = np.array([0.1, 0.3, 0.35, 0.2, 0.05])  # of nodes of a law, from its smallest values to the largest
_FAR_WEIGHTS = np.array([0.2, 0.25, 0.2, 0.15, 0.1, 0.07, 0.02, 0.01])  # the same, of what is left


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
    def _parts_s(self) -> tuple[Floats, Floats]:
        """Means (most, k) of parts of the law of the seconds of a batch, and what arrivals in them find."""
        found = zip(self.rounds.prompt_s, *self.rounds.decode_laws, strict=True)
        rows = [_parts(*_sums(*each)) for each in found]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    @cached_property
    def _full_parts_s(self) -> tuple[Floats, Floats]:
        """The same (k,) of a batch that leaves somebody."""
        return _parts(*self.rounds.full_laws)

    def _state(self, rate: Floats, clumps: Clumps) -> dict[str, Floats]:
        """Who comes when, and what waits then: sizes (nodes, r) of batches that take all, numbers (nodes, r)
        that others leave, sizes that requests see."""
        steady = RoundSteady(self.rounds, rate, clumps)
        idle, alone, (left, leaves) = steady.waiting[:, 0], steady.alone, steady.left
        sizes = np.arange(1.0, self.rounds.most + 1)
        come = [
            idle,
            idle * steady.first,
            (alone * steady.come).sum(axis=1),
            rate * leaves.sum(axis=1) * self._full["s"],
        ]
        served = alone + np.outer(leaves.sum(axis=1), self.rounds.full)
        served[:, 0] += idle
        return {
            "sizes": _nodes(np.broadcast_to(sizes, alone.shape), alone * steady.come),
            "left": _nodes(left, leaves, _FAR_WEIGHTS),
            "seen": _nodes(np.broadcast_to(sizes, served.shape), served * sizes),
            "shares": np.array(come) / np.sum(come, axis=0),
        }

    def _first_token(self, rate: Floats, state: dict[str, Floats], clumps: Clumps) -> Mixture:
        """The rest of the batch that is found, full ones ahead, and the prompts of the own one."""
        idle, first, later, behind = state["shares"]
        rows = [self._idle(idle), self._ending_idle(first, rate, clumps)]
        parts, found = self._parts_s
        mean, longer = (np.array([self._at(c, state["sizes"]) for c in each.T]) for each in (parts, found))
        weights = mean * _PARTS[:, None, None]  # (k, nodes, r)
        weights = later * weights / weights.sum(axis=0) * _WEIGHTS[:, None]
        longer, weights = (table.reshape(-1, len(rate)) for table in (longer, weights))
        rows += self._during(longer, weights, np.zeros_like(longer), rate, clumps)
        full_s, full_found = self._full_parts_s
        weights = np.outer(_PARTS * full_s / (_PARTS @ full_s), _FAR_WEIGHTS).reshape(-1, 1) * behind
        left, seconds = np.tile(state["left"], (len(_PARTS), 1)), np.repeat(full_found, len(_FAR_WEIGHTS))
        rows += self._during(seconds[:, None] + 0 * left, weights, left, rate, clumps)
        shares, base, width, own, var = (np.concatenate([row[k] for row in rows]) for k in range(5))
        grown = np.exp(THREE[:, None, None] * np.sqrt(np.log1p(var / own**2)))
        own = own * grown / np.tensordot(THREE_WEIGHTS, grown, axes=1)
        shares = THREE_WEIGHTS[:, None, None] * shares
        return Mixture(shares, own + base, np.zeros_like(own), width / 2, width**2 / 3, law="even")

    def _idle(self, share: Floats) -> Rows:
        """Those who find nobody: their own prompts."""
        seconds = self.rounds.prompt_s[0][:, None] + 0 * share
        widths = np.gradient(seconds, axis=0) if len(seconds) > 1 else np.zeros_like(seconds)
        low = np.maximum(seconds - widths / 2, 0.0)
        width, zero = np.maximum(2 * (seconds - low), 1e-9), np.zeros_like(seconds)
        return zero + share / len(seconds), zero, width, low, zero

    def _ending_idle(self, share: Floats, rate: Floats, clumps: Clumps) -> Rows:
        """Those who come in the batch of one that ends an idle time: more of them soon after it began."""
        mean, found = (part[0][:, None] for part in self._parts_s)

        def come(seconds: Floats) -> Floats:
            return np.asarray(rate * seconds + clumps.following(seconds, rate))

        grows = np.log(come(found) / come(mean)) / np.maximum(np.log(found / mean), 1e-12)
        number, seconds = come(mean), mean + (found - mean) * np.where(found > mean, grows, 1.0)
        known = come(_AGES[:, None, None] * seconds)  # (ages, k, r)
        own = self._own(2 * known[-1] - rate * seconds, 2 * known[-1] / (rate * seconds) - 1)
        some = share * _PARTS[:, None] * number / (_PARTS @ number) / known[-1] * np.diff(known, axis=0)
        width = np.diff(_AGES)[:, None, None] * seconds
        base = (1 - _AGES[1:, None, None]) * seconds
        flat = [
            np.broadcast_to(table, some.shape).reshape(-1, len(rate)) for table in (some, base, width, *own)
        ]
        return tuple(flat)

    def _during(
        self, seconds: Floats, share: Floats, left: Floats, rate: Floats, clumps: Clumps
    ) -> list[Rows]:
        """Those who come in batches of so many seconds that have left so many: with a place in the next
        batch, and behind full ones.

        The number before who comes u later is normal with the mean left + rate u; beyond a full batch it is
        about exponential.
        """
        full, come, one = self._full, rate * seconds, np.ones_like(seconds)
        bursts = 1 + 2 * clumps.following(seconds / 2, rate)
        sd = np.sqrt(bursts * come + full["size_var"] + 1e-9)
        room = full["size"] - 0.5  # of whole numbers
        above, excess, place = _beyond((left - room) / sd, (left + come - room) / sd)
        late = np.clip(above * sd / come, 1e-12, 1 - 1e-12)
        rest = np.clip(left + come - room - sd * place, 0.0, come) / rate
        ahead = -1 / np.expm1(-full["size"] / np.maximum(sd * excess, 1e-9))
        found = self._rest_s(seconds, rate, clumps)
        soon = np.clip((found - late * rest) / (1 - late), found, seconds)
        own = self._own(left + come + 2 * clumps.within(seconds, rate), bursts)
        shift = (bursts * come + ahead * full["size_var"]) / full["size"] ** 2 + 1 / 12  # of a whole number
        var = ahead * full["s_var"] + np.minimum(ahead * (ahead - 1), shift) * full["s"] ** 2 + rest**2 / 12
        wait = rest + ahead * full["s"]
        width = np.minimum(np.sqrt(12 * var), 2 * wait)
        full_own = (one * self._tables[2][-1], one * self._prompts_var[-1])
        return [
            (share * (1 - late), 2 * soon - seconds, np.maximum(2 * (seconds - soon), 1e-9), *own),
            (share * late, wait - width / 2, width, *full_own),
        ]

    @staticmethod
    def _rest_s(seconds: Floats, rate: Floats, clumps: Clumps) -> Floats:
        """Mean rest of the batch for those who come in it: more of them soon after those before."""
        if not clumps.is_bursty:
            return np.asarray(seconds / 2)
        come = [come_after(clumps, rate, seconds, share * seconds) for share in (*GAUSS, 1.0)]
        return np.asarray(
            seconds * sum(w * c for w, c in zip(GAUSS_WEIGHTS, come[:3], strict=True)) / come[3]
        )

    @cached_property
    def _prompts_var(self) -> Floats:
        """Variance (most,) of the seconds of the prompts of a batch."""
        return np.asarray(self.rounds.prompt_s.var(axis=1))

    def _own(self, others: Floats, index: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the seconds of the prompts of a batch in which there are so many others, with
        this variance of their number over its mean."""
        size, mean_s = np.minimum(1 + others, self._full["size"]), self._tables[2]
        spread = np.sqrt(np.maximum(index * others, 0.0))
        low, high = (np.clip(size + sign * spread, 1.0, self._full["size"]) for sign in (-1, 1))
        moved = (self._at(mean_s, high) - self._at(mean_s, low)) / 2
        return self._at(mean_s, size), self._at(self._prompts_var, size) + moved**2

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
            found |= {f"{key}_{name}_s": law.quantile(level) for key, level in LEVELS.items()}
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
        return {f"{key}_itl_s": law.quantile(level) for key, level in LEVELS.items()}


def _beyond(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """The area under the normal law from low to high, the mean of what is above 0 of such amounts, and their
    mean place there."""

    def integrals(z: Floats) -> Floats:
        below, density = ndtr(z), np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        first = z * below + density
        return np.array([first, (z * first + below) / 2, (z * first - below) / 2])

    area, above, places = integrals(high) - integrals(low)
    area = np.maximum(area, 1e-300)
    return area, above / area, places / area


def _sums(prompts: Floats, decodes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Seconds of equally likely prompts and of decodes, and the weights of both."""
    each = np.broadcast_to(weights / len(prompts), (len(prompts), len(weights)))
    return (prompts[:, None] + decodes).ravel(), each.ravel()


def _parts(seconds: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means of parts of a law, and means by who comes in them: the more, the longer they are."""
    order = np.argsort(seconds)
    mean, square = (_slices(seconds[order] ** k, weights[order], _EDGES) for k in (1, 2))
    return mean, square / mean


def _slices(values: Floats, weights: Floats, edges: Floats) -> Floats:
    """Means of rising values between such shares of their weights."""
    below = np.append(0.0, np.cumsum(weights))
    sums = np.append(0.0, np.cumsum(weights * values))
    kept = np.append(True, np.diff(below) > 0)
    return np.asarray(
        np.diff(np.interp(edges * below[-1], below[kept], sums[kept])) / np.diff(edges) / below[-1]
    )


def _nodes(values: Floats, weights: Floats, shares: Floats = _WEIGHTS) -> Floats:
    """Means (nodes, r) of rising values (r, k) between the shares of the nodes."""
    edges = np.append(0.0, np.cumsum(shares))
    return np.array(
        [_slices(*each, edges) for each in zip(values, np.maximum(weights, 1e-300), strict=True)]
    ).T


def _fixed(probs: Floats, seconds: Floats) -> Mixture:
    """Atoms."""
    one = np.ones_like(seconds)
    return Mixture(probs, seconds, one, 1e-9 * one, 2e-18 * one)
