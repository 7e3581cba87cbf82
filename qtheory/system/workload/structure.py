"""What requests of a load have to do with one another: common prefixes, conversations, tenants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo

from .conversations import Conversations, Turns
from .prefixes import SharedPrefix, shared_runs
from .request import Requests
from .tenants import Tenant, tenant_columns
from .text_runs import TextRuns

__all__ = ["Structure"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Nothing by default: requests without a token or a client in common.

    Parameters
    ----------
    prefixes : tuple of SharedPrefix
        What prompts begin with, one after the other; in a conversation its first prompt, and so all.
    conversations : Conversations, optional
        Requests are turns of these.
    tenants : tuple of Tenant
        Who sends requests, by number.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> chat = Conversations(turns=Constant(value=2), think_s=Constant(value=20))
    >>> structure = Structure(conversations=chat)
    >>> rng = np.random.default_rng(1)
    >>> asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[100, 30], output_tokens=[7, 5])
    >>> dressed = structure.dress(asked, chat.draw(rng, 2), rng, Slo())
    >>> dressed.prompt_tokens.tolist(), dressed.after.tolist(), dressed.text_runs.prompt(1)
    ([100, 137], [-1, 0], [(0, 0, 137)])
    """

    prefixes: tuple[SharedPrefix, ...] = ()
    conversations: Conversations | None = None
    tenants: tuple[Tenant, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.prefixes or self.conversations or self.tenants)

    def dress(self, requests: Requests, turns: Turns | None, rng: np.random.Generator, slo: Slo) -> Requests:
        """The requests with what they have in common.

        Parameters
        ----------
        requests : Requests
            In a conversation the prompts are what each turn adds.
        turns : Turns or None
            Of the conversations, if there are any.
        rng : numpy.random.Generator
            Its children are used, spawned here.
        slo : Slo
            Limits of tenants that have none of their own.

        Raises
        ------
        ConfigError
            If the requests, those of a trace, have such columns already, or a prompt grows beyond 1e9 tokens.
        """
        self._check(requests)
        prefix_rng, messages_rng, tenants_rng = rng.spawn(3)
        n = len(requests)
        session = np.arange(n) if turns is None else turns.session
        columns: dict[str, Any] = {}
        firsts = requests.prompt_tokens if turns is None else requests.prompt_tokens[turns.firsts]
        shared = [
            (texts[session], tokens[session])
            for texts, tokens in shared_runs(self.prefixes, prefix_rng, firsts)
        ]
        if turns is not None and self.conversations is not None:
            added = self.conversations.messages(messages_rng, turns, requests.prompt_tokens)
            said = _contexts(added, requests.output_tokens, turns)
            columns |= {"prompt_tokens": said, "after": turns.after, "think_s": turns.think_s}
            columns["text_runs"] = _conversation_runs(shared, said, session, n_texts=self._n_texts)
        elif shared:
            columns["text_runs"] = _runs(shared, np.full(n, -1), np.zeros(n, dtype=np.int64))
        if self.tenants:
            columns |= tenant_columns(
                self.tenants, tenants_rng, session, ttft_s=slo.ttft_s, tpot_s=slo.tpot_s
            )
        return replace(requests, **columns) if columns else requests

    @property
    def _n_texts(self) -> int:
        return sum(prefix.n for prefix in self.prefixes)

    def _check(self, requests: Requests) -> None:
        if self.prefixes and requests.block_hashes is not None:
            raise ConfigError("prefix: given together with a trace that says what its prompts share")
        if self.tenants and (requests.client is not None or requests.priority is not None):
            raise ConfigError(
                "tenants: given together with a trace that has clients or priorities of its own"
            )


def _contexts(added: Ints, outputs: Ints, turns: Turns) -> Ints:
    """Prompt of each turn, shape (n,): all that was said before in its conversation, and what it adds."""
    said = np.cumsum(added + outputs)
    before = np.concatenate([[0], said])[turns.firsts]  # (sessions,) by earlier conversations
    contexts: Ints = said - outputs - before[turns.session]
    return contexts


def _conversation_runs(
    shared: list[tuple[Ints, Ints]], prompts: Ints, session: Ints, *, n_texts: int
) -> TextRuns:
    """A conversation is one text behind its prefix: each prompt a longer part, each output what follows."""
    own = prompts - sum(tokens for _, tokens in shared)
    return _runs([*shared, (session + n_texts, own)], session + n_texts, own)


def _runs(runs: list[tuple[Ints, Ints]], output_texts: Ints, output_starts: Ints) -> TextRuns:
    """From (text, tokens) of each run, shapes (n,), to rows; runs without a token are left out."""
    texts = np.stack([text for text, _ in runs], axis=1)  # (n, runs)
    tokens = np.stack([count for _, count in runs], axis=1)
    there = tokens > 0
    return TextRuns(
        texts=texts[there],
        starts=np.zeros(int(there.sum()), dtype=np.int64),
        n_tokens=tokens[there],
        offsets=np.concatenate([[0], np.cumsum(there.sum(axis=1))]),
        output_texts=output_texts,
        output_starts=output_starts,
    )
