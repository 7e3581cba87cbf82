"""Clusters by name and option: routers and pools as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["BLIND_ROUTERS", "ROUTERS", "ClusterSpec", "RouterSpec", "parse_router"]

ROUTERS: dict[str, dict[str, float]] = {
    "round_robin": {},
    "random": {},
    "least_requests": {},
    "least_tokens": {},
    "power_of_two": {},
    "cache_aware": {"cache_threshold": 0.5, "balance_abs_threshold": 32, "balance_rel_threshold": 1.1},
    "kv_cost": {"overlap_weight": 1.0, "temperature": 0.0},
    "freeness": {},
    "exploit_explore": {"prefill_s_per_token": 1e-4, "balance_ratio": 0.0},
}
"""Routers, with their options and what these are where nothing is said."""

BLIND_ROUTERS = ("round_robin", "random")
"""Routers that look at nothing: which replica a request goes to can be said beforehand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterSpec:
    """A router by name, with options; those left out have the values of `ROUTERS`.

    Parameters
    ----------
    name : str
        One of `ROUTERS`.
    options : mapping of str to float
        Each >= 0.

    Raises
    ------
    ConfigError
        If a name is unknown (with the nearest right spelling) or a number is below zero.

    Examples
    --------
    >>> RouterSpec(name="kv_cost", options={"overlap_weight": 2.0}).values()
    {'overlap_weight': 2.0, 'temperature': 0.0}
    """

    name: str = "round_robin"
    options: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.one_of("router", self.name, ROUTERS)
        known = ROUTERS[self.name]
        for option, value in self.options.items():
            if option not in known:
                has = f"its options are {', '.join(known)}" if known else "it has no options"
                near = checks.nearest(option, known)
                raise ConfigError(f"router: {self.name}: unknown {checks.shown(option)}{near}; {has}")
            checks.non_negative(**{f"router: {self.name}: {option}": value})

    @property
    def is_blind(self) -> bool:
        """Whether it looks neither at loads nor at prompts."""
        return self.name in BLIND_ROUTERS

    def values(self) -> dict[str, float]:
        """All options, with those that were left out."""
        return ROUTERS[self.name] | dict(self.options)


def parse_router(text: str) -> RouterSpec:
    """A router as people write it: a name, or a name with options.

    Parameters
    ----------
    text : str
        Such as ``least_requests`` or ``kv_cost(overlap_weight=2)``.

    Raises
    ------
    ConfigError
        If it is anything else.

    Examples
    --------
    >>> parse_router("cache_aware(balance_abs_threshold=4)").options
    {'balance_abs_threshold': 4}
    >>> parse_router("round-robin").name
    'round_robin'
    >>> parse_router("least_request")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: router: unknown 'least_request' (did you mean 'least_requests'?); one
    of round_robin, random, least_requests, least_tokens, power_of_two, cache_aware, kv_cost, freeness,
    exploit_explore
    """
    from qtheory.laws import Call, parse_call  # slow to import, so only here

    checks.text("router", text)
    head, bracket, rest = text.partition("(")
    call = parse_call(head.replace("-", "_") + bracket + rest, where="router")
    if not isinstance(call, Call) or call.args:
        raise ConfigError(f"router: {checks.shown(text)} is neither a name nor name(option=number, ...)")
    checks.one_of("router", call.name, ROUTERS)
    options: dict[str, float] = {}
    for option, value in call.named.items():
        if not isinstance(value, int | float):
            raise ConfigError(f"router: {call.name}: {option}: {checks.shown(value)} is not a number")
        options[option] = value
    return RouterSpec(name=call.name, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """Equal replicas behind a router.

    Parameters
    ----------
    n_replicas : int
        >= 1.
    router : RouterSpec
    load_delay_s : float
        Seconds between two reports of the replicas' loads, which the router knows as of the last one; 0: it
        always knows them.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> ClusterSpec(n_replicas=4, router=parse_router("power_of_two")).load_delay_s
    0.0
    """

    n_replicas: int = 1
    router: RouterSpec = field(default_factory=RouterSpec)
    load_delay_s: float = 0.0

    def __post_init__(self) -> None:
        checks.integer(replicas=self.n_replicas)
        checks.non_negative(load_delay_s=self.load_delay_s)
