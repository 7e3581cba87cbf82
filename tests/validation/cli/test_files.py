"""Files are checked before the work, and written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.files import Writer, check_targets, write_all


def writer(text: str) -> Writer:
    def write(path: Path) -> None:
        path.write_text(text)

    return write


def refuse(path: Path) -> None:
    path.write_text("half")
    raise OSError(28, "No space left on device", str(path))


def test_what_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(ConfigError, match=r"--out: .*a\.json: exists.*--force"):
        check_targets({"--out": path}, force=False)
    check_targets({"--out": path}, force=True)
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("name", "words"),
    [("lost/a.json", "does not exist"), ("file/a.json", "is not a folder"), ("folder", "is a folder")],
)
def test_a_place_that_cannot_hold_the_file_is_named(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=words):
        check_targets({"--out": tmp_path / name}, force=True)


def test_a_device_is_never_replaced_even_by_force() -> None:
    with pytest.raises(ConfigError, match="not an ordinary file"):
        check_targets({"--out": Path("/dev/null")}, force=True)


def test_two_flags_cannot_share_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(ConfigError, match=r"--plot: .* is the file of --out too"):
        check_targets({"--out": tmp_path / "a.svg", "--plot": tmp_path / "x" / ".." / "a.svg"}, force=False)


def test_all_files_appear_together(tmp_path: Path) -> None:
    write_all({tmp_path / "a.txt": writer("one"), tmp_path / "b.txt": writer("two")})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "one", "b.txt": "two"}


def test_a_failure_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ConfigError, match="No space left"):
        write_all({tmp_path / "a.txt": writer("new"), tmp_path / "b.txt": refuse})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_all({tmp_path / "a.txt": writer("one"), tmp_path / "b.txt": interrupt})
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_all({tmp_path / "link.txt": writer("new")})
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
