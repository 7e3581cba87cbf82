"""Plain specifications from files: TOML or JSON into a dataclass, with one line of error where that fails."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from qtheory.basics import checks
from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name

__all__ = [
    "build",
    "folded",
    "names_a_file",
    "names_by_spelling",
    "packaged_table",
    "read_mapping",
    "unknown_name",
]

T = TypeVar("T")
_LARGEST_BYTES = 8_000_000  # a specification of a few dozen numbers; anything larger is another file
_OTHER_UNITS = {
    "gb": "1 GB is 1e9 bytes",
    "gib": "1 GiB is 1.0737e9 bytes",
    "tb": "1 TB is 1e12 bytes",
    "gbps": "1 GB/s is 1e9 bytes/s",
    "tbps": "1 TB/s is 1e12 bytes/s",
    "tflops": "1 TFLOP/s is 1e12 FLOP/s",
    "ms": "1 ms is 1e-3 s",
    "us": "1 us is 1e-6 s",
}
_VENDORS = {"nvidia", "amd", "intel", "google", "habana", "apple", "instinct", "geforce", "tesla", "gpu"}


def folded(name: str) -> str:
    """Spelling-blind form of a name: no case, spaces, dashes, underscores, vendor words or bracketed remarks.

    Parameters
    ----------
    name : str
        A name as people and vendors write it.

    Examples
    --------
    >>> folded("NVIDIA A100-SXM4-80GB"), folded("A100 80GB (8 replicas)")
    ('a100sxm480gb', 'a10080gb')
    """
    words = name.partition("(")[0].lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in _VENDORS)


def names_a_file(name: str) -> bool:
    """Whether ``name`` means a specification file rather than a preset: it ends like one or exists.

    Parameters
    ----------
    name : str
        As given where either may stand.

    Examples
    --------
    >>> names_a_file("h100"), names_a_file("mine.toml")
    (False, True)
    """
    return name.lower().endswith((".toml", ".json")) or (os.path.exists(name) and not os.path.isdir(name))


def packaged_table(package: str, file: str) -> dict[str, Any]:
    """The TOML file that lies beside the modules of a package.

    Parameters
    ----------
    package : str
        Name of the package (its modules give their ``__package__``).
    file : str
        Name of the file.

    Examples
    --------
    >>> packaged_table("qtheory.system.hardware", "presets.toml")["h100"]["bandwidth_bytes_per_s"]
    3350000000000.0
    """
    return tomllib.loads(resources.files(package).joinpath(file).read_text(encoding="utf-8"))


def names_by_spelling(table: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Preset names by the folded form of every spelling: their aliases, and the names themselves.

    Parameters
    ----------
    table : mapping of str to mapping
        Presets by name, with ``aliases`` where there are any.

    Examples
    --------
    >>> names_by_spelling({"t4": {"aliases": ["Tesla T4 16GB"]}})
    {'t416gb': 't4', 't4': 't4'}
    """
    aliases = {folded(alias): name for name, values in table.items() for alias in values.get("aliases", ())}
    return aliases | {folded(name): name for name in table}


def unknown_name(kind: str, name: str, known: Sequence[str]) -> ConfigError:
    """The error for a preset name that is not there: nearest spelling, some names, the way out.

    Parameters
    ----------
    kind : str
        What was to be named, such as ``hardware``.
    name : str
        What was given.
    known : sequence of str
        The names that exist.

    Examples
    --------
    >>> print(unknown_name("model", "opt-13", ["opt-13b"]))
    model: unknown 'opt-13' (did you mean 'opt-13b'?); 1 presets are known (opt-13b, ...), or give a .toml or
    .json file
    """
    hint = checks.nearest(folded(name), known) or checks.nearest(name, known)
    some = ", ".join(known[:: max(1, len(known) // 8)][:8])
    known_text = f"{len(known)} presets are known ({some}, ...)"
    return ConfigError(f"{kind}: unknown {shown(name)}{hint}; {known_text}, or give a .toml or .json file")


def read_mapping(path: str | Path) -> dict[str, Any]:
    """Keys and values of a TOML or JSON file.

    Parameters
    ----------
    path : str or Path
        A file named ``.json``, or that begins with a brace as no TOML file can, is JSON; any other is TOML. A
        byte order mark and any line ends are fine.

    Raises
    ------
    ConfigError
        If it cannot be read, is empty, is not of its format, or does not hold keys with values.

    Examples
    --------
    >>> read_mapping("no/such/file.toml")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.toml: cannot be read: no such file
    """
    name = shown_name(path)
    content = read_text(path, most_bytes=_LARGEST_BYTES, wanted="a TOML or JSON file of keys with values")
    is_json = str(path).lower().endswith(".json") or content.lstrip().startswith("{")
    try:
        values = json.loads(content, object_pairs_hook=_once) if is_json else tomllib.loads(content)
        json.dumps(values, default=str, ensure_ascii=False).encode()  # half a character cannot be written
    except UnicodeEncodeError as error:
        broken = ascii(error.object[error.start])
        raise ConfigError(f"{name}: {broken} is half a character; write the whole one") from None
    except (ValueError, RecursionError) as error:  # of both parsers, a number of thousands of digits included
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise ConfigError(f"{name}: not valid {'JSON' if is_json else 'TOML'}: {why}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{name}: holds {type(values).__name__}, not a table of keys with values")
    return values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON, in which each key stands once, as TOML demands."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise ValueError(f"key {shown(twice)} is given twice; leave one out")
    return values


def _unit(key: str) -> str:
    """What the unit at the end of an unknown key is in those that are used."""
    known = _OTHER_UNITS.get(key.lower().rpartition("_")[2])
    return f"; {known}" if known else ""


def build(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of a dataclass from keys and values.

    Parameters
    ----------
    kind : type
        The dataclass.
    values : mapping
        Its fields by name.
    where : str
        What messages begin with, such as the name of a file.

    Raises
    ------
    ConfigError
        For an unknown key (with the nearest spelling), missing ones, or a value that ``kind`` refuses.

    Examples
    --------
    >>> from qtheory.system.slo import Slo
    >>> build(Slo, {"ttft_s": 2.0}, "limits.toml")
    Slo(ttft_s=2.0, tpot_s=None, e2e_s=None)
    """
    known: dict[str, Field[Any]] = {item.name: item for item in fields(kind) if item.init}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"{where}: {shown_name(key)}: unknown key{checks.nearest(key, known)}{_unit(key)}"
            )
    missing = [
        name
        for name, item in known.items()
        if name not in values and item.default is MISSING and item.default_factory is MISSING
    ]
    if missing:
        needs = f"a {kind.__name__} needs {'it' if len(missing) == 1 else 'them'}"
        raise ConfigError(f"{where}: {', '.join(missing)}: missing; {needs}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
