"""A person's own model is one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.queues import queue
from qtheory.queues.kendall import NamedQueue, answer, load_models, solve_for, unregister

MINE = '''"""An M/M/1 queue whose server has a gain."""

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.queues.kendall import KendallModel, Parameter, register
from qtheory.queues.result import QueueResult
from qtheory.queues.single import MM1


@dataclass(frozen=True, kw_only=True)
class GainedQueue:
    """Exact M/M/1 with a server that is faster by a gain."""

    rate_rps: float
    service_rate_rps: float
    gain: float

    def __post_init__(self) -> None:
        checks.positive(gain=self.gain)

    def solve(self) -> QueueResult:
        return MM1(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps * self.gain).solve()


register(
    KendallModel(
        name="M/M/1-gained",
        model=GainedQueue,
        takes=("rate_rps", "service_rate_rps", "gain"),
        own=(Parameter(name="gain", meaning="how much faster the server is"),),
        example={"rate_rps": 0.5, "service_rate_rps": 1.0, "gain": 2.0},
    )
)
'''


@pytest.fixture(name="mine")
def _mine(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    load_models(path)
    yield path
    unregister("M/M/1-gained")


def test_a_model_of_ones_own_answers_by_its_name(mine: Path) -> None:
    load_models(mine)  # a second time changes nothing
    assert queue("M/M/1-gained", rate_rps=0.5, mean_service_s="1", gain="2").solve().mean_response_s == (
        pytest.approx(1 / 1.5)
    )
    asked = NamedQueue(name="m/m/1 gained", given={"rate_rps": 0.5, "service_rate_rps": 1.0})
    with pytest.raises(ConfigError, match="gain: missing; M/M/1-gained needs gain: how much faster"):
        answer(asked)
    found = solve_for(asked, "gain: mean_response_s<=0.4")
    assert (found.value, found.is_largest) == (3.0, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nregister(3)\n", "line 2: NameError"),
        ("def f(:\n", "line 1: SyntaxError"),
        (
            "from qtheory.queues.kendall import Parameter\nParameter(name='a b', meaning='')\n",
            "cannot be the",
        ),
        ("1 / 0\n", "line 1: ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_says_where(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"bad\.py: .*{said}"):
        load_models(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder; give a file"):
        load_models(tmp_path)
    other = tmp_path / "models.txt"
    other.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"end its name in \.py"):
        load_models(other)
