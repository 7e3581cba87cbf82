"""What a comparison or a sweep shows, in one sentence each; only what the rows hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label

__all__ = ["Crossing", "comparison", "goodput_crossing", "told_apart"]

_MOST_SCHEDULERS = 3  # of which all pairs are put in words

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where goodput falls below a share, read off measured points.

    Parameters
    ----------
    goodput_frac : float
        The share, in (0, 1].
    rate_rps : float or None
        Largest rate at which goodput is at least the share, requests per second; None if no rate had it.
    is_last_rate : bool
        True if every larger rate is unknown: ``rate_rps`` is the largest that was tried, a lower bound.

    Examples
    --------
    >>> print(Crossing(goodput_frac=0.9, rate_rps=7.5, is_last_rate=False))
    7.5 req/s
    >>> print(Crossing(goodput_frac=0.9, rate_rps=None, is_last_rate=False))
    none of the rates
    """

    goodput_frac: float
    rate_rps: float | None
    is_last_rate: bool

    def row(self) -> dict[str, float | bool | None]:
        """Plain data, a key a field."""
        return asdict(self)

    def __str__(self) -> str:
        if self.rate_rps is None:
            return "none of the rates"
        return f"{self.rate_rps:.3g} req/s" + (
            " or more (the largest rate tried)" if self.is_last_rate else ""
        )


def goodput_crossing(points: Iterable[tuple[float, float]], *, goodput_frac: float = 0.9) -> Crossing:
    """Largest rate with goodput of at least ``goodput_frac``, linear between neighbouring points.

    Parameters
    ----------
    points : iterable of (rate_rps, goodput)
        Measured points in any order; goodput as a share in 0..1.
    goodput_frac : float
        The share asked for, in (0, 1].

    Returns
    -------
    Crossing
        The crossing behind the last point that still had the share.

    Raises
    ------
    ConfigError
        If there are no points, or the share is outside (0, 1].

    Examples
    --------
    >>> goodput_crossing([(2.0, 1.0), (6.0, 1.0), (10.0, 0.8)]).rate_rps
    8.0
    """
    checks.fraction(goodput_frac=goodput_frac)
    ordered = sorted(points)
    if not ordered:
        raise ConfigError("points: none given; give at least one rate")
    good = [index for index, (_, share) in enumerate(ordered) if share >= goodput_frac]
    if not good:
        return Crossing(goodput_frac=goodput_frac, rate_rps=None, is_last_rate=False)
    rate, share = ordered[good[-1]]
    if good[-1] == len(ordered) - 1:
        return Crossing(goodput_frac=goodput_frac, rate_rps=rate, is_last_rate=True)
    next_rate, next_share = ordered[good[-1] + 1]
    rate += (next_rate - rate) * (share - goodput_frac) / (share - next_share)
    return Crossing(goodput_frac=goodput_frac, rate_rps=rate, is_last_rate=False)


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)


def _known(rows: Sequence[Row], name: str) -> list[tuple[float, str]]:
    return [(value, str(row["scheduler"])) for row in rows if (value := _number(row, name)) is not None]


def comparison(rows: Sequence[Row]) -> str:
    """Who has the smallest 99th percentile of TPOT, by which factor, and who the largest goodput.

    Parameters
    ----------
    rows : sequence of mappings
        A row a scheduler, with ``scheduler``, ``p99_tpot_s`` and ``goodput_frac``.

    Returns
    -------
    str
        One or two sentences, a line each; an empty string if fewer than two rows can be compared.

    Examples
    --------
    >>> print(comparison([
    ...     {"scheduler": "fcfs", "p99_tpot_s": 0.45, "goodput_frac": 0.4},
    ...     {"scheduler": "chunked", "p99_tpot_s": 0.05, "goodput_frac": 0.9},
    ... ]))
    chunked has the smallest p99 TPOT: 0.05 s, 9.0 times less than fcfs (0.45 s).
    Goodput is highest with chunked: 90.0 %, 50.0 points more than fcfs (40.0 %).
    """
    return "\n".join(sentence for sentence in (_tpot(rows), _goodput(rows)) if sentence)


def _tpot(rows: Sequence[Row]) -> str:
    known = _known(rows, "p99_tpot_s")
    if len(known) < 2:
        return ""
    (least, best), (most, worst) = min(known), max(known)
    if f"{least:.3g}" == f"{most:.3g}":
        return f"All have the same p99 TPOT: {least:.3g} s."
    factor = f", {most / least:.1f} times less than {worst} ({most:.3g} s)" if least > 0 else ""
    return f"{best} has the smallest p99 TPOT: {least:.3g} s{factor}."


def _goodput(rows: Sequence[Row]) -> str:
    known = _known(rows, "goodput_frac")
    if len(known) < 2:
        return ""
    (least, worst), (most, best) = min(known), max(known)
    if f"{100 * least:.1f}" == f"{100 * most:.1f}":
        return f"All have the same goodput: {100 * most:.1f} %."
    return (
        f"Goodput is highest with {best}: {100 * most:.1f} %, "
        f"{100 * (most - least):.1f} points more than {worst} ({100 * least:.1f} %)."
    )


def told_apart(differences: Sequence[Row]) -> str:
    """Paired differences between schedulers in words, with their limits; no difference is said too.

    With more than three schedulers only the pairs with the first one are put in words.

    Parameters
    ----------
    differences : sequence of mappings
        A row a quantity and pair: ``quantity``, ``a``, ``b``, ``difference`` (a - b), ``low``, ``high``,
        ``verdict``.

    Returns
    -------
    str
        A line a row.

    Examples
    --------
    >>> row = {"quantity": "p99_tpot_s", "a": "fcfs", "b": "chunked", "difference": 0.37, "low": 0.35,
    ...        "high": 0.39, "verdict": "chunked lower"}
    >>> print(told_apart([row]))
    p99 TPOT: chunked lower than fcfs by 0.37 s (0.35 to 0.39)
    """
    first = {row["a"] for row in differences[:1]}
    many = len({row["b"] for row in differences}) >= _MOST_SCHEDULERS
    return "\n".join(_sentence(row) for row in differences if not many or row["a"] in first)


def _sentence(row: Row) -> str:
    name = str(row["quantity"])
    is_share = name.endswith("_frac")
    scale, unit = (100.0, "points") if is_share else (1.0, "s")
    middle, low, high = (scale * float(str(row[key])) for key in ("difference", "low", "high"))
    words, a, b = label(name).partition(" (")[0], row["a"], row["b"]
    if row["verdict"] == "no difference":
        return f"{words}: no difference between {a} and {b} ({low:.3g} to {high:.3g} {unit})"
    if is_share == (middle < 0):  # the better one is named first: more goodput, less time
        a, b = b, a
    near, far = sorted((abs(low), abs(high)))
    how = "higher" if is_share else "lower"
    return f"{words}: {a} {how} than {b} by {abs(middle):.3g} {unit} ({near:.3g} to {far:.3g})"
