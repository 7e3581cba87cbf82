"""What a run of a cluster leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.record import Records

__all__ = ["ClusterRecords"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterRecords:
    """Records of all requests, with the replica that served each.

    Parameters
    ----------
    records : Records
        Of all requests, with the steps of all replicas in the order of their starts, and all blocks.
    replica : array of int, shape (n,)
        Replica that had the request last; -1 if none ever had it.
    n_moves : array of int, shape (n,)
        How often a request went to another replica because its own had failed.
    n_replicas : int
    parts : tuple of Records
        What each replica saw; one that started again has more than one. Only its steps and gaps are of use:
        the rows of requests differ in number.
    part_replica : tuple of int
        The replica of each part.

    Examples
    --------
    >>> ClusterRecords.__slots__[:2]
    ('records', 'replica')
    """

    records: Records
    replica: NDArray[np.int64]
    n_moves: NDArray[np.int64]
    n_replicas: int
    parts: tuple[Records, ...]
    part_replica: tuple[int, ...]
