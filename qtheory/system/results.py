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

__all__ = ["SCHEMA", "RunResult", "from_json", "to_json"]

SCHEMA = "queueserve/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What one simulated run showed; None where nothing was there to measure.

    Latencies are of the requests that got that far (shed and rejected ones have none); ``goodput_frac`` is
    the share of *all* requests sent that were served to the end within every limit.

    Parameters
    ----------
    scheduler : str
    rate_rps : float
        Offered rate: as asked for, or of a trace the requests over its span.
    kind : str
        How far the numbers reach: ``finite run`` claims no steady state.
    n_requests, n_finished, n_shed, n_rejected, n_unfinished : int
        How the requests ended.
    goodput_frac, goodput_rps : float
        Share of good requests, and good requests per second of the span from first arrival to last token.
    throughput_rps, output_tps : float
        Finished requests and their output tokens over the same span.
    mean_ttft_s, ..., p99_queue_s : float or None
        Mean, median and high percentiles of TTFT, TPOT, ITL (pooled over tokens), E2E and queue time.
    makespan_s : float
        First arrival to the end of the last step.
    busy_frac : float
        Share of the makespan in which the engine ran a step.
    mfu_frac, mbu_frac : float or None
        FLOP and bytes of the model over what the datasheet peak could do in the busy time.
    mean_running, mean_waiting, mean_kv_frac, peak_kv_frac : float
        Time averages over the makespan, and the largest share of KV blocks in use.
    n_preemptions : int
    recomputed_frac : float
        Tokens computed again after preemption over all tokens computed.
    budget_tokens, kv_blocks : int
        The limits in force.
    timeline : tuple of dict
        Averages over equal windows of the makespan (``start_s``, ``mean_waiting``, ...), if asked for.
    """

    scheduler: str
    rate_rps: float
    kind: str = "finite run"
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
    n_preemptions: int
    recomputed_frac: float
    budget_tokens: int
    kv_blocks: int
    speed: float | None = None
    timeline: tuple[dict[str, float], ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def row(self) -> dict[str, Any]:
        """The plain numbers, one key a field, in the order of the fields; no timeline, no provenance."""
        return {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name not in ("timeline", "provenance")
        }

    def summary(self) -> str:
        """Aligned text, one quantity a line; labels and units come from the field names."""
        rows = [(units.label(name), units.format_value(name, value)) for name, value in self.row().items()]
        width = max(len(text) for text, _ in rows)
        return "\n".join(f"{text:<{width}}  {shown}" for text, shown in rows)

    def to_frame(self) -> pd.DataFrame:
        """One row; columns are the field names, units included."""
        import pandas as pd  # slow to import, so only here

        return pd.DataFrame([self.row()])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `asdict` made into ``data``; an unknown key is an error."""
        known = {item.name for item in fields(cls)}
        for key in data:
            if key not in known:
                raise ConfigError(f"result: unknown key {key!r}{checks.nearest(key, known)}")
        plain = dict(data)
        for key in ("rate_rps", "speed"):
            plain[key] = float(plain[key]) if isinstance(plain.get(key), str) else plain.get(key)
        plain["timeline"] = tuple(plain.get("timeline", ()))
        plain["provenance"] = Provenance(**plain.get("provenance", {}))
        return cls(**plain)


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
    rows = [
        _plain(result.row()) | ({"timeline": list(result.timeline)} if result.timeline else {})
        for result in results
    ]
    return json.dumps({"schema": SCHEMA, "provenance": provenance, "result": rows}, indent=1, allow_nan=False)


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
