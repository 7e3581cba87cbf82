"""A person's own models: a Python file that registers them."""

from __future__ import annotations

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from qtheory.basics.errors import ConfigError, ServingError

__all__ = ["load_models"]

_LOADED: set[tuple[Path, int]] = set()


def load_models(path: Path | str) -> None:
    """Run a file that registers models; once, as long as it does not change.

    Parameters
    ----------
    path : path or str
        A Python file that calls `register`.

    Raises
    ------
    ConfigError
        If it cannot be read or run; with the line that fails.

    Examples
    --------
    >>> load_models("lost.py")
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: models: lost.py: no such file
    """
    file = Path(path)
    if not file.is_file():
        what = "is a folder; give a file" if file.is_dir() else "no such file"
        raise ConfigError(f"models: {path}: {what}")
    key = (file.resolve(), file.stat().st_mtime_ns)
    if key in _LOADED:
        return
    name = f"queue_models_{len(_LOADED)}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"models: {path}: is not a Python file; end its name in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # where data classes look for their types
    try:
        spec.loader.exec_module(module)
    except ServingError as error:
        raise ConfigError(f"models: {path}: {error}") from None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(file)]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else 1)
        raise ConfigError(f"models: {path}: line {line}: {type(error).__name__}: {error}") from None
    _LOADED.add(key)
