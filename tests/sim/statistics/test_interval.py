"""What an interval says of itself."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from sim.statistics import Interval


def test_widths_and_membership_follow_from_the_limits():
    interval = Interval(estimate=-4.0, low=-5.0, high=-2.0, level=0.9, method="t")
    assert interval.half_width == 1.5
    assert interval.relative_half_width == 1.5 / 4
    assert interval.contains(-2.0)
    assert not interval.contains(-1.9)


def test_an_estimate_of_zero_has_no_relative_width():
    assert Interval(estimate=0.0, low=-1.0, high=1.0, level=0.9, method="t").relative_half_width is None


def test_limits_that_do_not_enclose_the_estimate_are_refused():
    with pytest.raises(ConfigError, match="do not enclose"):
        Interval(estimate=3.0, low=1.0, high=2.0, level=0.9, method="t")


def test_an_unreliable_interval_prints_its_reason():
    interval = Interval(
        estimate=1.0, low=0.5, high=2.0, level=0.95, method="t", reliable=False, reason="too short"
    )
    assert str(interval).endswith("not reliable: too short")
