"""Kendall's notation: reading M/M/c/K, M^X/G/1, M/D[1,b]/1, M/M/c+G, M/G/1-SRPT and the like."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from qtheory.basics.errors import ConfigError

__all__ = ["Notation", "Slot", "read_notation"]

Slot = int | str | None
"""A number, the letter that stands for one, ``inf``, or nothing."""

_LETTER = r"(?P<letter>mmpp|map|ph|gi|g|m|d|e|h)_?(?P<phases>\d+|k)?"
_ARRIVALS = re.compile(_LETTER + r"(?P<groups>\^?\[?x\]?)?", re.IGNORECASE)
_SERVICE = re.compile(
    _LETTER + r"(?:(?P<steps>\(n\))|\^?\{?\[(?P<least>\d+|a),(?P<most>\d+|b|inf)\]\}?)?", re.IGNORECASE
)
_SERVERS = re.compile(r"(?P<count>\d+|c|inf)(?:\+(?P<patience>[a-z]+_?\d*))?", re.IGNORECASE)
_MORE_GENERAL = {"M": "M PH G", "D": "D G", "E": "E PH G", "H": "H PH G", "PH": "PH G", "MMPP": "MMPP MAP"}
_MOST_DIGITS = 15
_IN_ORDER = ("fcfs", "fifo")
_USUAL = re.compile(r"(?P<first>[^/]*/[^/]*/.*?)(?:\s*/\s*(?:inf|fcfs|fifo))+", re.IGNORECASE)
"""Places behind the servers that say what holds without them: no limit, in order of arrival."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """A name in Kendall's notation, taken apart.

    Parameters
    ----------
    arrivals, service : str
        Letters: M, D, E (with phases), H, PH, G, and for arrivals MAP and MMPP.
    arrival_phases, service_phases : Slot
        Behind E and H.
    groups : bool
        Arrivals in groups, ``M^X``.
    steps : bool
        Service in steps that all present share, ``M(n)``.
    least, most : Slot
        Batch of the service, ``[a,b]``.
    servers, capacity : Slot
        Third and fourth place.
    patience : str
        Letter behind ``+``.
    rule : str
        What stands behind, in small letters with single blanks: ``srpt``, ``priority nonpreemptive``.

    Examples
    --------
    >>> print(Notation(arrivals="M", service="D", servers="c", capacity=20))
    M/D/c/20
    """

    arrivals: str
    service: str
    arrival_phases: Slot = None
    service_phases: Slot = None
    groups: bool = False
    steps: bool = False
    least: Slot = None
    most: Slot = None
    servers: Slot = 1
    capacity: Slot = None
    patience: str = ""
    rule: str = ""

    def __str__(self) -> str:
        arrivals = _spelled(self.arrivals, self.arrival_phases) + ("^X" if self.groups else "")
        batch = f"[{self.least},{self.most}]" if self.most is not None else ""
        service = _spelled(self.service, self.service_phases) + ("(n)" if self.steps else batch)
        text = f"{arrivals}/{service}/{self.servers}" + (f"+{self.patience}" if self.patience else "")
        text += f"/{self.capacity}" if self.capacity is not None else ""
        return text + (f" {self.rule}" if self.rule else "")

    def fits(self, pattern: Notation) -> bool:
        """Whether each part equals that of the pattern, or is a number where that has a letter."""
        same = all(
            getattr(self, name) == getattr(pattern, name)
            for name in ("arrivals", "service", "groups", "steps", "patience", "rule")
        )
        slots = ("arrival_phases", "service_phases", "least", "most", "servers")
        if not same or not all(_fills(getattr(self, name), getattr(pattern, name)) for name in slots):
            return False
        if pattern.capacity == "c":  # as many places as servers
            return self.capacity in ("c", self.servers)
        return _fills(self.capacity, pattern.capacity)

    def wider(self) -> list[Notation]:
        """The name itself, then with ever more general laws in place of the letters."""
        ways = (
            _MORE_GENERAL.get(letter, letter).split()
            for letter in (self.service, self.arrivals, self.patience)
        )
        found = []
        for (i, service), (j, arrivals), (k, patience) in product(
            *(list(enumerate(letters)) or [(0, "")] for letters in ways)
        ):
            one = replace(
                self,
                service=service,
                service_phases=self.service_phases if service == self.service else None,
                arrivals=arrivals,
                arrival_phases=self.arrival_phases if arrivals == self.arrivals else None,
                patience="G" if patience in ("PH", "G") else patience,
            )
            found.append(((i + j + k, i), one))
        return [one for _, one in sorted(found, key=lambda item: item[0])]


def _spelled(letter: str, phases: Slot) -> str:
    if letter in ("E", "H"):
        return f"{letter}{phases}" if isinstance(phases, int) else f"{letter}_k"
    return letter


def _fills(slot: Slot, pattern: Slot) -> bool:
    if slot == pattern:
        return True
    return isinstance(pattern, str) and pattern != "inf" and isinstance(slot, int)


def _slot(text: str | None) -> Slot:
    if text is None:
        return None
    if text.isdigit():
        if len(text) > _MOST_DIGITS or int(text) < 1:
            raise ConfigError(f"model: {text} in the name must be a whole number from 1 to 1e15")
        return int(text)
    low = text.lower()
    return low if low == "inf" else text


@lru_cache(maxsize=1024)
def read_notation(text: str) -> Notation | None:
    """A name in Kendall's notation, taken apart; None if it is not one.

    Parameters
    ----------
    text : str
        As in ``M/M/8``, ``E2/M/3``, ``M/D[1,16]/1``, ``M/G/1-SRPT``; large and small letters are alike.

    Raises
    ------
    ConfigError
        If a number in it is zero or too large.

    Examples
    --------
    >>> read_notation("m/m/8/20").capacity, read_notation("M/G/1-PS").rule, read_notation("M/Q/1")
    (20, 'ps', None)
    """
    plain = text.replace("\u221e", "inf").strip()
    usual = _USUAL.fullmatch(plain)
    head, _, rule = _behind_servers(plain if usual is None else usual["first"])
    rule = "" if rule in _IN_ORDER else rule
    parts = [part.strip() for part in head.split("/")]
    if len(parts) not in (3, 4):
        return None
    arrivals, service = _ARRIVALS.fullmatch(parts[0]), _SERVICE.fullmatch(parts[1].replace(" ", ""))
    servers = _SERVERS.fullmatch(parts[2])
    limit = re.fullmatch(r"\d+|k|c", parts[3], re.IGNORECASE) if len(parts) == 4 else None
    if not (arrivals and service and servers) or (len(parts) == 4 and not limit):
        return None
    return Notation(
        arrivals=_letter(arrivals["letter"]),
        arrival_phases=_phases(arrivals),
        groups=arrivals["groups"] is not None,
        service=_letter(service["letter"]),
        service_phases=_phases(service),
        steps=service["steps"] is not None,
        least=_small(service["least"]),
        most=_small(service["most"]),
        servers=_small(servers["count"]),
        patience=_letter(re.sub(r"[_\d]", "", servers["patience"] or "")),
        capacity=None if limit is None else _limit(limit[0]),
        rule=rule,
    )


def _behind_servers(text: str) -> tuple[str, str, str]:
    """The name, and the words that stand behind the last place, which hold no slash."""
    place = re.match(r"(?P<head>.*/\s*[^\s/-]+)(?P<gap>[\s-]*)(?P<rule>[^/]*)$", text)
    if place is None:
        return text, "", ""
    rule = " ".join(re.split(r"[\s_-]+", place["rule"].lower())).strip()
    return place["head"], place["gap"], rule.replace("non preemptive", "nonpreemptive")


def _letter(text: str) -> str:
    return {"GI": "G"}.get(text.upper(), text.upper())


def _phases(found: re.Match[str]) -> Slot:
    default = "k" if found["letter"].upper() in ("E", "H") else None
    return default if found["phases"] is None else _small(found["phases"])


def _small(text: str | None) -> Slot:
    return _slot(text if text is None else text.lower())


def _limit(text: str) -> Slot:
    return _slot("c" if text.lower() == "c" else text.upper())
