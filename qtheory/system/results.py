"""Results: frozen plain data with units in the names, that carry where they come from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from qtheory.basics import checks, units
from qtheory.basics.errors import ConfigError

from .provenance import Provenance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ESTIMATED", "LATENCIES", "SCHEMA", "STATISTICS", "RunResult", "as_entry", "from_json", "to_json"]

SCHEMA = "queueserve/1"
LATENCIES = ("ttft", "tpot", "itl", "e2e", "queue")
"""Latencies of a request, and of a token."""
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
"""What is said of each latency."""
ESTIMATED = (
    "goodput_frac", "goodput_rps", "throughput_rps", "output_tps",
    *(f"{statistic}_{name}_s" for name in LATENCIES for statistic in STATISTICS),
    "mfu_frac", "mbu_frac", "cached_frac",
)  # fmt: skip
"""Fields that have confidence limits where there is more than one run."""
_APART = ("limits", "timeline", "tenants", "provenance")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What one simulated point showed, in one run or several; None where nothing was there to measure.

    Latencies are of the requests that got that far (shed and rejected ones have none); ``goodput_frac`` is
    the share of *all* requests sent that were served to the end within every limit.

    Parameters
    ----------
    scheduler : str
    rate_rps : float
        Offered rate: as asked for, or of a trace the requests over its span.
    kind : str
        How far the numbers reach: ``finite run`` claims no steady state (means over replications of the
        numbers of such a run); ``steady state``; ``overloaded: ...`` and ``undecided: ...`` say why not.
    n_replications : int
        Independent runs behind the numbers.
    level : float or None
        Coverage that ``limits`` claim; None where no limits were asked for.
    n_warm_up_requests : int
        Requests at the start of each run that are left out (steady state only).
    precision_reached : bool or None
        Whether the precision asked for was reached; None if none was.
    n_requests, n_finished, n_shed, n_rejected, n_unfinished, n_preemptions : int
        How the requests ended: totals over the replications.
    goodput_frac, goodput_rps : float
        Share of good requests (of all requests of all replications), and good requests per second of the
        span from first arrival to last token (steady state: of the time in which requests arrive).
    throughput_rps, output_tps : float
        Finished requests and their output tokens over the same span.
    mean_ttft_s, ..., p99_queue_s : float or None
        Mean, median and high percentiles of TTFT, TPOT, ITL (pooled over tokens), E2E and queue time.
    max_itl_s, peak_kv_frac : float or None
        The largest of all replications.
    makespan_s : float
        First arrival to the end of the last step.
    busy_frac : float
        Share of the makespan in which the engine ran a step.
    mfu_frac, mbu_frac : float or None
        FLOP and bytes of the model over what the datasheet peak could do in the busy time.
    mean_running, mean_waiting, mean_kv_frac, peak_kv_frac : float
        Time averages over the makespan, and the largest share of KV blocks in use.
    waits_for_slots_frac, waits_for_budget_frac, waits_for_memory_frac : float or None
        Shares of the makespan in which somebody waits because as many run as may, because the tokens of the
        step are spent, or because KV blocks are missing: the largest is what binds.
    cached_frac, cached_tokens : float, int or None
        Share of the prompt tokens of all requests that came to run which the prefix cache had when they were
        first admitted, and how many these are in all replications: prefill that was spared. None without one.
    recomputed_frac : float
        Tokens computed again after preemption over all tokens computed.
    n_attempts, n_given_up, attempts_per_request, wasted_frac : int, int, float, float or None
        Of clients that time out: attempts that were sent, requests whose client gave up for good, attempts by
        requests, and tokens that were computed for cancelled attempts over all computed. None where clients
        wait as long as it takes. Latencies count from the first attempt of a request.
    budget_tokens, kv_blocks : int
        The limits in force.
    unreliable : tuple of str
        Fields whose limits would hold the truth less often than ``level`` says.
    limits : mapping
        From a field of `ESTIMATED` to its confidence limits (low, high).
    timeline : tuple of dict
        Averages over equal windows of the makespan of the first run (``start_s``, ``mean_waiting``, ...), if
        asked for.
    tenants : tuple of dict
        What each client got (``tenant``, ``n_requests``, ``goodput_frac``, ...), if there are several: means
        over the replications.
    """

    scheduler: str
    rate_rps: float
    kind: str = "finite run"
    n_replications: int = 1
    level: float | None = None
    n_warm_up_requests: int = 0
    precision_reached: bool | None = None
    n_requests: int
    n_finished: int
    n_shed: int
    n_rejected: int
    n_unfinished: int
    goodput_frac: float
    goodput_rps: float
    throughput_rps: float
    output_tps: float
    mean_ttft_s: float | None
    p50_ttft_s: float | None
    p90_ttft_s: float | None
    p95_ttft_s: float | None
    p99_ttft_s: float | None
    mean_tpot_s: float | None
    p50_tpot_s: float | None
    p90_tpot_s: float | None
    p95_tpot_s: float | None
    p99_tpot_s: float | None
    mean_itl_s: float | None
    p50_itl_s: float | None
    p90_itl_s: float | None
    p95_itl_s: float | None
    p99_itl_s: float | None
    max_itl_s: float | None
    mean_e2e_s: float | None
    p50_e2e_s: float | None
    p90_e2e_s: float | None
    p95_e2e_s: float | None
    p99_e2e_s: float | None
    mean_queue_s: float | None
    p50_queue_s: float | None
    p90_queue_s: float | None
    p95_queue_s: float | None
    p99_queue_s: float | None
    makespan_s: float
    busy_frac: float
    mfu_frac: float | None
    mbu_frac: float | None
    mean_running: float
    mean_waiting: float
    mean_kv_frac: float
    peak_kv_frac: float
    waits_for_slots_frac: float | None = None
    waits_for_budget_frac: float | None = None
    waits_for_memory_frac: float | None = None
    n_preemptions: int
    cached_frac: float | None = None
    cached_tokens: int | None = None
    recomputed_frac: float
    n_attempts: int | None = None
    n_given_up: int | None = None
    attempts_per_request: float | None = None
    wasted_frac: float | None = None
    budget_tokens: int
    kv_blocks: int
    speed: float | None = None
    unreliable: tuple[str, ...] = ()
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    timeline: tuple[dict[str, float], ...] = ()
    tenants: tuple[dict[str, Any], ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def row(self) -> dict[str, Any]:
        """The plain numbers, one key a field, in the order of the fields; without timeline and tenants.

        Behind each field of `ESTIMATED` stand its limits, as in ``mean_ttft_s``, ``mean_ttft_s_low``,
        ``mean_ttft_s_high``; None where there are none.
        """
        row: dict[str, Any] = {}
        for item in fields(self):
            if item.name in _APART:
                continue
            value = getattr(self, item.name)
            row[item.name] = list(value) if isinstance(value, tuple) else value
            if item.name in ESTIMATED:
                limits = self.limits.get(item.name, (None, None))
                row |= dict(zip(_limit_names(item.name), limits, strict=True))
        return row

    def summary(self) -> str:
        """Aligned text, one quantity a line; labels and units come from the field names."""
        rows = []
        for item in fields(self):
            if item.name in _APART:
                continue
            shown = units.format_value(item.name, getattr(self, item.name))
            if item.name in self.limits:
                low, high = (units.format_value(item.name, limit) for limit in self.limits[item.name])
                shown += f" ({low} to {high})"
            rows.append((units.label(item.name), shown))
        width = max(len(text) for text, _ in rows)
        return "\n".join(f"{text:<{width}}  {shown}" for text, shown in rows)

    def to_frame(self) -> pd.DataFrame:
        """One row; columns are the field names, units included."""
        import pandas as pd  # slow to import, so only here

        return pd.DataFrame([self.row()])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result whose `row` is ``data`` (with a timeline and provenance); an unknown key is an error."""
        plain = dict(data)
        limits = dict(plain.pop("limits", {}))
        for name in ESTIMATED:
            low, high = (plain.pop(limit, None) for limit in _limit_names(name))
            if low is not None and high is not None:
                limits[name] = (low, high)
        known = {item.name for item in fields(cls)}
        for key in plain:
            if key not in known:
                raise ConfigError(f"result: unknown key {key!r}{checks.nearest(key, known)}")
        for key in ("rate_rps", "speed"):
            plain[key] = float(plain[key]) if isinstance(plain.get(key), str) else plain.get(key)
        plain["limits"] = limits
        for key in ("timeline", "tenants", "unreliable"):
            plain[key] = tuple(plain.get(key, ()))
        plain["provenance"] = Provenance(**plain.get("provenance", {}))
        return cls(**plain)


def _limit_names(name: str) -> tuple[str, str]:
    """Keys of the limits of a field in a row."""
    return f"{name}_low", f"{name}_high"


def _plain(value: Any) -> Any:
    """``value`` with infinities as text, which JSON has no numbers for."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def to_json(results: Sequence[RunResult]) -> str:
    """Results as JSON text: ``schema``, ``provenance`` of the first, and a list ``result`` of plain rows.

    An infinite number (the rate of a closed loop, a limit that is switched off) is written as text.

    Examples
    --------
    >>> from_json(to_json([]))
    []
    """
    provenance = _plain(asdict(results[0].provenance)) if results else {}
    rows = [as_entry(result) for result in results]
    return json.dumps({"schema": SCHEMA, "provenance": provenance, "result": rows}, indent=1, allow_nan=False)


def as_entry(result: RunResult) -> dict[str, Any]:
    """One result as JSON can hold it, without its provenance; `RunResult.from_dict` takes it back.

    Parameters
    ----------
    result : RunResult
    """
    entry: dict[str, Any] = _plain(result.row())
    apart = {"timeline": list(result.timeline), "tenants": list(result.tenants)}
    return entry | {name: rows for name, rows in apart.items() if rows}


def from_json(text: str) -> list[RunResult]:
    """The results that `to_json` wrote.

    Raises
    ------
    ConfigError
        If the text is not JSON of this schema.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"result: not JSON ({error})") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ConfigError(f"result: no 'schema': {SCHEMA!r} at the top")
    return [RunResult.from_dict({**row, "provenance": data["provenance"]}) for row in data["result"]]
