"""Replacing files: whole, with their mode, and never half."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from perflint.files.writing import replace_file, write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX")
not_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_bytes(b"old\r\n")
    return path


def test_the_new_bytes_stand_in_place_of_the_old_and_nothing_else_is_left(file: Path) -> None:
    replace_file(file, b"new\r\n\xff")
    assert file.read_bytes() == b"new\r\n\xff"
    assert names(file.parent) == ["train.py"]


@posix
@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664])
def test_the_mode_is_kept_whatever_the_umask(file: Path, mode: int) -> None:
    file.chmod(mode)
    before = os.umask(0o077)
    try:
        replace_file(file, b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def owned_by_another(file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Make the file look like someone else's; the owner and group it shows."""
    own = file.stat()
    fields = list(own)
    fields[stat.ST_UID] = own.st_uid + 1
    monkeypatch.setattr("perflint.files.writing._status", lambda target: os.stat_result(fields))
    return own.st_uid + 1, own.st_gid


@posix
def test_the_owner_is_kept_where_permitted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = owned_by_another(file, monkeypatch)
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: asked.append((uid, gid)))
    replace_file(file, b"new")
    assert asked == [owner]
    assert file.read_bytes() == b"new"


@posix
def test_a_refused_change_of_owner_still_keeps_the_group_and_writes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, gid = owned_by_another(file, monkeypatch)
    asked: list[tuple[int, int]] = []

    def refuse(path: Path, uid: int, gid: int) -> None:
        asked.append((uid, gid))
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    replace_file(file, b"new")
    assert asked == [(uid, gid), (-1, gid)]
    assert file.read_bytes() == b"new"


@posix
def test_a_link_stays_and_its_target_is_replaced(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "links"
    elsewhere.mkdir()
    link = elsewhere / "link.py"
    link.symlink_to("../train.py")
    second = elsewhere / "second.py"
    second.symlink_to("link.py")
    replace_file(second, b"new")
    assert second.is_symlink()
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert not file.is_symlink()
    assert names(elsewhere) == ["link.py", "second.py"]


def test_when_the_replacement_fails_the_original_stays_and_no_temporary_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old\r\n"
    assert names(file.parent) == ["train.py"]


def test_when_writing_fails_the_original_stays_and_no_temporary_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old\r\n"
    assert names(file.parent) == ["train.py"]


def test_an_interruption_leaves_no_temporary_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(file, b"new")
    assert names(file.parent) == ["train.py"]


def test_the_bytes_are_on_disk_before_the_file_is_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(handle: int) -> None:
        order.append("fsync")
        sync(handle)

    def noted_replace(self: Path, target: Path) -> Path:
        order.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    replace_file(file, b"new")
    assert order == ["fsync", "replace"]


def test_a_missing_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "gone.py", b"new")
    assert names(tmp_path) == []


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(tmp_path, b"new")


def test_a_write_protected_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="write-protected"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old\r\n"


@posix
@not_root
def test_a_directory_that_takes_no_file_leaves_the_original(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            replace_file(file, b"new")
    finally:
        file.parent.chmod(0o755)
    assert file.read_bytes() == b"old\r\n"


def test_a_very_long_name_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".py")
    path.write_bytes(b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(names(tmp_path)) == 1


# --- write_whole


@posix
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_other_programs_give_theirs(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "report", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "report").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "report").stat().st_mode) == mode
    assert names(tmp_path) == ["report"]


@posix
def test_a_file_that_is_there_keeps_its_mode_and_its_links(file: Path) -> None:
    file.chmod(0o664)
    link = file.with_name("link")
    link.symlink_to(file.name)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o664


@posix
def test_a_link_to_a_file_that_is_not_there_yet_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("report")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "report").read_bytes() == b"new"


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "report"
    if there:
        path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert names(tmp_path) == (["report"] if there else [])
    assert not there or path.read_bytes() == b"old"


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    write_whole(Path(f"/dev/fd/{writing}"), b"new")
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"new"


@posix
def test_a_file_that_a_shell_has_opened_is_written_to_and_not_replaced(file: Path) -> None:
    with file.open("ab") as opened:
        write_whole(Path(f"/dev/fd/{opened.fileno()}"), b"new")
        assert os.fstat(opened.fileno()).st_ino == file.stat().st_ino
    assert file.read_bytes() == b"new"
