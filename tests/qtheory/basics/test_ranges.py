"""Values with a smallest and a largest believable size."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most, number_between, whole_between


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, 10**400, -1, True, "3", None, [1]])
def test_numbers_out_of_range_are_refused_without_a_crash(value: object) -> None:
    with pytest.raises(ConfigError, match=r"^x: "):
        number_between("x", value, 0.0, 1e9)
    with pytest.raises(ConfigError, match=r"^x: "):
        whole_between("x", value, 0, 10**9)


def test_numbers_on_the_border_are_taken() -> None:
    number_between("x", 0, 0.0, 1.0)
    number_between("x", 1.0, 0.0, 1.0)
    whole_between("x", 5, 5, 5)
    with pytest.raises(ConfigError, match="not a whole number"):
        whole_between("x", 5.0, 5, 5)


def test_what_exceeds_a_limit_is_too_large_and_says_the_limit() -> None:
    at_most(10**9, kv_blocks=10**9, rate_rps=1e9)
    with pytest.raises(ConfigError, match=r"^tp: 1e[+]30 is too large; at most 1,000,000,000$"):
        at_most(10**9, tp=10**30)
    with pytest.raises(ConfigError, match=r"^think_s: 1e[+]300 is too large; at most 1e[+]09$"):
        at_most(1e9, think_s=1e300)
