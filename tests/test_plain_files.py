"""What perflint reads and what it refuses to open: pipes, devices, sockets, and files without an end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from perflint.files import plain_files

pytestmark = pytest.mark.timeout(20)  # a pipe that is opened waits forever
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 200_000])
def test_a_file_is_read_whole(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    (tmp_path / "link").symlink_to("file")
    assert plain_files.read(tmp_path / "file") == plain_files.read(str(tmp_path / "link")) == data


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert plain_files.read(tmp_path / "file", most=5) == b"12345"
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        plain_files.read(tmp_path / "file", most=4)


@needs_pipes
def test_a_file_that_grows_while_it_is_read_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    asked = []

    def endless(handle: int, size: int) -> bytes:
        asked.append(size)
        return b"x" * size

    monkeypatch.setattr(os, "read", endless)
    with pytest.raises(OSError, match="it is larger than 100,000 bytes"):
        plain_files.read(tmp_path / "file", most=100_000)
    assert sum(asked) == 100_001


@needs_pipes
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_not_opened(tmp_path: Path, linked: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    path = tmp_path / ("link" if linked else "pipe")
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        plain_files.read(path)
    assert plain_files.problem(path) == "it is a pipe, not a file"


@needs_pipes
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    status = (tmp_path / "file").stat()
    monkeypatch.setattr(os, "stat", lambda path: status)  # what it was a moment ago
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        plain_files.read(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_link_to_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="it is a device, not a file"):
        plain_files.read(tmp_path / "link")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets here")
def test_a_socket_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OSError, match="it is a socket, not a file"):
            plain_files.read("socket")


def test_what_is_missing_or_a_directory_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        plain_files.read(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        plain_files.read(tmp_path)
    assert plain_files.problem(tmp_path / "nothing") == plain_files.problem(tmp_path) == ""
