"""What killed processes leave is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perflint.files import writing
from perflint.files.writing import overwrite, replace_file, sweep, temporary
from tests.cli_runs import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="names of open files, links and signals of POSIX")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def killed(code: str, directory: Path) -> None:
    """Run Python in ``directory`` until it prints something, and kill it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-c",
        "import os, time\nfrom pathlib import Path\nfrom perflint.files import writing\n" + code,
    ]
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.kill()
        assert running.wait() == -signal.SIGKILL


WRITING = """
with writing.temporary(Path()) as made:
    made.write(b"half")
    print("now", flush=True)
    time.sleep(600)
"""


def test_a_file_of_a_killed_process_is_removed_and_one_of_a_living_stays(tmp_path: Path) -> None:
    killed(WRITING, tmp_path)
    assert len(names(tmp_path)) == 1
    with temporary(tmp_path) as made:
        made.write(b"half")
        assert len(names(tmp_path)) == 2
        assert sweep(tmp_path) == []
        assert names(tmp_path) == [made.path.name]
    assert names(tmp_path) == []


def test_a_file_whose_name_was_not_complete_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".perflint-abcdefgh.tmp").touch()
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_nothing_else_is_removed(tmp_path: Path) -> None:
    """Copies, files that only have such a name, links, pipes and directories."""
    killed(WRITING, tmp_path)
    (made,) = tmp_path.iterdir()
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / made.name).write_bytes(made.read_bytes())
    (copy / ".perflint-abcdefgh.tmp").write_text("somebody's")
    (copy / ".perflint-1f-abcdefgh.tmp").write_text("somebody's")
    (copy / ".perflint-1f-abcdefgi.redo").write_text("somebody's")
    (copy / ".perflint-notes.txt").touch()
    (copy / ".perflint-abcdefgi.tmp").symlink_to(made)
    os.mkfifo(copy / ".perflint-abcdefgj.tmp")
    (copy / ".perflint-abcdefgk.tmp").mkdir()
    before = names(copy)
    sweep(copy)
    assert names(copy) == before
    assert made.exists()


# --- files with several names


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_bytes(b"old" * 4_000)
    second.hardlink_to(first)
    return first, second


@pytest.mark.parametrize("new", [b"", b"new", b"new" * 9_000])
def test_a_file_with_several_names_keeps_them(linked: tuple[Path, Path], new: bytes) -> None:
    first, second = linked
    replace_file(second, new)
    assert first.read_bytes() == second.read_bytes() == new
    assert first.stat().st_nlink == 2
    assert names(first.parent) == ["first.py", "second.py"]


def test_when_writing_in_place_fails_the_old_text_is_back(
    linked: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    put, calls = writing._put, []

    def fail(handle: int, data: bytes) -> None:
        calls.append(data)
        put(handle, data[: len(data) // 2] if len(calls) == 1 else data)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_put", fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(linked[0], b"new" * 9_000)
    assert linked[1].read_bytes() == b"old" * 4_000
    assert names(linked[0].parent) == ["first.py", "second.py"]


TORN = """
def half(handle, data):
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, data[: {part}])
    print("now", flush=True)
    time.sleep(600)

writing._put = half
writing.overwrite(Path("first.py"), {new!r})
"""


@pytest.mark.parametrize("new", [b"new" * 2_000, b"new" * 4_000, b"new" * 9_000, b""])
@pytest.mark.parametrize("part", [0, 1, 4_096, 20_000])
def test_what_a_kill_has_interrupted_is_finished(linked: tuple[Path, Path], new: bytes, part: int) -> None:
    first, second = linked
    killed(TORN.format(part=part, new=new), first.parent)
    torn = first.read_bytes()
    finished = sweep(first.parent)
    assert finished == ([first] if torn not in (b"old" * 4_000, new) else [])
    assert second.read_bytes() == (b"old" * 4_000 if torn == b"old" * 4_000 else new)
    assert names(first.parent) == ["first.py", "second.py"]


@pytest.mark.parametrize("what", ["edited", "replaced", "gone", "a link"])
def test_what_somebody_has_changed_since_is_left_alone(linked: tuple[Path, Path], what: str) -> None:
    first, _ = linked
    killed(TORN.format(part=4_096, new=b"new" * 4_000), first.parent)
    other = first.with_name("other.py")
    other.write_bytes(first.read_bytes())
    if what == "edited":
        first.write_bytes(b"x" + first.read_bytes())
    else:
        first.unlink()
    if what == "replaced":
        first.write_bytes(other.read_bytes())
    if what == "a link":
        first.symlink_to(other)
    before = first.read_bytes() if first.exists() else None
    assert sweep(first.parent) == []
    assert (first.read_bytes() if first.exists() else None) == before
    assert not any(name.startswith(".perflint") for name in names(first.parent))


def test_a_note_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """Whatever stands in such a file, nothing but a file beside it is written."""
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_bytes(b"ab")
    directory = tmp_path / "directory"
    directory.mkdir()
    with temporary(directory) as note:
        note.write(writing._noted("../elsewhere.py", elsewhere.stat().st_ino, b"aa", b"bb"))
        note.rename(note.path.with_suffix(".redo"))
        note.stays = True
    assert sweep(directory) == []
    assert elsewhere.read_bytes() == b"ab"
    assert names(directory) == []


# --- attributes


def attribute(path: Path) -> None:
    """Give a file an extended attribute, or skip the test."""
    try:
        os.setxattr(path, "user.perflint", b"value")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    attribute(file)
    number = file.stat().st_ino
    replace_file(file, b"new")
    assert file.stat().st_ino != number
    assert os.getxattr(file, "user.perflint") == b"value"
    assert file.read_bytes() == b"new"


def test_a_file_whose_attributes_no_other_takes_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    attribute(file)
    number = file.stat().st_ino

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setxattr", refuse)
    replace_file(file, b"new")
    assert (file.stat().st_ino, file.read_bytes()) == (number, b"new")
    assert os.getxattr(file, "user.perflint") == b"value"
    assert names(tmp_path) == ["a.py"]


def test_in_place_the_mode_and_the_owner_stay(linked: tuple[Path, Path]) -> None:
    linked[0].chmod(0o764)
    before = linked[0].stat()
    overwrite(linked[0], b"new")
    after = linked[0].stat()
    assert (after.st_mode, after.st_uid, after.st_ino) == (before.st_mode, before.st_uid, before.st_ino)
    assert stat.S_IMODE(after.st_mode) == 0o764


def test_a_report_that_is_written_takes_leftovers_away(tmp_path: Path) -> None:
    killed(WRITING, tmp_path)
    writing.write_whole(tmp_path / "report", b"new")
    assert names(tmp_path) == ["report"]


def test_files_made_and_swept_at_the_same_time(tmp_path: Path) -> None:
    """Each writer gets its file, whoever sweeps meanwhile."""
    code = "from perflint.files.writing import sweep\nfor _ in range(3000):\n    sweep(Path())\n"
    command = [sys.executable, "-c", "from pathlib import Path\n" + code]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}) as sweeping:
        count = 0
        until = time.monotonic() + 60
        while sweeping.poll() is None and time.monotonic() < until:
            writing.write_new(tmp_path / "file", b"new")
            count += 1
    assert count > 0
    assert names(tmp_path) == ["file"]
