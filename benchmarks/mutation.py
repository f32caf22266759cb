"""Makes small mistakes in a module, one at a time, and counts how many its tests find.

    python benchmarks/mutation.py noqa baseline guards --sample 60 --json benchmarks/results/mutation.json

Each mistake is another comparison, another constant, a ``not`` too many, a statement too few and the like.  Each runs
in a process of its own, which imports the changed module in place of the right one and stops at the first test that
fails.
Mistakes that change nothing are listed in ``EQUAL``, with the reason, and do not count.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import json
import os
import random
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_GUARDS = ("test_spellings_of_guards", "test_guards", "test_mechanisms_guards", "test_mechanisms_guards_elsewhere")
TESTS = {
    "noqa": ("perflint.suppress.noqa", ("test_noqa", "test_unused_noqa")),
    "baseline": ("perflint.suppress.baseline", ("test_baseline",)),
    "guards": ("perflint.training.outcomes", _GUARDS),
    "counting": ("perflint.training.counting", _GUARDS),
    "fixer": ("perflint.fix.fixer", ("test_fixer", "test_unused_imports")),
    "delete": ("perflint.rules.edits", ("test_call_argument", "test_statement_code")),
}
_SECONDS = 60
"""How long one test may take."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
EQUAL: dict[str, dict[str, str]] = {
    "baseline": {
        "moved = self._moved([item for item, each in zip(findings, known, strict=True) if each is None], sources): "
        "True to False": "there is one for each finding",
        "return {id(item): each for item, each in zip(findings, prints, strict=True) if each in self.entries}: "
        "True to False": "there is one for each finding",
        "for finding, each in zip(findings, fingerprints(findings, sources, root), strict=True):: True to False": (
            "there is one for each finding"
        ),
        "for finding, each in zip(findings, known, strict=True):: True to False": "there is one for each finding",
    },
    "delete": {
        "Deletable = Callable[[\"cst.BaseSmallStatement\"], bool]: 'cst.BaseSmallStateme' changed": (
            "only annotations name it"
        ),
        'Deletable = Callable[["cst.BaseSmallStatement"], bool]: statement dropped': "only annotations name it",
        "if comment >= 0:: GtE to Gt": "no comment of a statement begins the file",
        "if comment >= 0:: 0 to 1": "no comment of a statement begins the file",
    },
    "fixer": {
        "_Mark = tuple[str, str, tuple[str, ...]]: statement dropped": "only annotations name it",
        'for fix in sorted(dict.fromkeys(fixes), key=lambda fix: (min(fix.edits, default=Edit(0, 0, "")), fix.edits)):'
        ": 0 to 1": "a fix without edits is skipped, wherever it comes",
    },
    "noqa": {
        'if ("flake8" in text or "FLAKE8" in text) and _NOT_FOR_FLAKE8.search(text):: first part dropped': (
            "looking for the words first only saves the search for the pattern"
        ),
        "@lru_cache(maxsize=16): 16 to 17": "how many answers are kept changes none of them",
        "if line.first < line.last:: Lt to LtE": "a line of one row is joined to itself",
        "row = 1: 1 to 2": "a comment in row 1 is the first token, so an error comes after it",
        "return max(rows) >= row: GtE to Gt": "a row in which a token begins is no row inside of a string",
    },
}
"""Mistakes that change nothing: by module, the row of code with what was changed, and why nothing can show it."""


