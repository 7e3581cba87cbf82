"""Cases of kind ``metrics``: latencies and rates from client times, by the definitions of three tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.metrics import percentile, tpot_s

from ._case import differences, number, numbers, only_keys, table, want

__all__ = ["aiperf", "check_metrics", "engine", "vllm_bench"]

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One request as its client saw it; times in the unit of the case."""

    id: str
    send: float
    chunks: list[float]
    n_tokens: int

    @property
    def ttft(self) -> float:
        return self.chunks[0] - self.send

    @property
    def latency(self) -> float:
        return self.chunks[-1] - self.send

    @property
    def tpot(self) -> float:
        """NaN for one token."""
        return float(tpot_s(self.chunks[0], self.chunks[-1], self.n_tokens))

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in pairwise(self.chunks)]


def check_metrics(case: dict[str, Any]) -> list[str]:
    """Differences between the figures that a case expects and those of its definition.

    Parameters
    ----------
    case : dict
        With ``definition``, ``input`` and ``expect``.

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
    >>> request = {"id": "a", "send": 0.0, "chunk_times": [1.0, 2.0]}
    >>> expect = {"request_throughput": 0.4}
    >>> check_metrics({"definition": "aiperf", "input": {"requests": [request]}, "expect": expect})
    ['aiperf.request_throughput: expected 0.4, got 0.5']
    """
    only_keys("case", case, ("definition", "input", "expect"))
    definitions: dict[str, Callable[[dict[str, Any]], Figures]] = {
        "vllm_bench": vllm_bench,
        "aiperf": aiperf,
        "engine": engine,
    }
    name = want("case", case, "definition", str)
    checks.one_of("definition", name, definitions)
    with np.errstate(over="ignore", invalid="ignore"):  # times that no clock shows: a difference, no warning
        figures = definitions[name](want("case", case, "input", dict))
    return differences(name, want("case", case, "expect", dict), figures)


def vllm_bench(given: dict[str, Any]) -> Figures:
    """Figures as ``vllm bench serve`` prints them: gaps pooled over requests, TPOT only beyond one token.

    A request without chunks failed and is left out. In the goodput a one-token output has TPOT 0; a sample
    without values is printed as 0.

    Parameters
    ----------
    given : dict
        ``requests`` (``id``, ``send``, ``chunk_times``, ``output_tokens``), ``duration``, ``slo``.

    Returns
    -------
    dict
        Counts, rates, and ``ttft``, ``tpot``, ``itl``, ``e2el`` as tables of statistics.

    Examples
    --------
    >>> request = {"id": "a", "send": 0.0, "chunk_times": [1.0, 2.0]}
    >>> vllm_bench({"requests": [request], "duration": 4.0})["output_throughput"]
    0.5
    """
    answers = _answers(given)
    duration = number("input", given, "duration")
    if duration <= 0:
        raise ConfigError(f"input.duration: {duration:g} must be > 0")
    figures: Figures = {
        "completed": len(answers),
        "request_throughput": len(answers) / duration,
        "output_throughput": sum(answer.n_tokens for answer in answers) / duration,
        "ttft": _statistics([answer.ttft for answer in answers]),
        "tpot": _statistics([answer.tpot for answer in answers if answer.n_tokens > 1] or [0.0]),
        "itl": _statistics([gap for answer in answers for gap in answer.gaps] or [0.0]),
        "e2el": _statistics([answer.latency for answer in answers]),
    }
    if "slo" in given:
        figures["request_goodput"] = _n_good(given, answers) / duration
    return figures


def aiperf(given: dict[str, Any]) -> Figures:
    """Figures as AIPerf prints them, over the time from the first send to the last response.

    What it calls inter-token latency is the TPOT of `vllm_bench`; its inter-chunk latency is the pooled gap.

    Parameters
    ----------
    given : dict
        ``requests`` (``id``, ``send``, ``chunk_times``, ``output_tokens``), ``slo``.

    Returns
    -------
    dict
        Rates, and each latency with ``_mean``, ``_median``, ``_std``, ``_min``, ``_max``, ``_p99``, ... .

    Examples
    --------
    >>> request = {"id": "a", "send": 1.0, "chunk_times": [2.0, 5.0]}
    >>> aiperf({"requests": [request]})["output_token_throughput"]
    0.5
    """
    answers = _answers(given)
    if not answers:
        raise ConfigError("input.requests: none has a response")
    span = max(answer.chunks[-1] for answer in answers) - min(answer.send for answer in answers)
    per_token = [answer.tpot for answer in answers if answer.n_tokens > 1]
    figures: Figures = {
        "request_throughput": len(answers) / span,
        "output_token_throughput": sum(answer.n_tokens for answer in answers) / span,
    }
    samples = {
        "time_to_first_token": [answer.ttft for answer in answers],
        "time_to_second_token": [answer.gaps[0] for answer in answers if answer.gaps],
        "inter_token_latency": per_token,
        "inter_chunk_latency": [gap for answer in answers for gap in answer.gaps],
        "request_latency": [answer.latency for answer in answers],
        "output_token_throughput_per_user": [1 / seconds for seconds in per_token if seconds > 0],
    }
    for name, sample in samples.items():
        figures |= {f"{name}_{key}": value for key, value in _statistics(sample).items()}
    if "slo" in given:
        figures["goodput"] = _n_good(given, answers) / span
    return figures


