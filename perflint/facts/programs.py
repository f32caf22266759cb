"""Facts about the programs that a file belongs to: whether they train, and what they import before a statement."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.sole_binding import ReadPlace
from perflint.dataflow.switches import State, Switches
from perflint.index.imports import Imports
from perflint.query import query
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_TRAINS = re.compile(r"\.(?:backward|minimize|fit|train_batch)\(")
_USUAL = re.compile(r"cuda|gpu|xpu|npu|device|\bplace|__name__|(?<!pre)train", re.IGNORECASE)
"""Words of tests that are usually true in a training program: for a device, and for the task."""
_UPDATES = re.compile(r"\.(?:step|minimize|fit|train_batch)\(|\btrainer\.train\(|Optimizer|\boptimizer")


def files_with(file: FileIndex) -> frozenset[FileIndex]:
    """The files of all programs that load a file."""
    imports = Imports.of(file.project)
    return imports.closure(imports.users([file]))


@query
def trains(file: FileIndex) -> bool:
    """Whether a program that loads a file, or the file itself as a program, updates weights."""
    loaded = files_with(file)
    return any(one.matches(_TRAINS) for one in loaded) and any(one.matches(_UPDATES) for one in loaded)


def is_before_import(statement: Statement, package: str, file: FileIndex) -> bool:
    """Whether a statement of a program runs before the program imports a package, through any module.

    A statement in a function, or in a module that others import, may come too late: then the answer is no.
    """
    module = file.scopes.module
    if not any(statement is each for each in module.statements) or next(Imports.of(file.project).loaders(file), None):
        return False
    return not any(_loads(name, package, file) for name in _imported_above(module.node, statement.node))


def _imported_above(module: ast.AST, node: ast.stmt) -> list[str]:
    """The modules that the import statements above a row name, with what is imported from them."""
    found: list[str] = []
    for item in ast.walk(module):
        if isinstance(item, (ast.Import, ast.ImportFrom)) and item.lineno < node.lineno:
            source = f"{item.module}." if isinstance(item, ast.ImportFrom) and item.module else ""
            found += [source + name.name for name in item.names]
    return found


def _loads(name: str, package: str, file: FileIndex) -> bool:
    """Whether the import of a module loads a package with such a name: ``paddle`` and ``paddlenlp``."""
    if name.startswith(package):
        return True
    imports = Imports.of(file.project)
    first = name.partition(".")[0]
    reached = (other for other in imports.direct(file) if first in other.parts)
    return any(other.has_words(package) for other in imports.closure(reached))


@query
def is_always_reached(file: FileIndex, scope: Scope, statement: Statement, callers: int = 3) -> bool:
    """Whether a statement runs whatever the user chooses, except for the device, and for training at all.

    Args:
        callers: for how many levels of callers the tests are examined.
    """
    switches, place = Switches.of(file.project), ReadPlace(file, scope, statement)
    tests = [(link.node.test, link.branch == "body") for link in statement.around if isinstance(link.node, ast.If)]
    chosen = [(test, truth) for test, truth in tests if not _USUAL.search(ast.unparse(test))]
    if any(switches.state(test, place, truth) is not State.ON for test, truth in chosen):
        return False
    if isinstance(scope.node, ast.Module) or scope.name.startswith("__") or not callers:
        return True
    sites = list(CallGraph.of(file.project).calls(file, scope, Certainty.NAME))
    return not sites or any(is_always_reached(site.file, site.scope, site.statement, callers - 1) for site in sites)
