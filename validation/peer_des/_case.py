"""A case of a folder: what is replayed, by which rules, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepTime

from ._expected import Row, cell, picked, read_rows
from ._reading import at_least_one, file_in, listed, number, only_keys, table, taken, word
from ._rules import RULES, Rules, read_rules
from ._step_times import read_step_time
from ._tolerance import Tolerance, read_tolerance
from ._trace import Trace, read_trace

__all__ = ["CASE_KEYS", "Case", "Shelf", "read_case"]

K = TypeVar("K")
V = TypeVar("V")

_SIZES = ("block_size", "num_blocks", "max_batch_tokens", "max_seqs")
_NEEDED = ("id", "trace", "expected", "match", "rules", *_SIZES, "step_time", "tolerance")
_SLO = ("ttft_ms", "mean_gap_ms")
CASE_KEYS = (*_NEEDED, "rate_scale", "slo", "prefix_cache", "tokens_per_hash_id", *RULES)
"""Keys of a case; a rule that stands here goes before that of the rule set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One replay, or one for each rate.

    ``rates`` holds factors of the trace's speed with the row that must come out; a case without them has
    rows of totals or of requests. ``slo`` are the limits of goodput in milliseconds.
    """

    id: str
    trace: Trace
    rows: list[Row]
    where: str
    is_by_request: bool
    rates: tuple[tuple[float, Row], ...]
    rules: Rules
    step_time: StepTime
    sizes: Mapping[str, int]
    has_prefix_cache: bool
    slo: Mapping[str, float]
    tolerance: Tolerance | None


class Shelf:
    """Files of a folder, each read once."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.settings = settings
        self._rows: dict[Path, list[Row]] = {}
        self._traces: dict[tuple[Path, int], Trace] = {}

    def rows(self, path: Path) -> list[Row]:
        """Rows of a CSV file."""
        return self._once(self._rows, path, lambda: read_rows(path))

    def trace(self, path: Path, tokens_per_id: int) -> Trace:
        """Requests of a trace."""
        return self._once(
            self._traces, (path, tokens_per_id), lambda: read_trace(path, tokens_per_id=tokens_per_id)
        )

    def _once(self, kept: dict[K, V], key: K, read: Callable[[], V]) -> V:
        if key not in kept:
            kept[key] = read()
        return kept[key]


def read_case(where: str, given: Mapping[str, Any], shelf: Shelf) -> Case:
    """A case of the settings, with the files that it names.

    Raises
    ------
    ConfigError
        Naming the place, what was given and what is allowed.
    """
    only_keys(where, given, CASE_KEYS)
    for key in _NEEDED:
        taken(where, given, key)
    checks.text(f"{where}.id", given["id"])
    where = f"settings.json: case {given['id']}"
    sizes = {key: at_least_one(f"{where}.{key}", given[key]) for key in _SIZES}
    expected = file_in(f"{where}.expected", shelf.folder, given["expected"])
    rows = picked(where, expected, shelf.rows(expected), table(f"{where}.match", given["match"]))
    per_id = given.get("tokens_per_hash_id", shelf.settings.get("tokens_per_hash_id", 512))
    trace_file = file_in(f"{where}.trace", shelf.folder, given["trace"])
    trace = shelf.trace(trace_file, at_least_one(f"{where}.tokens_per_hash_id", per_id))
    is_by_request = "request" in rows[0]
    if is_by_request:
        _check_requests(where, rows, len(trace.requests))
    steps = table(f"{where}.step_time", given["step_time"])
    pool_tokens = sizes["num_blocks"] * sizes["block_size"]
    return Case(
        id=given["id"],
        trace=trace,
        rows=rows,
        where=where,
        is_by_request=is_by_request,
        rates=_rates(where, given, rows),
        rules=_rules(where, given, shelf.settings),
        step_time=read_step_time(f"{where}.step_time", steps, shelf.folder, pool_tokens=pool_tokens),
        sizes=sizes,
        has_prefix_cache=_flag(where, given, shelf.settings),
        slo=_slo(where, given),
        tolerance=read_tolerance(f"{where}.tolerance", given["tolerance"]),
    )


def _rules(where: str, given: Mapping[str, Any], settings: Mapping[str, Any]) -> Rules:
    sets = table("settings.json: rules", settings["rules"])
    name = word(f"{where}.rules", given["rules"], sets)
    place = f"settings.json: rules.{name}"
    own = table(place, sets[name])
    only_keys(place, own, RULES)
    return read_rules(place, {**own, **{key: given[key] for key in RULES if key in given}})


def _flag(where: str, given: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    value = given.get("prefix_cache", settings.get("prefix_cache", True))
    if not isinstance(value, bool):
        raise ConfigError(f"{where}.prefix_cache: {checks.shown(value)} is not true or false")
    return value


def _slo(where: str, given: Mapping[str, Any]) -> dict[str, float]:
    if "slo" not in given:
        return {}
    limits = table(f"{where}.slo", given["slo"])
    only_keys(f"{where}.slo", limits, _SLO)
    return {key: number(f"{where}.slo.{key}", value, least=0) for key, value in limits.items()}


def _rates(where: str, given: Mapping[str, Any], rows: list[Row]) -> tuple[tuple[float, Row], ...]:
    """Each rate of the case with its row."""
    if "rate_scale" not in given:
        return ()
    if "rate_rps" not in rows[0]:
        raise ConfigError(f"{where}.rate_scale: the answers have no column 'rate_rps'")
    scales = given["rate_scale"] if isinstance(given["rate_scale"], list) else [given["rate_scale"]]
    found = []
    for index, value in enumerate(listed(f"{where}.rate_scale", scales)):
        place = f"{where}.rate_scale[{index}]"
        scale = number(place, value, least=1e-9)
        row = next((row for row in rows if cell(where, row, "rate_rps") == scale), None)
        if row is None:
            raise ConfigError(f"{place}: no row of the answers has rate_rps {scale:g}")
        found.append((scale, row))
    return tuple(found)


def _check_requests(where: str, rows: list[Row], n_requests: int) -> None:
    for row in rows:
        index = cell(where, row, "request")
        if index is None or index != int(index) or not 0 <= index < n_requests:
            raise ConfigError(
                f"{where}: request {checks.shown(row['request'])} of the answers is not one of the trace's "
                f"0 .. {n_requests - 1}"
            )
