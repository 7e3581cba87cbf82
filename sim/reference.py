"""The reference engine: one step after the other, every running job visited in each. Slow, short, obvious."""

from __future__ import annotations

import math

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests

from ._client import Client
from ._state import State
from ._stepper import Stepper
from ._unfit import cut_outputs
from .kvcache import Contents
from .observe import Observer
from .policies import Policy
from .record import Records
from .replica import Replica

__all__ = ["simulate"]


def simulate(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    *,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
    observer: Observer | None = None,
) -> Records:
    """Serve ``requests`` on one replica and record what happens; the meaning that a faster engine must match.

    Parameters
    ----------
    requests : Requests
        In order of arrival. Outputs stop at the longest sequence of the model.
    policy : Policy
        Who is served when.
    replica : Replica
        What serves.
    client_cap : int
        Requests in flight at the client at most; 0: no cap. Request i is sent at its arrival, or when a place
        is free and the thinking time after it is over.
    think_s : float
        Seconds from the end of a request until its place is used again, >= 0.
    until_s : float
        Moment at which the clock is stopped, seconds, > 0; a step that would end later does not count.
    contents : Contents, optional
        What the prompts say, for the prefix cache (default: no two tokens are the same).
    observer : callable, optional
        Called with every `Iteration`.

    Returns
    -------
    Records

    Raises
    ------
    ConfigError
        If an argument is out of its range, or the step time is not above zero.
    PlanError
        If the policy breaks a limit, or requests are left that can never run (names one).

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.testing import ConstantStep
    >>> records = simulate(
    ...     Requests(arrival_s=[0.0, 0.5], prompt_tokens=[10, 30], output_tokens=[3, 1]),
    ...     Policy(name="chunked", budget_tokens=16),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ... )
    >>> records.first_token_s.tolist(), records.finish_s.tolist()
    ([1.0, 3.0], [3.0, 3.0])
    """
    checks.at_least(0, client_cap=client_cap)
    checks.non_negative(think_s=think_s)
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")
    requests = cut_outputs(requests, replica.max_model_len_tokens)
    state = State(policy, replica, contents or Contents.unique(len(requests)))
    client = Client(requests, cap=client_cap, think_s=think_s)
    return Stepper(requests, state, client, observer).run(until_s)
