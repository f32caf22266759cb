"""The text of a program as far as it decides what runs: without comments, docstrings and definitions that nothing uses.

Hashes of evidence are taken of it, so that a reworded comment, or a network that another script needs, voids nothing.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

LENGTH = 16
"""Characters of a hash that are kept: no two texts of one project share them by chance."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def digest(text: str) -> str:
    """The first characters of the SHA-256 hash of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:LENGTH]


def bare(text: str) -> str:
    """A text without comments and docstrings, a row for each statement, and no space but that before a statement.

    ``x = f(1,  # one`` and ``      2)`` become ``x=f(1,2)``: how a statement is laid out does not count.  It is done
    with the text and not with a tree, which other versions of Python would write in another way.

    Raises:
        SyntaxError: the text is no Python.
    """
    rows = text.splitlines()
    ends = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            rows[row - 1] = rows[row - 1][:column]
        elif token.type == tokenize.NEWLINE:
            ends.add(row)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _is_text(node):
            rows[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "".join(_statements(rows, ends))


def _statements(rows: Sequence[str], ends: Collection[int]) -> Iterator[str]:
    """The rows of each statement as one, of which ``ends`` has the last (from 1)."""
    margin = ""
    parts: list[str] = []
    for number, row in enumerate(rows, 1):
        if row.strip() and not parts:
            margin = row[: len(row) - len(row.lstrip())]
        parts += row.split()
        if number in ends and parts:
            yield f"{margin}{''.join(parts)}\n"
            parts = []


def with_helpers(text: str, folder: Path) -> str:
    """The bare text of a script, and of what it uses of the modules beside it.

    Args:
        text: the script.
        folder: the folder whose modules it imports.
    """
    tree = ast.parse(text)
    parts = [bare(text)]
    parts += [_used(name, wanted, folder) for name, wanted in sorted(_wanted(tree, folder).items())]
    return "\n".join(parts)


def definition(text: str, name: str) -> str:
    """The bare text of one definition, such as ``compare``, ``_T`` or ``Recorder.step``.

    Raises:
        KeyError: the text has no such definition.
    """
    tree: ast.AST = ast.parse(text)
    for part in name.split("."):
        found = [node for node in ast.iter_child_nodes(tree) if part in _bound(node)]
        if not found:
            raise KeyError(name)
        tree = found[-1]
    return _cut(text, tree)


def _used(module: str, wanted: set[str], folder: Path) -> str:
    """What a module runs when it is imported, and its definitions that some names lead to."""
    text = (folder / f"{module}.py").read_text(encoding="utf-8")
    statements = ast.parse(text).body
    names = set(wanted)
    kept: list[ast.stmt] = []
    while more := [each for each in statements if each not in kept and (not _bound(each) or _bound(each) & names)]:
        kept += more
        names |= {node.id for each in more for node in ast.walk(each) if isinstance(node, ast.Name)}
    return "".join(_cut(text, each) for each in statements if each in kept and not _is_text(each))


def _wanted(tree: ast.Module, folder: Path) -> dict[str, set[str]]:
    """The names that a program uses of each module of a folder: ``photos.decode`` is ``decode`` of ``photos``."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        for module, name in _names(node):
            if (folder / f"{module}.py").exists():
                found.setdefault(module, set()).add(name)
    return found


def _names(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id, node.attr
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((node.module, alias.name) for alias in node.names)


def _bound(node: ast.AST) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text and nothing else: a docstring, wherever it stands."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _cut(text: str, node: ast.AST) -> str:
    """The rows of a statement, with its decorators, moved to the left margin."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
    rows = text.splitlines()[first - 1 : node.end_lineno]  # type: ignore[attr-defined]  # of a statement
    margin = len(rows[0]) - len(rows[0].lstrip())
    return bare("\n".join(row[margin:] if not row[:margin].strip() else row for row in rows) + "\n")
