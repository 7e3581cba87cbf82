"""Cases of kind ``calc``: single formulas of engines and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._case import differences, number, numbers, only_keys, table, want

__all__ = ["FORMULAS", "check_calc"]

Table = dict[str, Any]


def check_calc(case: Table) -> list[str]:
    """Differences between what a case expects and what its formula gives.

    Parameters
    ----------
    case : dict
        With ``function``, ``input`` and ``expect``.

    Returns
    -------
    list of str
        Empty if the case holds.

    Raises
    ------
    ServingError
        If the case cannot be read.

    Examples
    --------
    >>> given = {"prompt": 1000, "cached": 0, "budget": 512, "decodes": 12}
    >>> check_calc({"function": "prefill_iterations", "input": given, "expect": {"iterations": 2}})
    []
    """
    only_keys("case", case, ("function", "input", "expect"))
    name = want("case", case, "function", str)
    checks.one_of("function", name, FORMULAS)
    formula, keys = FORMULAS[name]
    given = want("case", case, "input", dict)
    only_keys("input", given, keys)
    missing = [key for key in keys if key not in given]
    if missing:
        raise ConfigError(f"input: key {checks.shown(missing[0])} is missing")
    return differences(name, want("case", case, "expect", dict), formula(given))


def _above_zero(given: Table, key: str) -> float:
    value = number("input", given, key)
    if value <= 0:
        raise ConfigError(f"input.{key}: {value:g} must be > 0")
    return value


def _ceil(n: float, size: float) -> int:
    if not math.isfinite(n):
        raise ConfigError(f"input: {n:g} tokens are too many to compute with")
    return int(-(-n // size))


def _rows(where: str, rows: Any, *keys: str) -> list[Table]:
    if not isinstance(rows, list):
        raise ConfigError(f"{where}: {checks.shown(rows)} is not a list")
    found = []
    for index, item in enumerate(rows):
        row = table(f"{where}[{index}]", item)
        only_keys(f"{where}[{index}]", row, ("id", *keys))
        found.append({"id": row.get("id"), **{key: number(f"{where}[{index}]", row, key) for key in keys}})
    return found


def _new_token_ratio(given: Table) -> Table:
    rows = _rows("input.after_retraction", given["after_retraction"], "decoded", "max_new")
    decoded = sum(row["decoded"] for row in rows) + number("input", given, "decode_steps") * len(rows)
    return {"ratio": min(1.0, decoded / (sum(row["max_new"] for row in rows) + 1))}


def _new_token_ratio_decay(given: Table) -> Table:
    first = min(number("input", given, "init_ratio") * number("input", given, "conservativeness"), 1.0)
    least = first * number("input", given, "min_factor")
    slope = (first - least) / _above_zero(given, "decay_steps")
    steps = numbers("input", given, "at_steps")
    return {"initial": first, "minimum": least, "after": [max(least, first - slope * n) for n in steps]}


def _promised(given: Table, row: Table) -> float:
    """Tokens that a running request is still expected to produce."""
    left: float = min(row["max_new"] - row["out"], number("input", given, "clip"))
    return number("input", given, "ratio") * left


def _admission_tokens(given: Table) -> Table:
    running = _rows("input.running", given["running"], "max_new", "out")
    (job,) = _rows("input.candidate", [given["candidate"]], "prompt", "cached", "max_new")
    room = number("input", given, "available") + number("input", given, "evictable")
    remaining = room - sum(_promised(given, row) for row in running)
    output = min(job["max_new"], number("input", given, "clip"))
    needed = job["prompt"] - job["cached"] + output + number("input", given, "page")
    return {"remaining": remaining, "needed": needed, "admit": needed < remaining}


def _priority_preempt(given: Table) -> Table:
    running = _rows("input.running", given["running"], "priority", "queued_at", "max_new", "out")
    (job,) = _rows("input.candidate", [given["candidate"]], "priority", "uncached", "max_new")
    needed = job["uncached"] + min(job["max_new"], number("input", given, "clip"))
    needed -= number("input", given, "remaining")
    victims: list[str] = []
    for row in sorted(running, key=lambda row: (row["priority"], -row["queued_at"])):
        if needed <= 0 or job["priority"] - row["priority"] <= number("input", given, "threshold"):
            break
        victims.append(row["id"])
        needed -= _promised(given, row)
    return {"preempt": victims if needed <= 0 else []}


def _slack_chunk(given: Table) -> Table:
    decodes = _rows("input.decodes", given["decodes"], "next_deadline")
    slack = min((row["next_deadline"] - number("input", given, "now") for row in decodes), default=None)
    chunk = 0.0
    for option in numbers("input", given, "chunk_options"):
        seconds = number("input", given, "base") + number("input", given, "per_token") * (
            option + len(decodes)
        )
        if slack is None or number("input", given, "safety") * seconds <= slack:
            chunk = max(chunk, option)
    return {"min_slack": slack, "chunk": chunk}


def _preemption_cost(given: Table) -> Table:
    moved = 2 * number("input", given, "blocks") * number("input", given, "block_bytes")
    swap = moved / _above_zero(given, "link_bytes_per_time")
    recompute = number("input", given, "tokens") / _above_zero(given, "prefill_tokens_per_time")
    cheaper = "swap" if swap < recompute else "recompute"
    return {"swap_time": swap, "recompute_time": recompute, "cheaper": cheaper}


def _kv_capacity(given: Table) -> Table:
    size, pool = _above_zero(given, "block_size"), _above_zero(given, "num_blocks")
    prompt, output = _above_zero(given, "prompt"), _above_zero(given, "output")
    at_end = _ceil(prompt + output - 1, size)
    return {
        "max_concurrency_at_limit": pool * size / _above_zero(given, "max_model_len"),
        "blocks_at_end": at_end,
        "concurrent_to_completion": pool // at_end,
        "concurrent_at_admission": pool // _ceil(prompt, size),
    }


def _prefill_iterations(given: Table) -> Table:
    room = number("input", given, "budget") - number("input", given, "decodes")
    if room <= 0:
        raise ConfigError(f"input.decodes: {given['decodes']} leave nothing of a budget of {given['budget']}")
    return {"iterations": _ceil(number("input", given, "prompt") - number("input", given, "cached"), room)}


def _arrival_schedule(given: Table) -> Table:
    draws = numbers("input", given, "draws")
    n = want("input", given, "requests", int)
    if len(draws) != n or sum(draws) <= 0:
        raise ConfigError(
            f"input.draws: {len(draws)} values summing to {sum(draws):g} for {checks.shown(n)} requests"
        )
    factor = n / _above_zero(given, "rate") / sum(draws)
    return {"send_times": [factor * moment for moment in accumulate(draws)]}


def _utilisation(given: Table) -> Table:
    params, n_tokens, seconds = (_above_zero(given, key) for key in ("params", "tokens", "time"))
    attention = 4 * number("input", given, "layers") * number("input", given, "hidden")
    flops = 2 * params * n_tokens + attention * number("input", given, "sum_context")
    kv_tokens = number("input", given, "kv_tokens_read") + n_tokens
    moved = params * number("input", given, "weight_bytes")
    moved += number("input", given, "kv_bytes_per_token") * kv_tokens
    return {
        "flops": flops,
        "bytes": moved,
        "mfu": flops / (seconds * _above_zero(given, "peak_flops")),
        "mbu": moved / (seconds * _above_zero(given, "peak_bandwidth")),
    }


FORMULAS: dict[str, tuple[Callable[[Table], Table], tuple[str, ...]]] = {
    "new_token_ratio": (_new_token_ratio, ("decode_steps", "after_retraction")),
    "new_token_ratio_decay": (
        _new_token_ratio_decay,
        ("init_ratio", "conservativeness", "min_factor", "decay_steps", "at_steps"),
    ),
    "admission_tokens": (
        _admission_tokens,
        ("available", "evictable", "clip", "ratio", "page", "running", "candidate"),
    ),
    "priority_preempt": (
        _priority_preempt,
        ("clip", "ratio", "threshold", "remaining", "candidate", "running"),
    ),
    "slack_chunk": (_slack_chunk, ("now", "base", "per_token", "safety", "chunk_options", "decodes")),
    "preemption_cost": (
        _preemption_cost,
        ("tokens", "blocks", "block_bytes", "link_bytes_per_time", "prefill_tokens_per_time"),
    ),
    "kv_capacity": (_kv_capacity, ("block_size", "num_blocks", "max_model_len", "prompt", "output")),
    "prefill_iterations": (_prefill_iterations, ("prompt", "cached", "budget", "decodes")),
    "arrival_schedule": (_arrival_schedule, ("requests", "rate", "draws")),
    "utilisation": (
        _utilisation,
        (
            "params",
            "weight_bytes",
            "layers",
            "hidden",
            "tokens",
            "sum_context",
            "kv_tokens_read",
            "kv_bytes_per_token",
            "time",
            "peak_flops",
            "peak_bandwidth",
        ),
    ),
}
"""Formulas by name, each with the keys of its input."""
