"""What a comparison or a sweep shows, in one sentence each; only what the rows hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.units import label

__all__ = ["Crossing", "comparison", "goodput_crossing", "told_apart"]

_FINE = 1.05  # rates nearer than this factor need no bracket
_HALF = 0.5  # of the best goodput: who has less is not praised for short times of the few it served
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
    low_rps, high_rps : float or None
        The rates tried on either side of ``rate_rps``; None where it is not between two.

    Examples
    --------
    >>> print(Crossing(goodput_frac=0.9, rate_rps=7.5, is_last_rate=False, low_rps=6.0, high_rps=10.0))
    7.5 req/s (between 6 and 10)
    >>> print(Crossing(goodput_frac=0.9, rate_rps=None, is_last_rate=False))
    none of the rates
    """

    goodput_frac: float
    rate_rps: float | None
    is_last_rate: bool
    low_rps: float | None = None
    high_rps: float | None = None

    def row(self) -> dict[str, float | bool | None]:
        """Plain data, a key a field."""
        return asdict(self)

    def words(self, unit: str, what: str) -> str:
        """The crossing in words.

        Parameters
        ----------
        unit : str
            As in ``req/s``.
        what : str
            What was tried, as in ``rate``.

        Examples
        --------
        >>> Crossing(goodput_frac=0.9, rate_rps=4.0, is_last_rate=True).words("times", "speed")
        '4 times or more (the largest speed tried)'
        """
        if self.rate_rps is None:
            return f"none of the {what}s"
        text = f"{self.rate_rps:.3g} {unit}"
        if self.is_last_rate:
            return f"{text} or more (the largest {what} tried)"
        if self.low_rps is None or self.high_rps is None or self.high_rps <= _FINE * self.low_rps:
            return text
        return f"{text} (between {self.low_rps:.3g} and {self.high_rps:.3g})"

    def __str__(self) -> str:
        return self.words("req/s", "rate")


def goodput_crossing(points: Iterable[tuple[float, float]], *, goodput_frac: float = 0.9) -> Crossing:
    """Largest rate with goodput of at least ``goodput_frac``, linear between neighbouring points.

    Parameters
    ----------
    points : iterable of (rate_rps, goodput)
        Measured points in any order; goodput as a share in 0..1. Speeds of a trace do as well as rates.
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
    low, share = ordered[good[-1]]
    if good[-1] == len(ordered) - 1:
        return Crossing(goodput_frac=goodput_frac, rate_rps=low, is_last_rate=True)
    high, next_share = ordered[good[-1] + 1]
    rate = low + (high - low) * (share - goodput_frac) / (share - next_share)
    return Crossing(goodput_frac=goodput_frac, rate_rps=rate, is_last_rate=False, low_rps=low, high_rps=high)


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)


def _known(rows: Sequence[Row], name: str) -> list[tuple[float, str]]:
    return [(value, str(row["scheduler"])) for row in rows if (value := _number(row, name)) is not None]


def comparison(rows: Sequence[Row]) -> str:
    """Who has the smallest 99th percentile of TPOT, by which factor, and who the largest goodput.

    All that are equal in the digits shown are named. Who has less than half of the best goodput is not
    praised for the TPOT of the requests that it did serve.

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


def _names(names: Sequence[str]) -> str:
    """Names in a sentence, as in ``orca, chunked and priority``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _tpot(rows: Sequence[Row]) -> str:
    known = _known(rows, "p99_tpot_s")
    if len(known) < 2:
        return ""
    (least, _), (most, worst) = min(known), max(known)
    if f"{least:.3g}" == f"{most:.3g}":
        return f"All have the same p99 TPOT: {least:.3g} s."
    fit = _with_enough_goodput(rows)
    among = [(value, name) for value, name in known if name in fit]
    if not among:
        return ""
    best_s = min(among)[0]
    best = [name for value, name in among if f"{value:.3g}" == f"{best_s:.3g}"]
    whose = "Of those with at least half of the best goodput, " if best_s > least else ""
    verb = "has" if len(best) == 1 else "have"
    is_worst = worst in best
    factor = (
        f", {most / best_s:.1f} times less than {worst} ({most:.3g} s)" if best_s > 0 and not is_worst else ""
    )
    return f"{whose}{_names(best)} {verb} the smallest p99 TPOT: {best_s:.3g} s{factor}."


def _with_enough_goodput(rows: Sequence[Row]) -> set[str]:
    """Schedulers whose goodput is at least half of the best one's; all, where goodput is not known."""
    shares = {str(row["scheduler"]): _number(row, "goodput_frac") for row in rows}
    best = max((share for share in shares.values() if share is not None), default=0.0)
    return {name for name, share in shares.items() if share is None or share >= _HALF * best}


def _goodput(rows: Sequence[Row]) -> str:
    known = _known(rows, "goodput_frac")
    if len(known) < 2:
        return ""
    (least, worst), (most, _) = min(known), max(known)
    if f"{100 * least:.1f}" == f"{100 * most:.1f}":
        return f"All have the same goodput: {100 * most:.1f} %."
    best = [name for share, name in known if f"{100 * share:.1f}" == f"{100 * most:.1f}"]
    return (
        f"Goodput is highest with {_names(best)}: {100 * most:.1f} %, "
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
