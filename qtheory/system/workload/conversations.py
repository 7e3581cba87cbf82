"""Conversations and loops of agents: requests that wait for the answer to the one before, and build on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most
from qtheory.laws import Constant, Law, Rounded, spell

from ._limits import LONGEST_S

__all__ = ["Conversations", "Turns"]

_MOST_TURNS = 100_000
_MOST_REQUESTS = 100_000_000
_MOST_TOKENS = 10**9

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turns:
    """Requests of conversations: those of one stand together, conversations in the order of their beginnings.

    Parameters
    ----------
    session : array of int
        Shape (n,): which conversation a request belongs to, from 0.
    after : array of int
        Shape (n,): the row of the request before it, -1 for the first of a conversation.
    think_s : array of float
        Shape (n,): seconds from the end of that request until this one is sent; 0 for the first.

    Examples
    --------
    >>> Turns(session=np.array([0, 0]), after=np.array([-1, 0]), think_s=np.array([0.0, 5.0])).firsts.tolist()
    [0]
    """

    session: Ints
    after: Ints
    think_s: Floats

    @property
    def firsts(self) -> Ints:
        """Rows of the first requests."""
        return np.flatnonzero(self.after < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Turns that follow one another: the prompt of each holds the prompt and the output of the one before.

    The next turn is sent a thinking time after the last token of the one before (or after it was given up).

    Parameters
    ----------
    turns : Law
        Requests of a conversation, rounded to whole ones, at least 1; mean at most 100,000.
    think_s : Law, optional
        Seconds from an answer to the next turn; mean at most 1e9 (default: none, it is sent at once).
    message : Law, optional
        Tokens that a turn after the first adds to what was said (default: the law of the prompts).
    kind : str
        How it is spelled: ``turns`` of a person, or ``agent`` with tools that take time (default ``turns``).

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> chat = Conversations(turns=Constant(value=3), think_s=Constant(value=20))
    >>> str(chat), chat.mean_turns, chat.draw(np.random.default_rng(1), 4).after.tolist()
    ('turns(n=3, think_s=20)', 3.0, [-1, 0, 1, -1])
    """

    turns: Law
    think_s: Law | None = None
    message: Law | None = None
    kind: str = "turns"

    def __post_init__(self) -> None:
        checks.one_of("conversations", self.kind, ("turns", "agent"))
        names = _NAMES[self.kind]
        checks.positive(**{names[0]: self.turns.mean})
        at_most(_MOST_TURNS, **{names[0]: self.turns.mean})
        if self.think_s is not None:
            at_most(LONGEST_S, **{names[1]: self.think_s.mean})
        if self.message is not None:
            checks.positive(**{names[2]: self.message.mean})
            at_most(_MOST_TOKENS, **{names[2]: self.message.mean})

    @property
    def mean_turns(self) -> float:
        """Requests of a conversation in the mean."""
        return float(Rounded(law=self.turns, low=1).mean)

    def draw(
        self, rng: np.random.Generator, n_requests: int | None = None, *, n_sessions: int | None = None
    ) -> Turns:
        """So many requests (the last conversation is cut), or all those of so many conversations.

        Parameters
        ----------
        rng : numpy.random.Generator
            Its children are used, spawned here.
        n_requests, n_sessions : int
            One of the two, >= 0.

        Raises
        ------
        ConfigError
            If these are more than 100 million requests.
        """
        turns_rng, think_rng = rng.spawn(2)
        wanted = n_requests if n_sessions is None else n_sessions
        drawn = np.floor(self.turns.sample(turns_rng, wanted or 0) + 0.5)
        counts = np.clip(drawn, 1, 10 * _MOST_TURNS).astype(np.int64)
        if n_sessions is None:
            counts = counts[: int(np.searchsorted(np.cumsum(counts), wanted or 0)) + 1]
        elif counts.sum() > _MOST_REQUESTS:
            raise ConfigError(
                f"conversations: {counts.sum():,} requests in {n_sessions:,} conversations are more than "
                f"{_MOST_REQUESTS:,}; lower the rate or the duration"
            )
        session = np.repeat(np.arange(len(counts)), counts)
        session = session if n_sessions is not None else session[: n_requests or 0]
        rows = np.arange(len(session))
        is_first = np.diff(session, prepend=-1) != 0
        think_s = np.zeros(len(session))
        if self.think_s is not None:
            drawn_s = np.minimum(self.think_s.sample(think_rng, len(session)), LONGEST_S)
            think_s = np.where(is_first, 0.0, drawn_s)
        return Turns(session=session, after=np.where(is_first, -1, rows - 1), think_s=think_s)

    def messages(self, rng: np.random.Generator, turns: Turns, prompts: Ints) -> Ints:
        """What each turn adds: the first its whole prompt, the others a message, shape (n,)."""
        if self.message is None:
            return prompts
        drawn = np.floor(self.message.sample(rng, len(prompts)) + 0.5)
        message = np.clip(drawn, 1, _MOST_TOKENS).astype(np.int64)
        return np.where(turns.after < 0, prompts, message)

    def __str__(self) -> str:
        laws = zip(_NAMES[self.kind], (self.turns, self.think_s, self.message), strict=True)
        said = [f"{name}={_spelled(law)}" for name, law in laws if law is not None or name.endswith("_s")]
        return f"{self.kind}({', '.join(said)})"


_NAMES = {"turns": ("n", "think_s", "message"), "agent": ("steps", "tool_s", "result")}
"""Parameters by the words of each kind."""


def _spelled(law: Law | None) -> str:
    if law is None:
        return "0"
    return spell(float(law.value)) if isinstance(law, Constant) else str(law)
