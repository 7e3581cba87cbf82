"""Any frozen value as rows of plain entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from qtheory.report import facts
from qtheory.system.slo import Slo


@dataclass(frozen=True)
class Rule:
    whole: bool = False


@dataclass(frozen=True)
class Spoken:
    mean: float = 2.0
    cv: float = 1.0

    def __str__(self) -> str:
        return "gamma(mean=2, cv=1)"


@dataclass(frozen=True)
class Everything:
    name: str = "x"
    peak_flops_per_s: dict[str, float] = field(default_factory=lambda: {"bf16": 1e12, "fp8": 2e12})
    slo: Slo = field(default_factory=lambda: Slo(ttft_s=2.0))
    rule: Rule = Rule()
    law: Spoken = Spoken()
    experts: int = 0
    tied: bool = False
    price: float | None = None


def test_mappings_and_values_with_parts_are_spread_and_others_said_in_words() -> None:
    assert facts(Everything()) == {
        "name": "x",
        "peak_bf16_flops_per_s": 1e12,
        "peak_fp8_flops_per_s": 2e12,
        "slo_ttft_s": 2.0,
        "slo_tpot_s": None,
        "slo_e2e_s": None,
        "rule": "Rule(whole=False)",
        "law": "gamma(mean=2, cv=1)",
        "tied": False,
        "price": None,
    }


def test_a_zero_that_is_not_the_default_is_shown() -> None:
    @dataclass(frozen=True)
    class Card:
        overhead_s: float = 0.001

    assert facts(Card(overhead_s=0.0)) == {"overhead_s": 0.0}
