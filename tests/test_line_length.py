"""The length of a row as a project's own formatter or linter has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perflint.configuration import config_files
from perflint.configuration.config_files import line_length_of
from perflint.configuration.settings import Settings
from perflint.fix.fixer import apply
from perflint.run import engine
from perflint.text.source import Source


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", "[tool.black]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.black]\n", 88),
        ("pyproject.toml", "[tool.ruff]\nline-length = 79\n", 79),
        ("pyproject.toml", "[tool.ruff]\n", 88),
        ("pyproject.toml", "[tool.perflint]\n", None),
        ("ruff.toml", "line-length = 110\n", 110),
        (".ruff.toml", "", 88),
        (".flake8", "[flake8]\nmax-line-length = 120\n", 120),
        ("setup.cfg", "[flake8]\nmax_line_length = 99\n", 99),
        ("setup.cfg", "[pycodestyle]\nmax-line-length = 90\n", 90),
        ("tox.ini", "[flake8]\nmax-line-length=80\n", 80),
        (".style.yapf", "[style]\nbased_on_style = pep8\ncolumn_limit = 80\n", 80),
        (".editorconfig", "root = true\n\n[*]\nmax_line_length = 100\n", 100),
        (".editorconfig", "[*]\nmax_line_length = 100\n[*.py]\nmax_line_length = 79\n", 79),
        (".editorconfig", "[*.{py,pyi}]\nmax_line_length = 79\n[*.md]\nmax_line_length = 200\n", 79),
        (".editorconfig", "[*.md]\nmax_line_length = 200\n", None),
        (".editorconfig", "[*]\nmax_line_length = off\n", None),
        (".flake8", "[flake8]\nmax-line-length = -1\n", None),
        ("pyproject.toml", '[tool.black]\nline-length = "100"\n', 100),
        ("pyproject.toml", "[tool.black]\nline-length = true\n", None),
        ("pyproject.toml", "[tool.black\n", None),
        ("pyproject.toml", "tool = 1\n", None),
        ("setup.cfg", "max-line-length = 90\n", None),
        ("setup.cfg", f"[flake8]\nmax-line-length = {'9' * 5000}\n", None),
        ("tox.ini", "[flake8]\nmax-line-length = %(missing)s\n", None),
    ],
)
def test_a_file_says_how_long_rows_may_be(tmp_path: Path, name: str, text: str, expected: int | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    assert line_length_of(tmp_path) == (None if expected is None else (expected, str(tmp_path / name)))


def test_the_nearest_file_counts_up_to_the_top_of_the_repository(tmp_path: Path) -> None:
    top, inner = tmp_path / "repository", tmp_path / "repository" / "tools" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / ".flake8").write_text("[flake8]\nmax-line-length = 70\n")
    (top / ".git").mkdir()
    assert line_length_of(inner) is None
    (top / "setup.cfg").write_text("[flake8]\nmax-line-length = 99\n")
    assert line_length_of(inner) == (99, str(top / "setup.cfg"))
    (inner.parent / ".flake8").write_text("[flake8]\nmax-line-length = 79\n")
    assert line_length_of(inner) == (79, str(inner.parent / ".flake8"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_no_such_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / "setup.cfg")
    assert line_length_of(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", "[options]\ninstall_requires \n    paddlepaddle>=2.4\n"),
        ("setup.cfg", "[flake8]\nx" + " " * 200_000 + "y\n"),
        ("setup.cfg", "[flake8]\nx" + "\x0b" * 200_000 + "y\n"),
        ("setup.cfg", "[" * 200_000),
        (".editorconfig", "[*.{" + "py" * 200_000 + "]\n"),
        ("pyproject.toml", "a." * 100_000 + "b = 1\n"),
        ("ruff.toml", "line-length = " + "9" * 5_000 + "\n"),
        ("ruff.toml", "line-length = [" * 5_000),
    ],
)
@pytest.mark.timeout(20)
def test_a_file_that_is_made_to_hurt_says_nothing(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    assert line_length_of(tmp_path) is None


def test_blanks_around_a_value_are_of_no_account(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.cfg").write_text("[flake8]\nmax-line-length" + " " * 2_000 + "=" + "\t" * 2_000 + "99   \n")
    assert line_length_of(tmp_path) == (99, str(tmp_path / "setup.cfg"))


def test_the_configuration_of_perflint_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".flake8").write_text("[flake8]\nmax-line-length = 79\n")
    assert config_files.load(tmp_path, known={}).line_length == 79
    assert config_files.load(tmp_path, known={}).origins["line-length"] == str(tmp_path / ".flake8")
    assert config_files.load(tmp_path, known={}, isolated=True).line_length is None
    (tmp_path / "perflint.toml").write_text("line-length = 100\n")
    assert config_files.load(tmp_path, known={}).line_length == 100


STEP = """\
import paddle


def train_epoch(model, loader, optimizer):
    criterion = paddle.nn.CrossEntropyLoss()
    running_total = 0.0
    for images, labels in loader:
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        running_total += loss.item() * len(labels)
    return running_total
"""


@pytest.mark.parametrize(("limit", "is_broken"), [(79, False), (65, True), (None, False)])
def test_a_fix_keeps_to_it(limit: int | None, is_broken: bool) -> None:
    settings = Settings(join_lines=False, select=("PPF201",), line_length=limit)
    (finding,) = engine.check({"train.py": Source("train.py", STEP)}, settings)
    assert finding.fix is not None
    rows = apply(STEP, [finding.fix]).text.splitlines()
    assert ("        running_total += (" in rows) is is_broken
    assert max(map(len, rows)) <= (limit or 88)
