"""Wait for the first token in closed form of those that stay: for a place no longer than they can."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._first_waits import FirstWaits
from ._mixture import Mixture

__all__ = ["PatientWaits"]

Floats = NDArray[np.float64]
State = dict[str, Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class PatientWaits(FirstWaits):
    """Waits of those that stay, behind all that ask for a place and would be in time with one."""

    asking_rps: Floats
    left_s: Floats  # for a place
    most_s: float  # for the first token

    def first_token(self, rate: Floats, state: State) -> Mixture:
        """As without a wait for a place, and that wait; what is ahead is worked off before it is too late."""
        found = super().first_token(rate, state)
        most = np.broadcast_to(self.most_s, found.above.shape)
        if self.limit.binds == "token budget":
            return replace(found, law="bounded", most=np.maximum(most, 1.01 * found.above))
        late, mean, second = self._place_wait(state)
        none, some = found.none * (1 - late), 1 - found.none
        first = some * found.above + late * mean
        square = some * (found.second + 2 * found.above * late * mean) + late * second
        waits = np.maximum(1 - none, 1e-12)
        above = first / waits
        return replace(
            found,
            none=none,
            above=above,
            second=square / waits,
            law="bounded",
            most=np.maximum(most, 1.01 * above),
        )

    def _place_wait(self, state: State) -> tuple[Floats, Floats, Floats]:
        r"""Probability of finding no place, and two moments of the wait for one, no longer than is left.

        The number that asks for places is normal below them. The wait is a Brownian motion held between 0 and
        the time d that is left, so that its density is :math:`e^{\theta x}` with
        :math:`\theta=2(\rho-1)/v` [1]_.

        References
        ----------
        .. [1] Harrison (1985), "Brownian motion and stochastic flow systems", chapter 5.
        """
        left_s, load = self.left_s, self.asking_rps / self.limit.rate_rps
        var, spread = np.maximum(self._place_work(self.asking_rps, state), 1e-12), self._place_spread(state)
        below = self._below_places(state, spread)
        x = 2 * (load - 1) * left_s / var
        x = np.where(np.abs(x) < 1e-3, 1e-3, x)
        top = np.maximum(x, 0.0)
        above = left_s * (np.exp(x - top) - np.exp(-top)) / x
        late = above / (np.exp(np.clip(below - top, -700, 700)) + above)
        end = -1 / np.expm1(np.clip(-x, -700, 700))
        mean = end - 1 / x
        return late, left_s * mean, left_s**2 * (end - 2 / x * mean)
