"""The READMEs tell the truth: their rule tables are the catalogue's, their output is what the command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from perflint import catalogue

ROOT = Path(__file__).resolve().parents[1]
READMES = ["README.md", "README_cn.md"]
RULES = [rule for rule in catalogue.shipped().values() if rule.code not in ("PPF001", "PPF003")]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| PPF\d{3} ", line)]
    return [[cell.strip() for cell in row] for row in rows]


def test_rule_table_is_the_catalogue() -> None:
    rows = [[rule.code, rule.name, rule.summary, str(rule.fix_level)] for rule in RULES]
    assert _rows(_text("README.md")) == rows


def test_chinese_rule_table_has_the_same_rules() -> None:
    rows = [[rule.code, rule.name, str(rule.fix_level)] for rule in RULES]
    assert [[row[0], row[1], row[3]] for row in _rows(_text("README_cn.md"))] == rows


@pytest.mark.parametrize("name", READMES)
def test_output_is_what_the_command_prints(name: str) -> None:
    block = re.search(r"```\n\$ (perflint check [^\n]*)\n(.*?)```", _text(name), re.DOTALL)
    assert block is not None
    command = [sys.executable, "-m", *block.group(1).split(), "--isolated"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, encoding="utf-8")
    assert run.stdout + run.stderr == block.group(2)


@pytest.mark.parametrize("name", READMES)
def test_both_commands_are_there_and_the_same(name: str) -> None:
    text = _text(name)
    assert "python -m pip install . && perflint check --exit-zero examples/cifar10.py\n" in text
    assert 'python -m pip install -e ".[test]" && python -m pytest -n auto\n' in text


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_and_paths_exist(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", _text(name)):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_links_of_the_docs_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_picture_is_shown() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert f"(images/{picture.name})" in texts


def test_changelog_names_every_rule() -> None:
    text = _text("CHANGELOG.md")
    for code in catalogue.shipped():
        assert code in text
