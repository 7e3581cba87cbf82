"""What is wrong with a policy, found by running it on small loads made for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.steptime import Linear
from qtheory.system.workload.request import Requests

from .plan import View
from .policies import DynamicOrdering, Ledger, Policy, make_policy, policy_of, watched
from .policies._guard import Guard
from .record import Records
from .reference import simulate
from .replica import Replica

__all__ = ["check_policy"]

_STEP = Linear(base_s=0.5, per_token_s=0.01)
_MOST_CPU_S = 1.0
_PASSED_FRAC = 0.5  # of all others that may pass one request
_WALK_FRAC = 0.5  # of the running jobs that may be looked at one by one
_BUDGET, _SLOTS = 64, 8
Maker = Callable[[], Policy]


def check_policy(policy: Policy | str | object) -> list[str]:
    """What is wrong with a policy, one line each; an empty list if nothing was found.

    It serves small loads with short memory, a stream that never lets up, and a batch of long answers, under a
    budget of 64 tokens and 8 running requests. What ends such a run (over budget, an unknown job, no
    progress, an error, an endless loop, a change to what may only be read, nothing returned) is a line; so
    are a waiting request that its ``arrange`` leaves out or gives twice, wherever it stands, a request that
    all later ones overtake, walks over running decodes, and runs that differ.

    Parameters
    ----------
    policy : Policy, str or object
        A policy; the name of one, as ``my_file.py:Mine``, which is made anew for each run; or pieces of one
        as for `sim.policies.policy_of`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> check_policy("chunked")
    []
    >>> class Idle:
    ...     def fill(self, view, plan):
    ...         pass
    >>> print(*check_policy(Idle()), sep="\\n")
    no progress: policy 'Idle': nothing runs and request 0 waits for ever: no gate will ever open for it
    """

    def made() -> Policy:
        if isinstance(policy, str):
            found = make_policy(SchedulerSpec(name=policy))
        else:
            found = policy_of(policy, name=getattr(policy, "name", None) or type(policy).__name__)
        found = watched(found, most_cpu_s=_MOST_CPU_S, is_test=True)
        return replace(found, budget_tokens=_BUDGET, max_seqs=_SLOTS)

    try:
        made()
    except ServingError as error:
        return [f"not a policy: {error}"]
    lines: dict[str, str] = {}  # the first of each kind
    for check in (_arranges, _on_short_memory, _twice, _starves, _walks):
        try:
            for line in check(made):
                lines.setdefault(line.partition(":")[0], line)
        except ServingError as error:
            kind = _kind(str(error))
            lines.setdefault(kind, f"{kind}: {error}")
            if kind in ("loops", "leaves out"):  # what follows from these is no other fault
                break
    return list(lines.values())


def _kind(error: str) -> str:
    """The fault in two words."""
    kinds = {
        "no progress": ("waits for ever", "without end"),
        "leaves out": ("left out",),
        "doubles": ("doubles",),
        "over budget": ("over budget", "budget_tokens=", "max_seqs="),
        "unknown job": ("no job of", "does not wait", "is not running", "twice"),
        "loops": ("longer than",),
        "changes what it sees": (" sets ", " deletes "),
        "raises": (" raised ",),
        "returns nothing": (" is None", "returns None"),
    }
    return next((kind for kind, words in kinds.items() if any(word in error for word in words)), "wrong")


def _run(policy: Policy, requests: Requests, n_blocks: int = 1000) -> Records:
    return simulate(requests, policy, Replica(step_time=_STEP, n_blocks=n_blocks))


def _mixed(n: int, seed: int) -> Requests:
    rng = np.random.default_rng(seed)
    return Requests(
        arrival_s=np.sort(rng.uniform(0, n / 2, n)),
        prompt_tokens=rng.integers(1, 60, n),
        output_tokens=rng.integers(1, 40, n),
        priority=rng.integers(0, 3, n),
        client=rng.integers(0, 3, n),
    )


class _ToItsEnd:
    """An order that is read to its end at every pass, however much of it is wanted."""

    def __init__(self, inner: DynamicOrdering) -> None:
        self._inner = inner

    def arrange(self, waiting: Sequence[Any], view: View, ledger: Any) -> Iterator[Any]:
        return iter(list(self._inner.arrange(waiting, view, ledger)))

    def open_ledger(self) -> Ledger | None:
        return self._inner.open_ledger()


def _arranges(made: Maker) -> Iterator[str]:
    """Every waiting request has its place at every pass, once."""
    policy = made()
    if isinstance(policy.ordering, DynamicOrdering):
        _run(replace(policy, ordering=_ToItsEnd(policy.ordering)), _mixed(60, 1), n_blocks=12)
    yield from ()


def _on_short_memory(made: Maker) -> Iterator[str]:
    """Preemptions, and every request served."""
    _run(made(), _mixed(60, 1), n_blocks=12)
    yield from ()


def _twice(made: Maker) -> Iterator[str]:
    """The same requests must be served in the same way."""
    policy, again = made(), made()
    if policy.ordering is not again.ordering:
        requests = _mixed(40, 2)
        first, second = _run(policy, requests), _run(again, requests)
        if not np.array_equal(first.finish_s, second.finish_s, equal_nan=True):
            row = int(np.flatnonzero(first.finish_s != second.finish_s)[0])
            yield (
                f"not repeatable: policy {policy.name!r}: request {row} ends at {first.finish_s[row]:g} s "
                f"in one run and at {second.finish_s[row]:g} s in the next; keep nothing from run to run"
            )


def _starves(made: Maker) -> Iterator[str]:
    """One long request among short ones, and one short among long ones, in a stream that is too much."""
    short, long = (4, 4), (48, 12)
    for odd, usual, n, rate_rps in ((long, short, 300, 5.0), (short, long, 150, 1.5)):
        prompt, output = np.full(n, usual[0]), np.full(n, usual[1])
        prompt[n // 10], output[n // 10] = odd
        policy = made()
        asked = Requests(arrival_s=np.arange(n) / rate_rps, prompt_tokens=prompt, output_tokens=output)
        start_s = np.nan_to_num(_run(policy, asked).first_scheduled_s, nan=np.inf)
        n_passed = np.sum(np.triu(start_s[None, :] < start_s[:, None], 1), axis=1)  # (n,) by later ones
        row = int(n_passed.argmax())
        if n_passed[row] > _PASSED_FRAC * n:
            yield (
                f"starvation: policy {policy.name!r}: request {row} ({prompt[row]} tokens, {output[row]} to "
                f"write) is passed by {n_passed[row]} of {n} others; let the order age, as Aged does"
            )


def _walks(made: Maker) -> Iterator[str]:
    """Long answers side by side: what is looked at while nothing but decodes runs."""
    policy = made()
    guard: Guard = getattr(policy.composition, "_guard")  # noqa: B009  (of any composition that is watched)
    guard.counts = True
    n = _SLOTS
    fields: dict[str, Any] = {"arrival_s": [0.0] * n, "prompt_tokens": [4] * n, "output_tokens": [60] * n}
    _run(policy, Requests(**fields))
    guard.counts = False
    if guard.n_looked > _WALK_FRAC * guard.n_there:
        share = guard.n_looked / guard.n_there
        yield (
            f"walks over decodes: policy {policy.name!r}: fill looks at {share:.1f} x the running requests "
            "in each step; continue_running() takes them all at once"
        )
