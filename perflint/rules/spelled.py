"""How an edit writes the name of a module, or of something in it, at a statement, and what that needs."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, replace

from perflint.findings import Fix, Level
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.always_bound import AlwaysBound, Code
from perflint.syntax.names import imported_name
from perflint.syntax.scopes import Function
from perflint.syntax.tree import walk

_USUAL = {
    "paddle": ("paddle", "import paddle"),
    "paddle.fluid": ("fluid", "import paddle.fluid as fluid"),
    "numpy": ("np", "import numpy as np"),
}
_MAY_BE_UNBOUND = "`{name}` may not be bound when this line runs"
_EARLIER = "the new import at the top loads `{package}` earlier than now"
_CLASH = "`{name}` is another name in a file that has `import *` from this one"


@dataclass(frozen=True)
class Spelling:
    """How a name is written.

    ``imports``: the import that the module needs. ``row``: the import to put above the statement instead, in its
    function. ``doubt``: why that may fail or change something, in a clause; empty if it cannot.
    """

    name: str
    imports: tuple[str, ...] = ()
    row: str = ""
    doubt: str = ""

    def trusted(self, fix: Fix) -> Fix:
        """A fix that writes the name, with its imports: it is not safe if there is a doubt."""
        fix = replace(fix, imports=self.imports)
        if not self.doubt or fix.level is Level.DISPLAY:
            return fix
        reason = f"{fix.reason}; {self.doubt}" if fix.reason else self.doubt
        return replace(fix, level=Level.UNSAFE, reason=reason)


def spelling(
    target: str, node: Code, file: FileIndex, root: str = "", is_run: bool = True, allows_row: bool = False
) -> Spelling | None:
    """How a qualified name is written in some code; None if the usual name of its module means something else there.

    An import that is added must not load a package earlier than now: what the program sets before, such as the flags of
    Paddle in ``os.environ``, would come too late, and the file could not be imported without the package. So it goes to
    the top only below an import that loads the package anyway, or else into the function.

    Args:
        target: the qualified name, such as ``paddle.no_grad``.
        node: the code, or the function above which a decorator is put.
        file: the file.
        root: the module that has to be imported (default: the package).
        is_run: whether the code runs only after the package has been loaded, because it uses it.
        allows_row: whether the import may be put above the code.
    """
    bound, root = names_in(file), root or target.partition(".")[0]
    written = bound.spelled(target, root, node, is_run)
    if _is_starred_over((written or "").partition(".")[0] or _USUAL.get(root, (root,))[0], file, frozenset()):
        return None
    if written is not None:
        return Spelling(written)
    name, statement = _USUAL.get(root, (root, f"import {root}"))
    if bound.is_another(name, root, node):
        return None
    written = name + target[len(root) :]
    package = root.partition(".")[0]
    function = bound.function_of(node)
    is_clash, is_shadowed = False, bound.is_looped_over(name)
    if not bound.is_bound(name, node) and not is_shadowed:
        is_late = package in sys.stdlib_module_names or Imports.of(file.project).have_loaded(
            bound.above(node), package, file
        )
        if is_late and not (is_clash := _is_another_where_starred(name, root, file)):
            return Spelling(written, (statement,))
    if allows_row and is_run and function is not None and name not in _names_in(function):
        return Spelling(written, row=statement)
    if bound.is_bound(name, node):
        return Spelling(written, doubt=_MAY_BE_UNBOUND.format(name=name))
    if is_shadowed:
        return None
    if is_clash:
        return Spelling(written, (statement,), doubt=_CLASH.format(name=name))
    return Spelling(written, (statement,), doubt=_EARLIER.format(package=package))


def paddle_at(node: Code, file: FileIndex) -> str | None:
    """The name that Paddle always has in some code (``pd`` after ``import paddle as pd``); None without one."""
    found = spelling("paddle", node, file)
    return found.name if found is not None and not found.imports and not found.doubt else None


@query
def names_in(file: FileIndex) -> AlwaysBound:
    """The names that the imports of a file have always bound."""
    return AlwaysBound(file.tree)


def _is_starred_over(name: str, file: FileIndex, seen: frozenset[FileIndex]) -> bool:
    """Whether a star import may give a name a meaning that it has in another file of the project only."""
    sources = [Modules.of(file.project).module_named(base, file) for base in file.names.stars]
    return any(
        (name in _of_module(source) and not _is_alike(name, source, file))
        or _is_starred_over(name, source, seen | {file})
        for source in sources
        if source is not None and source not in seen
    )


def _is_another_where_starred(name: str, root: str, file: FileIndex) -> bool:
    """Whether a new name of a file would replace another meaning that it has where a star import takes it."""
    if file.has_words("__all__"):
        return False
    for other in Imports.of(file.project).importers(file):
        if any(Modules.of(file.project).module_named(base, other) is file for base in other.names.stars):
            is_same = other.names.is_bound(name) and other.names.resolve(name) == root
            is_own = name in _of_module(other) and not is_same
            if is_own or _is_starred_over(name, other, frozenset({file})):
                return True
    return False


@query
def _of_module(file: FileIndex) -> frozenset[str]:
    return names_in(file).of_module


def _is_alike(name: str, one: FileIndex, other: FileIndex) -> bool:
    return one.names.is_bound(name) and one.names.resolve(name) == other.names.resolve(name)


def _names_in(function: Function) -> set[str]:
    """The names that a function has: its parameters, and what its body mentions in whatever way."""
    found: set[object] = {item.arg for item in walk(function.args) if isinstance(item, ast.arg)}
    for item in (item for node in function.body for item in walk(node)):
        for field in ("id", "arg", "name", "rest"):
            found.add(getattr(item, field, None))
        if isinstance(item, (ast.Import, ast.ImportFrom)):
            found |= set(map(imported_name, item.names))
        elif isinstance(item, (ast.Global, ast.Nonlocal)):
            found.update(item.names)
    return {name for name in found if isinstance(name, str)}
