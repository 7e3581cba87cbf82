"""Specifications from files: what is read, and what is refused in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.specfile import build, folded, names_by_spelling, read_mapping, unknown_name


@dataclass(frozen=True, kw_only=True)
class Thing:
    size: int
    colour: str = "red"


@dataclass(frozen=True, kw_only=True)
class Box:
    width: int
    height_bytes: int


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.toml", b"size = 3\ncolour = 'blue'\n"),
        ("a.toml", b"\xef\xbb\xbfsize = 3\r\ncolour = 'blue'\r\n"),
        ("a.json", b'{"size": 3, "colour": "blue"}'),
        ("a.JSON", b'\xef\xbb\xbf{\r\n"size": 3,\r\n"colour": "blue"\r\n}'),
    ],
)
def test_toml_and_json_are_read_whatever_the_line_ends(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert build(Thing, read_mapping(path), "here") == Thing(size=3, colour="blue")


def test_json_is_told_by_its_brace_where_the_name_says_nothing(tmp_path: Path) -> None:
    for name in ("a", "a.toml"):
        (tmp_path / name).write_text(' {"size": 3}')
        assert read_mapping(tmp_path / name) == {"size": 3}
    (tmp_path / "b").write_text("size = 3")
    assert read_mapping(str(tmp_path / "b")) == {"size": 3}


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder; give a TOML or JSON file"):
        read_mapping(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.toml", b"size = ", "not valid TOML"),
        ("a.json", b'{"size": 3', "not valid JSON"),
        ("a.json", b"", "is empty"),
        ("a.toml", b"\xef\xbb\xbf \r\n", "is empty"),
        ("a.json", b"[1, 2]", "holds list"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.json", b'{"size": ' + b"9" * 5000 + b"}", "not valid JSON"),
        ("a.toml", b"\xff\xfe\x00", "not a text file"),
        ("a.csv", b"size,colour\n3,blue\n", "not valid TOML"),
        ("a.toml", b"x = " + b"[" * 100_000, "not valid TOML"),
        ("a.json", b" " * 9_000_000, "bytes"),
        ("a.json", b'{"size": 3, "size": 4}', "key 'size' is given twice"),
        ("a.json", b'{"size": {"a": 1, "b": 2, "a": 3}}', "key 'a' is given twice"),
        ("a.json", b'{"colour": "\\ud800"}', "is half a character"),
        ("a.json", b'{"\\ud800": 3}', "is half a character"),
    ],
)
def test_a_broken_file_is_refused_in_one_line_that_names_it(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_mapping(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_mapping(tmp_path / "none.toml")


def test_unknown_and_missing_keys_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^f.toml: colur: unknown key \(did you mean 'colour'\?\)$"):
        build(Thing, {"size": 1, "colur": "blue"}, "f.toml")
    with pytest.raises(ConfigError, match=r"^f.toml: size: missing; a Thing needs it$"):
        build(Thing, {}, "f.toml")
    with pytest.raises(ConfigError, match=r"^f.toml: width, height_bytes: missing; a Box needs them$"):
        build(Box, {}, "f.toml")
    with pytest.raises(ConfigError, match=r"height_gb: unknown key .*'height_bytes'\?\); 1 GB is 1e9 bytes$"):
        build(Box, {"height_gb": 1}, "f.toml")
    with pytest.raises(ConfigError) as caught:
        build(Thing, {"x" * 5000: 1}, "f.toml")
    assert len(str(caught.value)) < 250


def test_spellings_of_one_name_fold_together() -> None:
    assert folded("NVIDIA H100_SXM") == folded("h100-sxm") == folded("H100 SXM (80 GB)") == "h100sxm"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    message = str(unknown_name("hardware", "h10", ["a100", "h100"]))
    assert "did you mean 'h100'?" in message
    assert "\n" not in str(unknown_name("hardware", "x\ny" * 1000, ["a100", "h100"]))


def test_a_name_wins_over_the_alias_of_another() -> None:
    table: dict[str, dict[str, list[str]]] = {"one": {"aliases": ["two", "Nvidia First"]}, "two": {}}
    assert names_by_spelling(table) == {"two": "two", "first": "one", "one": "one"}
