"""Files that a command writes: checked before the work starts, complete or not there at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from qtheory.basics.errors import ConfigError

__all__ = ["Writer", "check_targets", "write_all"]

Writer = Callable[[Path], None]


def check_targets(targets: Mapping[str, Path], *, force: bool) -> None:
    """Raise unless every file can be written and none is overwritten without being asked.

    Parameters
    ----------
    targets : mapping
        From the flag that asked for a file to its path.
    force : bool
        True if files that exist may be replaced.

    Raises
    ------
    ConfigError
        Naming the flag and the file.

    Examples
    --------
    >>> check_targets({"--out": Path("lost/a.json")}, force=False)
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: --out: lost/a.json: the folder lost does not exist; make it first
    """
    seen: dict[Path, str] = {}
    for flag, path in targets.items():
        where = f"{flag}: {path}"
        folder = path.parent
        if not folder.is_dir():
            kind = "is not a folder" if folder.exists() else "does not exist; make it first"
            raise ConfigError(f"{where}: the folder {folder} {kind}")
        if path.is_dir():
            raise ConfigError(f"{where}: is a folder; give the name of a file")
        if path.exists() and not path.is_file():
            raise ConfigError(f"{where}: is not an ordinary file; give the name of a file")
        if path.exists() and not force:
            raise ConfigError(f"{where}: exists; give another name, or --force to replace it")
        if not os.access(folder, os.W_OK):
            raise ConfigError(f"{where}: no permission to write in {folder}")
        if path.resolve() in seen:
            raise ConfigError(f"{where}: is the file of {seen[path.resolve()]} too; give two names")
        seen[path.resolve()] = flag


def write_all(writers: Mapping[Path, Writer]) -> None:
    """Write every file under a passing name, then give all of them their names; on failure none is left.

    Parameters
    ----------
    writers : mapping
        From a path to what writes its contents to the path it is given (same suffix).

    Raises
    ------
    ConfigError
        If the system refuses, for example because the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_all({Path(folder) / "a.txt": lambda path: path.write_text("done") and None})
    ...     os.listdir(folder)
    ['a.txt']
    """
    parts = {
        path: path.resolve().with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}") for path in writers
    }
    try:
        for path, write in writers.items():
            write(parts[path])
        for path, part in parts.items():
            part.replace(path.resolve())
    except OSError as error:
        raise ConfigError(
            f"{error.filename or next(iter(writers))}: cannot be written ({error.strerror})"
        ) from None
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
