"""The design is balanced, repeats, and every cell of it can be built."""

from __future__ import annotations

from collections import Counter

import pytest

from qtheory.system.replica import replica_of
from validation.agreement.grid import LOADS, SCHEDULERS, draw, fresh, full, quick


def test_the_full_design_has_fifty_cells_of_each_scheduler_and_every_level_alike() -> None:
    cells = full()
    assert Counter(cell.scheduler for cell in cells) == dict.fromkeys(SCHEDULERS, 50)
    assert Counter(cell.workload for cell in cells) == dict.fromkeys(
        ("chat", "rag", "code", "summarize", "reasoning"), 60
    )
    assert {cell.load_frac for cell in cells} == set(LOADS)
    assert len({cell.hardware for cell in cells}) == 5
    assert len({cell.model for cell in cells}) == 4
    assert min(Counter((cell.scheduler, cell.band) for cell in cells).values()) >= 4


def test_a_design_repeats_with_its_seed_and_changes_with_another() -> None:
    assert draw(30, seed=3) == fresh(3)
    assert fresh(3) != fresh(4)


def test_no_level_of_the_load_is_tied_to_a_level_of_another_factor() -> None:
    cells = full()
    for name in ("workload", "memory", "arrivals"):
        groups: dict[str, list[float]] = {}
        for cell in cells:
            groups.setdefault(getattr(cell, name), []).append(cell.load_frac)
        means = [sum(loads) / len(loads) for loads in groups.values()]
        assert max(means) - min(means) < 0.16


@pytest.mark.parametrize("cell", quick(), ids=lambda cell: f"{cell.scheduler}-{cell.number}")
def test_every_quick_cell_but_the_disaggregated_can_be_built(cell) -> None:  # type: ignore[no-untyped-def]
    scenario = cell.scenario()
    if cell.scheduler != "disaggregated":
        spec = replica_of(scenario)
        assert spec.n_blocks == scenario.kv_blocks
        assert spec.scheduler.name == cell.scheduler


def test_tight_memory_holds_the_longest_request_and_ample_memory_more_than_all_slots() -> None:
    by_memory = {cell.memory: cell for cell in full() if cell.workload == "reasoning"}
    tight, ample = (by_memory[name].scenario().kv_blocks or 0 for name in ("tight", "ample"))
    assert 16 * tight >= 32_768 + 3_140
    assert 16 * ample >= 2 * 128 * 4_800
