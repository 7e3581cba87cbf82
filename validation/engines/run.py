"""Many random cases through both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from qtheory.basics.errors import PlanError
from sim import engine, reference
from sim.record import Records

from .cases import Case, draw_cached_case, draw_case
from .compare import differences
from .coverage import RULES, rules_reached
from .watch import CACHE_RULES, watched

__all__ = ["Agreement", "check_engines", "check_one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What became of the cases.

    Parameters
    ----------
    n_cases : int
        Cases that ran in both engines.
    reached : mapping
        Cases that reached each of `RULES` and `CACHE_RULES`.
    unequal : dict of int to list of str
        Cases with differences.
    """

    n_cases: int
    reached: Counter[str]
    unequal: dict[int, list[str]] = field(default_factory=dict)

    def summary(self) -> str:
        """Counts, one line a rule."""
        lines = [f"{self.n_cases} cases, {len(self.unequal)} unequal"]
        rules = [*RULES, *(CACHE_RULES if any(self.reached[rule] for rule in CACHE_RULES) else ())]
        lines += [f"  {self.reached[rule]:5d}  {rule}" for rule in rules]
        lines += [f"  case {seed}: {'; '.join(what[:2])}" for seed, what in self.unequal.items()]
        return "\n".join(lines)


def _outcome(case: Case, simulate: Callable[..., Records]) -> Records | str:
    try:
        return simulate(
            case.requests,
            case.policy,
            case.replica,
            client_cap=case.client_cap,
            think_s=case.think_s,
            until_s=case.until_s,
            contents=case.contents,
        )
    except PlanError as error:
        return type(error).__name__


def check_one(case: Case) -> tuple[list[str], set[str]]:
    """Differences between the engines on one case, and the rules that it reached."""
    with watched() as reached:
        slow = _outcome(case, reference.simulate)
    fast = _outcome(case, engine.simulate)
    if isinstance(slow, str) or isinstance(fast, str):
        same = type(slow) is type(fast)
        return ([] if same else [f"{slow if isinstance(slow, str) else 'records'} in one engine only"]), set()
    return differences(slow, fast), rules_reached(slow, case.policy) | reached


def check_engines(
    seeds: Iterable[int], schedulers: Sequence[str] = (), *, prefix_cache: bool = False
) -> Agreement:
    """The cases with these numbers, in both engines.

    Parameters
    ----------
    seeds : iterable of int
        As of `draw_case`, >= 0.
    schedulers : sequence of str
        As of `draw_case`.
    prefix_cache : bool
        Whether the cases are those of `draw_cached_case`.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> check_engines(range(3)).unequal
    {}
    """
    reached: Counter[str] = Counter()
    unequal: dict[int, list[str]] = {}
    n, draw = 0, draw_cached_case if prefix_cache else draw_case
    for seed in seeds:
        found, rules = check_one(draw(seed, schedulers=schedulers))
        n += 1
        reached.update(rules)
        if found:
            unequal[seed] = found
    return Agreement(n_cases=n, reached=reached, unequal=unequal)
