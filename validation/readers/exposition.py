"""The text that a Prometheus endpoint gives: samples with labels, and histograms among them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from qtheory.basics.checks import nearest, shown
from qtheory.basics.errors import ConfigError

__all__ = ["Histogram", "Scrape"]

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+(?:\.\d+)?)?$")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_COUNTED = ("_bucket", "_sum", "_count", "_total")

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts by upper bound, and the sum of what was observed.

    Parameters
    ----------
    count : float
        Observations.
    total : float
        Their sum.
    below : mapping of float to float
        Observations not above each bound.

    Examples
    --------
    >>> seen = Histogram(count=4.0, total=2.0, below={0.5: 2.0, 1.0: 4.0})
    >>> seen.mean, seen.quantile(0.75)
    (0.5, 0.75)
    """

    count: float
    total: float
    below: Mapping[float, float]

    @property
    def mean(self) -> float:
        """Mean of the observations; NaN without any."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, share: float) -> float | None:
        """By straight lines inside the buckets; None where it is above the last bound.

        Parameters
        ----------
        share : float
            In (0, 1).
        """
        wanted, low, before = share * self.count, 0.0, 0.0
        for bound, upto in sorted(self.below.items()):
            if upto >= wanted and upto > before:
                return (
                    None if math.isinf(bound) else low + (bound - low) * (wanted - before) / (upto - before)
                )
            low, before = bound, upto
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """Samples of one page, or what was counted between two pages in one file.

    Parameters
    ----------
    where : str
        File, for messages.
    samples : mapping of str to mapping of labels to float
        By name, then by labels.
    n_pages : int
        Pages in the file; what is counted is the last less the first.
    others : tuple of str
        Names of samples that are not wanted.
    """

    where: str
    samples: Mapping[str, Mapping[Labels, float]]
    n_pages: int
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str, where: str, *, prefix: str) -> Scrape:
        """Read the samples whose names begin with ``prefix``.

        Parameters
        ----------
        text : str
            Text exposition format 0.0.4 or OpenMetrics; several pages may follow one another.
        where : str
            For messages.
        prefix : str

        Raises
        ------
        ConfigError
            If the last line is cut off, a line is none of the format, or a count fell between pages.
        """
        if not text.endswith("\n"):
            raise ConfigError(f"{where}: the last line has no end; is the page cut off?")
        seen: dict[str, dict[Labels, list[float]]] = {}
        others: dict[str, None] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            name, labels, value = _sample(line, f"{where}: line {number}")
            if name.startswith(prefix):
                seen.setdefault(name, {}).setdefault(labels, []).append(value)
            else:
                others[name] = None
        n_pages = max((len(v) for found in seen.values() for v in found.values()), default=0)
        samples = {
            name: {labels: _between(values, n_pages, name, where) for labels, values in found.items()}
            for name, found in seen.items()
        }
        return cls(where=where, samples=samples, n_pages=n_pages, others=tuple(others))

    def summed(self, name: str, **chosen: str) -> float | None:
        """Sum over the series that have these labels; None if there is no sample of that name."""
        found = self.samples.get(name)
        if found is None:
            return None
        wanted = set(chosen.items())
        return sum(value for labels, value in found.items() if wanted <= labels)

    def labels(self, name: str, key: str) -> list[str]:
        """Texts of one label of a name."""
        found = self.samples.get(name, {})
        return sorted({text for labels in found for label, text in labels if label == key})

    def histogram(self, name: str) -> Histogram | None:
        """The histogram of that name; None if the page has none."""
        parts = [name + end for end in ("_bucket", "_sum", "_count")]
        given = [part for part in parts if part in self.samples]
        if not given:
            return None
        for part in parts[1:]:
            if part not in given:
                raise ConfigError(
                    f"{self.where}: {part}: missing, but {given[0]} is there; is the page cut off?"
                )
        below: dict[float, float] = {}
        for labels, value in self.samples.get(parts[0], {}).items():
            bound = dict(labels).get("le", "")
            below[_number(bound, f"{self.where}: {parts[0]}: le")] = value
        count, total = self.summed(parts[2]) or 0.0, self.summed(parts[1]) or 0.0
        if not math.isfinite(count + total):
            raise ConfigError(f"{self.where}: {name}: its sum or count is not a finite number")
        return Histogram(count=count, total=total, below=below)

    def needed(self, name: str) -> Histogram:
        """The same, which must be there and hold something."""
        found = self.histogram(name)
        if found is None:
            known = {
                known.removesuffix(end) for known in self.samples for end in _COUNTED if known.endswith(end)
            }
            raise ConfigError(f"{self.where}: {name}: missing{nearest(name, known, cutoff=0.8)}")
        if not found.count > 0:
            raise ConfigError(f"{self.where}: {name}: counts nothing; no request was served to its end")
        return found


def _sample(line: str, where: str) -> tuple[str, Labels, float]:
    match = _SAMPLE.match(line.split(" # ")[0].rstrip())  # an exemplar may follow
    if match is None:
        raise ConfigError(f"{where}: {shown(line)} is no sample (name, labels, value)")
    name, labels, value = match.groups()
    return name, frozenset(_LABEL.findall(labels or "")), _number(value, f"{where}: {name}")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{where}: {shown(text)} is not a number") from None


def _between(values: list[float], n_pages: int, name: str, where: str) -> float:
    """What came between the first page and the last: all of it for a series that began in between."""
    if n_pages == 1 or not name.endswith(_COUNTED):
        return values[-1]
    start = values[0] if len(values) == n_pages else 0.0
    if values[-1] < start:
        raise ConfigError(
            f"{where}: {name}: {values[-1]:g} after {start:g}: the server began anew between the pages"
        )
    return values[-1] - start
