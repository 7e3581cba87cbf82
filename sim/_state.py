"""State of the reference engine between two passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ._queue import WaitingQueue
from .job import Job, JobView
from .kvcache import Chains, Contents, KvMemory
from .policies import Account, ExpectingGate, JudgingAccount, Policy
from .replica import Replica

__all__ = ["State"]


class State:
    """Queues, running list, memory, and the block keys of the jobs inside."""

    def __init__(
        self, policy: Policy, replica: Replica, contents: Contents, chains: Chains | None = None
    ) -> None:
        self.policy = policy
        self.replica = replica
        self.memory = KvMemory(
            n_blocks=replica.n_blocks,
            block_tokens=replica.block_tokens,
            prefix_cache=replica.prefix_cache,
            keeps_copies=replica.keeps_copies,
            eviction=replica.eviction,
        )
        self.waiting = WaitingQueue(policy.ordering)
        gate = policy.admission
        self.account: Account | None = gate.open_account() if isinstance(gate, ExpectingGate) else None
        # Asked here and not in every pass: a check against a protocol costs more than a small pass.
        self.judge = self.account if isinstance(self.account, JudgingAccount) else None
        self.running: list[Job] = []
        self.swapped: deque[tuple[Job, int]] = deque()  # with the blocks that each has on the host
        self.n_barren_preemptions = 0  # since a token was last sampled
        self._contents = contents
        self._chains = chains or Chains(block_tokens=replica.block_tokens)
        self._keys: dict[int, list[int]] = {}

    @property
    def n_inside(self) -> int:
        """Jobs in the replica."""
        return len(self.waiting) + len(self.running) + len(self.swapped)

    @property
    def free_swap_blocks(self) -> int:
        """Host blocks that are left."""
        return self.replica.n_swap_blocks - sum(n_blocks for _, n_blocks in self.swapped)

    def text(self, job: JobView) -> tuple[str, list[int]]:
        """Cache salt and known tokens of ``job``."""
        tokens = self._contents.tokens(job.position, prompt_tokens=job.prompt_tokens, n_outputs=job.n_outputs)
        return self._contents.salt(job.position), tokens

    def block_keys(self, job: JobView) -> Sequence[int]:
        """Keys of the full blocks of the known tokens of ``job``; none without prefix cache."""
        if not self.memory.prefix_cache:
            return ()
        keys = self._keys.get(job.position, [])
        if len(keys) < job.known_tokens // self.memory.block_tokens:
            salt, tokens = self.text(job)
            keys = self._chains.extend(keys, tokens, salt=salt)
            self._keys[job.position] = keys
        return keys

    def hit(self, job: JobView) -> list[int]:
        """Cached blocks that ``job`` would reuse if it were admitted now."""
        if not self.memory.prefix_cache:
            return []
        whole = self.policy.whole_hit == "nothing"
        return self.memory.lookup(self.block_keys(job), job.known_tokens, whole=whole)

    def publish(self, job: Job, n_tokens: int) -> None:
        """Make the full blocks of the first ``n_tokens`` of ``job`` visible to others."""
        if self.memory.prefix_cache:
            self.memory.publish(job.position, self.block_keys(job), n_tokens)

    def publish_at_end(self, job: Job, *, n_sampled: int) -> None:
        """What is computed at the end of a step, if it is published then, and sampled tokens with a place."""
        if self.policy.cache_commit == "step_end":
            self.publish(job, job.computed_tokens + n_sampled * self.policy.lookahead_tokens)

    def forget(self, job: Job) -> None:
        """Drop what is kept for a job that has left."""
        self._keys.pop(job.position, None)
