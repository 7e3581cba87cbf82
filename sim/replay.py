"""A witness of a run: follows it by its iterations alone and finds what breaks the rules of a step."""

from __future__ import annotations

import math

from qtheory.basics.errors import ServingError
from qtheory.system.workload.request import Requests

from .observe import Iteration
from .policies import Policy
from .replica import Replica

__all__ = ["Replay"]


class Replay:
    """An observer that counts tokens and blocks for itself; for tests of engines and policies.

    Parameters
    ----------
    requests : Requests
        As given to the engine.
    policy : Policy
    replica : Replica

    Raises
    ------
    ServingError
        When called with an iteration that breaks the budget, the slots or the memory, computes tokens that a
        job does not miss, reuses what cannot be reused, or runs back in time.

    Examples
    --------
    >>> from sim.reference import simulate
    >>> from sim.testing import ConstantStep
    >>> requests = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[3])
    >>> policy, replica = Policy(name="x"), Replica(step_time=ConstantStep(1.0), n_blocks=4)
    >>> replay = Replay(requests, policy, replica)
    >>> records = simulate(requests, policy, replica, observer=replay)
    >>> replay.n_tokens
    [3]
    """

    def __init__(self, requests: Requests, policy: Policy, replica: Replica) -> None:
        self.n_tokens = [0] * len(requests)
        self._policy, self._replica = policy, replica
        self._known: list[int] = requests.prompt_tokens.tolist()
        self._computed: dict[int, int] = {}
        self._on_host: dict[int, int] = {}
        self._last_token_s = [-math.inf] * len(requests)
        self._now_s = 0.0

    def __call__(self, step: Iteration) -> None:
        """Check one iteration."""
        _hold(step.start_s >= self._now_s, f"time runs back to {step.start_s:g} s")
        self._now_s = step.end_s
        self._move(step)
        total = sum(n for _, n in step.batch.values())
        _hold(total <= self._policy.budget_tokens, f"{total} tokens in a step")
        _hold(len(self._computed) <= self._policy.max_seqs, f"{len(self._computed)} jobs run")
        for job, (phase, n) in step.batch.items():
            self._compute(job, phase, n, step.end_s)
        for job in step.finished:
            stored = self._computed.pop(job)
            _hold(stored == self._known[job] - 1, f"request {job} ends with {stored} tokens in memory")
        self._check_blocks(step)

    def _move(self, step: Iteration) -> None:
        """Jobs that lose their blocks, come in, or come back."""
        for job in step.preempted:
            computed = self._computed.pop(job)
            if job in step.swapped_out:
                self._on_host[job] = computed
        for job, hit in step.cached.items():
            _hold(job not in self._computed, f"request {job} is admitted twice")
            whole = hit % self._replica.block_tokens == 0
            _hold(whole and hit < self._known[job], f"request {job} reuses {hit} tokens")
            self._computed[job] = hit
        for job in step.swapped_in:
            self._computed[job] = self._on_host.pop(job)
        for event in step.events:
            if event.kind == "abort":
                self._computed.pop(event.position)

    def _compute(self, job: int, phase: str, n: int, end_s: float) -> None:
        missing = self._known[job] - self._computed[job]
        _hold(1 <= n <= missing, f"request {job} computes {n} of {missing} missing tokens")
        _hold(phase == "prefill" or missing == 1, f"request {job} decodes with {missing} tokens missing")
        self._computed[job] += n
        if n == missing:
            self._known[job] += 1
            self.n_tokens[job] += 1
            _hold(end_s > self._last_token_s[job], f"request {job} has two tokens at {end_s:g} s")
            self._last_token_s[job] = end_s

    def _check_blocks(self, step: Iteration) -> None:
        """Sharing can only leave more blocks free than the tokens need, whole prompts only fewer."""
        size = self._replica.block_tokens
        unused = self._replica.n_blocks - sum(-(-n // size) for n in self._computed.values())
        text = f"{step.free_blocks} blocks are free, tokens leave {unused}"
        _hold(step.free_blocks >= unused or self._policy.prefill_alloc == "full", text)
        _hold(step.free_blocks <= unused or self._replica.prefix_cache, text)


def _hold(condition: bool, text: str) -> None:
    if not condition:
        raise ServingError(f"replay: {text}")
