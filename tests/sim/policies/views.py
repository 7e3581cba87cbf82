"""A view of a replica that has nothing but a cache, for tests of orderings."""

from __future__ import annotations

from collections.abc import Sequence

from qtheory.system.workload.request import Requests
from sim.job import Job, JobView
from sim.kvcache import Chains


class CacheView:
    """Blocks of ``block_tokens``; the cache holds the whole blocks of ``cached``."""

    now_s = 0.0
    waiting = iter(())
    running = ()
    n_swapped = 0
    n_free_blocks = 0

    def __init__(
        self,
        cached: Sequence[Sequence[int]],
        prompts: Sequence[Sequence[int]],
        *,
        block_tokens: int = 1,
        has_prefix_cache: bool = True,
    ) -> None:
        self.block_tokens, self.has_prefix_cache = block_tokens, has_prefix_cache
        self.prompts = prompts
        self._chains = Chains(block_tokens=block_tokens)
        self._cached = {key for text in cached for key in self._chains.extend([], text)}

    def jobs(self) -> list[Job]:
        """One waiting job a prompt, in order of arrival."""
        lengths = [len(prompt) for prompt in self.prompts]
        requests = Requests(
            arrival_s=range(len(lengths)), prompt_tokens=lengths, output_tokens=[1] * len(lengths)
        )
        return [Job.of(row, row.arrival_s) for row in requests]

    def block_keys(self, job: JobView) -> list[int]:
        return self._chains.extend([], self.prompts[job.position])

    def text(self, job: JobView) -> tuple[str, Sequence[int]]:
        return "", self.prompts[job.position]

    def cached_tokens(self, job: JobView) -> int:
        n = 0
        for key in self.block_keys(job):
            if key not in self._cached:
                break
            n += 1
        longest = (len(self.prompts[job.position]) - 1) // self.block_tokens
        return min(n, longest) * self.block_tokens

    def alone_s(self, job: JobView) -> float:
        """A second for each token that is not cached."""
        return float(job.known_tokens - self.cached_tokens(job))
