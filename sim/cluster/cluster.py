"""Replicas behind a router, on one clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim._unfit import cut_outputs
from sim.engine import why_stepwise
from sim.fast.replica import Common
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents
from sim.observe import Observer
from sim.routing import BlindRouter, Router

from ._cluster import ClusterRun
from ._records import divided_records
from .change import Change, check_changes
from .member import Member
from .records import ClusterRecords

__all__ = ["simulate_cluster", "why_on_one_clock", "why_reference"]


def why_on_one_clock(
    router: Router, *, client_cap: int = 0, has_turns: bool = False, changes: Sequence[Change] = ()
) -> str | None:
    """The reason why the replicas of a cluster cannot be simulated one after the other, or None if they can.

    Parameters
    ----------
    router : Router
    client_cap : int
        Requests in flight at the client at most; 0: no cap.
    has_turns : bool
        Whether some requests wait for the end of others.
    changes : sequence of Change

    Examples
    --------
    >>> from sim.routing import LeastRequests, RoundRobin
    >>> why_on_one_clock(RoundRobin()), why_on_one_clock(LeastRequests())
    (None, 'router=least_requests looks at the replicas at every arrival')
    """
    reasons = {
        f"router={router.name} looks at the replicas at every arrival": not isinstance(router, BlindRouter),
        "client_cap, or a closed loop: an answer of one replica lets the next request go to another": (
            client_cap > 0
        ),
        "conversations: an answer of one replica lets the next turn go to another": has_turns,
        "changes": bool(changes),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def why_reference(
    requests: Requests, members: Sequence[Member], changes: Sequence[Change] = ()
) -> str | None:
    """The reason why a cluster on one clock needs the reference engine, or None if the fast one will do.

    Parameters
    ----------
    requests : Requests
    members : sequence of Member
    changes : sequence of Change

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked", budget_tokens=4), Replica(step_time=ConstantStep(), n_blocks=9))
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[100], output_tokens=[6])
    >>> why_reference(asked, [one])
    'budget_tokens=4 may be smaller than the decode batch (max_seqs=128)'
    """
    if any(change.kind == "fail" for change in changes):
        if any(member.policy.shed.action == "demote" for member in members):
            return "changes: a demoted request may go to another replica"
        if any(one is not other for member in members for one, other in zip(member, members[0], strict=True)):
            return "changes: what is left of a request may go to a replica of another kind"
    for member in {id(member): member for member in members}.values():
        reason = why_stepwise(requests, member.policy, member.replica)
        if reason is not None:
            return reason
    return None


def _check_arguments(members: Sequence[Member], observers: Sequence[Observer], until_s: float) -> None:
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")
    if not members or len(observers) not in (0, len(members)):
        raise ConfigError("members: there must be at least one, and as many observers or none")


def _cut(requests: Requests, members: Sequence[Member]) -> Requests:
    """Requests whose outputs stop at the longest sequence of any of the models."""
    limits = {member.replica.max_model_len_tokens for member in members} - {0}
    return cut_outputs(requests, min(limits, default=0))


def simulate_cluster(
    requests: Requests,
    members: Sequence[Member],
    router: Router,
    *,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
    load_delay_s: float = 0.0,
    changes: Sequence[Change] = (),
    seed: int = 0,
    observers: Sequence[Observer] = (),
) -> ClusterRecords:
    """Serve ``requests`` on several replicas behind a router.

    With a router that looks at nothing each replica gets its part of the stream and runs by itself; else all
    run on one clock. The engine is the fast one where that will do for all of them.

    Parameters
    ----------
    requests : Requests
        In order of arrival. Outputs stop at the longest sequence of any of the models.
    members : sequence of Member
        The replicas, at least one.
    router : Router
    client_cap : int
        Requests in flight at the client at most, over all replicas; 0: no cap.
    think_s : float
        Seconds from the end of a request until its place is used again, >= 0.
    until_s : float
        Moment at which the clock is stopped, seconds, > 0.
    contents : Contents, optional
        What the prompts say (default: what the requests tell of it).
    load_delay_s : float
        Seconds between two reports of the loads, from time 0 on; the router knows the last one. 0: it knows
        the loads at every moment.
    changes : sequence of Change
        Replicas that fail, are drained, or start. While none takes requests, these wait at the router.
    seed : int
        Of routers that draw.
    observers : sequence of callable
        One for each member, or none; all run on one clock then.

    Returns
    -------
    ClusterRecords

    Raises
    ------
    ConfigError
        If an argument is out of its range.
    PlanError
        If a policy breaks a limit, or requests are left that can never run (names one).

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.routing import LeastRequests
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=8))
    >>> asked = Requests(arrival_s=[0.0, 0.5, 1.0], prompt_tokens=[10, 10, 10], output_tokens=[3, 1, 1])
    >>> found = simulate_cluster(asked, [one, one], LeastRequests())
    >>> found.replica.tolist(), found.records.finish_s.tolist()
    ([0, 1, 0], [3.0, 1.5, 2.0])
    """
    checks.at_least(0, client_cap=client_cap, seed=seed)
    checks.non_negative(think_s=think_s, load_delay_s=load_delay_s)
    _check_arguments(members, observers, until_s)
    in_order, requests = check_changes(changes, len(members)), _cut(requests, members)
    together = why_on_one_clock(
        router, client_cap=client_cap, has_turns=requests.after is not None, changes=changes
    )
    if together is None and not observers and isinstance(router, BlindRouter):
        return divided_records(requests, members, router, until_s=until_s, contents=contents, seed=seed)
    contents = contents or TextContents.of(requests)
    is_fast = not observers and why_reference(requests, members, changes) is None
    run = ClusterRun(
        requests,
        members,
        router,
        common=Common(requests, contents) if is_fast else None,
        contents=contents or Contents.unique(len(requests)),
        client_cap=client_cap,
        think_s=think_s,
        load_delay_s=load_delay_s,
        changes=in_order,
        seed=seed,
        observers=observers,
    )
    return run.run(until_s)
