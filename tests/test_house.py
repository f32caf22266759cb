"""The package stays within the budgets of ``tests/budgets.toml``; raising one is a change that says why."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import house
import pytest

from perflint.configuration import toml_text

ROOT = Path(__file__).parents[1]
BUDGETS: dict[str, Any] = toml_text.parse((ROOT / "tests" / "budgets.toml").read_text(encoding="utf-8"))
HOUSE = house.measured(ROOT / "perflint")
SLACK = 0.1


@pytest.mark.parametrize("package", sorted(HOUSE.code))
def test_a_package_has_no_more_code_lines_than_its_budget(package: str) -> None:
    assert HOUSE.code[package] <= BUDGETS["code lines"][package]


@pytest.mark.parametrize("package", sorted(BUDGETS["code lines"]))
def test_a_budget_follows_a_package_that_shrinks(package: str) -> None:
    assert HOUSE.code[package] >= BUDGETS["code lines"][package] * (1 - SLACK) - 10, "lower the budget"


@pytest.mark.parametrize("figure", sorted(BUDGETS["figures"]))
def test_a_figure_of_the_structure_stays_below_its_limit(figure: str) -> None:
    assert HOUSE.figures()[figure] <= BUDGETS["figures"][figure]


def test_code_lines_leave_out_blank_rows_comments_and_docstrings() -> None:
    text = '"""What it is."""\n\n# why\nx = [\n    1,\n]\n\n\ndef f():\n    """Does.\n\n    It."""\n    return 1\n'
    assert house.code_lines(text, ast.parse(text)) == 5  # three of x, two of the function


def write(folder: Path, **modules: str) -> Path:
    """A package with these modules."""
    for name, text in modules.items():
        path = folder / "package" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "package"


def test_what_is_counted(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        flow__a="def f(self, node, depth): ...\n",
        facts__b="READS = {'numpy', 'item'}\ndef g(node, file, scope, *, depth=0, more=1): ...\n@query\ndef h(): ...\n",
        rules__c="from functools import cache\n@cache\ndef k(): ...\n",
    )
    found = house.measured(root)
    assert found.small == ["package.facts.b", "package.flow.a"]
    assert found.depth == ["package.facts.b:2"]
    assert found.file_and_scope == ["package.facts.b:2"]
    assert found.many == 1
    assert found.read_tables == ["package.facts.b:1"]
    assert (found.queries, found.other_caches) == (1, 1)


def test_circles_are_found_in_absolute_and_relative_imports(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        one="from package import two\n",
        two="def late():\n    from package.three import x\n",
        three="from . import one\nx = 1\n",
        four="from package import one\n",
    )
    assert house.measured(root).circles == [["package.one", "package.three", "package.two"]]
