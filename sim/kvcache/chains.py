"""Chained block keys: equal keys if and only if the whole prefixes are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

__all__ = ["Chains", "Contents"]

Ints = NDArray[np.int64]


class Chains:
    """Numbers for (key of the block before, tokens of the block); exact, so that no two prefixes collide.

    Parameters
    ----------
    block_tokens : int
        Tokens of a block, >= 1.

    Examples
    --------
    >>> chains = Chains(block_tokens=2)
    >>> chains.extend([], [1, 2, 3, 4, 5])
    [1, 2]
    >>> chains.extend([], [9, 2, 3, 4]), chains.extend([], [1, 2], salt="x")
    ([3, 4], [5])
    """

    def __init__(self, *, block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self._keys: dict[tuple[int, str, tuple[int, ...]], int] = {}

    def extend(self, chain: Sequence[int], tokens: Sequence[int], *, salt: str = "") -> list[int]:
        """Keys of all full blocks of ``tokens``, of which ``chain`` are the first ones."""
        keys, size = list(chain), self.block_tokens
        for start in range(len(keys) * size, len(tokens) - size + 1, size):
            before = keys[-1] if keys else 0
            link = (before, "" if keys else salt, tuple(tokens[start : start + size]))
            keys.append(self._keys.setdefault(link, len(self._keys) + 1))
        return keys


class _Tokens(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: slice, /) -> Sequence[int]: ...


class Contents:
    """What the requests say: token numbers of prompts and outputs, and cache salts, a row a request.

    A row left out (None) stands for tokens that occur nowhere else. Token numbers must be >= 0.

    Parameters
    ----------
    prompts, outputs : sequence of (sequence of int or None)
        Token numbers of each prompt and of each output.
    salts : sequence of str, optional
        Requests with different salts never share (default: no salt).

    Raises
    ------
    ConfigError
        If the lengths differ.

    Examples
    --------
    >>> contents = Contents(prompts=[[5, 6], None], outputs=[None, None])
    >>> contents.tokens(0, prompt_tokens=2, n_outputs=1), contents.tokens(1, prompt_tokens=2, n_outputs=0)
    ([5, 6, -4294967299], [-8589934593, -8589934594])
    """

    def __init__(
        self,
        *,
        prompts: Sequence[_Tokens | None],
        outputs: Sequence[_Tokens | None],
        salts: Sequence[str] | None = None,
    ) -> None:
        if len(outputs) != len(prompts) or (salts is not None and len(salts) != len(prompts)):
            raise ConfigError(f"outputs, salts: must have as many rows as prompts ({len(prompts)})")
        self._prompts, self._outputs = prompts, outputs
        self._salts = salts if salts is not None else [""] * len(prompts)

    @classmethod
    def unique(cls, n: int) -> Contents:
        """``n`` requests without a token in common."""
        return cls(prompts=[None] * n, outputs=[None] * n)

    def salt(self, position: int) -> str:
        """Cache salt of a request."""
        return self._salts[position]

    def tokens(self, position: int, *, prompt_tokens: int, n_outputs: int) -> list[int]:
        """The prompt and the first ``n_outputs`` output tokens of the request in row ``position``."""
        base = -((position + 1) << 32) - 1
        prompt, output = self._prompts[position], self._outputs[position]
        text = list(prompt[:prompt_tokens]) if prompt is not None else []
        text += range(base - len(text), base - prompt_tokens, -1)
        known = list(output[:n_outputs]) if output is not None else []
        start = base - prompt_tokens - len(known)
        return text + known + list(range(start, base - prompt_tokens - n_outputs, -1))
