"""A claim: something that was seen in the field, put as a question to the simulator, with a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Claim", "Compared", "Finding", "Measured"]


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
class Compared:
    """A published measurement beside what is computed for it.

    Parameters
    ----------
    what : str
        Which point it is.
    hardware, engine, metric : str
    route : str
        ``theory`` or ``simulation``.
    setting : str
        What was fitted before, such as ``datasheet`` or ``one efficiency an engine``.
    load : str
        How near to the limit the measurement is.
    measured, found : float
        Both in ``unit``.
    unit : str
        ``req/s``, or ``points`` for shares in percent, which are compared by difference instead of ratio.

    Examples
    --------
    >>> point = Compared(what="8 GPUs", hardware="h100", engine="vllm", metric="rate", route="theory",
    ...     setting="datasheet", load="at the limit", measured=80.0, found=100.0, unit="req/s")
    >>> point.error, point.text()
    (0.25, '8 GPUs, theory, datasheet: measured 80 req/s, found 100, ratio 1.25')
    """

    what: str
    hardware: str
    engine: str
    metric: str
    route: str
    setting: str
    load: str
    measured: float
    found: float
    unit: str

    @property
    def error(self) -> float:
        """Relative, as a share of what was measured; of shares the difference in points."""
        if self.unit == "points":
            return abs(self.found - self.measured)
        return abs(self.found / self.measured - 1)

    def text(self) -> str:
        """One line."""
        begin = f"{self.what}, {self.route}, {self.setting}: measured"
        if self.unit == "points":
            return f"{begin} {self.measured:.1f} %, found {self.found:.1f} %"
        ratio = self.found / self.measured
        return f"{begin} {self.measured:.4g} {self.unit}, found {self.found:.4g}, ratio {ratio:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a claim came to.

    Parameters
    ----------
    parts : tuple of Measured
        Everything that must hold.
    points : tuple of Compared
        The measurements behind it, one by one.
    notes : tuple of str
        What else is to be known, such as what was left out and why.
    """

    parts: tuple[Measured, ...]
    points: tuple[Compared, ...] = ()
    notes: tuple[str, ...] = ()

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
        Runs it; of a claim that needs files it takes their folder.
    needs : tuple of str
        Files of published measurements that it reads, by their places in the folder of data.

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
    answer: Callable[..., Finding]
    needs: tuple[str, ...] = ()
