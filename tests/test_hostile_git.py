"""Repositories whose configuration, attributes, hooks or remotes name programs: asking git runs none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.inputs import git as asked
from perflint.inputs.git import ChangedLines
from tests.cli_runs import Output, write
from tests.git_runs import commit, git, start
from tests.support import in_step

FINDING = in_step("total += loss.item()\n")
CHECKS: tuple[list[str], ...] = (
    ["--changed-since", "HEAD~1"],
    ["--changed-since", "HEAD~1..."],
    [],
    ["--write-baseline"],
)

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="the traps are made for git and sh"),
    pytest.mark.timeout(120),
]


@pytest.fixture(autouse=True)
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two commits as the current directory; the file that shows that a trap was sprung."""
    start(tmp_path / "repository", monkeypatch)
    write(train="x = 1\n", other=FINDING)
    commit()
    write(train=FINDING)
    commit()
    write(train=FINDING + "        y = loss.item()\n")
    script = tmp_path / "trap"
    script.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{tmp_path}/sprung'\n")
    script.chmod(0o755)
    return tmp_path / "sprung"


def trap() -> str:
    return str(Path("../trap").resolve())


def plainly(*arguments: str, at: str = ".") -> None:
    """What a person's own git would do, whether it fails or not."""
    subprocess.run(["git", *arguments], cwd=at, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)


def expect_quiet(marker: Path, capsys: Output, *paths: str, reported: bool = True) -> None:
    """All checks say what they find, and spring no trap.

    Raises:
        AssertionError: the trap that was set was sprung, or a finding is missing.
    """
    marker.unlink(missing_ok=True)
    for options in CHECKS:
        capsys.readouterr()
        status = main(["check", "--no-cache", "--output-format", "concise", *options, *paths])
        out, err = capsys.readouterr()
        assert not marker.exists(), (options, marker.read_text())
        if reported and "--write-baseline" not in options:
            assert status == 1, out + err
            assert "train.py:12:" in out


def set_trap(*names: str) -> None:
    for name in names:
        git("config", name, trap())


@pytest.mark.parametrize(
    ("settings", "attributes", "command"),
    [
        (["core.fsmonitor"], "", ["status"]),
        (["diff.external"], "", ["diff", "HEAD~1"]),
        (["diff.x.command"], "*.py diff=x", ["diff", "HEAD~1"]),
        (["diff.x.textconv"], "*.py diff=x", ["diff", "HEAD~1"]),
        (["filter.x.clean"], "*.py filter=x", ["diff", "HEAD~1"]),
        (["filter.x.process"], "*.py filter=x", ["diff", "HEAD~1"]),
        (["filter.x.Y-ü.clean"], "*.py filter=x.Y-ü", ["diff", "HEAD~1"]),
        (["core.pager", "pager.diff", "core.editor", "core.askPass", "credential.helper", "core.gitProxy"], "", []),
        (["alias.diff", "alias.rev-parse", "alias.ls-files", "core.sshCommand", "core.alternateRefsCommand"], "", []),
        (
            ["gpg.program", "diff.x.xfuncname", "interactive.diffFilter", "sequence.editor", "trace2.normalTarget"],
            "",
            [],
        ),
    ],
)
def test_what_a_configuration_names_is_not_run(
    settings: Sequence[str], attributes: str, command: Sequence[str], marker: Path, capsys: Output
) -> None:
    set_trap(*settings)
    Path(".gitattributes").write_text(attributes + "\n")
    if command:
        os.utime("other.py", (1, 1))  # git has to look into it
        plainly(*command)
        assert marker.exists(), "this is no trap"
    expect_quiet(marker, capsys)


def test_filters_whose_settings_come_from_elsewhere(marker: Path, capsys: Output) -> None:
    Path("more.config").write_text(f'[filter "x"]\n clean = {trap()}\n required = true\n')
    git("config", "include.path", "../more.config")
    Path(".git/info").mkdir(exist_ok=True)
    Path(".git/info/attributes").write_text("*.py filter=x\n")
    plainly("diff", "HEAD~1")
    assert marker.exists(), "this is no trap"
    expect_quiet(marker, capsys)


