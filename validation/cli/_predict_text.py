"""A prediction in words: what was assumed, what is met, and over time what each part of it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from qtheory.report import folded, human, pairs, run_text, table

from ._knee_text import MOST_LETTERS, knee_facts

if TYPE_CHECKING:
    from qtheory.predict import OverTime, Prediction, Stretch
    from validation.knees import Asked

__all__ = ["clock", "predict_heading", "predict_text"]

_LONG_S = 7200.0
_RATES = {
    "rate_rps": "req/s",
    "load_frac": "load (%)",
    "goodput_frac": "good (%)",
    "mean_ttft_s": "mean TTFT (s)",
    "p99_ttft_s": "p99",
    "mean_tpot_s": "mean TPOT (s)",
    "p99_tpot_s": "p99 TPOT (s)",
    "mean_e2e_s": "mean E2E (s)",
    "mean_decoding": "decoding",
    "peak_waiting": "most wait",
}
_STRETCHES = {
    "start": "from",
    "rate_rps": "req/s",
    "load_frac": "load (%)",
    "goodput_frac": "good (%)",
    "mean_ttft_s": "mean TTFT (s)",
    "p50_ttft_s": "p50",
    "p99_ttft_s": "p99",
    "waiting": "wait at its end",
}


def clock(seconds: float, total_s: float) -> str:
    """A time of the day, or of a run that is short.

    Parameters
    ----------
    seconds, total_s : float
        The time, and how long all lasts.

    Examples
    --------
    >>> clock(9720.0, 86400.0), clock(68.0, 600.0)
    ('2:42 h', '68 s')
    """
    if total_s < _LONG_S:
        return f"{seconds:.4g} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d} h"


def predict_heading(asked: Asked) -> str:
    """System, load and limits, as above every other table."""
    facts = {name: value for name, value in knee_facts([asked], 0.9).items() if name != "knee"}
    return pairs(facts, most_letters=MOST_LETTERS)


def predict_text(found: Sequence[Prediction | OverTime], why_not: Sequence[str] = ()) -> str:
    """What is predicted, a row a rate if there are several, and what is to be known of it."""
    from qtheory.predict import OverTime

    if len(found) > 1 or why_not:
        blocks = [_facts(found[0]), table([_row(one) for one in found], tuple(_RATES), labels=_RATES)]
    else:
        [one] = found
        blocks = _over_time(one) if isinstance(one, OverTime) else [_point(one)]
    said = dict.fromkeys(text for one in found for text in one.warnings)
    notes = [folded(f"note: {text}", MOST_LETTERS, 2) for text in said]
    notes += [folded(f"no answer: {text}", MOST_LETTERS, 2) for text in why_not]
    return "\n\n".join(blocks + (["\n".join(notes)] if notes else []))


def _facts(found: Prediction | OverTime) -> str:
    """What is the same at all rates."""
    return pairs(
        {
            "scheduler": found.scheduler,
            "predicted by": f"tier {found.tier}",
            "limit": f"{human('limit_rps', found.limit_rps)} ({found.binds})",
        },
        most_letters=MOST_LETTERS,
    )


def _row(one: Prediction | OverTime) -> dict[str, object]:
    """One rate; names that only the other kind of answer has are left out."""
    row = one.row()
    return row | {"load_frac": one.rate_rps / one.limit_rps}


def _point(found: Prediction) -> str:
    row = {name: value for name, value in found.row().items() if name != "warnings"}
    return run_text(row)


def _over_time(found: OverTime) -> list[str]:
    lines: dict[str, object] = {
        "scheduler": found.scheduler,
        "predicted by": f"{found.kind} ({found.tier})",
        "good": f"{human('goodput_frac', found.goodput_frac)} of all requests",
        "TTFT": ", ".join(
            f"{word} {human('ttft_s', value)}"
            for word, value in (
                ("mean", found.mean_ttft_s),
                ("p50", found.p50_ttft_s),
                ("p90", found.p90_ttft_s),
                ("p99", found.p99_ttft_s),
            )
        ),
        "limit": f"{human('limit_rps', found.limit_rps)} ({found.binds})",
        **_overloads(found),
    }
    rows = [asdict(one) | _shown(one, found.duration_s) for one in found.stretches]
    return [
        pairs(lines, most_letters=MOST_LETTERS),
        table(rows, tuple(_STRETCHES), labels=_STRETCHES),
    ]


def _shown(one: Stretch, total_s: float) -> dict[str, object]:
    return {"start": clock(one.start_s, total_s), "waiting": _number(one.end_waiting)}


def _number(waiting: float) -> float | int:
    return round(waiting) if waiting >= 10 else round(waiting, 1)


def _overloads(found: OverTime) -> dict[str, object]:
    """When more comes than is served; nothing if it never does."""
    lines = []
    for one in found.overloads:
        start, end, peak = (clock(time, found.duration_s) for time in (one.start_s, one.end_s, one.peak_s))
        gone = None if one.cleared_s is None else clock(one.cleared_s, found.duration_s)
        after = "not gone at the end" if gone is None else f"gone at {gone}"
        lines.append(f"from {start} to {end}; at most {one.peak_waiting:,.0f} wait, at {peak}; {after}")
    return {"above the limit": "; again ".join(lines)} if lines else {}
