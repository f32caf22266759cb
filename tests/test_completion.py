"""``perflint completion``: what a shell offers after Tab, asked of a real bash."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perflint.cli import main

pytestmark = pytest.mark.usefixtures("place")
BASH = shutil.which("bash")
Output = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to stand in, with a script and a directory."""
    (tmp_path / "train.py").write_text("")
    (tmp_path / "tools").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(shell: str, capsys: Output) -> str:
    assert main(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.skipif(BASH is None, reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("perflint che", ["check"]),
        ("perflint check --fi", ["--fix", "--fix-only"]),
        ("perflint check --output-format gi", ["github", "gitlab"]),
        ("perflint check --quiet --min-c", ["--min-confidence"]),
        ("perflint check t", ["tools", "train.py"]),
        ("perflint check --config t", ["tools", "train.py"]),
        ("perflint check --context t", ["tools"]),
        ("perflint bench t", ["tools", "train.py"]),
        ("perflint completion z", ["zsh"]),
    ],
)
def test_bash_completes(typed: str, offered: list[str], capsys: Output) -> None:
    words = shlex.split(typed)
    ask = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _shtab_perflint; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    text = script("bash", capsys) + ask + "\n"
    done = subprocess.run([BASH or "", "--norc"], input=text, capture_output=True, text=True, timeout=60, check=True)
    assert sorted(done.stdout.split()) == offered
    assert done.stderr == ""


@pytest.mark.parametrize(("shell", "first"), [("zsh", "#compdef perflint"), ("tcsh", "# AUTOMATICALLY GENERATED")])
def test_other_shells_have_a_script_too(shell: str, first: str, capsys: Output) -> None:
    text = script(shell, capsys)
    assert text.startswith(first)
    assert "fix-only" in text
    assert "zsh" in text


def test_zsh_is_handed_short_lines_without_stray_colons(capsys: Output) -> None:
    text = script("zsh", capsys)
    assert "bench:'RUN a training script without and with its fixes" in text
    assert ":RULE FILE LINE:" in text
    assert ":FORMAT FILE:" in text


def test_without_shtab_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        'perflint: completion needs shtab: install it with python -m pip install "perflint-paddle[completion]"\n'
    )
