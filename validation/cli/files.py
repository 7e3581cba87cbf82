"""Files that a command writes: checked before the work starts, complete or not there at all."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import shown_name

__all__ = ["Writer", "check_targets", "file_words", "spare_inputs", "stat_of", "write_all"]

Writer = Callable[[Path], None]


def stat_of(path: Path, where: str) -> os.stat_result | None:
    """What the system says of a file, None if there is none.

    Parameters
    ----------
    path : Path
    where : str
        Beginning of the error message.

    Raises
    ------
    ConfigError
        If there can be no such file: the name is too long, or links go round in a circle.

    Examples
    --------
    >>> stat_of(Path("no/such/file"), "--out") is None
    True
    """
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{where}: cannot be written ({_why(error)})") from None


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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
        where = f"{flag}: {shown_name(path)}"
        found = stat_of(path, where)
        real = path.resolve()
        for folder in (path.parent, real.parent):  # a link may point into a folder that is not there
            if not folder.is_dir():
                kind = "is not a folder" if folder.exists() else "does not exist; make it first"
                raise ConfigError(f"{where}: the folder {shown_name(folder)} {kind}")
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise ConfigError(f"{where}: is a folder; give the name of a file")
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{where}: is not an ordinary file; give the name of a file")
        if found is not None and not force:
            raise _exists(where)
        if not os.access(real.parent, os.W_OK):
            raise ConfigError(f"{where}: no permission to write in {shown_name(real.parent)}")
        if real in seen:
            raise ConfigError(f"{where}: is the file of {seen[real]} too; give two names")
        seen[real] = flag


def spare_inputs(targets: Mapping[str, Path], texts: Iterable[str]) -> None:
    """Raise if a file to write is one that the command reads, even if it may be replaced.

    Parameters
    ----------
    targets : mapping
        From the flag that asked for a file to its path.
    texts : iterable of str
        Values that may name files, alone or in brackets as in ``quantiles(FILE, workload=chat)``.

    Raises
    ------
    ConfigError
        Naming the flag and the file.

    Examples
    --------
    >>> spare_inputs({"--out": Path("a.json")}, ["chunked", "quantiles(b.csv)"])
    """
    words = file_words(texts)
    for flag, path in targets.items():
        if any(_same(path, word) for word in words):
            raise ConfigError(f"{flag}: {shown_name(path)}: is read by this command; give another name")


def file_words(texts: Iterable[str]) -> list[str]:
    """The words of some texts that may name files, each once, in order.

    Parameters
    ----------
    texts : iterable of str
        Such as ``requests.csv``, ``quantiles(FILE, workload=chat)`` or ``my_file.py:LeastWork``.

    Examples
    --------
    >>> file_words(["quantiles(b.csv)", "b.csv"])
    ['quantiles(b.csv)', 'quantiles', 'b.csv']
    """
    words = (word for text in texts for word in (text, *re.split(r"[(),=]|(?<=\.py):", text)))
    return [word for word in dict.fromkeys(word.strip(" '\"") for word in words) if word]


def _same(path: Path, word: str) -> bool:
    try:
        return os.path.samefile(path, word)
    except (OSError, ValueError):  # one of them is not there, or cannot be
        return False


def _exists(where: str) -> ConfigError:
    return ConfigError(f"{where}: exists; give another name, or --force to replace it")


def write_all(targets: Mapping[str, Path], writers: Mapping[str, Writer], *, force: bool) -> None:
    """Write every file under a passing name, then give all of them their names; on failure none is left.

    Parameters
    ----------
    targets : mapping
        From the flag that asked for a file to its path.
    writers : mapping
        From the flag to what writes the contents to the path it is given (same suffix).
    force : bool
        True if files that exist may be replaced; one that came up meanwhile is not without it.

    Raises
    ------
    ConfigError
        If the system refuses, for example because the disk is full, or a file came up meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_all({"--out": Path(folder) / "a.txt"}, {"--out": lambda path: path.touch()}, force=False)
    ...     os.listdir(folder)
    ['a.txt']
    """
    real = {flag: path.resolve() for flag, path in targets.items()}
    # a short name, so that the file's own may be as long as the system takes
    parts = {
        flag: path.with_name(f".{os.urandom(4).hex()}.part{path.suffix[:8]}") for flag, path in real.items()
    }
    named: list[Path] = []
    flag = ""
    try:
        for flag, part in parts.items():
            writers[flag](part)
        for flag, part in parts.items():
            if force:
                part.replace(real[flag])
            else:
                _name(part, real[flag])
                named.append(real[flag])
        named.clear()
    except FileExistsError:
        raise _exists(f"{flag}: {shown_name(targets[flag])}") from None
    except OSError as error:
        raise ConfigError(f"{flag}: {shown_name(targets[flag])}: cannot be written ({_why(error)})") from None
    finally:
        for part in (*parts.values(), *named):
            part.unlink(missing_ok=True)


def _name(part: Path, path: Path) -> None:
    """Give a file its name unless there is one of that name, with nothing in between."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: take the name first
        path.open("xb").close()
        part.replace(path)
