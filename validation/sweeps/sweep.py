"""A sweep of a manifest: what was measured, what served it, and what is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario

__all__ = ["JUDGED", "ROLES", "Sweep"]

ROLES = ("calibrate", "predict", "datasheet")
JUDGED = ("plateau_rps", "knee_rps", "ttft", "tpot", "ttft_inside")
"""Quantities that a manifest may have judged, with their tolerance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One entry of a manifest.

    Parameters
    ----------
    where : str
        Manifest and place in it, for messages.
    file : Path
        Table with the common sweep columns.
    sweep_id : str
        Value of its column ``sweep_id``.
    rows : mapping of str to tuple of str
        Other columns with the texts that a row must have one of.
    role : str
        ``calibrate``: efficiencies are fitted to its rows; ``predict``: with those of its group;
        ``datasheet``: with those of the preset.
    group : str
        What shares one calibration.
    scenario : Scenario
        What served, without the load of a row.
    shared_prefix_tokens : int
        Tokens that all prompts of a group of texts begin with, part of their length, >= 0.
    cached_tokens : int
        Tokens of each prompt that are cached before the run, >= 0: those of prompts that were sent before.
    attention_mbu_frac : float or None
        Share of the bandwidth at which decodes of this engine read keys and values, in (0, 1], where it is
        not that of the kernels measured on the accelerator; the fit begins with it.
    is_finite : bool
        Whether a run has as many requests as the rate times the duration of its row; else as many as the row
        counted, or ``scenario.requests``.
    takes_cv : bool
        Whether arrivals have the variation that the row says; else those of the scenario.
    takes_slots : bool
        Whether the running requests are those that the row says; else those of the scenario.
    knee_ttft_s : float or None
        Mean TTFT that marks the knee, > 0; None: ten times that of the lowest rate.
    replications : int
        Simulated runs a row, >= 1.
    judge : mapping of str to float
        Relative tolerance by quantity; of ``ttft_inside`` the share of rows.
    question, teaches, note : str
        What is asked, what a miss says, what is known about the data.

    Raises
    ------
    ConfigError
        If the role, a judged quantity or a tolerance is not allowed.

    Examples
    --------
    >>> Sweep(where="sweep 1", file=Path("x.csv"), sweep_id="a", role="guess", scenario=Scenario())
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: sweep 1: role: unknown 'guess'; one of calibrate, predict, datasheet
    """

    where: str
    file: Path
    sweep_id: str
    role: str
    scenario: Scenario
    group: str = ""
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared_prefix_tokens: int = 0
    cached_tokens: int = 0
    attention_mbu_frac: float | None = None
    is_finite: bool = False
    takes_cv: bool = False
    takes_slots: bool = False
    knee_ttft_s: float | None = None
    replications: int = 2
    judge: Mapping[str, float] = field(default_factory=dict)
    question: str = ""
    teaches: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ConfigError(f"{self.where}: role: unknown {self.role!r}; one of {', '.join(ROLES)}")
        for name, value in self.judge.items():
            if name not in JUDGED:
                raise ConfigError(f"{self.where}: judge: unknown {name!r}; one of {', '.join(JUDGED)}")
            if not 0 < value <= 1:
                raise ConfigError(f"{self.where}: judge: {name}: {value:g} must lie in (0, 1]")
        if self.knee_ttft_s is not None and not self.knee_ttft_s > 0:
            raise ConfigError(f"{self.where}: knee_ttft_s: {self.knee_ttft_s:g} must be > 0")
        if self.cached_tokens < 0:
            raise ConfigError(f"{self.where}: cached_tokens: {self.cached_tokens} must be >= 0")
        if self.attention_mbu_frac is not None and not 0 < self.attention_mbu_frac <= 1:
            value = self.attention_mbu_frac
            raise ConfigError(f"{self.where}: attention_mbu_frac: {value:g} must lie in (0, 1]")
        if self.replications < 1:
            raise ConfigError(f"{self.where}: replications: {self.replications} must be >= 1")

    @property
    def ends(self) -> bool:
        """Whether a run is one of so many requests, with its end in the numbers, and no steady state."""
        return self.is_finite or self.scenario.requests is not None

    @property
    def name(self) -> str:
        """What it is called in the answer: its id, and the rows if they were chosen."""
        chosen = ", ".join(f"{key} {'|'.join(values)}" for key, values in self.rows.items())
        return f"{self.sweep_id} ({chosen})" if chosen else self.sweep_id
