"""What a prediction says: the columns of a simulated result, with the tier, the limit and what binds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qtheory.basics import units

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Prediction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One predicted point; names are those of `qtheory.system.results.RunResult`, so tables can mix them.

    Parameters
    ----------
    scheduler : str
    rate_rps : float
        Offered rate, requests per second.
    tier : str
        ``closed`` or ``numeric``.
    kind : str
        ``steady state, predicted``; ``finite horizon, predicted``: of all requests of a limited time; or
        ``closed loop, predicted``: with a fixed number in flight, where the rate is a result.
    limit_rps : float
        Stability limit, requests per second.
    load_frac : float
        Rate over limit.
    binds : str
        What stands in the way of a higher limit.
    goodput_frac, goodput_rps, throughput_rps : float
        Share of good requests, of all that arrive; good and served requests per second, of a limited time
        over its makespan.
    mean_ttft_s, p50_ttft_s, p90_ttft_s, p95_ttft_s, p99_ttft_s : float
    mean_tpot_s, p50_tpot_s, p90_tpot_s, p95_tpot_s, p99_tpot_s : float
    mean_itl_s, p50_itl_s, p90_itl_s, p95_itl_s, p99_itl_s : float
    mean_e2e_s, p50_e2e_s, p90_e2e_s, p95_e2e_s, p99_e2e_s : float
        Seconds, of the served requests (ITL: pooled over tokens); None of TPOT and ITL if all have one token.
    ttft_good_frac, tpot_good_frac : float
        Shares of the served requests that meet each limit: the smaller one tells which limit binds.
    mean_decoding : float
        Requests that decode, time average: by Little's law ``throughput_rps`` times what E2E is longer than
        TTFT, in the mean (``mean_running`` of a run counts those in prefill too).
    shed_frac : float
        Share of the requests that are given up, or wait for ever behind shorter ones.
    duration_s : float, optional
        Seconds for which requests come, from an empty system; None in a steady state.
    makespan_s : float, optional
        Seconds from the first of them to the last token; None in a steady state.
    end_backlog : float, optional
        Requests not yet begun when the last one comes; None in a steady state.
    in_flight : int, optional
        Requests in flight in a closed loop; None with open arrivals.
    warnings : tuple of str
        Where the question lies outside the range in which the model was checked.

    Examples
    --------
    >>> names = ("mean", "p50", "p90", "p95", "p99")
    >>> times = {f"{name}_{what}_s": 1.0 for name in names for what in ("ttft", "tpot", "itl", "e2e")}
    >>> point = Prediction(
    ...     scheduler="fcfs", rate_rps=2.0, tier="closed", limit_rps=4.0, binds="slots", goodput_frac=0.9,
    ...     ttft_good_frac=0.9, tpot_good_frac=1.0, mean_decoding=3.0, **times)
    >>> point.load_frac, point.goodput_rps
    (0.5, 1.8)
    """

    scheduler: str
    rate_rps: float
    tier: str
    kind: str = "steady state, predicted"
    limit_rps: float
    binds: str
    goodput_frac: float
    mean_ttft_s: float
    p50_ttft_s: float
    p90_ttft_s: float
    p95_ttft_s: float
    p99_ttft_s: float
    mean_tpot_s: float | None = None
    p50_tpot_s: float | None = None
    p90_tpot_s: float | None = None
    p95_tpot_s: float | None = None
    p99_tpot_s: float | None = None
    mean_itl_s: float | None = None
    p50_itl_s: float | None = None
    p90_itl_s: float | None = None
    p95_itl_s: float | None = None
    p99_itl_s: float | None = None
    mean_e2e_s: float
    p50_e2e_s: float
    p90_e2e_s: float
    p95_e2e_s: float
    p99_e2e_s: float
    ttft_good_frac: float
    tpot_good_frac: float
    mean_decoding: float
    shed_frac: float = 0.0
    duration_s: float | None = None
    makespan_s: float | None = None
    end_backlog: float | None = None
    in_flight: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def load_frac(self) -> float:
        """Rate over stability limit."""
        return self.rate_rps / self.limit_rps

    @property
    def goodput_rps(self) -> float:
        """Good requests per second."""
        return self._counted_rps * self.goodput_frac

    @property
    def throughput_rps(self) -> float:
        """Served requests per second."""
        return self._counted_rps * (1 - self.shed_frac)

    @property
    def _counted_rps(self) -> float:
        """Requests per second of the time in which they count: a limited one lasts to its last token."""
        if self.duration_s is None or self.makespan_s is None:
            return self.rate_rps
        return self.rate_rps * self.duration_s / self.makespan_s

    def row(self) -> dict[str, Any]:
        """The plain numbers, one key a field."""
        row = asdict(self)
        row["warnings"] = list(self.warnings)
        derived = ("load_frac", "goodput_rps", "throughput_rps")
        return row | {name: getattr(self, name) for name in derived}

    def summary(self) -> str:
        """Aligned text, one quantity a line; labels and units come from the field names."""
        rows = [
            (units.label(name), units.format_value(name, value))
            for name, value in self.row().items()
            if name != "warnings"
        ]
        width = max(len(text) for text, _ in rows)
        lines = [f"{text:<{width}}  {shown}" for text, shown in rows]
        return "\n".join([*lines, *(f"note: {text}" for text in self.warnings)])

    def to_frame(self) -> pd.DataFrame:
        """One row; columns are the field names, units included."""
        import pandas as pd  # slow to import, so only here

        return pd.DataFrame([self.row()])
