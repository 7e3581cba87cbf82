"""Fair shares among clients: runs of the virtual token counter and of what it was published beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim import engine

from ._distserve_data import FittedStep
from ._lightllm import lightllm, pool
from ._vtc_orders import order_of
from ._vtc_runs import FILES, Run, read_runs
from ._vtc_service import largest_difference, service
from ._vtc_steps import step_of
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_PROMPT, _OUTPUT = 1.0, 2.0  # weights of the source
_MOST_WHOLE, _MOST_SENT = 2000, 1000  # requests of a run served to its end, and of one looked at in part
_LEAST_OF_A_CLIENT = 20
_SERVED, _APART, _TTFT, _SAME_FRAC = 0.1, 0.2, 0.25, 0.99
_JITTER_S = 0.25  # between the client's clock, which the records have, and the server's, which decides

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A run beside its simulation; what clients got, and mean seconds to their first tokens."""

    run: Run
    until_s: float
    is_whole: bool
    served: tuple[float, float]
    apart: tuple[float, float]
    ttft_s: dict[int, tuple[float, float]]

    @property
    def bound(self) -> float:
        """Of the paper: twice the larger of a prompt and a full memory of outputs."""
        return 2 * max(_PROMPT * self.run.longest_prompt, _OUTPUT * self.run.pool_tokens)


def _answer(folder: Path) -> Finding:
    runs, others = read_runs(folder)
    notes = [f"left out, of other policies: {', '.join(others)}"] if others else []
    seen = []
    for server in dict.fromkeys(run.server for run in runs):
        own = [run for run in runs if run.server == server]
        plain = [run for run in own if run.policy == "FCFS"]
        if not plain:
            notes.append(f"{', '.join(server)}: left out, as no run in order of arrival tells its steps")
            continue
        step, error = step_of(plain)
        notes.append(f"{', '.join(server)}: {_told(step)}, {100 * error:.1f} % off by request")
        seen += [_seen(run, step) for run in own]
    parts = [*_shares(seen), *_speed(seen), *_waits(seen), *_turned_away(runs)]
    return Finding(parts=tuple(parts), points=tuple(_points(seen)), notes=tuple(notes))


def _told(step: FittedStep) -> str:
    (base, token, _), (decode, context, _) = step.prefill, step.small
    return (
        f"a step of decodes takes {1e3 * decode:.1f} ms and {1e6 * context:.2f} us a token read, one of "
        f"prompts {1e3 * base:.1f} ms and {1e6 * token:.0f} us a token"
    )


def _seen(run: Run, step: FittedStep) -> _Seen:
    sent, accepted = run.requests, np.isfinite(run.finish_s)
    is_whole = run.policy != "FCFS" and len(sent) <= _MOST_WHOLE
    until = float(sent.arrival_s[-1 if is_whole else min(len(sent), _MOST_SENT) - 1])
    client = run.client[accepted]
    asked = Requests(
        arrival_s=sent.arrival_s[accepted],
        prompt_tokens=sent.prompt_tokens[accepted],
        output_tokens=sent.output_tokens[accepted],
        client=client,
    )
    longest = float(np.max((run.finish_s - run.first_token_s)[accepted]))
    end = math.inf if is_whole else until + 2 * longest  # so that those who run at `until` come to their ends
    policy = lightllm(run.pool_tokens, order_of(run.policy))
    records = engine.simulate(asked, policy, pool(step, run.pool_tokens), until_s=end)
    tokens = _PROMPT * asked.prompt_tokens + _OUTPUT * asked.output_tokens
    times = (
        (run.first_token_s[accepted], run.finish_s[accepted]),
        (records.first_token_s, records.finish_s),
    )
    got = [float(service(np.array([until]), *each, tokens)[0]) for each in times]
    apart = [
        largest_difference(client, asked.arrival_s, *each, tokens=tokens, until_s=until) for each in times
    ]
    ttft_s = {}
    for one in np.unique(client) if is_whole else ():
        own = client == one
        if np.count_nonzero(own) >= _LEAST_OF_A_CLIENT:
            measured, found = (float(np.mean((first - asked.arrival_s)[own])) for first, _ in times)
            ttft_s[int(one)] = measured, found
    return _Seen(
        run=run,
        until_s=until,
        is_whole=is_whole,
        served=(got[0], got[1]),
        apart=(apart[0], apart[1]),
        ttft_s=ttft_s,
    )


