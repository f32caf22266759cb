"""The READMEs tell the truth: their output is what the command prints, and their commands are there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from perflint import catalogue, cli
from perflint.bench.figures import Verdict
from perflint.output import measured
from tests.terminals import on_terminal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROOT = Path(__file__).resolve().parents[1]
READMES = ["README.md", "README_cn.md"]
RULES = [*catalogue.shipped().values()]
RULES.sort(key=lambda rule: not rule.default)  # one table for those that are on, and one for the others


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| PPF\d{3} ", line)]
    return [[cell.strip() for cell in row] for row in rows]


def test_chinese_rule_table_has_the_same_rules() -> None:
    rows = [[rule.code, rule.name, str(rule.fix_level)] for rule in RULES]
    assert [[row[0], row[1], row[3]] for row in _rows(_text("docs/rules_cn.md"))] == rows


@pytest.mark.parametrize(
    ("name", "words"), [("README.md", "{} rules, {} of them on"), ("README_cn.md", "共 {} 条规则，其中 {} 条")]
)
def test_the_rules_are_counted(name: str, words: str) -> None:
    rules = catalogue.shipped().values()
    assert words.format(len(rules), sum(rule.default for rule in rules)) in _text(name)


GPU = {
    "README.md": "No rule has been\nmeasured on a GPU with Paddle yet.",
    "README_cn.md": "还没有任何规则用 Paddle 在 GPU 上测量过。",
}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("README.md", "for {} of the {} performance rules, on two CPU cores"),
        ("README_cn.md", "{1} 条性能规则中，目前有 {0} 条"),
    ],
)
def test_what_was_measured_is_counted(name: str, words: str) -> None:
    known = measured.shipped()
    gained = [code for code, found in known.items() if "cpu" in found and found["cpu"].verdict is Verdict.FASTER]
    rules = [rule for rule in RULES if not rule.code.startswith("PPF0")]
    assert words.format(len(gained), len(rules)) in _text(name)
    assert all("2 cores" in known[code]["cpu"].machine for code in gained)
    assert (GPU[name] in _text(name)) is not any("gpu" in found for found in known.values())


def _first_run(name: str) -> tuple[list[str], str]:
    """The first command of a page with its output."""
    block = re.search(r"```\n\$ (perflint check [^\n]*)\n(.*?)```", _text(name), re.DOTALL)
    assert block is not None
    return [sys.executable, "-m", *block.group(1).split(), "--isolated"], block.group(2)


@pytest.mark.parametrize("name", ["docs/start.md"])
def test_output_is_what_the_command_prints(name: str) -> None:
    command, output = _first_run(name)
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, encoding="utf-8")
    assert run.stdout + run.stderr == output


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
@pytest.mark.parametrize("name", READMES)
def test_output_is_what_the_command_prints_on_a_terminal(name: str) -> None:
    command, output = _first_run(name)
    assert on_terminal(command, ROOT, columns=100) == output


@pytest.mark.parametrize("name", READMES)
def test_both_commands_are_there_and_the_same(name: str) -> None:
    text = _text(name)
    assert "python -m pip install . && perflint check --exit-zero examples/cifar10.py\n" in text
    assert 'python -m pip install -e ".[test]" && python -m pytest -n auto\n' in text


def _commands(text: str) -> list[list[str]]:
    """The commands of perflint in blocks of code and in the text, without the comments behind them."""
    blocks = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    rows = [row.removeprefix("$ ").partition("  #")[0] for block in blocks for row in block.splitlines()]
    own = [row.rpartition("&& ")[2] for row in rows if re.match(r"(\$ )?(python .*&& )?perflint ", row)]
    return [shlex.split(row)[1:] for row in (*own, *re.findall(r"`(perflint [^`]+)`", text))]


@pytest.mark.parametrize("name", READMES)
def test_perflint_knows_each_command(name: str) -> None:
    commands = _commands(_text(name))
    assert {words[0] for words in commands} >= {"check", "bench", "rule", "server", "--version"}
    for words in commands:
        script = ["train.py"] if len(words) == 1 and words[0] in ("bench", "profile") else []  # a command by its name
        cli.parse([*words, *script])  # ends the process where an option is wrong


@pytest.mark.parametrize("name", READMES)
def test_rules_are_found_by_what_the_text_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [words for words in _commands(_text(name)) if words[0] == "rule"]
    assert len(asked) == 3
    for words in asked:
        assert cli.main(words) == 0
        assert "PPF" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_and_paths_exist(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", _text(name)):
        assert (ROOT / target).exists(), target


def test_links_lead_somewhere_on_pypi_too() -> None:
    hook = tomllib.loads(_text("pyproject.toml"))["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = _text("README.md")
    before = len(re.findall(r"\]\(", text))
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []
    assert len(re.findall(r"\]\(https://", text)) == before
    assert "](https://raw.githubusercontent.com/perflint-paddle/perflint/main/docs/images/bench.png)" in text


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
