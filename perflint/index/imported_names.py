"""Whether anything besides the code of a file needs a name that it imports: another file, a string, a comment.

It says yes in doubt: an import that is left over does no harm.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.names import dotted, imported_name
from perflint.syntax.tree import string_of, walk

_LOOK_UPS = frozenset({"eval", "exec", "globals"})
"""Builtins that can find a name of the module that the code does not spell."""
_OWN_NAMES = frozenset({"vars", "locals", "dir"})
"""The same without an argument."""
_WORD = re.compile(r"\w+")
_ON_PURPOSE = re.compile(
    r"#.*\b(?:noqa|pylint|pyright|mypy|flake8|type:|side.?effects?|keep|kept|needed|required|used|re-?exports?"
    r"|(?:not|n't) (?:remove|delete))",
    re.IGNORECASE,
)
"""A comment that says that an import is there on purpose."""
_BY_NAME = (
    *("getattr", "attrgetter", "vars", "dir", "__dict__", "eval", "exec", "globals"),
    *("import_module", "__import__", "modules"),
)
"""What a file that does not have a name itself needs to take it from another one."""
_EXAMPLE = ">>>"
_MAIN = re.compile(
    r"\bimport\s+__main__|\bmodules\s*\[\s*[\"']__main__|_module\(\s*[\"']__main__|__import__\(\s*[\"']__main__"
)
_ONLY_NAMES = re.compile(r"get_?logger$|^(?:Flask|Blueprint)$", re.IGNORECASE)
"""Functions that take ``__name__`` as a mere text."""


@query
def is_needed(file: FileIndex, name: str) -> bool:
    """Whether something may need a name that a file imports besides the code of the file that reads it."""
    return (
        file.is_package
        or _is_kept_on_purpose(file, name)
        or _is_found_by_text(file, name)
        or _is_open_to_all(file.project)
        or is_taken(file, name)
    )


@query
def is_taken(file: FileIndex, name: str) -> bool:
    """Whether another file of the project may take a name from a file."""
    imports, module = Imports.of(file.project), file.parts[-1]
    others = {*imports.users([file]), *imports.loaders(file)} - {file}
    if any(file in imports.brought_by(target, file) for target in file.names.imported):
        others.add(file)  # it imports itself, in a function
    if any(file in imports.named_by_calls(other) or _may_take(other, file, name) for other in others):
        return True
    by_path = re.compile(rf"\b{re.escape(module)}\s*\.\s*{re.escape(name)}\b")
    return any(other.matches(by_path) for other in file.project.mentions.of(module) if other is not file)


@query
def _is_open_to_all(project: Project) -> bool:
    """Whether some file looks into modules that it does not name: into the main one, or those of its callers."""
    return any(
        file.has_words("f_globals") or file.matches(_MAIN) for file in project.mentions.of("f_globals", "__main__")
    )


def _is_kept_on_purpose(file: FileIndex, name: str) -> bool:
    """Whether a comment beside or above the import of a name says why it is there."""
    lines = file.source.lines
    for node in walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(imported_name(alias) == name for alias in node.names):
            rows = [lines.line(row) for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)]
            above = lines.line(node.lineno - 1) if node.lineno > 1 else ""
            if any(map(_ON_PURPOSE.search, [*rows, above if above.lstrip().startswith("#") else ""])):
                return True
    return False


def _is_found_by_text(file: FileIndex, name: str) -> bool:
    """Whether a file may look a name up in its own module: by ``eval``, from a string, or in an example of its docs."""
    word = re.escape(name)
    code = re.compile(rf"(?<![\w.]){word}\s*[.(]|\bimport\b[^\n]*\b{word}\b|^{word}$")
    nodes = walk(file.tree)
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = string_of(node)
        if text is not None and (id(node) not in docs or _EXAMPLE in text) and code.search(text):
            return True
        if isinstance(node, ast.Name) and node.id in _LOOK_UPS:
            return True
        if isinstance(node, ast.Call) and not node.args and dotted(node.func) in _OWN_NAMES:
            return True
    return file.matches(re.compile(rf"#[ \t]*type:[^\n]*\b{word}\b")) or _asks_for_itself(file)


@query
def _asks_for_itself(file: FileIndex) -> bool:
    """Whether a file uses its own name for more than a test or the name of a logger: ``sys.modules[__name__]``."""
    if not file.has_words("__name__"):
        return False
    nodes = walk(file.tree)
    texts = {id(part) for node in nodes if isinstance(node, ast.Compare) for part in (node.left, *node.comparators)}
    for node in nodes:
        if isinstance(node, ast.Call) and _ONLY_NAMES.search((dotted(node.func) or "").rpartition(".")[2]):
            texts |= {id(part) for part in node.args}
    return any(isinstance(node, ast.Name) and node.id == "__name__" and id(node) not in texts for node in nodes)


def _may_take(other: FileIndex, file: FileIndex, name: str) -> bool:
    """Whether a file that loads another one may take a name from it, under whatever name it knows that module."""
    module = file.parts[-1]
    for node in walk(other.tree) if other.has_words(name, module) or other.may_have_stars else ():
        if isinstance(node, ast.ImportFrom):
            is_from_it = (node.module or "").rpartition(".")[2] == module
            if is_from_it and any(_takes(alias.name, name, file) for alias in node.names):
                return True
        elif isinstance(node, ast.Attribute) and node.attr == name:
            if not _is_outside(node.value, other, module):
                return True
        elif _names_it(string_of(node) or "", name, module) and other.has_words(name, *_BY_NAME):
            return True
    names = _names_of(other, module) if other.has_words(module) else frozenset()
    return bool(names) and any(dotted(used) in names for used in _used_whole(other, module))


def _names_it(text: str, name: str, module: str) -> bool:
    """Whether a string is a name or ends in it, is the module, or is code with both."""
    if text == module or text.rpartition(".")[2] == name:
        return True
    return module in text and {module, name}.issubset(_WORD.findall(text))


def _takes(written: str, name: str, file: FileIndex) -> bool:
    """Whether ``from file import written`` takes a name; a star takes private ones only by ``__all__``."""
    return written == name or (written == "*" and (not name.startswith("_") or file.has_words("__all__")))


def _is_outside(node: ast.expr, file: FileIndex, module: str) -> bool:
    """Whether an expression is a module that does not belong to the project, nor has the name of the module asked for.

    (A program may find that one in a directory of ``sys.path``.)
    """
    name, imports = dotted(node), Imports.of(file.project)
    if name is None or not file.names.is_bound(name.partition(".")[0]):
        return False
    meanings = file.names.meanings(name)
    return not any(module in meaning.split(".") or any(imports.brought_by(meaning, file)) for meaning in meanings)


def _names_of(file: FileIndex, module: str) -> frozenset[str]:
    """The names that the imports of a file give to modules of such a name: ``S`` of ``import steps as S``."""
    return frozenset(
        alias.asname or alias.name
        for node in walk(file.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.name.rpartition(".")[2] == module
    )


def _used_whole(file: FileIndex, module: str) -> Iterator[ast.expr]:
    """The names in a file that are not only asked for an attribute, except ``__dict__``: the file may do anything."""
    if not file.has_words(module):
        return
    nodes = walk(file.tree)
    asked = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr != "__dict__"}
    yield from (node for node in nodes if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in asked)