def _shares(seen: Sequence[_Seen]) -> list[Measured]:
    """Bounded with the counter; in order of arrival on the same side of the bound as measured."""
    parts = []
    for each in seen:
        told = f"measured {each.apart[0]:,.0f}, simulated {each.apart[1]:,.0f}"
        if each.run.policy.startswith("VTC"):
            what = f"{each.run.name}: two who wait come at most {each.bound:,.0f} weighted tokens apart"
            parts.append(Measured(what=what, found=told, holds=max(each.apart) <= each.bound))
        elif each.run.policy == "FCFS" and each.apart[0] > each.bound:
            what = f"{each.run.name}: in order of arrival they come further apart than {each.bound:,.0f}"
            parts.append(Measured(what=what, found=told, holds=each.apart[1] > each.bound))
    off = [abs(each.apart[1] / each.apart[0] - 1) for each in seen if each.apart[0] > 0]
    if off:
        what = f"how far apart they come within {_APART:.0%}, in the median over {len(off)} runs"
        median = float(np.median(off))
        parts.append(Measured(what=what, found=f"{median:.1%}", holds=median <= _APART))
    return parts


def _speed(seen: Sequence[_Seen]) -> list[Measured]:
    off = {each.run.name: each.served[1] / each.served[0] - 1 for each in seen if each.run.policy != "FCFS"}
    if not off:
        return []
    worst = max(off, key=lambda name: abs(off[name]))
    what = f"tokens served by the last arrival within {_SERVED:.0%}, in each of {len(off)} runs not fitted on"
    return [Measured(what=what, found=f"{off[worst]:+.1%} ({worst})", holds=abs(off[worst]) <= _SERVED)]


def _waits(seen: Sequence[_Seen]) -> list[Measured]:
    parts = []
    for policy in dict.fromkeys(each.run.policy for each in seen):
        pairs = [pair for each in seen if each.run.policy == policy for pair in each.ttft_s.values()]
        if pairs:
            off = [abs(found / measured - 1) for measured, found in pairs]
            what = f"{policy}: mean TTFT of a client within {_TTFT:.0%}, in the median over {len(off)}"
            median = float(np.median(off))
            parts.append(Measured(what=what, found=f"{median:.1%}", holds=median <= _TTFT))
    return parts


def _turned_away(runs: Sequence[Run]) -> list[Measured]:
    """A limit a minute and client, asked after what the run let in before: who is turned away?"""
    parts = []
    for run in runs:
        if run.per_minute:
            least, most = (_let_in_before(run, 60.0 + sign * _JITTER_S) for sign in (-1, 1))
            is_clear = (least < run.per_minute) == (most < run.per_minute)
            same = (least < run.per_minute) == np.isfinite(run.finish_s)
            share, n = float(np.mean(same[is_clear])), np.count_nonzero(~is_clear)
            what = f"{run.name}: {run.per_minute} a minute and client turn away the same requests"
            found = f"{share:.1%} of them ({n} hang on {_JITTER_S:g} s of clocks)"
            parts.append(Measured(what=what, found=found, holds=share >= _SAME_FRAC))
    return parts


def _let_in_before(run: Run, within_s: float) -> NDArray[np.int64]:
    """How many (n,) of the same client the run let in within so many seconds before each request."""
    at_s, accepted = run.requests.arrival_s, np.isfinite(run.finish_s)
    n = np.zeros(len(at_s), dtype=np.int64)
    for one in np.unique(run.client):
        own = run.client == one
        let_in = at_s[own & accepted]
        n[own] = np.searchsorted(let_in, at_s[own]) - np.searchsorted(let_in, at_s[own] - within_s)
    return n


def _points(seen: Sequence[_Seen]) -> list[Compared]:
    points = []
    for each in seen:
        kinds = [("weighted tokens served", each.served, "tokens"), ("apart", each.apart, "tokens")]
        kinds += [(f"mean TTFT of client {client}", pair, "s") for client, pair in each.ttft_s.items()]
        for metric, (measured, found), unit in kinds:
            points.append(
                Compared(
                    what=f"{each.run.name}, {metric}",
                    hardware=each.run.server[0],
                    engine="S-LoRA 2024, LightLLM",
                    metric="mean TTFT" if unit == "s" else metric,
                    route="simulation",
                    setting="steps told by the runs in order of arrival",
                    load="more than can be served" if each.run.policy != "LShare" else "a limit a minute",
                    measured=measured,
                    found=found,
                    unit=unit,
                )
            )
    return [point for point in points if point.measured > 0]


CLAIM = Claim(
    name="vtc-fairness",
    question="Does a virtual token counter keep clients as close as was measured, and serve them as fast?",
    source="Sheng et al. (2024), Fairness in serving large language models, OSDI 24; requests of its runs "
    "(Ying1123/VTC-artifact @ 192c2e2, fair_bench)",
    calibrated="step times, on requests of the runs in order of arrival of each server, without simulating; "
    "memory and the rules by which prompts are let in are the server's (launch_server.py, req_queue.py)",
    teaches="who is let in, when counters are charged, or a step that depends on who is in it",
    answer=_answer,
    needs=FILES,
)
