"""Cases of kind ``order``: the order of the waiting queue over a given cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Request
from sim.job import Job, JobView
from sim.kvcache import Chains, RadixTree
from sim.policies import (
    DepthFirst,
    DynamicOrdering,
    Fcfs,
    LongestOutput,
    LongestPrefix,
    Ordering,
    Priority,
    Ranked,
)

from ._case import count, differences, number, only_keys, table, tokens, want

__all__ = ["check_order"]

_CONFIG = ("policy", "use_priority", "low_value_first", "in_batch_threshold", "queue_limit")
_POLICIES = ("lpm", "dfs-weight", "lof", "fcfs")
_WAITING = ("id", "prompt", "max_output", "priority", "arrival")


def check_order(case: dict[str, Any]) -> list[str]:
    """Differences between the order that a case expects and the one that a policy gives.

    Parameters
    ----------
    case : dict
        With ``config``, ``cached``, ``waiting`` and ``expect``.

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
    >>> waiting = [{"id": name, "prompt": [{"seq": [0, n]}]} for name, n in (("a", 3), ("b", 9))]
    >>> given = {"config": {"policy": "lpm"}, "cached": [[{"seq": [0, 20]}]], "waiting": waiting}
    >>> check_order(given | {"expect": {"order": ["b", "a"], "matched": {"a": 2, "b": 7}}})
    ['expect.matched.b: expected 7, got 8']
    """
    only_keys("case", case, ("config", "cached", "waiting", "expect"))
    config = table("config", case.get("config", {}))
    only_keys("config", config, _CONFIG)
    expect = want("case", case, "expect", dict)
    only_keys("expect", expect, ("order", "matched"))
    line = _Line(config, want("case", case, "cached", list, []), want("case", case, "waiting", list))
    answer = {"order": line.order(), "matched": line.matched()}
    for name in table("expect.matched", expect.get("matched", {})):
        if name not in answer["matched"]:
            raise ConfigError(f"expect.matched: {checks.shown(name)} does not wait")
    return differences("expect", expect, answer)


class _Line:
    """The waiting jobs, and what is in the cache."""

    def __init__(self, config: dict[str, Any], cached: Sequence[Any], waiting: Sequence[Any]) -> None:
        self._policy = want("config", config, "policy", str)
        checks.one_of("config.policy", self._policy, _POLICIES)
        self._config = config
        self._uses_priority = want("config", config, "use_priority", bool, False)
        self._tree, self._chains = RadixTree(), Chains(block_tokens=1)
        for index, segments in enumerate(cached):
            text = tokens(f"cached[{index}]", segments)
            self._tree.insert(text)
            self._chains.extend([], text)  # blocks are numbered as they come in
        self._texts: dict[int, list[int]] = {}
        self._ids: list[str] = []
        self._jobs = [self._job(f"waiting[{i}]", item, i) for i, item in enumerate(waiting)]

    def _job(self, where: str, item: object, index: int) -> Job:
        given = table(where, item)
        only_keys(where, given, _WAITING)
        name, text = want(where, given, "id", str), tokens(f"{where}.prompt", given.get("prompt"))
        if name in self._ids or not text:
            raise ConfigError(f"{where}: {checks.shown(name)} waits already, or has no prompt")
        self._ids.append(name)
        self._texts[index] = text
        arrival_s = number(where, given, "arrival", 0.0)
        request = Request(
            position=index,
            arrival_s=arrival_s,
            prompt_tokens=len(text),
            output_tokens=1,
            max_output_tokens=count(where, given, "max_output", 1),
            predicted_output_tokens=1,
            priority=want(where, given, "priority", int, 0),
            client=0,
            ttft_slo_s=float("inf"),
            tpot_slo_s=float("inf"),
        )
        return Job.of(request, arrival_s if self._policy == "fcfs" else float(index))

    def order(self) -> list[str]:
        """Ids in the order of the policy."""
        ordering = self._ordering()
        if isinstance(ordering, DynamicOrdering):
            jobs = list(ordering.arrange(self._jobs, _Cache(self), None))
        else:
            jobs = sorted(self._jobs, key=ordering.key)
        return [self._ids[job.position] for job in jobs]

    def _ordering(self) -> Ordering | DynamicOrdering:
        small_first = want("config", self._config, "low_value_first", bool, False)
        if self._policy == "lpm":
            return LongestPrefix(
                sharing_tokens=self._limit("in_batch_threshold", 32),
                max_queue=self._limit("queue_limit", 128),
            )
        if self._policy == "dfs-weight":
            return DepthFirst()
        if self._policy == "lof":
            longest = LongestOutput()
            return Ranked(inner=longest, small_first=small_first) if self._uses_priority else longest
        if self._uses_priority:
            return Priority() if small_first else Ranked(inner=_Arrival(), small_first=False)
        return Fcfs()

    def _limit(self, key: str, default: int) -> int:
        value = count("config", self._config, key, default)
        checks.at_least(0, **{f"config.{key}": value})
        return value

    def matched(self) -> dict[str, int]:
        """Cached tokens of each waiting job, of which at least one token is always left to compute."""
        return {
            name: min(self.in_cache(index), len(self._texts[index]) - 1)
            for index, name in enumerate(self._ids)
        }

    def in_cache(self, index: int) -> int:
        """Cached tokens of a prompt."""
        return self._tree.peek(self._texts[index])

    def cached_tokens(self, index: int) -> int:
        """What the policy counts as cached: the place in the tree, or what can be reused."""
        found = self.in_cache(index)
        return found if self._policy == "dfs-weight" else min(found, len(self._texts[index]) - 1)

    def text(self, index: int) -> list[int]:
        """A prompt."""
        return self._texts[index]

    def block_keys(self, index: int) -> list[int]:
        """Keys of the tokens, each a block of its own."""
        return self._chains.extend([], self._texts[index])


class _Arrival:
    """By arrival, then place in the list."""

    def key(self, job: JobView) -> tuple[float, ...]:
        """Arrival, row."""
        return job.arrival_s, job.position


class _Cache:
    """What an ordering may see: an idle replica with blocks of one token."""

    now_s = 0.0
    waiting: Iterator[JobView] = iter(())
    running: Sequence[JobView] = ()
    n_swapped = 0
    n_free_blocks = 0
    block_tokens = 1
    has_prefix_cache = True

    def __init__(self, line: _Line) -> None:
        self._line = line

    def block_keys(self, job: JobView) -> Sequence[int]:
        """Keys of its tokens."""
        return self._line.block_keys(job.position)

    def text(self, job: JobView) -> tuple[str, Sequence[int]]:
        """Its prompt."""
        return "", self._line.text(job.position)

    def cached_tokens(self, job: JobView) -> int:
        """Its tokens in the cache."""
        return self._line.cached_tokens(job.position)

    def alone_s(self, job: JobView) -> float:
        """Nothing takes time here."""
        return 0.0
