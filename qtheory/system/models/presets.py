"""Models by name, from a Hugging Face ``config.json``, or from a file of our own fields."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import shown_name
from qtheory.system.hardware import Hardware
from qtheory.system.specfile import (
    build,
    folded,
    names_a_file,
    names_by_spelling,
    packaged_table,
    read_mapping,
    unknown_name,
)

from .huggingface import is_hugging_face, spec_from_config
from .spec import ModelSpec

__all__ = ["default_model", "find_model", "model_names"]

_NOT_FIELDS = ("aliases", "published_params", "published_note")
# Words of a published name that do not change the architecture, and those that name a format.
_REMARKS = {"instruct", "chat", "it", "hf", "base", "thinking", "2507", "0528", "dynamic", "static", "gptq"}
_FORMATS = {
    "fp8": "fp8",
    "int8": "int8",
    "w8a8": "int8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "fp4": "fp4",
    "awq": "int4",
    "int4": "int4",
    "bf16": "bf16",
}


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Preset values by name, as they stand in the file."""
    return packaged_table(__package__, "presets.toml")


@cache
def _names_by_spelling() -> dict[str, str]:
    return names_by_spelling(_table())


def model_names() -> list[str]:
    """Names of all presets, in the order of the file.

    Examples
    --------
    >>> "llama-3.1-8b" in model_names()
    True
    """
    return list(_table())


@cache
def _preset(name: str) -> ModelSpec:
    values = {key: value for key, value in _table()[name].items() if key not in _NOT_FIELDS}
    return build(ModelSpec, values | {"name": name}, f"preset {name}")


def _named(name: str) -> ModelSpec | None:
    """The preset meant by a published name: the owner, and words that do not matter, are dropped."""
    spellings = _names_by_spelling()
    if folded(name) in spellings:
        return _preset(spellings[folded(name)])
    words = name.rpartition("/")[2].lower().replace("_", "-").replace(" ", "-").split("-")
    formats = [_FORMATS[word] for word in words if word in _FORMATS]
    kept = [word for word in words if word not in _FORMATS and word not in _REMARKS]
    known = spellings.get(folded("-".join(kept)))
    if known is None:
        return None
    return replace(_preset(known), weights=formats[-1]) if formats else _preset(known)


def find_model(name_or_path: str | Path) -> ModelSpec:
    """The preset of this name, or the model described in this file.

    Parameters
    ----------
    name_or_path : str or Path
        A name such as ``llama-3.1-8b``, a published one such as ``meta-llama/Llama-3.1-8B-Instruct`` (case,
        spaces, dashes and underscores do not matter; ``-FP8`` and the like set the format of the weights),
        the ``config.json`` of a Hugging Face model or its folder, or a TOML or JSON file with the fields of
        `ModelSpec`.

    Raises
    ------
    ConfigError
        If there is no such preset or file, or the file does not describe a model.

    Examples
    --------
    >>> find_model("Qwen/Qwen2.5-0.5B-Instruct").name, find_model("nvidia/Llama-3.1-8B-Instruct-FP8").weights
    ('qwen2.5-0.5b', 'fp8')
    """
    name = str(name_or_path)
    folder = "/" in name and os.path.isdir(name)
    if isinstance(name_or_path, Path) or folder or names_a_file(name):
        return _from_file(Path(name_or_path))
    found = _named(name)
    if found is None and os.path.isdir(name):
        return _from_file(Path(name))
    if found is None:
        raise unknown_name("model", name, model_names())
    return found


def _from_file(path: Path) -> ModelSpec:
    path = path / "config.json" if os.path.isdir(path) else path  # unlike Path.is_dir this never raises
    values = read_mapping(path)
    folder = path.resolve().parent.name if path.stem == "config" else ""
    name = folder or path.stem
    where = shown_name(path)
    if is_hugging_face(values):
        return spec_from_config(values, name=name, where=where)
    return build(ModelSpec, {"name": name, "source": f"file {where}"} | values, where)


def default_model(hardware: Hardware) -> ModelSpec:
    """The largest dense Qwen2.5 model whose 16-bit weights take at most a quarter of the device memory.

    Parameters
    ----------
    hardware : Hardware
        The accelerator.

    Raises
    ------
    ConfigError
        If the memory is too small for any of them.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> default_model(find_hardware("rtx3050")).name, default_model(find_hardware("a100")).name
    ('qwen2.5-0.5b', 'qwen2.5-7b')
    """
    family = [_preset(name) for name in model_names() if name.startswith("qwen2.5-")]
    fits = [model for model in family if model.weight_bytes("bf16") <= hardware.memory_bytes / 4]
    if not fits:
        size = f"{hardware.memory_bytes / 1e9:.3g} GB"
        raise ConfigError(
            f"model: none given, and {hardware.name} ({size}) is too small for a default; name one"
        )
    return max(fits, key=lambda model: model.params)
