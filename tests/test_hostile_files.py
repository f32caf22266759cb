"""Pipes, sockets, devices and endless links in place of a file: nothing is waited for, and the rest is reported."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from encodings import aliases
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.configuration.config_files import load
from perflint.run import cache
from perflint.server.client import Tell
from perflint.server.workspace import Disk
from tests.cli_runs import Output, pipe, write
from tests.support import in_step

FINDING = in_step("total += loss.item()\n")

pytestmark = [
    pytest.mark.usefixtures("real_workplace"),
    pytest.mark.timeout(60),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here"),
]

_open: list[socket.socket] = []


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    server = socket.socket(socket.AF_UNIX)
    server.bind(path.name)
    _open.append(server)
    os.chdir(here)


def _linked(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo, "it is a pipe, not a file"),
    "socket": (_socket, "it is a socket, not a file"),
    "zero": (_linked("/dev/zero"), "it is a device, not a file"),
    "stdin": (_linked("/dev/stdin"), "it is a pipe, not a file"),
    "circle": (_linked("circle"), "Too many levels of symbolic links"),
}


@pytest.fixture(params=KINDS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Something that is no file, and how perflint says so."""
    make, told = KINDS[request.param]
    place = tmp_path_factory.mktemp("hostile") / "circle"
    before = None
    if request.param == "stdin":  # an open pipe that nobody writes into
        before, (receiver, sender) = os.dup(0), os.pipe()
        os.dup2(receiver, 0)
    make(place)
    yield place, told
    if before is not None:
        os.dup2(before, 0)
        for handle in (before, receiver, sender):
            os.close(handle)
    while _open:
        _open.pop().close()


