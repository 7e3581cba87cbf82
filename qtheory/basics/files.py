"""Small text files that people write, read whole, with one line of error where that fails."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path

from .checks import nearest
from .errors import ConfigError

__all__ = ["nearest_file", "read_text", "shown_name"]

_MOST_NEIGHBOURS = 2000
_LONGEST = 200


def shown_name(path: str | os.PathLike[str]) -> str:
    """A name, of a file or a key, for a message: without quotes, on one line, at most 200 characters.

    Parameters
    ----------
    path : path
        As given.

    Examples
    --------
    >>> shown_name("cards/mine.toml"), len(shown_name("x" * 5000))
    ('cards/mine.toml', 200)
    """
    text = os.fspath(path)
    words = text if text.isprintable() else repr(text)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 63]}...{words[-60:]}"


def nearest_file(path: str | os.PathLike[str]) -> str:
    """Text `` (did you mean 'x'?)`` for a file with nearly this name in the same folder, or an empty string.

    Parameters
    ----------
    path : path
        A file that is not there.

    Examples
    --------
    >>> nearest_file("no/such/folder/x.csv")
    ''
    """
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            return nearest(name, [entry.name for entry in islice(entries, _MOST_NEIGHBOURS)], cutoff=0.75)
    except (OSError, ValueError):  # no such folder, or a name that none can have
        return ""


def read_text(path: str | os.PathLike[str], *, most_bytes: int, wanted: str) -> str:
    """What stands in a file of UTF-8 text; a byte order mark is dropped.

    Parameters
    ----------
    path : path
        An ordinary file: no folder, pipe or device.
    most_bytes : int
        A larger one is refused.
    wanted : str
        What should be in it, such as ``a TOML or JSON file``.

    Raises
    ------
    ConfigError
        If it is missing (with the nearest name), not an ordinary file, too large, empty or not text.

    Examples
    --------
    >>> read_text("no/such/file.toml", most_bytes=1000, wanted="a TOML file")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/file.toml: cannot be read: no such file
    """
    name = shown_name(path)
    try:
        kind = os.stat(path)
        if stat.S_ISDIR(kind.st_mode):
            raise ConfigError(f"{name}: is a folder; give {wanted}")
        if not stat.S_ISREG(kind.st_mode) and os.fspath(path) != os.devnull:
            raise ConfigError(f"{name}: not an ordinary file (a pipe or a device); give {wanted}")
        if kind.st_size > most_bytes:
            raise ConfigError(f"{name}: {kind.st_size:,} bytes; {wanted} has at most {most_bytes:,}")
        content = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{name}: cannot be read: no such file{nearest_file(path)}") from None
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not a text file (byte {error.start} is not UTF-8)") from None
    except ConfigError:
        raise
    except ValueError as error:  # a name that no file can have
        raise ConfigError(f"{name}: cannot be read: {error}") from None
    if not content.strip():
        raise ConfigError(f"{name}: is empty; give {wanted}")
    return content
