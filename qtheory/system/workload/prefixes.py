"""What prompts begin with: system prompts and documents, some asked for more often than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.ranges import at_most
from qtheory.laws import Constant, Law, spell

__all__ = ["SharedPrefix", "shared_runs"]

_MOST_TEXTS, _STEEPEST = 10_000_000, 100
_MOST_TOKENS = 10**9

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix:
    r"""One of a number of texts that stand before prompts, the k-th most popular in proportion to 1/k^zipf.

    It is the beginning of the prompt and part of its length: a prompt that is shorter is cut from it.

    Parameters
    ----------
    tokens : Law
        Length of a text, the same whenever it is used; rounded to whole tokens, at least 1.
    n : int
        Texts to choose from, 1 .. 10,000,000 (default 1: all have the same).
    zipf : float
        Exponent, 0 .. 100 (default 0: all are equally popular).

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> documents = SharedPrefix(tokens=Constant(value=1000), n=10, zipf=0.9)
    >>> str(documents), documents.popularity().round(3).tolist()[:3]
    ('shared(tokens=1000, n=10, zipf=0.9)', [0.31, 0.166, 0.115])
    """

    tokens: Law
    n: int = 1
    zipf: float = 0.0

    def __post_init__(self) -> None:
        checks.integer(n=self.n)
        at_most(_MOST_TEXTS, n=self.n)
        checks.non_negative(zipf=self.zipf)
        at_most(_STEEPEST, zipf=self.zipf)
        checks.positive(tokens=self.tokens.mean)
        at_most(_MOST_TOKENS, tokens=self.tokens.mean)

    def popularity(self) -> NDArray[np.float64]:
        """Share of the prompts that begin with each text, shape (n,), the largest first."""
        weight = np.exp(-self.zipf * np.log(np.arange(1, self.n + 1)))
        shares: NDArray[np.float64] = weight / weight.sum()
        return shares

    def choose(self, rng: np.random.Generator, n_requests: int) -> tuple[Ints, Ints]:
        """Which text each prompt begins with, from 0, and how long that is; shapes (n_requests,).

        A longer call starts with the same ones.

        Parameters
        ----------
        rng : numpy.random.Generator
            Its children are used, spawned here.
        n_requests : int
        """
        lengths_rng, choice_rng = rng.spawn(2)
        drawn = np.floor(self.tokens.sample(lengths_rng, self.n) + 0.5)
        lengths = np.clip(drawn, 1, _MOST_TOKENS).astype(np.int64)
        edges = np.cumsum(self.popularity())
        picks = np.searchsorted(edges, choice_rng.random(n_requests) * edges[-1], side="right")
        picks = np.minimum(picks, self.n - 1).astype(np.int64)
        return picks, lengths[picks]

    def __str__(self) -> str:
        tokens = spell(float(self.tokens.value)) if isinstance(self.tokens, Constant) else str(self.tokens)
        named = {"n": self.n if self.n > 1 else 0, "zipf": self.zipf}
        more = [f"{key}={spell(value)}" for key, value in named.items() if value]
        return f"shared({', '.join([f'tokens={tokens}', *more])})"


def shared_runs(
    prefixes: Sequence[SharedPrefix], rng: np.random.Generator, room: Ints
) -> list[tuple[Ints, Ints]]:
    """For each prefix the number of the text and the tokens of it, in the order in which they stand.

    Texts of different prefixes have different numbers, from 0 on.

    Parameters
    ----------
    prefixes : sequence of SharedPrefix
    rng : numpy.random.Generator
        Its children are used, spawned here.
    room : array of int, shape (n,)
        Tokens of each prompt; what does not fit is cut off, down to 0 tokens.

    Examples
    --------
    >>> one = SharedPrefix(tokens=Constant(value=100))
    >>> [(_, tokens)] = shared_runs([one], np.random.default_rng(1), np.array([300, 30]))
    >>> tokens.tolist()
    [100, 30]
    """
    runs, first, left = [], 0, np.asarray(room, dtype=np.int64)
    for prefix, own_rng in zip(prefixes, rng.spawn(len(prefixes)), strict=True):
        picks, lengths = prefix.choose(own_rng, len(left))
        tokens = np.minimum(lengths, left)
        runs.append((picks + first, tokens))
        first, left = first + prefix.n, left - tokens
    return runs
