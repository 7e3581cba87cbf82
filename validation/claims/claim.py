"""A claim: something that was seen in the field, put as a question to the simulator, with a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Claim", "Finding", "Measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One thing that must hold: what it is, what was found, and whether that is so.

    Parameters
    ----------
    what, found : str
    holds : bool
    """

    what: str
    found: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a claim came to.

    Parameters
    ----------
    parts : tuple of Measured
        Everything that must hold.
    """

    parts: tuple[Measured, ...]

    @property
    def holds(self) -> bool:
        """Whether all of it does."""
        return all(part.holds for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A question, where it comes from, and how it is answered.

    Parameters
    ----------
    name : str
        Its word on the command line.
    question, source : str
        What is asked, and who saw it.
    calibrated : str
        What was set by which data, before anything was compared.
    teaches : str
        What a miss would say.
    answer : callable
        Runs it.

    Examples
    --------
    >>> parts = (Measured(what="x", found="1", holds=True), Measured(what="y", found="2", holds=False))
    >>> Finding(parts=parts).holds
    False
    """

    name: str
    question: str
    source: str
    calibrated: str
    teaches: str
    answer: Callable[[], Finding]
