"""Random contents: shared beginnings, answers that come back in later prompts, the same text twice."""

from __future__ import annotations

import numpy as np

from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents

__all__ = ["draw_contents"]

_OWN = 1_000  # numbers of texts of single requests begin here
Span = tuple[int, int, int]


def draw_contents(rng: np.random.Generator, requests: Requests) -> Contents:
    """What ``requests`` say; given as runs, or token by token with salts.

    Parameters
    ----------
    rng : numpy.random.Generator
    requests : Requests
    """
    runs = _draw_runs(rng, requests)
    contents = TextContents(runs)
    if rng.random() < 0.5:
        return contents
    prompts, outputs = [], []
    lengths = zip(requests.prompt_tokens.tolist(), requests.output_tokens.tolist(), strict=True)
    for row, (prompt, output) in enumerate(lengths):
        text = contents.tokens(row, prompt_tokens=prompt, n_outputs=output)
        prompts.append(text[:prompt])
        outputs.append(text[prompt:])
    salts = [str(salt) for salt in rng.integers(0, int(rng.choice([1, 1, 2])), len(requests))]
    return Contents(prompts=prompts, outputs=outputs, salts=salts)


def _draw_runs(rng: np.random.Generator, requests: Requests) -> TextRuns:
    prompts: list[list[Span]] = []
    outputs: list[Span] = []
    n_documents, chance = int(rng.choice([1, 3])), rng.dirichlet([1, 1, 1])
    lengths = zip(requests.prompt_tokens.tolist(), requests.output_tokens.tolist(), strict=True)
    for row, (prompt, output) in enumerate(lengths):
        kind = rng.choice(["document", "turn", "own"], p=chance)
        said: list[Span] = []
        if kind == "document":
            said = [(int(rng.integers(n_documents)), 0, int(rng.choice([20, 64, 200])))]
        elif kind == "turn" and row:
            before = int(rng.integers(max(row - 8, 0), row))
            said = [*prompts[before], outputs[before]]
        own = (_OWN + row, 0, 200) if rng.random() < 0.7 else (0, int(rng.integers(3)), 200)
        prompts.append(_cut([*said, own], prompt))
        text = int(rng.choice([-1, 5, _OWN + row]))
        outputs.append((text, 300, output) if text >= 0 else (2 * _OWN + row, 300, output))
    flat = np.array([span for said in prompts for span in said]).reshape(-1, 3)
    last = np.array(outputs).reshape(-1, 3)
    return TextRuns(
        texts=flat[:, 0],
        starts=flat[:, 1],
        n_tokens=flat[:, 2],
        offsets=np.cumsum([0, *(len(said) for said in prompts)]),
        output_texts=last[:, 0],
        output_starts=last[:, 1],
    )


def _cut(spans: list[Span], n_tokens: int) -> list[Span]:
    """The first ``n_tokens`` of what the spans say."""
    kept = []
    for text, start, length in spans:
        if n := min(length, n_tokens):
            kept.append((text, start, n))
            n_tokens -= n
    return kept
