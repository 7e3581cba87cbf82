"""Efficiencies of accelerators under an engine, fitted on measurements of others."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from statistics import fmean, median
from types import MappingProxyType

from qtheory.basics.errors import ConfigError

from .hardware import Hardware

__all__ = [
    "ENGINES",
    "SHAPE",
    "Efficiencies",
    "efficiencies_of",
    "fitted_rows",
    "generic_efficiencies",
    "shaped",
]

ENGINES = ("vllm", "sglang", "trtllm", "sarathi", "generic")
"""Engines with rows in ``fitted.csv``; ``generic`` is for accelerators and engines without measurements."""
SHAPE: Mapping[str, float] = MappingProxyType(
    {
        "corner_power": 2.0,
        "activation_mbu_frac": 0.8,
        "prefill_attention_frac": 0.77,
        "link_latency_s": 1.8e-6,
    }
)
"""Fields of `Hardware` that all rows share: the shape of a step on every accelerator under every engine."""
_LAYER_S, _AT_HZ = 51e-6, 1.83e9  # launches and small kernels of a layer, at the clock of an H100
_FOUR = ("mfu_frac", "mbu_frac", "attention_mbu_frac", "link_frac")


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiencies:
    """Four constants of an accelerator under an engine, and how well they meet the measurements.

    Parameters
    ----------
    engine : str
        One of `ENGINES`.
    cards : tuple of str
        Presets that they are for; empty for those of no accelerator in particular.
    mfu_frac, mbu_frac : float
        As in `Hardware`, 0 .. 1.
    attention_mbu_frac, link_frac : float or None
        As in `Hardware`; None where no attention, or nothing on several accelerators, was measured: then
        those of the generic row are taken.
    median_frac, p90_frac : float
        Relative error of a step: of half of the measured ones, and of nine in ten, at most.
    n_steps : int
        Measured steps.
    source : str
        Where these are from.

    Examples
    --------
    >>> efficiencies_of("h100", "vllm").cards
    ('h100', 'h100-pcie')
    """

    engine: str
    cards: tuple[str, ...]
    mfu_frac: float
    mbu_frac: float
    attention_mbu_frac: float | None
    link_frac: float | None
    median_frac: float
    p90_frac: float
    n_steps: int
    source: str

    def on(self, card: Hardware, engine: str = "") -> Hardware:
        """The accelerator with these efficiencies, named after both; ``engine`` if the row is of another."""
        measured = f"{self.n_steps} measured steps, half within {self.median_frac:.1%} and nine of ten within"
        told = f"efficiencies: {self.source} ({measured} {self.p90_frac:.1%})"
        return replace(
            shaped(card),
            name=f"{card.name}-{engine or self.engine}",
            **self.constants(),  # type: ignore[arg-type]
            spread_frac=self.p90_frac,
            source=f"{card.source}; {told}",
        )

    def constants(self) -> dict[str, float]:
        """The four, with those of the generic row where one was not measured."""
        own = {name: getattr(self, name) for name in _FOUR}
        missing = [name for name, value in own.items() if value is None]
        if not missing:
            return own
        generic = efficiencies_of("", "generic").constants()
        return own | {name: generic[name] for name in missing}


def shaped(card: Hardware) -> Hardware:
    """The accelerator with `SHAPE`, and with an overhead per layer that goes by its clock.

    The smallest products take 2.9, 3.9 and 4.8 microseconds on L40S, H100 and A100 (aiconfigurator 0.12.0):
    about 7,000 cycles on each.

    Parameters
    ----------
    card : Hardware
        An accelerator by its datasheet.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> print(f"{1e6 * shaped(find_hardware('a100')).overhead_per_layer_s:.0f} microseconds")
    66 microseconds
    """
    slower = 1.0 if card.clock_hz is None else _AT_HZ / card.clock_hz
    return replace(card, **SHAPE, overhead_per_layer_s=_LAYER_S * slower)  # type: ignore[arg-type]


@cache
def fitted_rows() -> tuple[Efficiencies, ...]:
    """All rows of ``fitted.csv``, in the order of the file.

    Examples
    --------
    >>> len({row.engine for row in fitted_rows()})
    5
    """
    text = resources.files(__package__).joinpath("fitted.csv").read_text(encoding="utf-8")
    lines = [line for line in io.StringIO(text) if not line.startswith("#")]
    return tuple(_row(row) for row in csv.DictReader(lines))


def _row(row: dict[str, str]) -> Efficiencies:
    return Efficiencies(
        engine=row["engine"],
        cards=tuple(row["cards"].split()),
        mfu_frac=float(row["mfu_frac"]),
        mbu_frac=float(row["mbu_frac"]),
        attention_mbu_frac=_maybe(row["attention_mbu_frac"]),
        link_frac=_maybe(row["link_frac"]),
        median_frac=float(row["median_frac"]),
        p90_frac=float(row["p90_frac"]),
        n_steps=int(row["n_steps"]),
        source=row["source"],
    )


def _maybe(text: str) -> float | None:
    return float(text) if text else None


def efficiencies_of(card: str, engine: str) -> Efficiencies:
    """The row of a preset under an engine, or the generic row where there is none.

    Parameters
    ----------
    card : str
        Name of a preset.
    engine : str
        One of `ENGINES`.

    Raises
    ------
    ConfigError
        If there is no such engine.

    Examples
    --------
    >>> efficiencies_of("l4", "vllm").engine
    'generic'
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine: {engine!r} is not one of {', '.join(ENGINES)}")
    generic = next(row for row in fitted_rows() if row.engine == "generic")
    found = (row for row in fitted_rows() if row.engine == engine and card in row.cards)
    return next(found, generic)


def generic_efficiencies(without: str = "", rows: Sequence[Efficiencies] | None = None) -> dict[str, float]:
    """The middle of all accelerators that were measured, each the mean of its engines.

    Parameters
    ----------
    without : str
        A preset to leave out, to see how well the others foretell it.
    rows : sequence of Efficiencies, optional
        Rows to take (default: all of ``fitted.csv``).

    Examples
    --------
    >>> sorted(generic_efficiencies("a100"))
    ['attention_mbu_frac', 'link_frac', 'mbu_frac', 'mfu_frac']
    """
    known = fitted_rows() if rows is None else rows
    kept = [row for row in known if row.cards and without not in row.cards]
    found = {}
    for name in _FOUR:
        by_card: dict[str, list[float]] = {}
        for row in kept:
            value = getattr(row, name)
            if value is not None:
                by_card.setdefault(row.cards[0], []).append(value)
        found[name] = round(median(fmean(values) for values in by_card.values()), 3)
    return found
