"""The packages of perflint are layers: each imports from those below it alone, imports for type hints counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "perflint"
LAYERS = (
    "__init__",
    "query findings catalogue later stopwatch",
    "files",
    "text",
    "inputs",
    "configuration",
    "syntax",
    "index",
    "paddle",
    "flow",
    "training",
    "facts",
    "trace",
    "incremental",
    "suppress",
    "lint",
    "rules",
    "fix",
    "ranges",
    "run",
    "bench",
    "profile",
    "ranking",
    "output",
    "commands",
    "server",
    "cli",
    "flake8_shared",
    "flake8_run",
    "flake8_plugin",
    "__main__",
)
"""From the bottom up; modules at the top of the package are layers of their own, or share one."""
MODULES = {
    ".".join(("perflint", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}


def _level(module: str) -> int:
    return LEVEL[module.split(".")[1] if "." in module else "__init__"]


def _imports(module: str) -> Iterator[tuple[str, int]]:
    """The modules of perflint that a module imports, each with its row."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                name = f"{source}.{alias.name}"
                found = name if name in MODULES else source
                if found in MODULES:
                    yield found, node.lineno


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_from_its_layer_and_those_below(module: str) -> None:
    above = [f"{MODULES[module]}:{row}: {other}" for other, row in _imports(module) if _level(other) > _level(module)]
    assert above == []


BY_NAME = ("commands", "output", "rules")
"""Packages whose modules are imported by a name that is put together: one for each command, format or rule."""
STARTED = {"perflint.flake8_plugin", "perflint.bench.runner.running"}
"""Modules that flake8, or the interpreter that is measured, imports."""


def test_every_module_is_imported_by_another() -> None:
    used = {other for module in MODULES for other, _ in _imports(module)} | STARTED
    alone = [module for module, path in MODULES.items() if module not in used and not path.name.startswith("__")]
    assert [module for module in alone if module.split(".")[1] not in BY_NAME] == []


def test_at_most_a_dozen_modules_lie_loose_at_the_top() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 12


def test_no_modules_import_each_other() -> None:
    assert _circles() == []


def test_what_runs_with_a_script_names_no_module_of_perflint() -> None:
    """Its interpreter may lack perflint, so modules of the runner name each other relative to their package."""
    runner = (ROOT / "bench" / "runner").glob("*.py")
    trees = {path.name: ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in runner}
    imports = [(name, node) for name, tree in trees.items() for node in tree if isinstance(node, ast.ImportFrom)]
    assert len(imports) >= 30
    assert [name for name, node in imports if not node.level and (node.module or "").startswith("perflint")] == []


def test_no_two_modules_have_one_name() -> None:
    names = [module.rpartition(".")[2] for module in MODULES if not module.endswith("__main__")]
    assert {name for name in names if names.count(name) > 1} == {"bench", "profile"}  # commands, and what they do


def test_no_two_public_classes_have_one_name() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in MODULES.values())
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert {name for name in names if names.count(name) > 1 and not name.startswith("_")} == set()


def _circles() -> list[list[str]]:
    """The groups of modules that import each other, by way of others too."""
    reached = {module: _reached(module) for module in MODULES}
    groups = {frozenset(other for other in found if module in reached[other]) for module, found in reached.items()}
    return [sorted(group) for group in groups if len(group) > 1]


def _reached(module: str) -> set[str]:
    found: set[str] = set()
    queue = [module]
    while queue:
        for other, _ in _imports_of[queue.pop()]:
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


_imports_of = {module: list(_imports(module)) for module in MODULES}