def engine(given: dict[str, Any]) -> Figures:
    """Intervals as an engine counts them: queueing ends at the first scheduling, whatever comes later.

    Parameters
    ----------
    given : dict
        ``requests`` with ``id``, ``arrival``, ``first_scheduled``, ``token_times``.

    Returns
    -------
    dict
        By id: ``queue``, ``prefill``, ``decode``, ``inference``, ``ttft``, ``e2e``, ``mean_tpot``.

    Examples
    --------
    >>> request = {"id": "a", "arrival": 0.5, "first_scheduled": 2.0, "token_times": [4.0, 10.0]}
    >>> engine({"requests": [request]})["a"]["queue"]
    1.5
    """
    only_keys("input", given, ("requests", "duration", "slo"))
    keys = ("id", "arrival", "first_scheduled", "token_times", "preempted_at", "resumed_at")
    figures = {}
    for index, item in enumerate(want("input", given, "requests", list)):
        where = f"input.requests[{index}]"
        row = table(where, item)
        only_keys(where, row, keys)
        arrival, scheduled = number(where, row, "arrival"), number(where, row, "first_scheduled")
        times = numbers(where, row, "token_times")
        if not times:
            raise ConfigError(f"{where}.token_times: is empty")
        figures[want(where, row, "id", str)] = {
            "queue": scheduled - arrival,
            "prefill": times[0] - scheduled,
            "decode": times[-1] - times[0],
            "inference": times[-1] - scheduled,
            "ttft": times[0] - arrival,
            "e2e": times[-1] - arrival,
            "mean_tpot": float(tpot_s(times[0], times[-1], len(times))) if len(times) > 1 else 0.0,
        }
    return figures


def _answers(given: dict[str, Any]) -> list[_Answer]:
    only_keys("input", given, ("requests", "duration", "slo"))
    answers = []
    for index, item in enumerate(want("input", given, "requests", list)):
        where = f"input.requests[{index}]"
        row = table(where, item)
        only_keys(where, row, ("id", "send", "chunk_times", "output_tokens"))
        chunks = numbers(where, row, "chunk_times")
        if chunks:
            answers.append(
                _Answer(
                    id=want(where, row, "id", str),
                    send=number(where, row, "send"),
                    chunks=chunks,
                    n_tokens=want(where, row, "output_tokens", int, len(chunks)),
                )
            )
    return answers


def _statistics(sample: Sequence[float]) -> Figures:
    """Mean, median, population deviation, and every whole percentile by linear interpolation."""
    if not sample:
        return {}
    figures: Figures = {
        "mean": float(np.mean(sample)),
        "median": float(np.median(sample)),
        "std": float(np.std(sample)),
        "min": min(sample),
        "max": max(sample),
    }
    return figures | {f"p{level}": percentile(sample, level) for level in range(1, 101)}


_LIMITS: dict[str, Callable[[_Answer], float]] = {
    "ttft": lambda answer: answer.ttft,
    "tpot": lambda answer: answer.tpot if answer.n_tokens > 1 else 0.0,
    "e2el": lambda answer: answer.latency,
}
_OTHER_NAMES = {
    "time_to_first_token": "ttft",
    "inter_token_latency": "tpot",
    "request_latency": "e2el",
    "e2e": "e2el",
}


def _n_good(given: dict[str, Any], answers: list[_Answer]) -> int:
    """Requests within every limit; a limit met to the dot is met."""
    slo = want("input", given, "slo", dict)
    only_keys("input.slo", slo, (*_LIMITS, *_OTHER_NAMES))
    limits = {_OTHER_NAMES.get(key, key): number("input.slo", slo, key) for key in slo}
    return sum(all(_LIMITS[key](answer) <= limit for key, limit in limits.items()) for answer in answers)