def put(hostile: Path, path: str) -> str:
    """Put it in place of a file of the project."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).unlink(missing_ok=True)
    Path(path).symlink_to(hostile)
    return path


def checked(capsys: Output, *arguments: str, reported: bool = True) -> tuple[int, str]:
    """Exit status and output of a check, which has to report the healthy file."""
    write(train=FINDING)
    capsys.readouterr()
    status = main(["check", "--output-format", "concise", *arguments])
    out, err = capsys.readouterr()
    assert "train.py:12:" in out or status == 2 or not reported, out + err
    assert "internal error" not in err
    return status, out + err


@pytest.mark.parametrize("name", [".gitignore", "below/.gitignore", ".git/info/exclude", ".git"])
def test_as_an_ignore_file(name: str, hostile: tuple[Path, str], capsys: Output) -> None:
    Path("below").mkdir()
    Path("below/a.py").touch()
    put(hostile[0], name)
    status, said = checked(capsys)
    assert status == 1
    assert hostile[1] in said
    assert Path(name).name in said


def test_as_the_file_that_leads_to_a_repository(hostile: tuple[Path, str], capsys: Output) -> None:
    Path(".git").write_text("gitdir: elsewhere\n")
    put(hostile[0], "elsewhere/commondir")
    assert checked(capsys)[0] == 1
    Path(".git").write_text("gitdir: a\0b\n")
    assert checked(capsys)[0] == 1


@pytest.mark.parametrize("name", ["perflint.toml", ".perflint.toml", "pyproject.toml"])
def test_as_a_configuration(name: str, hostile: tuple[Path, str], capsys: Output) -> None:
    Path("perflint.toml").unlink()
    put(hostile[0], name)
    status, said = checked(capsys)
    assert status == 1
    if "levels" not in hostile[1]:
        assert f"{name} is not read as a configuration: {hostile[1]}" in said
    status, said = checked(capsys, "--config", name)
    assert status == 2
    assert f"{name}: cannot be read: {hostile[1]}" in said


def test_as_a_baseline(hostile: tuple[Path, str], capsys: Output) -> None:
    put(hostile[0], "known.json")
    for arguments in (["--baseline", "known.json"], []):
        status, said = checked(capsys, *arguments)
        assert status == 2
        assert f"known.json: the baseline cannot be read: {hostile[1]}" in said
        Path("perflint.toml").write_text('baseline = "known.json"\n')


def test_as_an_entry_of_the_cache(hostile: tuple[Path, str], capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(Path("cache").absolute()))
    assert checked(capsys)[0] == 1
    (entry,) = Path("cache").glob("*.entry")
    put(hostile[0], str(entry))
    assert checked(capsys)[0] == 1
    assert os.path.lexists(hostile[0])


@pytest.mark.parametrize("name", ["other.py", "other", "other.yml"])
def test_as_an_argument(name: str, hostile: tuple[Path, str], capsys: Output) -> None:
    put(hostile[0], name)
    status, said = checked(capsys, "train.py", name)
    if "levels" in hostile[1]:
        assert status == 2
        assert f"{name} is a link that leads nowhere" in said
    else:
        assert status == 1
        assert f"{name}:1:1: PPF003" in said
        assert f"it cannot be read: {hostile[1]}" in said


def test_below_a_directory(hostile: tuple[Path, str], capsys: Output) -> None:
    put(hostile[0], "below/other.py")
    assert checked(capsys)[0] == 1


def test_as_a_file_that_flake8_names(hostile: tuple[Path, str]) -> None:
    """flake8 itself does not open what is below a directory and no file, nor may its plugin."""
    from perflint import flake8_plugin

    put(hostile[0], "below/other.py")
    put(hostile[0], "below/pyproject.toml")
    assert flake8_plugin._is_worth_reading("below/other.py")
    assert flake8_plugin._configures("below")


def test_a_name_that_is_too_long_is_told(capsys: Output) -> None:
    long = "a" * 5_000
    for arguments in ([long], [f"{long}.py"], ["--config", long], ["--baseline", long], ["--context", long]):
        status, said = checked(capsys, *arguments)
        assert status == 2
        assert said.startswith("perflint: ")
    for option in ("--write-baseline", "--output-file", "--output=json:"):
        status, said = checked(capsys, f"{option}{'' if option.endswith(':') else '='}{long}")
        assert status == 2
        assert "cannot be written: File name too long" in said
    for setting in (f'context = ["{long}"]', f'baseline = "{long}"'):
        Path("perflint.toml").write_text(setting)
        assert checked(capsys)[0] == 2


@pytest.mark.parametrize("options", [[], ["--fix"], ["--diff"]])
def test_a_long_name_of_standard_input_is_only_a_name(
    options: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, FINDING.encode())
    status, said = checked(capsys, *options, "--stdin-filename", "a" * 5_000 + ".py", "-", reported=False)
    assert status in (0, 1)
    assert "PPF201" in said or options


def test_the_editor_reads_a_folder_with_odd_files(hostile: tuple[Path, str]) -> None:
    for name in (".gitignore", "other.py", "perflint.toml", "requirements.txt"):
        put(hostile[0], name)
    write(train=FINDING)
    disk = Disk(str(Path.cwd()), Tell(lambda *_: None, lambda *_: None))
    disk.look(load(Path.cwd(), known={}))
    assert [Path(path).name for path in disk.sources] == ["train.py"]


def test_a_baseline_with_curious_entries(capsys: Output) -> None:
    entry = '{"path": "%s", "code": "PPF201", "fingerprint": "x", "text": ""}'
    for path in ("a" * 5_000, "a\\u0000b", "\\ud800", "/dev/zero", "../" * 2_000):
        Path("known.json").write_text('{"version": 1, "findings": [' + entry % path + "]}")
        assert checked(capsys, "--baseline", "known.json")[0] == 1
    for text in ('{"version": ' + "9" * 5_000 + "}", "[" * 100_000, "\0"):
        Path("known.json").write_text(text)
        status, said = checked(capsys, "--baseline", "known.json")
        assert status == 2
        assert "the baseline is not valid JSON" in said


def test_standard_input_as_a_file(tmp_path: Path) -> None:
    """``perflint check /dev/stdin`` is told what to say instead; it would wait for an end of a terminal."""
    write(train=FINDING)
    command = [sys.executable, "-m", "perflint", "check", "--output-format", "concise", "/dev/stdin", "train.py"]
    run = subprocess.run(command, input=b"x = 1\n", capture_output=True, timeout=60, check=False)
    assert run.returncode == 1
    assert b"/dev/stdin:1:1: PPF003" in run.stdout
    assert b"train.py:12:" in run.stdout


FORMATS = ("sarif", "json", "json-lines", "github", "gitlab", "junit", "rdjson", "full")


@pytest.mark.parametrize(
    "options", [[], ["--fix", "--unsafe-fixes"], ["--diff", "--unsafe-fixes"], ["--add-noqa"], ["--write-baseline"]]
)
def test_every_codec_beside_a_healthy_file(options: list[str], capsys: Output) -> None:
    write(train=FINDING)
    before = {}
    for encoding in {"punycode", *aliases.aliases.values()}:
        path = Path(f"of_{encoding}.py")
        path.write_bytes(f"# coding: {encoding}\nx = '\\u000ab'\n{FINDING}".encode())
        before[path] = path.read_bytes()
    outputs = [item for name in FORMATS for item in ("--output", f"{name}:out.{name}")] if not options else []
    status = main(["check", "--no-cache", "--output-format", "concise", *options, *outputs])
    out, err = capsys.readouterr()
    assert "internal error" not in err
    if not options:
        assert status == 1
        assert "train.py:12:" in out
        assert "of_punycode.py:1:1: PPF003" in out
        assert "of_gbk.py:14:" in out
        assert Path("out.sarif").stat().st_size > 0
    left = [path for path, data in before.items() if path.read_bytes() == data]
    assert Path("of_punycode.py") in left
    assert "--add-noqa" not in options or len(left) < len(before) // 2
