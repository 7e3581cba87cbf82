"""Long histories: behind a service that draws a replica, and behind a router that keeps users in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._aibrix_runs import FILES, Run, read_experiments
from ._aibrix_served import Setting, served
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_RANDOM, _STICKY = "naive", "ps_stack"  # in the names of experiments
_FROM_THE_TOP = "high_low"  # the highest rate was the first one
_DRAWS = 8
_TTFT, _PLATEAU, _RATIO = 0.25, 0.1, 0.25
_BREAKS = 5.0  # times the mean TTFT of the lightest rate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Mean TTFT (draws, rates) and served rates (draws, rates), beside the runs."""

    name: str
    version: str
    is_sticky: bool
    runs: Sequence[Run]
    ttft_s: Floats
    served_rps: Floats

    @property
    def measured_s(self) -> Floats:
        """Mean TTFT by rate."""
        return np.array([np.mean(run.ttft_s) for run in self.runs])

    @property
    def rates(self) -> Floats:
        """Offered rates."""
        return np.array([run.rate_rps for run in self.runs])

    def breaks_at(self, ttft_s: Floats) -> float:
        """First rate whose TTFT is several times that of the lightest one; infinite if none is."""
        late = self.rates[ttft_s > _BREAKS * ttft_s[0]]
        return float(late[0]) if len(late) else np.inf


def _answer(folder: Path) -> Finding:
    experiments, notes, seen = read_experiments(folder), [], []
    for (version, name), runs in experiments.items():
        plain = experiments.get((version, _RANDOM))
        if plain is None or not (_RANDOM in name or name.startswith(_STICKY)):
            why = (
                "no service without a router tells its prompts"
                if plain is None
                else "its router is not stated"
            )
            notes.append(f"{version} {name}: left out, as {why}")
            continue
        seen.append(_seen(version, name, runs, plain))
    parts = [part for each in seen for part in _verdicts(each)]
    parts += [_ratio(each, other) for each in seen for other in seen if _are_pair(each, other)]
    return Finding(
        parts=tuple(parts), points=tuple(p for each in seen for p in _points(each)), notes=tuple(notes)
    )


def _seen(version: str, name: str, runs: Sequence[Run], plain: Sequence[Run]) -> _Seen:
    lightest = runs[0]
    token_s = float(np.median(lightest.decode_s / np.maximum(lightest.output_tokens - 1, 1)))
    is_sticky = name.startswith(_STICKY)
    setting = Setting(
        hit_s=float(np.median(lightest.ttft_s)) if is_sticky else token_s,
        cold_s=float(np.median(plain[0].ttft_s)),
        prompt_tokens=int(lightest.prompt_tokens[0]),
        token_s=token_s,
        is_sticky=is_sticky,
    )
    draws = [served(runs, setting, seed, from_the_top=name.endswith(_FROM_THE_TOP)) for seed in range(_DRAWS)]
    ttft_s = np.array([[np.mean(ttft) for ttft, _ in each] for each in draws])
    rates = [
        [len(end) / (np.max(end) - run.sent_s[0]) for (_, end), run in zip(each, runs, strict=True)]
        for each in draws
    ]
    return _Seen(
        name=f"{version} {name}",
        version=version,
        is_sticky=is_sticky,
        runs=runs,
        ttft_s=ttft_s,
        served_rps=np.array(rates),
    )


def _verdicts(seen: _Seen) -> list[Measured]:
    off = np.abs(seen.ttft_s.mean(axis=0) / seen.measured_s - 1)
    parts = [
        Measured(
            what=f"{seen.name}: mean TTFT within {_TTFT:.0%}, in the median over {len(off) - 1} rates",
            found=f"{np.median(off[1:]):.1%}",
            holds=bool(np.median(off[1:]) <= _TTFT),
        )
    ]
    if seen.is_sticky:
        measured, found = seen.breaks_at(seen.measured_s), [seen.breaks_at(draw) for draw in seen.ttft_s]
        what = f"{seen.name}: breaks at {measured:g} req/s, a rate at which it does in one of {_DRAWS} draws"
        never = sum(np.isinf(found))
        told = f"{min(found):g} req/s at the lowest, in {never} draws at none"
        return [*parts, Measured(what=what, found=told, holds=min(found) <= measured <= max(found))]
    served, measured = float(seen.served_rps[:, -1].mean()), seen.runs[-1].served_rps
    what = f"{seen.name}: {measured:.2f} req/s served of {seen.rates[-1]:g}, within {_PLATEAU:.0%}"
    holds = abs(served / measured - 1) <= _PLATEAU
    return [*parts, Measured(what=what, found=f"{served:.2f} ({served / measured - 1:+.1%})", holds=holds)]


def _are_pair(each: _Seen, other: _Seen) -> bool:
    return each.is_sticky and other.name == f"{each.version} {_RANDOM}"


def _ratio(sticky: _Seen, random: _Seen) -> Measured:
    """How many times sooner first tokens come where users stay, before that breaks."""
    below = sticky.rates < min(sticky.breaks_at(sticky.measured_s), sticky.rates[-1])
    measured, found = (
        float(np.exp(np.mean(np.log(b[below] / a[below]))))
        for a, b in (
            (sticky.measured_s, random.measured_s),
            (sticky.ttft_s.mean(axis=0), random.ttft_s.mean(axis=0)),
        )
    )
    return Measured(
        what=f"{sticky.name}: first tokens {measured:.1f} times sooner than with a replica drawn each time",
        found=f"{found:.1f} times, within {_RATIO:.0%}",
        holds=abs(found / measured - 1) <= _RATIO,
    )


def _points(seen: _Seen) -> list[Compared]:
    served = seen.served_rps.mean(axis=0)
    columns: list[tuple[str, Floats, Floats, str]] = [
        ("mean TTFT", seen.measured_s, seen.ttft_s.mean(axis=0), "s"),
        ("served rate", np.array([run.served_rps for run in seen.runs]), served, "req/s"),
    ]
    return [
        Compared(
            what=f"{seen.name}, {rate:g} req/s, {metric}",
            hardware="a100 or h20",
            engine="vLLM 0.7 to 0.8",
            metric=metric,
            route="simulation",
            setting="the lightest rate",
            load=f"{rate:g} req/s on 8 replicas",
            measured=float(measured),
            found=float(found),
            unit=unit,
        )
        for metric, all_measured, all_found, unit in columns
        for rate, measured, found in zip(seen.rates[1:], all_measured[1:], all_found[1:], strict=True)
    ]


CLAIM = Claim(
    name="aibrix-routing",
    question="What does it save to keep users at their replica, and when do its memories become too small?",
    source="vllm-project/aibrix @ e3e10f9, test/regression/v0.2.1 and v0.3.0 (8 replicas of Llama-3.1-8B, "
    "histories of 21,000 tokens): plain service, gateway, and a router by user with 120 GB of the host each",
    calibrated="seconds of a whole prompt, of a cached one and of a token, on the lightest rate of each; "
    "requests are those of the runs, at their times; the replica of a request or a user is drawn 8 times",
    teaches="a router that is said to draw looks at loads, users are spread less evenly, or less is held",
    answer=_answer,
    needs=FILES,
)
