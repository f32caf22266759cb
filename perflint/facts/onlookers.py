"""Finds who else may look at a name of a function, or of a module, while a loop of it runs.

That is code which reads the names of a running function from its frame, and, for a module, any other file that can get
at the module: by an import, through another module, or from ``sys.modules``. What the function itself does with the
name is in ``accumulators.py``.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perflint.facts.programs import files_with
from perflint.index.callers import Callers
from perflint.index.imports import Imports
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_NAMES_OF_FRAMES = frozenset({"f_locals", "f_globals"})
_LIST_FRAMES = frozenset(
    {"getargvalues", "getclosurevars", "getgeneratorlocals", "getcoroutinelocals"}
    | {"capture_locals", "show_locals", "cgitb"}  # (a traceback with the values of the names)
)
_MODULES = re.compile(r"\b(?:import|from)[\s\\]+__main__\b|\bmodules\b|\bimport_module\b|\b__import__\b")
"""What a file contains that gets at modules it does not name in an import statement."""


def may_look_at(file: FileIndex, scope: Scope, name: str) -> bool:
    """Whether code elsewhere may read a name of a function or a module while its statements run.

    Args:
        file: the file of the function, or the module.
        scope: the function or the module.
        name: a plain name that it binds.
    """
    if isinstance(scope.node, ast.Module) and any(
        _may_look(other, file, name) for other in file.project.files.values()
    ):
        return True
    named = file.project.mentions.of(*sorted(_NAMES_OF_FRAMES | _LIST_FRAMES))
    looking = [other for other in named if _in_frames(other, name)]
    return bool(looking) and not files_with(file).isdisjoint(looking)


def _may_look(other: FileIndex, file: FileIndex, name: str) -> bool:
    """Whether a file may read a name of a module: another one, or that one itself from ``sys.modules``."""
    if other is file:
        return _finds_main(file)
    if not (other in _loading(file) or _finds_modules(other)):
        return False
    return other.has_words(name, "__dict__") or Callers.of(file.project).held_by(other).finds_names


@query
def _loading(file: FileIndex) -> frozenset[FileIndex]:
    """The files that load a module, directly or through others, or may do so from a directory of ``sys.path``."""
    imports = Imports.of(file.project)
    return imports.users([file, *imports.loaders(file)])


@query
def _finds_modules(file: FileIndex) -> bool:
    """Whether a file may get at any module: ``import __main__``, ``sys.modules[name]``, ``import_module(name)``."""
    if not file.matches(_MODULES):
        return False
    if _finds_main(file):
        return True
    calls = (*file.calls_named("import_module"), *file.calls_named("__import__"))
    return any(string_of(call.args[0]) in (None, "__main__") for _, _, call in calls if call.args)


@query
def _finds_main(file: FileIndex) -> bool:
    """Whether a file may get at the module that is run, or at its own: ``import __main__``, ``sys.modules[name]``."""
    if not file.has_words("__main__", "modules"):
        return False
    if any(target.partition(".")[0] == "__main__" or target == "sys.modules" for target in file.names.imported):
        return True
    return any(file.names.resolve(dotted(load.node) or "") == "sys.modules" for load in file.loads.get("modules", ()))


@query
def _in_frames(file: FileIndex, name: str) -> bool:
    """Whether a file may read a name from the frame of a running function: not if it only reads others by a literal."""
    if file.has_words(*_LIST_FRAMES):
        return True
    nodes = walk(file.tree)
    others = {
        item.value for item in nodes if isinstance(item, ast.Subscript) and string_of(item.slice) not in (None, name)
    }
    frames = (item for item in nodes if isinstance(item, ast.Attribute) and item.attr in _NAMES_OF_FRAMES)
    return any(item not in others for item in frames)
