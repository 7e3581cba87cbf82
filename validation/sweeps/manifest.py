"""Manifests: which sweeps, served by what, calibrated on which, judged how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from qtheory.system.specfile import read_mapping

from .sweep import JUDGED, Sweep

__all__ = ["SHIPPED", "find_manifest", "read_manifest"]

SHIPPED = Path(__file__).parent / "manifests"
"""Folder of the manifests that come with the package."""

_OF_ROW = (
    "rate_rps",
    "duration_s",
    "trace",
    "speed",
    "ticks",
    "stop_s",
    "prefix",
)  # said by the rows, or by other keys
_SERVED = {
    name: hint for name, hint in get_type_hints(Scenario).items() if name not in _OF_ROW and name != "seed"
}
_OWN: dict[str, type] = {
    "file": str, "sweep_id": str, "role": str, "group": str, "rows": dict, "shared_prefix_tokens": int,
    "n_prefixes": int, "cached_tokens": int, "attention_mbu_frac": float, "finite": bool,
    "knee_ttft_s": float, "replications": int, "judge": dict, "question": str, "teaches": str, "note": str,
}  # fmt: skip
_NEEDED = ("file", "sweep_id", "role", "hardware", "model")
_NO_LIMIT = ("kv_blocks", "requests")  # 0 says that they are not given
_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", dict: "a table"}


def find_manifest(name: str) -> Path:
    """The file of a manifest: the one given, or the shipped one of this name.

    Parameters
    ----------
    name : str
        A path, or a name without a suffix.

    Raises
    ------
    ConfigError
        If it looks like a name and there is no such manifest.

    Examples
    --------
    >>> find_manifest("kubecon").name
    'kubecon.toml'
    """
    known = sorted(path.stem for path in SHIPPED.glob("*.toml"))
    if Path(name).suffix or "/" in name or Path(name).exists():
        return Path(name)
    if name not in known:
        hint = checks.nearest(name, known)
        raise ConfigError(
            f"MANIFEST: unknown {checks.shown(name)}{hint}; a file, or one of {', '.join(known)}"
        )
    return SHIPPED / f"{name}.toml"


def read_manifest(path: str | Path, *, data: str | Path | None = None) -> list[Sweep]:
    """The sweeps of a manifest.

    Parameters
    ----------
    path : str or Path
        TOML (or JSON) with a list of tables ``sweep``. The keys of an entry are those of a scenario, without
        those that the rows of the data give, and those of `Sweep`.
    data : str or Path, optional
        Folder in which the data files are looked for first (default: that of the manifest alone).

    Raises
    ------
    ConfigError
        If it cannot be read or holds an unknown key or a value that is not allowed (names the entry).

    Examples
    --------
    >>> [sweep.role for sweep in read_manifest(SHIPPED / "kubecon.toml")][:2]
    ['calibrate', 'predict']
    """
    values = read_mapping(path)
    for key in values:
        if key != "sweep":
            hint = checks.nearest(key, ["sweep"])
            raise ConfigError(f"{path}: {checks.shown(key)}: unknown key{hint}; entries are [[sweep]]")
    entries = values.get("sweep")
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        raise ConfigError(f"{path}: no [[sweep]] in it; a manifest is a list of sweeps")
    own = Path(path).parent
    folders = (own,) if data is None else (Path(data), own)
    return [_sweep(each, f"{path}: sweep {place}", folders) for place, each in enumerate(entries, start=1)]


def _sweep(entry: Mapping[str, Any], where: str, folders: Sequence[Path]) -> Sweep:
    for key in entry:
        if key not in _OWN and key not in _SERVED:
            hint = checks.nearest(key, [*_OWN, *_SERVED])
            raise ConfigError(f"{where}: {checks.shown(key)}: unknown key{hint}")
    missing = [key for key in _NEEDED if key not in entry]
    if missing:
        raise ConfigError(f"{where}: {missing[0]}: missing; needed are {', '.join(_NEEDED)}")
    values = {key: _typed(value, _kinds(key), f"{where}: {key}") for key, value in entry.items()}
    if not values["sweep_id"]:
        raise ConfigError(f"{where}: sweep_id: is empty")
    own = {key: values.pop(key) for key in _OWN if key in values}
    values = {key: value for key, value in values.items() if not (key in _NO_LIMIT and value == 0)}
    values["prefix"] = _prefix(own, where)
    takes_cv, takes_slots = "arrivals" not in values, "max_seqs" not in values
    for key in ("hardware", "model", "lengths"):
        if values.get(key) is not None:
            values[key] = _beside(values[key], folders)
    try:
        scenario = Scenario(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    files = [folder / own["file"] for folder in folders]
    own["file"] = next((file for file in files if file.is_file()), files[0])
    own |= {"is_finite": own.pop("finite", False)}
    own["rows"] = {key: _texts(value, f"{where}: rows: {key}") for key, value in own.get("rows", {}).items()}
    own["judge"] = _tolerances(own.get("judge", {}), where)
    return Sweep(where=where, scenario=scenario, takes_cv=takes_cv, takes_slots=takes_slots, **own)


def _kinds(key: str) -> tuple[type, ...]:
    hint = _OWN[key] if key in _OWN else _SERVED[key]
    return tuple(kind for kind in (get_args(hint) or (hint,)) if kind is not type(None))


def _typed(value: Any, kinds: tuple[type, ...], where: str) -> Any:
    """The value if it is of one of the kinds; whole numbers are numbers too, and laws may be numbers."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and where.endswith((": prompt", ": output")):
        return repr(value)
    if float in kinds and is_number:
        return float(value)
    for kind in kinds:
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    wanted = " or ".join(_WORDS[kind] for kind in kinds)
    raise ConfigError(f"{where}: {checks.shown(value)} is not {wanted}")


def _prefix(own: dict[str, Any], where: str) -> str:
    """The law of the texts that prompts begin with, from their number and length."""
    shared, kinds = own.get("shared_prefix_tokens", 0), own.pop("n_prefixes", 1)
    if shared < 0 or kinds < 0:
        name, value = ("shared_prefix_tokens", shared) if shared < 0 else ("n_prefixes", kinds)
        raise ConfigError(f"{where}: {name}: {value} must be >= 0")
    return f"shared(tokens={shared}, n={max(kinds, 1)})" if shared else "none"


def _beside(name: str, folders: Sequence[Path]) -> str:
    """A file of an accelerator, a model or lengths: beside data or manifest if it is there, else as given."""
    found = (folder / name for folder in folders if "." in name and (folder / name).is_file())
    return str(next(found, name))


def _texts(value: Any, where: str) -> tuple[str, ...]:
    found = tuple(value) if isinstance(value, list) else (value,)
    if not found or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{where}: {checks.shown(value)} is not a string or a list of strings")
    return found


def _tolerances(judge: Mapping[str, Any], where: str) -> dict[str, float]:
    for name in judge:
        if name not in JUDGED:
            hint = checks.nearest(name, JUDGED)
            raise ConfigError(f"{where}: judge: unknown {name!r}{hint}; one of {', '.join(JUDGED)}")
    return {name: _typed(value, (float,), f"{where}: judge: {name}") for name, value in judge.items()}
