"""The claim on hashed prefixes: the ring with bounded loads, the threads, and the form of the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim.routing.load import Load
from validation.claims import check_claims
from validation.claims._kubeai_served import BoundedHash, served, threads

NAME = "kubeai-routing"
DATA = Path(__file__).parents[2] / "data" / "claims"
FILE = "benchmarks/kubeai_8xl4_load_balancing.csv"


@dataclass
class _Asked:
    keys: list[int]
    prompt_tokens: int = 64
    block_tokens: int = 16

    @property
    def shared_keys(self) -> list[int]:
        return self.keys

    @property
    def may_be_cached(self) -> bool:
        return bool(self.keys)


@dataclass
class _Worker:
    index: int
    load: Load

    def cached_tokens(self, asked: object) -> int:
        return 0


def test_a_beginning_stays_at_its_replica_unless_that_is_busier_than_allowed() -> None:
    ring = BoundedHash().begin(np.random.default_rng(0))
    idle = [_Worker(i, Load(n_requests=8)) for i in range(4)]
    homes = {key: ring.choose(_Asked([key, 1]), idle) for key in range(40)}
    assert all(ring.choose(_Asked([key, 2]), idle) == home for key, home in homes.items())
    assert set(homes.values()) == {0, 1, 2, 3}
    busy = [_Worker(i, Load(n_requests=20 if i == homes[0] else 8)) for i in range(4)]
    assert ring.choose(_Asked([0, 3]), busy) != homes[0]


def test_prompts_of_a_thread_begin_alike_and_means_are_those_asked_for() -> None:
    asked = threads(8000, 100.0, 832.0, 76.0)
    assert float(np.mean(asked.prompt_tokens)) == pytest.approx(832, rel=0.05)
    assert float(np.mean(asked.output_tokens)) == pytest.approx(76, rel=0.05)
    assert asked.block_hashes is not None
    firsts = {int(asked.block_hashes.row(i)[0]) for i in range(8000) if asked.prompt_tokens[i] >= 16}
    assert len([first for first in firsts if first < 10**9]) <= 800


def test_slower_steps_serve_less() -> None:
    asked = threads(60, 50.0, 200.0, 20.0)
    fast, slow = (served(asked, "round_robin", 2, 0, factor) for factor in (1.0, 3.0))
    assert slow.tpot_s > 2.5 * fast.tpot_s
    assert slow.rate_rps < fast.rate_rps


def _with(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    path = tmp_path / FILE
    path.parent.mkdir()
    text = (DATA / FILE).read_text(encoding="utf-8")
    for old, new in changes:
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_table_is_read_and_other_routers_are_named(tmp_path: Path) -> None:
    """With 40 requests a run: the verdicts mean nothing."""
    folder = _with(tmp_path, (",8000,,832", ",40,,832"), ("fp8_prefix_hash,8000,", "fp8_other,8000,"))
    (result,) = check_claims([NAME], data=folder).results
    text = result.text()
    assert "left out, of other routers: kubeai_8xl4_llama31-8b-fp8_other" in text
    assert "prefix_hash, 800 in flight: 1.53 times the rate of round_robin" in text
    assert result.finding is not None
    assert len(result.finding.points) == 3 * (3 + 3)


def test_without_replicas_in_turn_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run whose sweep_id ends with round_robin"):
        check_claims([NAME], data=_with(tmp_path, ("_round_robin", "_nobody")))
