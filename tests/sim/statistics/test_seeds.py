"""Seeds of replications stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import seeds


def _draws(seed, n):
    return [tuple(np.random.default_rng(one).integers(2**62, size=2)) for one in seeds(seed, n)]


def test_a_replication_has_the_same_stream_however_many_there_are():
    assert _draws(7, 50)[:3] == _draws(7, 3)


def test_replications_and_seeds_differ_from_each_other():
    assert len(set(_draws(7, 100) + _draws(8, 100))) == 200


def test_a_seed_below_zero_or_no_replications_are_refused():
    with pytest.raises(ConfigError, match="seed"):
        seeds(-1, 3)
    with pytest.raises(ConfigError, match="n: 0"):
        seeds(1, 0)