@dataclass(frozen=True)
class Mistake:
    """``number`` counts the nodes as ``ast.walk`` meets them; ``row`` is the line, ``what`` what is done there."""

    number: int
    kind: int
    row: int
    what: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", choices=TESTS, metavar="MODULE", help=", ".join(TESTS))
    parser.add_argument("--sample", type=int, help="so many mistakes of each module, drawn at random (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time (default: 2)")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
    _load_libraries()
    figures = {}
    for name in options.modules:
        figures[name] = _measured(name, options.sample, options.seed, options.jobs)
    if options.json:
        old = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(json.dumps({**old, **figures}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _load_libraries() -> None:
    """Import what the tests need and what is not tested, once for all processes."""
    for name in ("pytest", "libcst", "yaml", "numpy", "pyflakes.checker"):
        __import__(name)
    import libcst

    libcst.parse_module("x = 1\n")


def _measured(name: str, sample: int | None, seed: int, jobs: int) -> dict[str, object]:
    module, tests = TESTS[name]
    path = ROOT / (module.replace(".", "/") + ".py")
    text = path.read_text(encoding="utf-8")
    if not _passes(module, text, tests):
        sys.exit(f"{name}: its tests fail as it is")
    mistakes = list(_mistakes(ast.parse(text)))
    equal = EQUAL.get(name, {})
    mistakes = [item for item in mistakes if f"{_line(text, item)}: {item.what}" not in equal]
    drawn = mistakes if sample is None else random.Random(seed).sample(mistakes, min(sample, len(mistakes)))
    drawn.sort(key=lambda item: (item.row, item.number, item.kind))
    survivors = []
    for item, passed in _in_turn(drawn, lambda item: _passes(module, _changed(text, item), tests), jobs):
        if passed:
            survivors.append(f"{_line(text, item)}: {item.what}")
            print(f"{name}:{item.row} {survivors[-1]}", flush=True)
    found = len(drawn) - len(survivors)
    print(
        f"{name}: {found} of {len(drawn)} mistakes found, {found / len(drawn):.3f} ({len(mistakes)} in all)", flush=True
    )
    return {"drawn": len(drawn), "found": found, "in_all": len(mistakes), "seed": seed, "survivors": sorted(survivors)}


def _line(text: str, item: Mistake) -> str:
    return text.splitlines()[item.row - 1].strip()


# --- mistakes


def _mistakes(tree: ast.Module) -> Iterator[Mistake]:
    """The mistakes that can be made in a module, but for its docstrings, annotations and imports."""
    skipped = {id(node) for root in ast.walk(tree) for part in _left_alone(root) for node in ast.walk(part)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for kind, (what, _) in enumerate(_changes(node)):
            yield Mistake(number, kind, getattr(node, "lineno", 1), what)


def _left_alone(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.FunctionDef, ast.AnnAssign, ast.arg)):
        yield from (part for part in (getattr(node, "returns", None), getattr(node, "annotation", None)) if part)
    for item in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
        is_text = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        if is_text or isinstance(item, (ast.Import, ast.ImportFrom)):
            yield item


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], ast.AST]]]:
    """What may be done to a node: in words, and the node that then stands there."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        other = _COMPARISONS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} to {other.__name__}", lambda: _with(node, ops=[other(), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {other_op.__name__}", lambda: _with(node, op=other_op())
        yield "first part dropped", lambda: _joined(node, node.values[1:])
        yield "last part dropped", lambda: _joined(node, node.values[:-1])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", lambda: node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        operator = _OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} to {operator.__name__}", lambda: _with(node, op=operator())
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
        name = "all" if node.func.id == "any" else "any"
        yield f"{node.func.id} to {name}", lambda: _with(node, func=ast.Name(name, ast.Load()))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        receiver = node.func.value
        yield f".{node.func.attr}() dropped", lambda: receiver
    elif isinstance(node, ast.IfExp):
        yield "always the first", lambda: node.body
        yield "always the second", lambda: node.orelse
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "returns None", lambda: _with(node, value=ast.Constant(None))
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue, ast.Break)):
        yield "statement dropped", lambda: ast.Pass()


def _other_constants(node: ast.Constant) -> Iterator[tuple[str, Callable[[], ast.AST]]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} to {not value}", lambda: ast.Constant(not value)
    elif isinstance(value, int):
        yield f"{value} to {value + 1}", lambda: ast.Constant(value + 1)
    elif isinstance(value, str) and value:
        yield f"{value[:20]!r} changed", lambda: ast.Constant(f"{value}X")


def _with(node: ast.AST, **changes: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _joined(node: ast.BoolOp, values: list[ast.expr]) -> ast.AST:
    return values[0] if len(values) == 1 else _with(node, values=values)


def _changed(text: str, mistake: Mistake) -> str:
    """The text with one mistake, as ``ast`` writes it."""
    tree = ast.parse(text)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == mistake.number)
    made = [change for _, change in _changes(target)][mistake.kind]()

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return ast.copy_location(made, node) if node is target else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


# --- running the tests


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another text."""

    def __init__(self, module: str, text: str) -> None:
        self._module = module
        self._text = text

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name == self._module else None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__file__ = str(ROOT / (self._module.replace(".", "/") + ".py"))
        exec(compile(self._text, module.__file__, "exec"), module.__dict__)


def _passes(module: str, text: str, tests: Sequence[str]) -> bool:
    """Whether all tests of a module pass with this text; no test may take the process down or wait forever."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        status = 1
        try:
            import pytest

            sys.meta_path.insert(0, _Loader(module, text))
            files = [f"tests/{name}.py" for name in tests]
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", f"timeout={_SECONDS}"]
            status = int(pytest.main([*options, *files]))
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _in_turn(items: list[Mistake], passes: Callable[[Mistake], bool], jobs: int) -> Iterator[tuple[Mistake, bool]]:
    """Each item with its answer; a few processes work on them."""
    waiting: dict[int, Mistake] = {}
    left = list(reversed(items))
    while left or waiting:
        while left and len(waiting) < jobs:
            item = left.pop()
            child = os.fork()
            if child == 0:
                status = 2
                try:
                    status = 0 if passes(item) else 1
                finally:
                    os._exit(status)
            waiting[child] = item
        done, status = os.wait()
        yield waiting.pop(done), os.waitstatus_to_exitcode(status) == 0


if __name__ == "__main__":
    sys.exit(main())
