"""How long requests are: the joint law of prompt and output, in whole tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between
from qtheory.laws import Atomic, Empirical, Law, Rounded

__all__ = ["LawLengths", "Lengths", "PairLengths"]

_MOST_TOKENS = 10**9
_LEAST_MEAN_TOKENS = 0.001

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Lengths(Protocol):
    """Joint law of the prompt and output tokens of a request, both >= 1."""

    @property
    def prompt_law(self) -> Atomic:
        """Law of the prompt tokens, in whole numbers."""
        ...

    @property
    def output_law(self) -> Atomic:
        """Law of the output tokens, in whole numbers."""
        ...

    @property
    def mean_prompt_tokens(self) -> float:
        """Mean prompt, tokens."""
        ...

    @property
    def mean_output_tokens(self) -> float:
        """Mean output, tokens."""
        ...

    def moment(self, prompt: int, output: int) -> float:
        """E[P^prompt O^output] for whole powers >= 0."""
        ...

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        """Prompt and output tokens (n,), (n,) of ``n`` requests; a longer call starts with the same ones."""
        ...


@dataclass(frozen=True, kw_only=True)
class LawLengths:
    r"""A law for the prompt, one for the output, and their rank correlation.

    Draws are rounded to the nearest whole number (halves go up), raised to 1 and cut to the largest length.
    The dependence is a Gaussian copula: with Spearman's rank correlation :math:`\rho` of the lengths before
    rounding, the underlying normal pair has correlation :math:`2 \sin(\pi\rho/6)` [1]_.

    Parameters
    ----------
    prompt, output : Law
        Tokens before rounding; mean 0.001 .. 1e9 and upper end at most 1e9.
    rank_correlation : float
        Spearman's :math:`\rho`, from -1 to 1 (default 0, independent).
    max_prompt_tokens, max_output_tokens : int, optional
        Longer ones are cut to this, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or a correlation is asked of a length that never changes.

    References
    ----------
    .. [1] Pearson (1907), "Mathematical contributions to the theory of evolution XVI: on further methods of
       determining correlation", Drapers' Company Research Memoirs.

    Examples
    --------
    >>> from qtheory.laws import Constant, Lognormal
    >>> prompt, output = Lognormal(mean=1000, cv=1), Constant(value=64)
    >>> lengths = LawLengths(prompt=prompt, output=output, max_prompt_tokens=8192)
    >>> prompts, outputs = lengths.sample(np.random.default_rng(3), 4)
    >>> prompts.dtype, outputs.tolist(), f"{lengths.mean_prompt_tokens:.1f}"
    (dtype('int64'), [64, 64, 64, 64], '995.9')
    """

    prompt: Law
    output: Law
    rank_correlation: float = 0.0
    max_prompt_tokens: int | None = None
    max_output_tokens: int | None = None

    def __post_init__(self) -> None:
        caps = {"max_prompt_tokens": self.max_prompt_tokens, "max_output_tokens": self.max_output_tokens}
        checks.integer(**{name: cap for name, cap in caps.items() if cap is not None})
        number_between("rank_correlation", self.rank_correlation, -1.0, 1.0)
        for name, law in (("prompt", self.prompt), ("output", self.output)):
            _check_size(name, law)
        fixed = [law for law in (self.prompt, self.output) if law.support[0] == law.support[1]]
        if self.rank_correlation and fixed:
            raise ConfigError(
                f"rank_correlation: {self.rank_correlation} must be 0 as {fixed[0]} never changes"
            )

    @cached_property
    def prompt_law(self) -> Atomic:
        """Law of the prompt tokens, in whole numbers."""
        return Rounded(law=self.prompt, low=1, high=self.max_prompt_tokens)

    @cached_property
    def output_law(self) -> Atomic:
        """Law of the output tokens, in whole numbers."""
        return Rounded(law=self.output, low=1, high=self.max_output_tokens)

    @property
    def mean_prompt_tokens(self) -> float:
        """Mean prompt after rounding and cutting, tokens."""
        return self.prompt_law.mean

    @property
    def mean_output_tokens(self) -> float:
        """Mean output after rounding and cutting, tokens."""
        return self.output_law.mean

    def moment(self, prompt: int, output: int) -> float:
        """E[P^prompt O^output]; good to 1e-4 or so with a correlation, else exact up to rounding."""
        if self.rank_correlation == 0 or prompt == 0 or output == 0:
            return self.prompt_law.moment(prompt) * self.output_law.moment(output)
        checks.integer(prompt=prompt, output=output)
        return _copula_moment(self, prompt, output)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        """Prompt and output tokens (n,), (n,) of ``n`` requests; a longer call starts with the same ones."""
        z = rng.standard_normal((n, 2))  # row by row, so that n does not change what comes first
        prompts, outputs = self._from_normals(z[:, 0], z[:, 1])
        _refuse_long("prompt", self.prompt, prompts)
        _refuse_long("output", self.output, outputs)
        return prompts.astype(np.int64), outputs.astype(np.int64)

    def _from_normals(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        r = 2.0 * math.sin(math.pi * self.rank_correlation / 6.0)
        mixed = r * first + math.sqrt(max(0.0, 1.0 - r**2)) * second
        below_one = 1.0 - 2.0**-53
        levels = (np.minimum(ndtr(first), below_one), np.minimum(ndtr(mixed), below_one))
        return self.prompt_law.ppf(levels[0]), self.output_law.ppf(levels[1])


def _check_size(name: str, law: Law) -> None:
    """Refuse a law whose mean or largest value is no length of a request."""
    mean, high = law.mean, law.support[1]
    if mean < _LEAST_MEAN_TOKENS:
        raise ConfigError(
            f"{name}: {_brief(law)} has a mean of {mean:.3g} tokens; at least {_LEAST_MEAN_TOKENS}"
        )
    for what, tokens in (("mean", mean), ("largest value", high if math.isfinite(high) else 0.0)):
        if not tokens <= _MOST_TOKENS:
            raise ConfigError(
                f"{name}: {_brief(law)} has a {what} of {tokens:.3g} tokens; at most {_MOST_TOKENS:,}"
            )


def _refuse_long(name: str, law: Law, tokens: Floats) -> None:
    """Refuse draws of a heavy tail that are no lengths of a request."""
    if len(tokens) and not tokens.max() <= _MOST_TOKENS:
        raise ConfigError(
            f"{name}: {_brief(law)} gives a length of {tokens.max():.3g} tokens, more than {_MOST_TOKENS:,}; "
            "cut it off with truncated(LAW, high=...)"
        )


def _brief(law: Law) -> str:
    words = str(law)
    return words if len(words) <= 80 else f"{words[:77]}..."


@lru_cache(maxsize=64)
def _copula_moment(lengths: LawLengths, prompt: int, output: int) -> float:
    """Trapezoidal rule over both normals."""
    z = np.linspace(-8.25, 8.25, 661)  # (m,)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    first, second = np.meshgrid(z, z, indexing="ij")  # (m, m)
    prompts, outputs = lengths._from_normals(first[:, :1], second)  # (m, 1), (m, m)
    return float(weight @ (prompts**prompt * outputs**output) @ weight)


@dataclass(frozen=True, kw_only=True)
class PairLengths:
    """Pairs as observed, each as likely as the others; drawn with replacement.

    Parameters
    ----------
    prompt_tokens, output_tokens : sequence of int
        Equally long, tokens >= 1.

    Raises
    ------
    ConfigError
        If there are none, their numbers differ or a length is below one token.

    Examples
    --------
    >>> lengths = PairLengths(prompt_tokens=[100, 300], output_tokens=[10, 50])
    >>> lengths.mean_prompt_tokens, lengths.moment(1, 1), len(lengths)
    (200.0, 8000.0, 2)
    """

    prompt_tokens: Sequence[int] | Ints
    output_tokens: Sequence[int] | Ints

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "output_tokens"):
            array = np.asarray(getattr(self, name))
            if array.ndim != 1 or not len(array):
                raise ConfigError(f"{name}: give at least one number")
            if array.dtype.kind not in "iu" or array.min() < 1:
                raise ConfigError(f"{name}: all must be whole numbers >= 1")
            object.__setattr__(self, name, tuple(array.tolist()))
        if len(self.prompt_tokens) != len(self.output_tokens):
            raise ConfigError(
                f"output_tokens: {len(self.output_tokens)} for {len(self.prompt_tokens)} prompts"
            )

    @cached_property
    def _arrays(self) -> tuple[Ints, Ints]:
        return np.array(self.prompt_tokens, dtype=np.int64), np.array(self.output_tokens, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    def __str__(self) -> str:
        return f"{len(self):,} pairs, means {self.mean_prompt_tokens:.1f} and {self.mean_output_tokens:.1f}"

    @cached_property
    def prompt_law(self) -> Atomic:
        """Law of the prompt tokens."""
        return Empirical(values=self._arrays[0].astype(np.float64).tolist())

    @cached_property
    def output_law(self) -> Atomic:
        """Law of the output tokens."""
        return Empirical(values=self._arrays[1].astype(np.float64).tolist())

    @property
    def mean_prompt_tokens(self) -> float:
        """Mean prompt, tokens."""
        return float(self._arrays[0].mean())

    @property
    def mean_output_tokens(self) -> float:
        """Mean output, tokens."""
        return float(self._arrays[1].mean())

    def moment(self, prompt: int, output: int) -> float:
        """E[P^prompt O^output], exact."""
        checks.at_least(0, prompt=prompt, output=output)
        prompts, outputs = (column.astype(np.float64) for column in self._arrays)
        return float((prompts**prompt * outputs**output).mean())

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        """Prompt and output tokens (n,), (n,) of ``n`` requests; a longer call starts with the same ones."""
        chosen = (rng.random(n) * len(self)).astype(np.int64)
        return self._arrays[0][chosen], self._arrays[1][chosen]
