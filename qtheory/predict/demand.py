"""The demand: moments and laws of the lengths, and how bursty the arrivals are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload import OpenArrivals, PairLengths, Workload

__all__ = ["Demand", "demand_of", "demand_of_pairs"]

Floats = NDArray[np.float64]

_GROUPS = (
    0, 0.005, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.12, 0.16, 0.2, 0.26, 0.33, 0.4, 0.48, 0.56, 0.64, 0.72,
    0.8, 0.86, 0.91, 0.95, 0.98, 0.995, 1.0,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Demand:
    r"""Lengths and burstiness of the requests: what the models need of a workload.

    A request has a prompt of :math:`s` tokens and :math:`d` decode steps, one less than its output tokens.

    Parameters
    ----------
    prompt_tokens, prompt_probs : array, shape (k,)
        Law of :math:`s`.
    decode_steps, decode_probs : array, shape (m,)
        Law of :math:`d`, >= 0.
    prompt_decode : float
        :math:`E[s d]`; :math:`E[s]E[d]` if the two do not depend on each other.
    burstiness : float
        Index of dispersion of the arrivals over the time in which prompts queue, 1 for Poisson, >= 0.
    paired_prompts : array, shape (m,), optional
        Mean prompt of the requests with each number of decode steps; by default a straight line.
    paired_squares : array, shape (m,), optional
        Mean square of the same; by default in proportion to the square of that mean.
    slow_burstiness : float, optional
        Index of dispersion over the time in which requests run; by default ``burstiness``.
    following : callable (array) -> array, optional
        Mean number of requests, beyond those of the mean rate, that follow a request within each of so many
        seconds; by default those of its batch, at once.

    Raises
    ------
    ConfigError
        If a moment is out of its range.

    Examples
    --------
    >>> demand = Demand(
    ...     prompt_tokens=np.array([100.0, 300.0]),
    ...     prompt_probs=np.array([0.5, 0.5]),
    ...     decode_steps=np.array([9.0]),
    ...     decode_probs=np.array([1.0]),
    ...     prompt_decode=1800.0,
    ... )
    >>> demand.mean_prompt, demand.mean_context, demand.mean_remaining
    (200.0, 205.0, 4.5)
    """

    prompt_tokens: Floats
    prompt_probs: Floats
    decode_steps: Floats
    decode_probs: Floats
    prompt_decode: float
    burstiness: float = 1.0
    paired_prompts: Floats | None = None
    paired_squares: Floats | None = None
    slow_burstiness: float | None = None
    following: Callable[[Floats], Floats] | None = None

    def __post_init__(self) -> None:
        checks.non_negative(prompt_decode=self.prompt_decode, burstiness=self.burstiness)

    @property
    def lasting(self) -> float:
        """Index of dispersion of the arrivals over the time in which requests run."""
        return self.burstiness if self.slow_burstiness is None else self.slow_burstiness

    @property
    def mean_batch(self) -> float:
        """Requests of the geometric batches that stand for the arrivals while prompts queue."""
        return max((1 + self.burstiness) / 2, 1.0)

    def mates(self, times_s: Floats, *, at_once: bool = False) -> Floats:
        """Mean requests beyond those of the mean rate that follow a request within each of ``times_s``, s; or
        those of its batch ``at_once``."""
        if self.following is not None and not at_once:
            return self.following(times_s)
        return np.where(times_s > 0, self.mean_batch - 1, 0.0)

    def prompt_moment(self, k: int) -> float:
        """E[s^k] for k up to 3, tokens to the power k."""
        return self._prompt_moments[k]

    @cached_property
    def _prompt_moments(self) -> tuple[float, ...]:
        return tuple(float(self.prompt_tokens**k @ self.prompt_probs) for k in range(4))

    @cached_property
    def _decode_moments(self) -> tuple[float, ...]:
        return tuple(float(self.decode_steps**k @ self.decode_probs) for k in range(3))

    def decode_moment(self, k: int) -> float:
        """E[d^k] for k up to 2."""
        return self._decode_moments[k]

    @cached_property
    def mean_prompt(self) -> float:
        """E[s], tokens."""
        return self.prompt_moment(1)

    @cached_property
    def mean_decode(self) -> float:
        """E[d], steps."""
        return self.decode_moment(1)

    @cached_property
    def mean_remaining(self) -> float:
        """Decode steps that a running request has left in the mean, as many as it has behind it."""
        return self.decode_moment(2) / (2 * self.mean_decode) if self.mean_decode else 0.0

    @cached_property
    def mean_context(self) -> float:
        """Tokens that a decode attends to in the mean over all decodes."""
        if not self.mean_decode:
            return self.mean_prompt
        grown = (self.decode_moment(2) + self.mean_decode) / 2
        return (self.prompt_decode + grown) / self.mean_decode

    @cached_property
    def mean_depth(self) -> float:
        """Tokens that a prompt token attends to in the mean over all prompt tokens."""
        return (self.prompt_moment(2) / self.mean_prompt + 1) / 2

    @cached_property
    def decode_given_prompt(self) -> Floats:
        """Mean decode steps of a request with each of the prompts, by the regression line, >= 0."""
        mean_p, mean_d = self.mean_prompt, self.mean_decode
        var_p = self.prompt_moment(2) - mean_p**2
        slope = (self.prompt_decode - mean_p * mean_d) / var_p if var_p > 0 else 0.0
        line = np.maximum(mean_d + slope * (self.prompt_tokens - mean_p), 0.0)
        mean = float(line @ self.prompt_probs)
        return np.asarray(line * (mean_d / mean if mean > 0 else 0.0))

    @cached_property
    def prompt_groups(self) -> tuple[Floats, Floats]:
        """Some 16 groups of prompts of about equal probability: mean tokens and probabilities."""
        order = np.argsort(self.prompt_tokens)
        below = np.concatenate([[0.0], np.cumsum(self.prompt_probs[order])])
        sums = np.concatenate([[0.0], np.cumsum((self.prompt_tokens * self.prompt_probs)[order])])
        edges = np.unique(np.concatenate([np.linspace(0.0, 0.9, 13), [0.95, 0.98, 0.995, 1.0]]) * below[-1])
        probs = np.diff(edges)
        return np.diff(np.interp(edges, below, sums)) / probs, probs / probs.sum()

    @cached_property
    def one_token_prob(self) -> float:
        """Share of requests with one output token."""
        return float(self.decode_probs[self.decode_steps < 1].sum())

    @cached_property
    def decode_groups(self) -> tuple[Floats, Floats, Floats]:
        """Decode steps, probabilities and mean prompts of some 28 groups of outputs of two tokens or more."""
        some = self.decode_steps >= 1
        steps, probs, prompts = (
            column[some] for column in (self.decode_steps, self.decode_probs, self.prompt_given_decode)
        )
        short = steps <= 6
        below = float(probs[short].sum())
        cum, sums, tokens = (
            np.concatenate([[0.0], np.cumsum(probs * column)]) for column in (1.0, steps, prompts)
        )
        edges = np.unique(below + (cum[-1] - below) * np.array(_GROUPS))
        weights = np.diff(edges)
        kept = weights > 1e-12
        means, asked = (
            np.diff(np.interp(edges, cum, column))[kept] / weights[kept] for column in (sums, tokens)
        )
        return (
            np.concatenate([steps[short], means]),
            np.concatenate([probs[short], weights[kept]]),
            np.concatenate([prompts[short], asked]),
        )

    @cached_property
    def prompt_given_decode(self) -> Floats:
        """Mean prompt (m,) of the requests with each number of decode steps."""
        if self.paired_prompts is not None:
            return self.paired_prompts
        mean_p, mean_d = self.mean_prompt, self.mean_decode
        var_d = self.decode_moment(2) - mean_d**2
        slope = (self.prompt_decode - mean_p * mean_d) / var_d if var_d > 0 else 0.0
        return np.asarray(np.maximum(mean_p + slope * (self.decode_steps - mean_d), 1.0))

    @cached_property
    def square_given_decode(self) -> Floats:
        """Mean square (m,) of the prompts of the requests with each number of decode steps."""
        if self.paired_squares is not None:
            return self.paired_squares
        squares = self.prompt_given_decode**2
        return np.asarray(squares * (self.prompt_moment(2) / float(squares @ self.decode_probs)))

    @cached_property
    def context_var(self) -> float:
        """Variance of the tokens that a decode attends to, over all decodes (prompt taken as independent)."""
        if not self.mean_decode:
            return 0.0
        grown2 = float(
            (self.decode_steps * (self.decode_steps + 1) * (2 * self.decode_steps + 1) / 6)
            @ self.decode_probs
        )
        grown1 = (self.decode_moment(2) + self.mean_decode) / 2
        own = grown2 / self.mean_decode - (grown1 / self.mean_decode) ** 2
        return own + self.prompt_moment(2) - self.mean_prompt**2


def demand_of(workload: Workload) -> Demand:
    """The demand of a workload with open arrivals.

    Parameters
    ----------
    workload : Workload
        Its rate does not matter.

    Raises
    ------
    ConfigError
        If its arrivals wait for answers, or are a recorded trace.

    Examples
    --------
    >>> from qtheory.system.workload.profiles import find_profile
    >>> demand = demand_of(find_profile("rag").workload(n_requests=1))
    >>> round(demand.mean_prompt), round(demand.mean_decode)
    (4000, 63)
    """
    arrivals, lengths = workload.arrivals, workload.lengths
    if not isinstance(arrivals, OpenArrivals):
        raise ConfigError(f"arrivals: {arrivals} have no rate of their own; a prediction needs open arrivals")
    if isinstance(lengths, PairLengths):
        return _of_sample(lengths, arrivals.dispersion(workload.rate_rps or 1.0))
    prompts, prompt_probs = lengths.prompt_law.atoms()
    outputs, output_probs = lengths.output_law.atoms()
    joint = lengths.moment(1, 1) - lengths.mean_prompt_tokens
    return Demand(
        prompt_tokens=prompts,
        prompt_probs=prompt_probs,
        decode_steps=outputs - 1.0,
        decode_probs=output_probs,
        prompt_decode=max(joint, 0.0),
        burstiness=arrivals.dispersion(workload.rate_rps or 1.0),
    )


@lru_cache(maxsize=1)
def _of_sample(lengths: PairLengths, burstiness: float) -> Demand:
    """Sorted once for all the rates that a sample of perhaps a million requests is asked about."""
    prompts, outputs = np.asarray(lengths.prompt_tokens), np.asarray(lengths.output_tokens)
    return demand_of_pairs(prompts, outputs, burstiness=burstiness)


def demand_of_pairs(
    prompt_tokens: NDArray[np.int64], output_tokens: NDArray[np.int64], *, burstiness: float = 1.0
) -> Demand:
    """The demand of requests as they are, each as likely as the others.

    Parameters
    ----------
    prompt_tokens, output_tokens : array of int, shape (n,)
        Lengths of the requests, tokens, >= 1.
    burstiness : float
        As in `Demand`.

    Examples
    --------
    >>> demand = demand_of_pairs(np.array([100, 300]), np.array([11, 21]))
    >>> demand.mean_prompt, demand.prompt_given_decode.tolist()
    (200.0, [100.0, 300.0])
    """
    prompts, prompt_counts = np.unique(prompt_tokens, return_counts=True)
    outputs, place, output_counts = np.unique(output_tokens, return_inverse=True, return_counts=True)
    return Demand(
        prompt_tokens=prompts.astype(float),
        prompt_probs=prompt_counts / len(prompt_tokens),
        decode_steps=outputs.astype(float) - 1.0,
        decode_probs=output_counts / len(prompt_tokens),
        prompt_decode=float(np.mean(prompt_tokens.astype(float) * (output_tokens - 1.0))),
        burstiness=burstiness,
        paired_prompts=np.bincount(place, prompt_tokens.astype(float)) / output_counts,
        paired_squares=np.bincount(place, prompt_tokens.astype(float) ** 2) / output_counts,
    )
