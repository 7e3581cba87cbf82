"""The text of a file, packed or not, with one line of error where it cannot be had."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, TextIO, cast

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import nearest_file, shown_name

__all__ = ["open_text"]

_GZIP = b"\x1f\x8b"
_OTHER = {
    b"PK\x03\x04": "a zip archive or a workbook; save the table in it as CSV",
    b"PAR1": "a Parquet file; save it as CSV",
    b"BZh": "packed with bzip2; unpack it, or use gzip",
    b"\xfd7zXZ": "packed with xz; unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "packed with zstd; unpack it, or use gzip",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


@contextmanager
def open_text(path: str) -> Iterator[TextIO]:
    """Lines of a UTF-8 text file, ends as ``\\n``; a byte order mark is dropped and gzip is unpacked.

    The file is read once and from front to back, so that a pipe will do.

    Raises
    ------
    ConfigError
        If it is missing, a folder, packed otherwise, damaged or not text; while it is read, too.
    """
    if "\0" in path:
        raise ConfigError(f"{path!r}: a file name cannot hold a zero byte")
    if os.path.isdir(path):
        raise ConfigError(f"{path}: is a folder; give the name of a file")
    try:
        with open(path, "rb") as file, _unpacked(path, file) as plain:
            yield io.TextIOWrapper(plain, encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file{nearest_file(path)}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ConfigError(f"{path}: gzip data cut short or damaged; copy the file anew") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ConfigError(f"{path}: not a text file (byte 0x{byte:02x} is not UTF-8)") from None
    except UnicodeEncodeError as error:
        broken = ascii(error.object[error.start])
        raise ConfigError(f"{shown_name(path)}: {broken} is half a character; no file name has one") from None
    except OSError as error:
        raise ConfigError(f"{shown_name(path)}: cannot be read ({error.strerror or error})") from None


def _unpacked(path: str, file: io.BufferedReader) -> BinaryIO:
    start = file.peek(8192)
    if not start.startswith(_GZIP):
        _refuse_other(path, start)
        return file
    inner = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=cast(IO[bytes], file))))
    _refuse_other(path, inner.peek(8192))
    return inner


def _refuse_other(path: str, start: bytes) -> None:
    for magic, what in _OTHER.items():
        if start.startswith(magic):
            raise ConfigError(f"{path}: {what}")
    if b"\0" in start:
        raise ConfigError(f"{path}: not a text file (byte {start.index(0)} is zero)")
