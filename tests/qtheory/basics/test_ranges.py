"""Values with a smallest and a largest believable size."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between, whole_between


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
