"""Workloads by name: lengths, limits and a rate, each with its source."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import parse_law
from qtheory.system.slo import Slo
from qtheory.system.specfile import packaged_table

from .lengths import LawLengths, Lengths, PairLengths
from .prefixes import SharedPrefix
from .structure import Structure
from .structure_parse import parse_prefixes
from .workload import Workload

__all__ = ["DEFAULT_PROFILE", "Profile", "find_profile", "profile_names"]

DEFAULT_PROFILE = "chat"
"""The workload of a question that names none."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A named kind of demand.

    Parameters
    ----------
    name : str
        As listed by `profile_names`.
    meaning : str
        One line.
    lengths : Lengths
        Joint law of prompt and output.
    slo : Slo
        Usual limits.
    rate_rps : float
        Rate where none is given, requests per second, > 0.
    source : mapping of str to str
        Where each value is from, by its name.
    prefixes : tuple of SharedPrefix
        What its prompts begin with (default: nothing that others begin with, too).

    Raises
    ------
    ConfigError
        If the rate is out of range.

    Examples
    --------
    >>> chat = find_profile("chat")
    >>> print(chat.lengths, "|", chat.slo)
    512 pairs, means 1158.2 and 211.2 | Slo(ttft_s=2.0, tpot_s=0.2, e2e_s=None)
    """

    name: str
    meaning: str
    lengths: Lengths
    slo: Slo
    rate_rps: float
    source: Mapping[str, str]
    prefixes: tuple[SharedPrefix, ...] = ()

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)

    def workload(self, *, duration_s: float | None = None, n_requests: int | None = None) -> Workload:
        """Poisson demand of this kind at the profile's rate; `dataclasses.replace` changes the rest."""
        return Workload(
            name=self.name,
            lengths=self.lengths,
            rate_rps=self.rate_rps,
            slo=self.slo,
            duration_s=duration_s,
            n_requests=n_requests,
            structure=Structure(prefixes=self.prefixes),
        )


@cache
def _table() -> dict[str, dict[str, Any]]:
    return packaged_table(__package__, "profiles.toml")


def profile_names() -> list[str]:
    """Names of all profiles, in the order of the file.

    Examples
    --------
    >>> profile_names()
    ['chat', 'rag', 'code', 'summarize', 'reasoning']
    """
    return list(_table())


def find_profile(name: str) -> Profile:
    """The profile of this name; case does not matter, and British spellings do.

    Parameters
    ----------
    name : str
        A name or an alias such as ``summarise``.

    Raises
    ------
    ConfigError
        If there is none; the message has the nearest name.

    Examples
    --------
    >>> find_profile("summarise").name
    'summarize'
    >>> find_profile("cht")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: workload: unknown 'cht' (did you mean 'chat'?); one of chat, rag, code,
    summarize, reasoning
    """
    spellings = {alias: known for known, values in _table().items() for alias in [known, *values["aliases"]]}
    found = spellings.get(name.strip().lower()) if isinstance(name, str) else None
    if found is None:
        hint = checks.nearest(str(name), spellings)
        raise ConfigError(
            f"workload: unknown {checks.shown(name)}{hint}; one of {', '.join(profile_names())}"
        )
    return _profile(found)


@cache
def _profile(name: str) -> Profile:
    values = _table()[name]
    return Profile(
        name=name,
        meaning=values["meaning"],
        lengths=_lengths(values),
        slo=Slo(ttft_s=values["ttft_s"], tpot_s=values["tpot_s"]),
        rate_rps=values["rate_rps"],
        source=values["source"],
        prefixes=parse_prefixes(values["prefix"]) if "prefix" in values else (),
    )


def _lengths(values: Mapping[str, Any]) -> Lengths:
    if "pairs" not in values:
        return LawLengths(
            prompt=parse_law(values["prompt"], where="prompt"),
            output=parse_law(values["output"], where="output"),
            rank_correlation=values["rank_correlation"],
        )
    content = resources.files(__package__).joinpath("data", values["pairs"]).read_text(encoding="utf-8")
    rows = list(csv.reader(line for line in content.splitlines() if not line.startswith("#")))[1:]
    return PairLengths(
        prompt_tokens=[int(prompt) for prompt, _ in rows], output_tokens=[int(output) for _, output in rows]
    )
