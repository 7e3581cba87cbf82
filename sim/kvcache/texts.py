"""What requests say, told by runs of tokens of numbered texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests

from .chains import Contents

__all__ = ["TextContents"]

_PER_TEXT = 2**32  # more than any request has tokens


class TextContents(Contents):
    """Contents by runs: token k of text t is the same wherever it stands, what is beyond the runs is unique.

    Parameters
    ----------
    runs : TextRuns
        Of the requests, row by row.

    Examples
    --------
    >>> runs = TextRuns(
    ...     texts=[0, 0], starts=[0, 0], n_tokens=[2, 3], offsets=[0, 1, 2],
    ...     output_texts=[0, -1], output_starts=[2, 0],
    ... )
    >>> contents = TextContents(runs)
    >>> contents.tokens(0, prompt_tokens=2, n_outputs=1), contents.tokens(1, prompt_tokens=3, n_outputs=0)
    ([0, 1, 2], [0, 1, 2])
    """

    def __init__(self, runs: TextRuns) -> None:
        n = len(runs)
        super().__init__(prompts=[None] * n, outputs=[None] * n)
        self.runs = runs

    @classmethod
    def of(cls, requests: Requests) -> Contents | None:
        """What ``requests`` say by themselves: their text runs, else their block hashes, else None.

        Parameters
        ----------
        requests : Requests
        """
        if requests.text_runs is not None:
            return cls(requests.text_runs)
        if requests.block_hashes is not None:
            return cls(TextRuns.of_blocks(requests.block_hashes))
        return None

    def spans(self, requests: Requests) -> Iterator[list[tuple[int, int, int]]]:
        """Text, first token and tokens of the runs of each request, up to what no other can have as well.

        Parameters
        ----------
        requests : Requests
            Their lengths cut the runs.
        """
        runs = self.runs
        said = np.concatenate([runs.texts, runs.output_texts])
        _, number, counts = np.unique(said, return_inverse=True, return_counts=True)
        is_shared = (counts[number] > 1) & (said >= 0)  # (m + n,)
        shared, said_after = is_shared[: len(runs.texts)].tolist(), is_shared[len(runs.texts) :].tolist()
        texts, starts, lengths = runs.texts.tolist(), runs.starts.tolist(), runs.n_tokens.tolist()
        offsets = runs.offsets.tolist()
        outputs = zip(runs.output_texts.tolist(), runs.output_starts.tolist(), said_after, strict=True)
        tokens = zip(requests.prompt_tokens.tolist(), requests.output_tokens.tolist(), strict=True)
        for row, ((left, n_outputs), (text, start, is_known)) in enumerate(zip(tokens, outputs, strict=True)):
            spans = []
            for run in range(offsets[row], offsets[row + 1]):
                n = lengths[run] if lengths[run] < left else left
                if not (n and shared[run]):
                    break
                spans.append((texts[run], starts[run], n))
                left -= n
            if is_known and not left:
                spans.append((text, start, n_outputs))
            yield spans

    def tokens(self, position: int, *, prompt_tokens: int, n_outputs: int) -> list[int]:
        """The prompt and the first ``n_outputs`` output tokens of the request in row ``position``."""
        own = super().tokens(position, prompt_tokens=prompt_tokens, n_outputs=n_outputs)
        at = 0
        for text, start, n_tokens in self.runs.prompt(position):
            n = min(n_tokens, prompt_tokens - at)
            first = text * _PER_TEXT + start
            own[at : at + n] = range(first, first + n)
            at += n
        text = int(self.runs.output_texts[position])
        if text >= 0:
            first = text * _PER_TEXT + int(self.runs.output_starts[position])
            own[prompt_tokens:] = range(first, first + n_outputs)
        return own
