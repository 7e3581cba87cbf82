"""A comparison that was kept as JSON: read back, and checked against its own numbers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from qtheory.basics.checks import one_of, shown
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name
from qtheory.system.results import SCHEMA

from ._theory import ANSWERERS
from .capacity import Overload
from .effort import Effort
from .grid import SCHEDULERS, Cell
from .knees import Knee
from .score import Score, errors_of
from .text import summary_of

__all__ = ["Stored", "read_agreement"]

_LARGEST = sys.float_info.max
_LARGEST_BYTES = 64_000_000
_WANTED = "the JSON result of validate agreement"
_CLOSE = 1e-9
_BY_HAND = "another version made the file, or it was changed by hand"
_WHOLE, _MAYBE_WHOLE = ("number",), ("budget_tokens",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a file holds.

    Parameters
    ----------
    scores : list of Score
    provenance : dict
        Version and design, as they were written.
    """

    scores: list[Score]
    provenance: dict[str, Any] = field(default_factory=dict)


def read_agreement(path: Path | str) -> Stored:
    """Read a comparison; every error and verdict in it must follow from the numbers beside it.

    Parameters
    ----------
    path : path
        What ``validate agreement --format json`` wrote.

    Raises
    ------
    ConfigError
        If it cannot be read, is something else, or contradicts itself.

    Examples
    --------
    >>> read_agreement("no/such/full.json")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/full.json: cannot be read: no such file
    """
    name = shown_name(path)
    content = read_text(path, most_bytes=_LARGEST_BYTES, wanted=_WANTED)
    try:
        data = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise ConfigError(f"{name}: not valid JSON: {why}") from None
    try:
        return _stored(data)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _stored(data: Any) -> Stored:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ConfigError(f"its schema is not {SCHEMA}; give {_WANTED}")
    rows = data.get("result")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"result: holds no cells; give {_WANTED}")
    scores = [_score(row, place) for place, row in enumerate(rows, 1)]
    seen: dict[int, int] = {}
    for place, one in enumerate(scores, 1):
        before = seen.setdefault(one.cell.number, place)
        if before != place:
            raise ConfigError(f"result {place}: cell {one.cell.number} is result {before} too")
    counted = summary_of(scores)
    if data.get("summary") != counted:
        raise ConfigError(f"summary: does not count its {len(scores)} cells; {_BY_HAND}")
    provenance = data.get("provenance")
    if not isinstance(provenance, dict) or not {"version", "grid", "effort"} <= provenance.keys():
        raise ConfigError(f"provenance: must be a table with version, grid and effort; {_BY_HAND}")
    _check_effort("provenance: effort", provenance["effort"])
    return Stored(scores=scores, provenance=provenance)