def test_a_filter_whose_name_cannot_be_overridden_ends_the_comparison(marker: Path, capsys: Output) -> None:
    with Path(".git/config").open("a") as file:
        file.write(f'[filter "x=y"]\n clean = {trap()}\n')
    Path(".gitattributes").write_text("*.py filter=x=y\n")
    plainly("diff", "HEAD~1")
    assert marker.exists(), "this is no trap"
    expect_quiet(marker, capsys, reported=False)
    assert main(["check", "--no-cache", "--changed-since", "HEAD~1"]) == 2
    assert "filter" in capsys.readouterr().err


def test_lines_are_compared_without_the_filters_but_with_the_line_ends(marker: Path) -> None:
    set_trap("filter.x.clean")
    Path(".gitattributes").write_text("*.py filter=x text=auto\n")
    Path("train.py").write_bytes(FINDING.replace("\n", "\r\n").encode())
    assert not ChangedLines(Path.cwd(), "HEAD").of("train.py")
    assert not marker.exists()


@pytest.mark.parametrize("by_setting", [False, True])
def test_hooks_are_not_run(by_setting: bool, marker: Path, capsys: Output) -> None:
    place = Path("hooks" if by_setting else ".git/hooks")
    place.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
        shutil.copy(trap(), place / name)
    if by_setting:
        git("config", "core.hooksPath", "hooks")
    os.utime("other.py", (1, 1))
    plainly("status")
    assert marker.exists(), "this is no trap"
    os.utime("other.py", (2, 2))
    expect_quiet(marker, capsys)


def bare_repository(place: Path) -> None:
    """A directory that git takes for a repository, made of files that any repository may hold."""
    for name in ("objects", "refs"):
        (place / name).mkdir(parents=True)
        (place / name / "keep").touch()
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "config").write_text(
        f"[core]\n repositoryformatversion = 0\n bare = false\n worktree = {place.resolve()}\n fsmonitor = {trap()}\n"
        f" sshCommand = {trap()}\n[diff]\n external = {trap()}\n"
    )
    (place / "train.py").write_text(FINDING)


