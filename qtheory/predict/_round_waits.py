"""What a request of a batched queue sees: its wait by the batch that it falls into, prompts and decodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._cells import spread
from ._gridlaw import GridLaw, mixed_law
from ._round_chain import FULL_AHEAD, RoundChain
from ._round_idle import IdleLaws

__all__ = ["RoundLaws"]

Floats = NDArray[np.float64]

_BINS = 32  # groups of batch times
_PARTS = 5  # groups of batch sizes
_NEGLIGIBLE = 1e-7
_CUT_OFF = 1e-9
_MOST_BATCHES = 4000  # of a wait, if each is as long as the longest
_BEYOND = 1e-4  # share of long waits that may be longer: a hundredth of what a p99 is told by


@dataclass(frozen=True, eq=False)
class RoundLaws:
    """Laws of the latencies of a `RoundChain`, by the size of the batch that serves a request."""

    chain: RoundChain

    @cached_property
    def _left(self) -> Floats:
        """P(l are left by a batch that starts in phase i, and it takes t) (p, n_waiting + 1, t)."""
        chain = self.chain
        law = np.tensordot(chain.leaving.T, chain.full_laws, axes=1)
        law[:, 0] += chain.taken.T @ chain.part_laws
        return np.asarray(law)

    @cached_property
    def _ahead(self) -> Floats:
        """Rate, over the mean, of those who come t after a batch began with a or more before (p, t, a)."""
        chain = self.chain
        rates = chain.arrivals.request_rps / chain.rate_rps
        counts = chain.counts @ rates  # (t, p, k)
        group = chain.arrivals.mean_group
        if group > 1:
            own = (1 - 1 / group) ** np.arange(counts.shape[2]) / group
            width = 2 * counts.shape[2]
            both = np.fft.irfft(np.fft.rfft(counts, width, axis=2) * np.fft.rfft(own, width), width, axis=2)
            counts = both[:, :, : counts.shape[2]].clip(0.0)
        beyond = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1].transpose(1, 0, 2)
        return np.asarray((beyond[:, :-1] + beyond[:, 1:]) / 2)  # in the middle of cells

    @cached_property
    def _waits(self) -> list[Floats]:
        """Requests of a cycle (t, r) with 0, 1, ... full batches ahead, by the rest r of the batch found.

        The last are all with more.
        """
        chain, left, ahead = self.chain, self._left, self._ahead
        n = left.shape[1]
        found, full, cap = [], chain.rounds.full, np.array([1.0])
        at_least = left.sum(axis=1).T @ ahead[:, :, 0]  # (t, u)
        total = float(np.tril(at_least, -1).sum())
        for _ in range(FULL_AHEAD):
            cap = np.convolve(cap, np.append(0.0, full))
            shifted = np.zeros((n, ahead.shape[2]))
            for c in np.flatnonzero(cap > 1e-12):
                places = np.maximum(c - np.arange(n), 0)
                inside = places < ahead.shape[2]
                np.add.at(shifted, (np.flatnonzero(inside), places[inside]), cap[c])
            more = np.zeros_like(at_least)
            for by_time, coming in zip(left, ahead, strict=True):
                more += by_time.T @ (shifted @ coming.T)
            found.append(self._by_rest(at_least - more))
            if float(np.tril(more, -1).sum()) < _NEGLIGIBLE * total:
                return found
            at_least = more
        return [*found, self._by_rest(at_least)]

    def _by_rest(self, by_age: Floats) -> Floats:
        """From (t, u), u the time since the batch began, to (t, r) requests."""
        n = by_age.shape[0]
        i, j = np.arange(n)[:, None], np.arange(n)[None, :]
        rest = np.where(j < i, np.take_along_axis(by_age, np.clip(i - 1 - j, 0, n - 2), axis=1), 0.0)
        halves = rest / 2 * self.chain.rate_rps * self.chain.cell_s
        halves[:, 1:] += halves[:, :-1].copy()
        return np.asarray(halves)

    @cached_property
    def _idle(self) -> float:
        """Requests of a cycle that come while nobody is served."""
        return self.chain.empty * self.chain.arrivals.mean_group

    @cached_property
    def _parts(self) -> list[NDArray[np.intp]]:
        """Batch sizes less one in a few groups of about equally many requests."""
        below = np.cumsum(self.chain.sizes_seen)
        group = np.minimum((below - 1e-12) * _PARTS, _PARTS - 1).astype(int)
        return [np.flatnonzero(group == k) for k in np.unique(group)]

    @cached_property
    def _next_batch(self) -> tuple[Floats, Floats]:
        """P(b serve those who come within t and find the place at once) (t, most): all who wait, or full."""
        chain = self.chain
        most, counts = chain.rounds.most, chain.counts.sum(axis=3).transpose(1, 0, 2)  # (p, t, k)
        beside = counts[:, :, 1:] * np.arange(1.0, counts.shape[2])  # who has k others has come with k + 1
        width = 1 << int(np.ceil(np.log2(counts.shape[2] + self._left.shape[1])))
        left = np.fft.rfft(self._left.transpose(0, 2, 1), width, axis=2)
        others = np.fft.irfft((left * np.fft.rfft(beside, width, axis=2)).sum(axis=0), width, axis=1).clip(
            0.0
        )
        others = (others / np.maximum(others.sum(axis=1, keepdims=True), 1e-300))[:, :most]
        above = np.maximum(1 - np.cumsum(others, axis=1), 0.0)
        part, full = others * chain.rounds.room, above * chain.rounds.full
        total = np.maximum((part + full).sum(axis=1, keepdims=True), 1e-300)
        return part / total, full / total

    @cached_property
    def _first(self) -> list[Floats]:
        """Requests of a cycle that wait, by time to the first token in cells, for each group of sizes."""
        chain, waits = self.chain, self._waits
        rounds, cell = chain.rounds, chain.cell_s
        width = int(max(rounds.prompt_s.max(), rounds.full_prompt_s.max()) / cell) + 3
        part_s, full_s = (_on_cells(table, cell, width) for table in (rounds.prompt_s, rounds.full_prompt_s))
        length = 1 << int(np.ceil(np.log2(waits[0].shape[1] + width)))
        mass = waits[0].sum(axis=1)
        bins = np.minimum(np.cumsum(mass) / max(mass.sum(), 1e-300) * _BINS, _BINS - 1).astype(int)
        rests = np.zeros((_BINS, waits[0].shape[1]))
        np.add.at(rests, bins, waits[0])
        rest_f = np.fft.rfft(rests, length, axis=1)
        later, later_f = self._later
        taken, full = self._next_batch
        sizes = np.arange(1, rounds.most + 1)
        ended = rounds.full * sizes / (rounds.full @ sizes)
        laws = []
        for part in self._parts:
            each = taken[:, part] @ part_s[part] + full[:, part] @ full_s[part]
            by_bin = np.zeros((_BINS, width))
            np.add.at(by_bin, bins, mass[:, None] * each)
            by_bin /= np.maximum(np.bincount(bins, mass, _BINS), 1e-300)[:, None]
            law = np.fft.irfft(later_f * np.fft.rfft(ended[part] @ full_s[part], later), later)
            soon = np.fft.irfft((rest_f * np.fft.rfft(by_bin, length, axis=1)).sum(axis=0), length)
            law[:length] += soon[: len(law)]
            laws.append(law.clip(0.0))
        return laws

    @cached_property
    def _group_sizes(self) -> Floats:
        """Law (most,) of the batch of those who end an idle time."""
        most, group = self.chain.rounds.most, self.chain.arrivals.mean_group
        k = np.arange(1.0, most + 1)
        seen = k * (1 - 1 / group) ** (k - 1)
        return np.asarray(seen / seen.sum())

    @cached_property
    def _later(self) -> tuple[int, Floats]:
        """Length and transform of the wait of those with full batches ahead.

        Of those with many ahead each batch is followed by another one with the same probability.
        """
        one_more, n_cells = self.chain.one_more_full, len(self.chain.times_s)
        is_long = len(self._waits) > FULL_AHEAD
        n_more = np.log(_CUT_OFF) / np.log(one_more) if is_long else 0.0
        n_batches = len(self._waits) + min(int(n_more), _MOST_BATCHES) + 1
        length = 1 << int(np.ceil(np.log2(n_batches * n_cells)))
        mean_cells = float(self.chain.full_law @ np.arange(n_cells))
        if is_long and one_more ** (length / mean_cells) > _BEYOND:
            raise ConvergenceError(
                f"rate_rps={self.chain.rate_rps:g}: so near the limit that requests wait for more than "
                f"{length / mean_cells:,.0f} batches; lower the rate, or take the closed tier"
            )
        batch = np.fft.rfft(self.chain.full_law, length)
        total, power = np.zeros_like(batch), np.ones_like(batch)
        for ahead, wait in enumerate(self._waits[1:], 1):
            power = power * batch
            found = power * np.fft.rfft(wait.sum(axis=0), length)
            total += found if ahead < FULL_AHEAD else found * (1 - one_more) / (1 - one_more * batch)
        return length, np.asarray(total)

    @cached_property
    def gaps(self) -> tuple[Floats, Floats]:
        """Seconds (most, j) of the steps that a member sees, and how many of them (j,) a request has."""
        rounds = self.chain.rounds
        widths = np.diff(rounds.places, prepend=0.0)
        return rounds.by_size(rounds.member_steps_s), rounds.left * widths

    @cached_property
    def idle(self) -> list[tuple[float, IdleLaws]]:
        """Requests of a cycle that find nobody, and their laws, for each group of batch sizes."""
        rounds, groups = self.chain.rounds, self._group_sizes
        return [
            (self._idle * float(groups[part].sum()), IdleLaws(rounds=rounds, sizes=part, probs=groups[part]))
            for part in self._parts
        ]

    @cached_property
    def first_parts(self) -> list[list[tuple[float, GridLaw]]]:
        """Requests of a cycle, and laws of the time to the first token, for each group of batch sizes."""
        return [
            [*self._on_lattice(mass), *([(alone, laws.first)] if alone > 0 else [])]
            for mass, (alone, laws) in zip(self._first, self.idle, strict=True)
        ]

    @cached_property
    def whole_parts(self) -> list[list[tuple[float, GridLaw]]]:
        """The same of the time to the last token."""
        return [
            [*self._on_lattice(mass), *([(alone, laws.whole)] if alone > 0 else [])]
            for mass, (alone, laws) in zip(self._whole, self.idle, strict=True)
        ]

    @property
    def first_token(self) -> GridLaw:
        """The law of the time to the first token of all requests."""
        return mixed_law([part for parts in self.first_parts for part in parts])

    @property
    def last_token(self) -> GridLaw:
        """The law of the time to the last token of all requests."""
        return mixed_law([part for parts in self.whole_parts for part in parts])

    def _on_lattice(self, mass: Floats) -> list[tuple[float, GridLaw]]:
        total = float(mass.sum())
        return [(total, self._law(mass))] if total > 0 else []

    def _law(self, mass: Floats) -> GridLaw:
        """The law of cells with these masses."""
        cell, total = self.chain.cell_s, float(mass.sum())
        mean = cell * float(np.arange(len(mass)) @ mass) / total
        kept = min(int(np.flatnonzero(mass > 1e-12 * total)[-1]) + 2, len(mass))
        cdf = np.append(0.0, np.cumsum(mass[:kept]) / total)
        edges = cell * np.maximum(np.arange(kept + 1) - 0.5, 0.0)
        return GridLaw(times_s=edges, cdf=np.minimum(cdf, 1.0), mean_s=mean)

    @cached_property
    def _whole(self) -> list[Floats]:
        """Requests of a cycle that wait, by time to the last token in cells, for each group of sizes."""
        _, probs, seconds = self.chain.rounds.decodes
        one = self.chain.rounds.engine.demand.one_token_prob
        cell, laws = self.chain.cell_s, []
        width = int(seconds.max(initial=0.0) / cell) + 3
        for part, first in zip(self._parts, self._first, strict=True):
            seen = self.chain.sizes_seen[part]
            mass = np.outer(seen / max(seen.sum(), 1e-300), probs)
            decode = spread((seconds[part] / cell).ravel(), mass.ravel(), width)
            decode[0] += one
            length = 1 << int(np.ceil(np.log2(len(first) + width)))
            both = np.fft.rfft(first, length) * np.fft.rfft(decode, length)
            laws.append(np.fft.irfft(both, length).clip(0.0))
        return laws

    def per_token_within(self, limit_s: float | None) -> Floats:
        """P(time per output token is within a limit) for each group of batch sizes."""
        steps, probs, seconds = self.chain.rounds.decodes
        one, some = self.chain.rounds.engine.demand.one_token_prob, float(probs.sum())
        if limit_s is None or some == 0:
            return np.ones(len(self._parts))
        inside = one + (seconds / steps <= limit_s) @ probs
        shares = [self.chain.sizes_seen[part] for part in self._parts]
        return np.array(
            [inside[part] @ share / share.sum() for part, share in zip(self._parts, shares, strict=True)]
        )


def _on_cells(table: Floats, cell: float, width: int) -> Floats:
    """Equally likely seconds (rows, k) as laws on cells."""
    equal = np.full(table.shape[1], 1 / table.shape[1])
    return np.array([spread(row / cell, equal, width) for row in table])
