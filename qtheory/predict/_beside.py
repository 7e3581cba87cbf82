"""What runs beside a request in the mean over its stay: shot noise of places and of the tokens they hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ._cells import between
from .demand import Demand

__all__ = ["Beside", "Echo", "skewed", "third_of"]

Floats = NDArray[np.float64]

_KINDS = 32  # of outputs
_AT, _OF = np.polynomial.legendre.leggauss(4)  # exact for the cubes of what is quadratic in a piece
_PERIODS = np.geomspace(1e-3, 1e6, 200)  # radians in the longest stay, of which the spectrum is made
_SKEWS = np.append(0.02, np.geomspace(0.1, 20.0, 40))  # the first is nearly normal


@dataclass(frozen=True, kw_only=True)
class Echo:
    """What grows since a step that lasts longer lets more requests come."""

    load_var: float  # variance of the load at a moment, to that without
    together: float  # covariance of the number and the load at a moment, to that without


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    r"""Cumulants of the load beside a request, one of mean tokens counting 1.

    Requests come at random and hold :math:`w(a)=1+\gamma(s+a-C)` after a steps, d steps long. What is seen in
    the mean over T steps is shot noise with the pulse :math:`c_T(u)=\frac1T\int_0^T w(t-u)\,dt` of who came
    at u; its cumulants are :math:`\nu E\int c_T(u)^k du` [1]_.

    References
    ----------
    .. [1] Daley and Vere-Jones (2003), "An introduction to the theory of point processes", volume 1, 6.1.
    """

    demand: Demand
    by_tokens: float  # share of the tokens in what a request of mean tokens adds to a step

    @cached_property
    def _kinds(self) -> tuple[Floats, Floats, Floats]:
        """Steps, probabilities and prompts (k,) of outputs; finer where they hold much."""
        demand = self.demand
        order = np.argsort(demand.decode_steps)
        steps, probs = demand.decode_steps[order], demand.decode_probs[order]
        square = demand.square_given_decode[order]
        columns = (probs, probs * steps, probs * demand.prompt_given_decode[order], probs * square)
        held = np.cumsum(probs * steps**3)
        place = np.cumsum(probs) / probs.sum() + held / held[-1]
        cut = np.append(True, np.diff(np.floor(place * _KINDS / 2 * (1 - 1e-12))) > 0)
        weight, sums, asked, squares = (np.add.reduceat(column, np.flatnonzero(cut)) for column in columns)
        some = sums > 0
        weight, sums, asked, squares = weight[some], sums[some], asked[some], squares[some]
        apart = np.sqrt(np.maximum(squares / weight - (asked / weight) ** 2, 0.0))
        prompts = np.concatenate([asked / weight - apart, asked / weight + apart])
        return np.tile(sums / weight, 2), np.tile(weight / 2, 2) / probs.sum(), prompts

    def own(self, steps: Floats, prompts: Floats) -> Floats:
        """Mean load of a request over its own stay."""
        tokens = prompts + (steps + 1) / 2
        return np.asarray(1 + self.by_tokens * (tokens / self.demand.mean_context - 1))

    @cached_property
    def age(self) -> float:
        """Mean steps behind a request, each counted by its load."""
        steps, probs, prompts = self._kinds
        slope = self.by_tokens / self.demand.mean_context
        late = (1 - self.by_tokens + slope * prompts) * steps**2 / 2 + slope * steps**3 / 3
        return float(late @ probs) / float(self._pulse(steps, prompts) @ probs)

    def _pulse(self, ages: Floats, prompts: Floats) -> Floats:
        """Load summed over the first steps up to these."""
        tokens = (prompts + ages / 2) * ages
        return np.asarray((1 - self.by_tokens) * ages + self.by_tokens / self.demand.mean_context * tokens)

    def cumulants(self, windows: Floats) -> tuple[Floats, Floats]:
        """Of the load and of the number alone the second and the third (2, t), for one that runs in the mean,
        seen in the mean over so many steps (t,)."""
        steps, probs, prompts = self._kinds
        t, d = windows[:, None], steps[None, :]
        edges = np.stack(
            [-d + 0 * t, np.minimum(t - d, 0.0), np.maximum(t - d, 0.0), t + 0 * d]
        )  # (4, t, k) between which a pulse is a polynomial
        half = np.diff(edges, axis=0) / 2
        came = edges[:-1, ..., None] + half[..., None] * (1 + _AT)  # (3, t, k, nodes)
        last = np.minimum(t[..., None], came + d[..., None]) - came
        first = np.maximum(-came, 0.0)
        asked = prompts[:, None]
        load = (self._pulse(last, asked) - self._pulse(first, asked)) / t[..., None]
        number = (last - first) / t[..., None]
        weight = half[..., None] * _OF * probs[:, None] / (probs @ steps)
        of_load, of_number = (
            np.stack([(weight * each**k).sum(axis=(0, 2, 3)) for k in (2, 3)]) for each in (load, number)
        )
        return of_load, of_number

    def echo(self, growth: float) -> Echo:
        r"""By the relative ``growth`` f of a step with what runs, below 1: requests raise the rate at which
        others come a step, a Hawkes process.

        With the mean pulse :math:`\bar w` and transforms at the frequency :math:`\omega` the load has the
        spectrum :math:`\nu E|\hat w|^2/|1-f\hat{\bar w}/E\hat w(0)|^2` [1]_.

        References
        ----------
        .. [1] Hawkes (1971), "Spectra of some self-exciting and mutually exciting point processes",
           Biometrika 58, 83-90.
        """
        steps, probs, prompts = self._kinds
        speed = _PERIODS / steps.max()
        turned = 1j * speed[:, None]
        ended = np.exp(-turned * steps)
        number = (1 - ended) / turned
        aged = (1 - ended * (1 + turned * steps)) / turned**2
        slope = self.by_tokens / self.demand.mean_context
        load = (1 - self.by_tokens + slope * prompts) * number + slope * aged
        more = 1 / (1 - growth * (load @ probs) / float(self._pulse(steps, prompts) @ probs))
        square, both = np.abs(load) ** 2 @ probs, (load * number.conj()) @ probs
        here = float(np.trapezoid(square, speed))
        grown = square * np.abs(more) ** 2
        returned = growth * (number @ probs).conj() / float(self._pulse(steps, prompts) @ probs) * grown
        with_load = np.trapezoid((both * more + returned).real, speed)
        return Echo(
            load_var=float(np.trapezoid(grown, speed)) / here,
            together=float(with_load / np.trapezoid(both.real, speed)),
        )


def skewed(levels: Floats, second: Floats, third: Floats) -> Floats:
    """Deviations (t, levels) of gamma laws, turned round if skewed to the left, with these cumulants (t,)."""
    sd = np.sqrt(np.maximum(second, 0.0))[:, None]
    skew = third / np.maximum(second, 1e-150) ** 1.5
    low, share = between(np.log(_SKEWS), np.log(np.clip(np.abs(skew), _SKEWS[0], _SKEWS[-1])))
    columns = []
    for each in (levels, 1 - levels):
        table = _standard(tuple(each.tolist()))
        columns.append((1 - share[:, None]) * table[low] + share[:, None] * table[low + 1])
    return np.asarray(sd * np.where(skew[:, None] >= 0, columns[0], -columns[1]))


@lru_cache(maxsize=8)
def _standard(levels: tuple[float, ...]) -> Floats:
    """Quantiles (skews, levels) of gamma laws of mean 0 and variance 1."""
    shape = 4 / _SKEWS[:, None] ** 2
    return np.asarray((gammaincinv(shape, np.array(levels)) - shape) * _SKEWS[:, None] / 2)


def third_of(second: float) -> float:
    """Third cumulant to the mean, of a negative binomial number of which the second is so much."""
    return second * (2 * second - 1)
