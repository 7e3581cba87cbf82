"""Parts of the laws that are known in closed form because of a timer, taken out before inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.laws import Law
from qtheory.numerics.markov import poisson_pmf

from ._launch import Launch
from ._starts import ServiceStarts

__all__ = ["Known", "known_responses", "known_waits"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


class Known(Protocol):
    """A part of a tail, with its Laplace transform, and its jump."""

    @property
    def jump_s(self) -> float | None:
        """Where the tail jumps, seconds."""
        ...

    @property
    def jump(self) -> float:
        """By how much."""
        ...

    def tail(self, t: Floats) -> Floats:
        """The part of P(T > t)."""
        ...

    def tail_lst(self, s: Complexes) -> Complexes:
        """Its Laplace transform."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWaits:
    """Waits that are the whole timer (a jump of the tail) or a uniform share of it (a kink)."""

    timer_s: float
    whole: float
    uniform: float

    @property
    def jump_s(self) -> float:
        """Where the tail jumps, seconds."""
        return self.timer_s

    @property
    def jump(self) -> float:
        """By how much."""
        return self.whole

    def tail(self, t: Floats) -> Floats:
        """Their part of P(W > t)."""
        left = np.maximum(1.0 - t / self.timer_s, 0.0)
        return np.asarray(self.whole * (t < self.timer_s) + self.uniform * left, dtype=float)

    def tail_lst(self, s: Complexes) -> Complexes:
        """Its Laplace transform."""
        x = s * self.timer_s
        flat = -np.expm1(-x) / x
        both = self.whole * flat + self.uniform * (1.0 - flat) / x
        return np.asarray(self.timer_s * both, dtype=np.complex128)


def known_waits(starts: ServiceStarts, launch: Launch) -> KnownWaits | None:
    """From the first to come to an empty server, and from those who come after it.

    The uniform part also takes the other change of slope at the timer: those present when the server gets
    free wait for the timer on top (density at zero: an arrival in the last moment of a service), and the
    first to come stops waiting for a full batch.
    """
    a = launch.least
    if launch.is_at_once:
        return None
    started = starts.ended.copy()
    started[1] += started[0]  # with nobody there, the timer starts at the first arrival
    number = np.arange(1, a + 1)
    rate, timer_s = starts.rate_rps, launch.timeout_s
    ends = launch.law[:, : a - 1].sum(axis=1)  # P(the timer ends the idle time | y)
    slope = rate * float(poisson_pmf(a - 2, rate * timer_s)) * float(starts.ended[0])
    slope -= rate * float(starts.ended[: a - 1] @ ends[1:])
    late = [float(launch.law[y, y - 1 : a - 1] @ (number[y - 1 : a - 1] - y)) for y in range(1, a)]
    return KnownWaits(
        timer_s=timer_s,
        whole=float(starts.ended[0] * ends[1]) / starts.mean_batch,
        uniform=(float(started[1:] @ np.array(late)) + slope * timer_s) / starts.mean_batch,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownResponses:
    """Responses of those who wait for nothing or for the whole timer: a known delay and a service."""

    delays_s: Floats
    weights: Floats
    services: Sequence[Law]
    jump_s: float | None = None
    jump: float = 0.0

    def tail(self, t: Floats) -> Floats:
        """Their part of P(T > t)."""
        late = [w * np.where(t < d, 1.0, law.sf(np.maximum(t - d, 0.0))) for d, w, law in self._parts()]
        return np.asarray(sum(late), dtype=float)

    def tail_lst(self, s: Complexes) -> Complexes:
        """Its Laplace transform."""
        done = [w * (1.0 - np.exp(-s * d) * law.lst(s)) / s for d, w, law in self._parts()]
        return np.asarray(sum(done), dtype=np.complex128)

    def _parts(self) -> list[tuple[float, float, Law]]:
        return list(zip(self.delays_s.tolist(), self.weights.tolist(), self.services, strict=True))


def known_responses(starts: ServiceStarts, launch: Launch) -> KnownResponses:
    """Of those who complete a batch for the idle server, and of those for whom the timer ends."""
    a = launch.least
    delays, services = np.zeros(1), [starts.laws[a - 1]]
    weights = np.array([float(starts.ended @ launch.at_once)])
    if not launch.is_at_once:
        delays = np.append(delays, np.full(a - 1, launch.timeout_s))
        weights = np.append(weights, float(starts.ended[0]) * launch.law[1, : a - 1])
        services += list(starts.laws[: a - 1])
    return KnownResponses(delays_s=delays, weights=weights / starts.mean_batch, services=services)
