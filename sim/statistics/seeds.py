"""Seeds of replications: the i-th is the same however many there are."""

from __future__ import annotations

import numpy as np

from qtheory.basics import checks

__all__ = ["seeds"]


def seeds(seed: int, n: int) -> tuple[np.random.SeedSequence, ...]:
    """Independent seeds for ``n`` replications, spawned from one number [1]_.

    Replication i gets the same stream whatever ``n`` is, so more replications extend a study without changing
    it. Pass one to `numpy.random.default_rng`, or spawn it further into streams (arrivals, lengths, routing).

    Parameters
    ----------
    seed : int
        >= 0.
    n : int
        Replications, >= 1.

    Returns
    -------
    tuple of numpy.random.SeedSequence

    Raises
    ------
    ConfigError
        If a number is out of range.

    References
    ----------
    .. [1] O'Neill (2015), "Developing a seed_seq alternative", on whose hash `numpy.random.SeedSequence`
       rests.

    Examples
    --------
    >>> first, second = seeds(7, 2)
    >>> second.generate_state(1) == seeds(7, 100)[1].generate_state(1)
    array([ True])
    """
    checks.at_least(0, seed=seed)
    checks.integer(n=n)
    return tuple(np.random.SeedSequence(int(seed)).spawn(n))
