"""Prints figures about the structure of the package: how much code there is, and what is done in more than one way.

    python benchmarks/house.py                        # this checkout
    python benchmarks/house.py --at 9d493d5           # another revision beside it, one column each
    python benchmarks/house.py --packages             # code lines and modules of each package as well

Code lines are those with code on them: no blank rows, comments or docstrings. ``tests/test_house.py`` holds the package
to the budgets in ``tests/budgets.toml``.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLLOWS = ("flow", "dataflow")
"""The packages that follow values and calls, where a limit of depth may be a parameter (the second is an old name)."""
MAY_BE_SMALL = ("rules", "checks", "output")
"""Packages in which a module may have fewer than 60 code lines: one file a rule or a format."""
SMALL = 60
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_CACHES = re.compile(r"@(?:functools\.)?(?:lru_cache|cache|cached_property|of_point)\b|\.once\(")


@dataclass
class House:
    """The figures of one tree of modules."""

    code: Counter[str] = field(default_factory=Counter)
    """Code lines of each package; those of modules beside the packages under ``.``."""
    modules: Counter[str] = field(default_factory=Counter)
    small: list[str] = field(default_factory=list)
    """Modules with fewer than ``SMALL`` code lines, outside of the packages that may have them."""
    imports: int = 0
    """Rows of import statements."""
    depth: list[str] = field(default_factory=list)
    """Functions with a parameter ``depth`` outside of the packages that follow values, as ``module:row``."""
    many: int = 0
    """Functions with five parameters or more, not counting ``self``."""
    file_and_scope: list[str] = field(default_factory=list)
    """Functions that take a file and a scope in place of one value that says where."""
    read_tables: list[str] = field(default_factory=list)
    """Tables of names that hold ``numpy`` and ``item``: the reads of a tensor."""
    queries: int = 0
    other_caches: int = 0
    circles: list[list[str]] = field(default_factory=list)
    """Modules that import each other, imports for type hints counted."""

    def figures(self) -> dict[str, int]:
        """Each figure by its name."""
        return {
            "code lines": self.code.total(),
            "modules": self.modules.total(),
            f"modules under {SMALL} code lines, outside rules and output": len(self.small),
            "import lines": self.imports,
            "functions with `depth` outside flow": len(self.depth),
            "functions with five parameters or more": self.many,
            "functions that take (file, scope)": len(self.file_and_scope),
            "tables with numpy and item": len(self.read_tables),
            "@query": self.queries,
            "other caches": self.other_caches,
            "circles of imports": len(self.circles),
        }


def main() -> None:
    """Print the figures of this checkout, beside those of a revision."""
    options = _options()
    houses = [measured(ROOT / "perflint")]
    heads = ["now"]
    if options.at:
        with tempfile.TemporaryDirectory() as scratch:
            _extract(options.at, Path(scratch))
            houses.insert(0, measured(Path(scratch) / "perflint"))
        heads.insert(0, options.at)
    rows = [("", *heads), *((name, *(str(house.figures()[name]) for house in houses)) for name in houses[-1].figures())]
    if options.packages:
        names = sorted(set().union(*(house.code for house in houses)), key=lambda name: -houses[-1].code[name])
        rows += [(f"  {name}", *(f"{h.code[name]} in {h.modules[name]}" for h in houses)) for name in names]
    for name, *cells in rows:
        print(f"{name:<60}" + "".join(f"{cell:>16}" for cell in cells))
    for circle in houses[-1].circles:
        print("circle: " + " ".join(circle))


def measured(root: Path) -> House:
    """The figures of a package."""
    house = House()
    graph: dict[str, set[str]] = {}
    paths = {_name(path, root): path for path in sorted(root.rglob("*.py"))}
    for name, path in paths.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        package = path.relative_to(root).parts[0] if path.parent != root else "."
        lines = code_lines(text, tree)
        house.code[package] += lines
        house.modules[package] += 1
        if lines < SMALL and path.name != "__init__.py" and package not in MAY_BE_SMALL:
            house.small.append(name)
        house.queries += len(re.findall(r"^\s*@query\b", text, re.MULTILINE))
        house.other_caches += len(_CACHES.findall(text))
        graph[name] = set(_imported(tree, name, path.name == "__init__.py", paths)) - {name}
        _count(tree, name, package, house)
    house.circles = circles(graph)
    return house


def _count(tree: ast.Module, name: str, package: str, house: House) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            house.imports += (node.end_lineno or node.lineno) - node.lineno + 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            parameters = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
            place = f"{name}:{node.lineno}"
            if "depth" in parameters and package not in FOLLOWS:
                house.depth.append(place)
            if {"file", "scope"} <= set(parameters):
                house.file_and_scope.append(place)
            house.many += len(parameters) >= 5
        elif isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            names = {element.value for element in node.elts if isinstance(element, ast.Constant)}
            if {"numpy", "item"} <= names:
                house.read_tables.append(f"{name}:{node.lineno}")


def code_lines(text: str, tree: ast.Module) -> int:
    """How many rows of a module have code on them: no blank rows, comments and docstrings."""
    documentation: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                documentation.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            rows.update(range(token.start[0], token.end[0] + 1))
    return len(rows - documentation)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules each of which imports all others of its group, directly or by way of them."""
    reached = {name: _reached(name, graph) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(graph.get(name, ()))
    return found


def _imported(tree: ast.Module, name: str, is_package: bool, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: None if is_package and node.level == 1 else -node.level + (is_package and 1)]
            base = ".".join([*(above if node.level else ()), *([node.module] if node.module else ())])
            for alias in node.names:
                found = f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base
                if found in known:
                    yield found


def _name(path: Path, root: Path) -> str:
    return ".".join((root.name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")


def _extract(revision: str, folder: Path) -> None:
    packed = subprocess.run(["git", "archive", revision, "perflint"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--at", metavar="REV", help="a revision of git to show beside this checkout")
    parser.add_argument("--packages", action="store_true", help="code lines and modules of each package as well")
    return parser.parse_args()


if __name__ == "__main__":
    main()
