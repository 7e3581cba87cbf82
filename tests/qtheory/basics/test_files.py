"""Small text files: what is read, and what is refused in one short line."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import nearest_file, read_text, shown_name


def refused(path: str | Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_text(path, most_bytes=1000, wanted="a table")
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def test_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path, most_bytes=8, wanted="a table") == "a\r\nb"


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_ordinary_file_is_refused_before_it_is_opened(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))
    else:
        path = Path("/dev/zero")
    assert "not an ordinary file (a pipe or a device); give a table" in refused(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; give a table"),
        (b" \n\n", "is empty; give a table"),
        (b"x" * 1001, "1,001 bytes; a table has at most 1,000"),
        (b"ab\xff", "not a text file (byte 2 is not UTF-8)"),
    ],
)
def test_content_that_is_none_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert refused(path).endswith(said)


def test_the_null_device_is_an_empty_file() -> None:
    assert "is empty" in refused(os.devnull)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert refused(tmp_path).endswith("is a folder; give a table")


@pytest.mark.parametrize("name", ["y" * 300, "x" * 5000, "a\0b", "\ud800", "no/folder/x.csv", "a\nb"])
def test_names_that_no_file_has_are_refused(name: str) -> None:
    assert "cannot be read" in refused(name)


def test_a_missing_file_is_named_with_a_close_neighbour_only(tmp_path: Path) -> None:
    for name in ("one.py", "card.toml"):
        (tmp_path / name).write_text("x")
    assert refused(tmp_path / "crad.toml").endswith("no such file (did you mean 'card.toml'?)")
    assert refused(tmp_path / "none.csv").endswith("no such file")
    assert nearest_file(tmp_path / "none.csv") == ""


def test_long_names_keep_their_beginning_and_their_end() -> None:
    words = shown_name("begin" + "x" * 1000 + "end.toml")
    assert len(words) == 200
    assert words.startswith("begin")
    assert words.endswith("end.toml")
