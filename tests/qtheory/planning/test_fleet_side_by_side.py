"""Tasks ahead of what is needed: in order, and no more than a few."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.planning.fleet_side_by_side import SideBySide


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_answers_come_in_order_and_only_a_few_are_begun(jobs: int) -> None:
    begun: list[int] = []

    def task(number: int) -> int:
        begun.append(number)
        return number**2

    with ThreadPoolExecutor(2) as pool:
        answers = SideBySide(executor=pool, jobs=jobs).all(task, range(20))
        assert [next(answers) for _ in range(3)] == [0, 1, 4]
        answers.close()  # type: ignore[attr-defined]
    assert len(begun) <= 3 + jobs - 1


def test_no_process_is_too_few() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(ConfigError, match="jobs"):
        SideBySide(executor=pool, jobs=0)