def _check_effort(where: str, said: Any) -> None:
    """How much was simulated is part of what an error says."""
    _same_names(where, said, {item.name for item in fields(Effort)})
    for name, value in said.items():
        _whole(where, name, value)
    try:
        Effort(**said)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _whole(where: str, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{where}: {name}={shown(value)} must be a whole number >= 0")


def _score(row: Mapping[str, Any], place: int) -> Score:
    where = f"result {place}"
    names = {item.name for item in fields(Score)}
    _same_names(where, row, names | {"verdicts"})
    one = Score(
        cell=_cell(f"{where}: cell", row["cell"]),
        overload=None if row["overload"] is None else _overload(f"{where}: overload", row["overload"]),
        kind=_text(f"{where}: kind", row["kind"]),
        binds=_text(f"{where}: binds", row["binds"]),
        simulated=_measured(f"{where}: simulated", row["simulated"]),
        predicted={
            name: _not_negative(f"{where}: predicted: {name}", numbers)
            for name, numbers in _answerers(f"{where}: predicted", row["predicted"]).items()
        },
        errors={
            name: _numbers(f"{where}: errors: {name}", numbers)
            for name, numbers in _answerers(f"{where}: errors", row["errors"]).items()
        },
        refused={
            name: _text(f"{where}: refused", why) for name, why in _answerers(where, row["refused"]).items()
        },
        knee=None if row["knee"] is None else _knee(f"{where}: knee", row["knee"]),
    )
    _check_follows(where, one, row["verdicts"])
    return one


def _check_follows(where: str, one: Score, verdicts: Any) -> None:
    """Errors follow from predicted and simulated numbers, verdicts from errors."""
    if one.errors.keys() != one.predicted.keys():
        raise ConfigError(f"{where}: errors and predicted are not of the same names; {_BY_HAND}")
    for name, said in one.errors.items():
        found = errors_of(one.predicted[name], one)
        if found.keys() != said.keys() or not all(_alike(said[key], found[key]) for key in said):
            raise ConfigError(f"{where}: errors of {name} do not follow from its numbers; {_BY_HAND}")
    judged = {tier: one.verdict(tier) for tier in ("numeric", "closed")}
    if verdicts != judged:
        raise ConfigError(f"{where}: verdicts are not those of its numbers, {shown(judged)}; {_BY_HAND}")


def _alike(said: float, found: float) -> bool:
    if not math.isfinite(said) or not math.isfinite(found):
        return not math.isfinite(said) and not math.isfinite(found)
    return math.isclose(said, found, rel_tol=_CLOSE, abs_tol=_CLOSE)


def _cell(where: str, said: Any) -> Cell:
    _same_names(where, said, {item.name for item in fields(Cell)})
    for name, value in said.items():
        if name in _WHOLE or (name in _MAYBE_WHOLE and value is not None):
            _whole(where, name, value)
        elif name == "load_frac":
            if not _number(f"{where}: {name}", value) > 0:
                raise ConfigError(f"{where}: {name}={shown(value)} must be > 0")
        elif name not in _MAYBE_WHOLE:
            _text(f"{where}: {name}", value)
    one_of(f"{where}: scheduler", said["scheduler"], SCHEDULERS)
    return Cell(**said)


def _overload(where: str, said: Any) -> Overload:
    _same_names(where, said, {item.name for item in fields(Overload)})
    numbers = _numbers(where, said)
    for name in ("rate_rps", "limit_rps"):
        if not 0 < numbers[name] < math.inf:
            raise ConfigError(f"{where}: {name}={shown(numbers[name])} must be > 0")
    return Overload(**_not_negative(where, said))


def _knee(where: str, said: Any) -> Knee:
    _same_names(where, said, {item.name for item in fields(Knee)})
    own = {"rate_rps": said["rate_rps"], "half_frac": said["half_frac"]}
    numbers = _not_negative(where, own)
    return Knee(
        rate_rps=None if own["rate_rps"] is None else numbers["rate_rps"],
        half_frac=numbers["half_frac"],
        predicted_rps=_not_negative(f"{where}: predicted_rps", said["predicted_rps"]),
    )


def _same_names(where: str, said: Any, names: set[str]) -> None:
    if not isinstance(said, dict):
        raise ConfigError(f"{where}: {shown(said)} must be a table of names with values")
    missing, unknown = sorted(names - said.keys()), sorted(said.keys() - names)
    if missing or unknown:
        what = (
            f"lacks {', '.join(missing)}" if missing else f"has an unknown {', '.join(map(shown, unknown))}"
        )
        raise ConfigError(f"{where}: {what}; {_BY_HAND}")


def _answerers(where: str, said: Any) -> Mapping[str, Any]:
    if not isinstance(said, dict) or not said.keys() <= set(ANSWERERS):
        raise ConfigError(f"{where}: {shown(said)} must have names among {', '.join(ANSWERERS)}")
    return said


def _numbers(where: str, said: Any) -> dict[str, float]:
    if not isinstance(said, dict):
        raise ConfigError(f"{where}: {shown(said)} must be a table of names with numbers")
    return {name: _number(f"{where}: {shown_name(name)}", value) for name, value in said.items()}


def _not_negative(where: str, said: Any) -> dict[str, float]:
    numbers = _numbers(where, said)
    for name, value in numbers.items():
        if value < 0:
            raise ConfigError(f"{where}: {shown_name(name)}={shown(value)} must be >= 0")
    return numbers


def _measured(where: str, said: Any) -> dict[str, float]:
    """Numbers with their intervals; the lower end of a wide one may be below 0."""
    numbers = _numbers(where, said)
    _not_negative(where, {name: value for name, value in said.items() if not name.endswith("_low")})
    return numbers


def _number(where: str, said: Any) -> float:
    """A number; infinity for null, which is how one that is not finite was written."""
    if said is None:
        return math.inf
    if isinstance(said, bool) or not isinstance(said, int | float) or not abs(said) <= _LARGEST:
        raise ConfigError(f"{where}: {shown(said)} must be a number")
    return float(said)


def _text(where: str, said: Any) -> str:
    if not isinstance(said, str):
        raise ConfigError(f"{where}: {shown(said)} must be text")
    return said