def test_a_bare_repository_among_the_files(marker: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    bare_repository(Path("data"))
    plainly("status", at="data")
    assert marker.exists(), "this is no trap"
    git("add", "-f", "data")
    git("commit", "-q", "-m", "data")
    git("commit", "-q", "--allow-empty", "-m", "more")
    git("clone", "-q", ".", "../clone")
    monkeypatch.chdir("../clone")
    Path("data/train.py").write_text(FINDING + "        y = loss.item()\n")
    expect_quiet(marker, capsys, reported=False)
    expect_quiet(marker, capsys, "data", reported=False)
    monkeypatch.chdir("data")
    expect_quiet(marker, capsys, reported=False)
    capsys.readouterr()
    assert main(["check", "--no-cache", "--changed-since", "HEAD", "--output-format", "concise"]) == 1
    assert "train.py:13:" in capsys.readouterr().out


@pytest.mark.parametrize("pointer", ["directory", "file"])
def test_a_directory_with_a_git_that_leads_elsewhere(pointer: str, marker: Path, capsys: Output) -> None:
    bare_repository(Path("data"))
    Path("data/below").mkdir()
    Path("data/below/train.py").write_text(FINDING)
    if pointer == "file":
        Path("data/below/.git").write_text(f"gitdir: {Path('data').resolve()}\n")
    else:
        Path("data/below/.git").mkdir()
    plainly("status", at="data/below")
    assert marker.exists(), "this is no trap"
    expect_quiet(marker, capsys, "data/below", reported=False)


def test_a_submodule_is_asked_as_carefully(marker: Path, capsys: Output, tmp_path: Path) -> None:
    git("clone", "-q", ".", str(tmp_path / "library"))
    git("submodule", "add", "-q", str(tmp_path / "library"), "sub")
    commit()
    for name in ("core.fsmonitor", "filter.x.clean", "diff.external"):
        git("config", name, trap(), at="sub")
    git("config", "diff.ignoreSubmodules", "none")
    Path("sub/.gitattributes").write_text("*.py filter=x\n")
    Path("sub/train.py").write_text(FINDING + "        y = loss.item()\n")
    os.utime("sub/other.py", (1, 1))
    plainly("diff", "HEAD")
    assert marker.exists(), "this is no trap"
    expect_quiet(marker, capsys, reported=False)
    assert ChangedLines(Path.cwd(), "HEAD").of("sub/train.py").rows == {13}
    assert not marker.exists()


@pytest.mark.parametrize("url", ["ext::{trap}", "ssh://example.org/x", "file:///nowhere"])
def test_nothing_is_fetched(url: str, marker: Path, capsys: Output) -> None:
    """A clone may lack objects, which git gets from where the configuration says once it needs them."""
    name = (
        subprocess.run(["git", "rev-parse", "HEAD~1:train.py"], capture_output=True, check=True).stdout.decode().strip()
    )
    Path(".git/objects", name[:2], name[2:]).unlink()
    for key, value in {
        **{"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true"},
        **{"remote.origin.url": url.format(trap=trap()), "protocol.ext.allow": "always", "protocol.allow": "always"},
        **{"core.sshCommand": trap(), "remote.origin.uploadpack": trap()},
    }.items():
        git("config", key, value)
    plainly("diff", "HEAD~1")
    assert marker.exists() or url.startswith("file"), "this is no trap"
    expect_quiet(marker, capsys, reported=False)
    assert main(["check", "--no-cache", "--changed-since", "HEAD~1"]) == 2


def test_the_environment_names_programs_in_vain(
    marker: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("EXTERNAL_DIFF", "PAGER", "SSH", "SSH_COMMAND", "ASKPASS", "EDITOR", "PROXY_COMMAND"):
        monkeypatch.setenv(f"GIT_{name}", trap())
    Path(".gitattributes").write_text("*.py filter=x\n")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, name in enumerate(("filter.x.clean", "core.fsmonitor")):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", trap())
    plainly("diff", "HEAD~1")
    assert marker.exists(), "this is no trap"
    (tmp_path / "empty").touch()
    monkeypatch.setenv("GIT_CONFIG", str(tmp_path / "empty"))  # what git config would list in place of all others
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u7")
    monkeypatch.setenv("GIT_NAMESPACE", "x")
    expect_quiet(marker, capsys)


def test_a_program_called_git_in_the_repository_is_not_run(
    marker: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(trap(), "git")
    for first in ("", "."):
        monkeypatch.setenv("PATH", os.pathsep.join([first, os.environ["PATH"]]))
        expect_quiet(marker, capsys)


def test_git_that_waits_for_ever_is_ended(marker: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    with Path(".git/config").open("a") as file:
        file.write("[include]\n path = ../pipe\n")
    monkeypatch.setattr(asked, "PATIENCE", 1)
    assert main(["check", "--no-cache", "--changed-since", "HEAD~1"]) == 2
    assert "git has not answered in 1 seconds" in capsys.readouterr().err
    assert main(["check", "--no-cache", "--output-format", "concise"]) == 1


def test_files_that_became_pipes_are_told_and_the_others_compared(capsys: Output) -> None:
    Path("other.py").unlink()
    os.mkfifo("other.py")
    Path(".gitignore").symlink_to("/dev/zero")
    status = main(["check", "--no-cache", "--output-format", "concise", "--changed-since", "HEAD"])
    assert status == 1
    assert "train.py:13:" in capsys.readouterr().out


def test_the_command_as_people_start_it(marker: Path) -> None:
    set_trap("core.fsmonitor", "diff.external", "filter.x.clean")
    Path(".gitattributes").write_text("*.py filter=x\n")
    command = [sys.executable, "-m", "perflint", "check", "--no-cache", "--changed-since", "HEAD~1", "."]
    run = subprocess.run(command, capture_output=True, timeout=100, check=False)
    assert run.returncode == 1
    assert b"train.py" in run.stdout
    assert not marker.exists()
