"""One member of a cluster: what it runs by, and what it runs on."""

from __future__ import annotations

from typing import NamedTuple

from sim.policies import Policy
from sim.replica import Replica

__all__ = ["Member"]


class Member(NamedTuple):
    """A replica with its policy; members of one cluster may differ in both.

    Parameters
    ----------
    policy : Policy
    replica : Replica

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> Member(Policy(name="chunked"), Replica(step_time=ConstantStep(0.02), n_blocks=1000)).replica.n_blocks
    1000
    """

    policy: Policy
    replica: Replica
