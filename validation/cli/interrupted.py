"""What is said when a command is interrupted: which of its points are kept, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence

from .options import RunOutput

__all__ = ["interrupted"]

_SIMULATE = frozenset({"run", "compare", "sweep", "trace"})


def _out(tokens: Sequence[str]) -> str | None:
    """The file of ``--out``, read from the words: the command may have been anywhere when it was stopped."""
    out = None
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token == "--out":
            out = following
        elif token.startswith("--out="):
            out = token.removeprefix("--out=")
    return out


def interrupted(tokens: Sequence[str]) -> str:
    """One line on a command that was interrupted.

    Parameters
    ----------
    tokens : sequence of str
        The words of the command.

    Examples
    --------
    >>> interrupted(["run", "--rate", "2"])
    'interrupted; nothing is kept (with --out FILE finished points are)'
    >>> interrupted(["info", "a100"])
    'interrupted'
    """
    partial = RunOutput(out=_out(tokens)).partial()
    if partial is not None and partial.is_file():
        n = partial.read_bytes().count(b"\n")
        how = "the same words with --resume go on from there"
        return f"interrupted; {n} finished points are kept in {partial}; {how}"
    if not _SIMULATE.intersection(tokens[:1]):
        return "interrupted"
    return "interrupted; nothing is kept (with --out FILE finished points are)"
