"""Files are checked before the work, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.files import Writer, check_targets, spare_inputs, write_all


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


def write(folder: Path, force: bool = False, **writers: Writer) -> None:
    """Write files named after their flags, as in ``a`` to ``a.txt``."""
    write_all({name: folder / f"{name}.txt" for name in writers}, writers, force=force)


def test_all_files_appear_together(tmp_path: Path) -> None:
    write(tmp_path, a=writer("one"), b=writer("two"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "one", "b.txt": "two"}


def test_a_failure_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ConfigError, match="No space left"):
        write(tmp_path, force=True, a=writer("new"), b=refuse)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, a=writer("one"), b=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write(tmp_path, force=True, link=writer("new"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def appears(path: Path) -> Writer:
    """Writes, while somebody else makes the file that it will become."""

    def write(part: Path) -> None:
        part.write_text("ours")
        path.write_text("theirs")

    return write


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_up_meanwhile_is_kept_and_nothing_else_is_left(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    with pytest.raises(ConfigError, match=r"^b: .*b\.txt: exists; give another name, or --force"):
        write(tmp_path, a=writer("one"), b=appears(tmp_path / "b.txt"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b.txt": "theirs"}
    write(tmp_path, force=True, b=appears(tmp_path / "b.txt"))
    write(tmp_path, c=writer("three"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b.txt": "ours", "c.txt": "three"}


def test_an_error_without_a_file_name_names_the_file_that_failed(tmp_path: Path) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(ConfigError, match=r"^b: .*b\.txt: cannot be written \(No space left"):
        write(tmp_path, a=writer("one"), b=full)


def test_a_name_that_no_file_can_have_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "lost").symlink_to("nowhere/a.json")
    for name, words in {"one": "symbolic links", "x" * 300: "too long", "lost": "does not exist"}.items():
        with pytest.raises(ConfigError, match=f"--out: .*{words}"):
            check_targets({"--out": tmp_path / name}, force=True)


def test_a_name_as_long_as_the_system_takes_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".txt")
    check_targets({"--out": path}, force=False)
    write_all({"--out": path}, {"--out": writer("long")}, force=False)
    assert path.read_text() == "long"


@pytest.mark.parametrize("text", ["in.csv", "quantiles(in.csv, workload=chat)", "./in.csv"])
def test_a_file_that_is_read_is_never_written(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("data")
    with pytest.raises(ConfigError, match=r"--out: .*in\.csv: is read by this command"):
        spare_inputs({"--out": tmp_path / "in.csv"}, ["chat", text])
    spare_inputs({"--out": tmp_path / "other.csv"}, ["chat", text])
