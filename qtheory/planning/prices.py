"""What an hour of an accelerator costs: given, or stated by a document; never guessed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between
from qtheory.system.hardware import Hardware, find_hardware, hardware_names

__all__ = [
    "Price",
    "parse_prices",
    "preset_price",
    "price_bases",
    "price_points",
    "priced_names",
    "prices_of",
]

_GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of one accelerator for one hour.

    Parameters
    ----------
    hardware : str
        Name of the accelerator.
    usd_per_hour : float
        US dollars, 1e-6 .. 1e6.
    basis : str
        What kind of price it is, such as ``3-year rental``.
    date : str
        Year, or year and month, of the document; empty if it does not say.
    source : str
        The document.

    Raises
    ------
    ConfigError
        If the price is out of its range.

    Examples
    --------
    >>> Price(hardware="mine", usd_per_hour=2.5).told
    '$2.5 (given)'
    """

    hardware: str
    usd_per_hour: float
    basis: str = _GIVEN
    date: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        number_between(f"price: {self.hardware}", self.usd_per_hour, 1e-6, 1e6)

    @property
    def told(self) -> str:
        """The price with its basis and its date, for people."""
        about = ", ".join(part for part in (self.basis, self.date) if part and part not in self.basis)
        return f"${self.usd_per_hour:g} ({about or self.basis})"


def parse_prices(texts: Sequence[str], *, names: Sequence[str] = ()) -> dict[str, float]:
    """Prices as people write them, by the name of the preset or as given.

    Parameters
    ----------
    texts : sequence of str
        Each as in ``h100=2.5`` or ``h100=2.5,a100=1.8``.
    names : sequence of str
        Accelerators that are no presets, but known to the caller.

    Raises
    ------
    ConfigError
        If one is not a name and a price above zero, or a name comes twice.

    Examples
    --------
    >>> parse_prices(["H100 SXM=2.5,a100=1.8"])
    {'h100': 2.5, 'a100': 1.8}
    """
    found: dict[str, float] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, sign, number = (piece.strip() for piece in part.partition("="))
        if not (name and sign and number):
            raise ConfigError(f"price: {checks.shown(part)} is not NAME=DOLLARS, as in h100=2.5")
        try:
            usd = float(number)
        except ValueError:
            raise ConfigError(
                f"price: {name}: {checks.shown(number)} is not a number; give US dollars an hour"
            ) from None
        number_between(f"price: {name}", usd, 1e-6, 1e6)
        known = name if name in names else _preset(name)
        if known in found:
            raise ConfigError(f"price: {name}: given twice; give one")
        found[known] = usd
    return found


def _preset(name: str) -> str:
    """The preset of that name; an unknown one is an error of the price."""
    try:
        return find_hardware(name).name
    except ConfigError as error:
        raise ConfigError(f"price: {str(error).removeprefix('hardware: ')}") from None


@cache
def _rows() -> tuple[dict[str, str], ...]:
    text = resources.files(__package__).joinpath("prices.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(io.StringIO(text)))


def price_points(hardware: str) -> tuple[Price, ...]:
    """Prices of an accelerator that documents state, whatever they are of.

    Parameters
    ----------
    hardware : str
        Name of a preset.

    Examples
    --------
    >>> [f"{point.basis}: {point.usd_per_hour:g}" for point in price_points("h200")][:3]
    ['TCO hyperscaler: 1.41', 'TCO neocloud: 1.74', '3-year rental: 1.6']
    """
    return tuple(
        Price(
            hardware=hardware,
            usd_per_hour=float(row["usd_per_hour"]),
            basis=row["basis"],
            date=row["date"],
            source=row["source"],
        )
        for row in _rows()
        if row["hardware"] == hardware
    )


def price_bases() -> list[str]:
    """Kinds of prices that documents state, those with most accelerators first.

    Examples
    --------
    >>> price_bases()[:3]
    ['TCO hyperscaler', 'TCO neocloud', '3-year rental']
    """
    names = [row["basis"] for row in _rows()]
    return sorted(dict.fromkeys(names), key=lambda basis: -names.count(basis))


def preset_price(hardware: Hardware) -> Price | None:
    """The price in the description of an accelerator, with what its source says of it; None without one.

    Parameters
    ----------
    hardware : Hardware

    Examples
    --------
    >>> preset_price(find_hardware("l4")).told
    '$0.98 (AWS g6.2xlarge (fmbench 2025-04))'
    >>> preset_price(find_hardware("h200")) is None
    True
    """
    if hardware.usd_per_hour is None:
        return None
    said = re.search(r"price: ([^;]+)", hardware.source)
    basis = said[1].strip() if said else "description of the accelerator"
    date = re.search(r"\b20\d\d(-\d\d)?\b", basis)
    return Price(
        hardware=hardware.name,
        usd_per_hour=hardware.usd_per_hour,
        basis=re.split(r"(?<=\)) (?=\()| \((?=\d+x|AWS p4de)", basis)[0],
        date=date[0] if date else "",
        source=basis,
    )


def priced_names() -> list[str]:
    """Presets that have a price, in the order of their file.

    Examples
    --------
    >>> "l4" in priced_names(), "h200" in priced_names()
    (True, False)
    """
    return [name for name in hardware_names() if find_hardware(name).usd_per_hour is not None]


def prices_of(
    hardware: Sequence[Hardware], given: Mapping[str, float] | None = None, *, basis: str | None = None
) -> dict[str, Price]:
    """Prices by the name of the accelerator: the given one, else one of the basis, else that of the preset.

    Parameters
    ----------
    hardware : sequence of Hardware
    given : mapping of str to float, optional
        US dollars an hour by name.
    basis : str, optional
        One of `price_bases`: what documents state of this kind is taken, and nothing else.

    Raises
    ------
    ConfigError
        If there is no price of an accelerator, naming all of these, with what documents state of other kinds.

    Examples
    --------
    >>> prices_of([find_hardware("h100")], {"h100": 2.5})["h100"].usd_per_hour
    2.5
    >>> prices_of([find_hardware("gaudi3")])
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: price: there is none of gaudi3; give --price gaudi3=DOLLARS an hour
    """
    if basis is not None:
        checks.one_of("price_basis", basis, price_bases())
    found: dict[str, Price] = {}
    missing = []
    for card in hardware:
        stated = [point for point in price_points(card.name) if point.basis == basis]
        if card.name in (given or {}):
            found[card.name] = Price(hardware=card.name, usd_per_hour=(given or {})[card.name])
        elif basis is not None and stated:
            found[card.name] = stated[0]
        elif basis is None and (price := preset_price(card)) is not None:
            found[card.name] = price
        else:
            missing.append(card.name)
    if missing:
        raise ConfigError(_asked_for(missing, basis))
    return found


def _asked_for(missing: Sequence[str], basis: str | None) -> str:
    kind = "" if basis is None else f" as {basis}"
    flags = " ".join(f"--price {name}=DOLLARS" for name in missing)
    stated = []
    for name in missing:
        points = [f"{point.usd_per_hour:g} ({point.basis}, {point.date})" for point in price_points(name)]
        if points:
            stated.append(f"; documents state of {name}: {', '.join(dict.fromkeys(points))}")
    return f"price: there is none of {', '.join(missing)}{kind}; give {flags} an hour{''.join(stated)}"
