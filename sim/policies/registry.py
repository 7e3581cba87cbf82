"""From a scheduler's name and options to a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SchedulerSpec

from .admission import FirstChunk, FullPrompt, NoEvict
from .expected import Expected
from .own import own_policy
from .pieces import Composition, DynamicOrdering, Gate, Ordering, Victim
from .policy import Policy
from .shedding import Shedding
from .victim import FewestOutput, LastAdmitted, LowestPriority

__all__ = ["GATES", "VICTIMS", "assemble", "make_policy", "policy_meaning", "policy_names", "register"]

Maker = Callable[[SchedulerSpec], Policy]

GATES: dict[str, Gate] = {
    "full_prompt": FullPrompt(),
    "first_chunk": FirstChunk(),
    "no_evict": NoEvict(),
    "expected": Expected(),
}
"""Admission gates by the words of `SchedulerSpec`."""

VICTIMS: dict[str, Victim] = {
    "last_admitted": LastAdmitted(),
    "lowest_priority": LowestPriority(),
    "fewest_output": FewestOutput(),
}
"""Victim rules by the words of `SchedulerSpec`."""

_MAKERS: dict[str, Maker] = {}
_TAKEN_BY_MAKERS = (
    "chunked_prefill",
    "starvation_limit_s",
    "composition",
    "cache_order",
    "deadline_order",
    "chunk_size",
    "sharing_tokens",
    "max_queue",
    "max_skip",
    "prompt_weight",
    "output_weight",
    "client_weights",
)


def register(name: str) -> Callable[[Maker], Maker]:
    """Let `make_policy` find the decorated function under a name.

    Parameters
    ----------
    name : str
        One of `qtheory.system.scheduler.SCHEDULERS`.

    Raises
    ------
    ConfigError
        If the name is taken.

    Examples
    --------
    >>> register("fcfs")(lambda spec: Policy(name="fcfs"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: scheduler: 'fcfs' is registered already; choose another name
    """

    def keep(maker: Maker) -> Maker:
        if name in _MAKERS:
            raise ConfigError(f"scheduler: {name!r} is registered already; choose another name")
        _MAKERS[name] = maker
        return maker

    return keep


def policy_names() -> tuple[str, ...]:
    """Names of all registered policies.

    Examples
    --------
    >>> "chunked" in policy_names()
    True
    """
    return tuple(_MAKERS)


def policy_meaning(name: str) -> str:
    """What a scheduler does, in one sentence.

    Parameters
    ----------
    name : str
        One of `policy_names`.

    Examples
    --------
    >>> policy_meaning("lifo")
    'The latest request first: what a queue must not do, to hold other orders against.'
    """
    sentence = (_MAKERS[name].__doc__ or "").strip().partition("\n")[0]
    return sentence.replace(" [1]_", "")


def make_policy(spec: SchedulerSpec) -> Policy:
    """The policy that a specification describes.

    Parameters
    ----------
    spec : SchedulerSpec
        Name and options; the name may be that of a person's own, as for `own_policy`.

    Raises
    ------
    ConfigError
        If an option does not go with the scheduler, or a person's own cannot be loaded.

    Examples
    --------
    >>> make_policy(SchedulerSpec(name="chunked", budget_tokens=512)).budget_tokens
    512
    """
    if spec.name not in _MAKERS:
        return own_policy(spec)
    return _MAKERS[spec.name](spec)


def assemble(
    spec: SchedulerSpec,
    *,
    composition: Composition,
    ordering: Ordering | DynamicOrdering,
    takes: tuple[str, ...] = (),
    **own: Any,
) -> Policy:
    """A policy of the given pieces, with a scheduler's ``own`` defaults, then the options of ``spec``.

    Parameters
    ----------
    spec : SchedulerSpec
        Name and options.
    composition, ordering
        Pieces that the name decides.
    takes : tuple of str
        Options without a field in `Policy` that the maker has used.
    **own
        Defaults in the words of `SchedulerSpec`.

    Raises
    ------
    ConfigError
        If an option was given that the scheduler does not use.

    Examples
    --------
    >>> from sim.policies import Chunked, Fcfs
    >>> assemble(SchedulerSpec(), composition=Chunked(), ordering=Fcfs(), watermark_frac=0.01).watermark_frac
    0.01
    """
    given = spec.options()
    for option in _TAKEN_BY_MAKERS:
        if given.pop(option, None) is not None and option not in takes:
            raise ConfigError(f"{option}: scheduler {spec.name!r} does not have this option; leave it out")
    options = own | given
    words: dict[str, Any] = {}
    if "admission" in options:
        words["admission"] = GATES[options.pop("admission")]
    if "victim" in options:
        words["victim"] = VICTIMS[options.pop("victim")]
    if "shed" in options:
        words["shed"] = Shedding(options.pop("shed"))
    return Policy(name=spec.name, composition=composition, ordering=ordering, **words, **options)
