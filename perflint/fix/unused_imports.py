"""Imports that nothing uses any more once an edit is made, and the edits that take them out.

For example, where the only ``gc.collect()`` of a file goes, ``import gc`` goes with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import PurePath

from perflint.findings import Edit
from perflint.fix.reading import Reading
from perflint.source import LineTable, Source


def unused_imports(before: Reading, after: Reading) -> list[str] | None:
    """The imports that only ``after`` leaves unused, as pyflakes names them (``numpy as np``).

    None where pyflakes has something else to say that it did not say of the text before.
    """
    new = after.new_messages(before)
    return [name for _, name in new] if all(kind == "UnusedImport" for kind, _ in new) else None


def removals(source: Source, tree: ast.Module, names: Iterable[str]) -> list[Edit] | None:
    """The edits that take some imports out of a file; None where one of them has to stay, or cannot be told.

    Args:
        source: the file.
        tree: the same, parsed.
        names: imports, as pyflakes names them.
    """
    if PurePath(source.path).name == "__init__.py":
        return None  # what a package imports, others take from it
    edits = []
    for name in names:
        found = [(node, alias) for node in tree.body for alias in _aliases(node) if _spelling(node, alias) == name]
        edit = _removal(source, *found[0]) if len(found) == 1 else None
        if edit is None:
            return None
        edits.append(edit)
    return edits if all(one.end <= two.start for one, two in pairwise(sorted(edits))) else None


def taking(name: str, path: str) -> re.Pattern[str]:
    """What the text of another file says where it takes an import from a file: ``from train import np``, ``train.np``.

    Args:
        name: the import, as pyflakes names it.
        path: the file that holds it.
    """
    module = re.escape(PurePath(path).stem)
    bound = re.escape(name.rpartition(" ")[2].rpartition(".")[2])
    taken = rf"(?:\*|\b{bound}\b)"
    return re.compile(
        rf"\bfrom[ \t]+[\w.]*\b{module}[ \t]+import\b(?:[ \t]*\([^)]*?{taken}|[^\n(]*?{taken})|\b{module}\.{bound}\b"
    )


def _aliases(node: ast.stmt) -> list[ast.alias]:
    return node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []


def _spelling(node: ast.stmt, alias: ast.alias) -> str:
    """An import as pyflakes names it in its messages."""
    name = alias.name
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        name = module + name if module.endswith(".") else f"{module}.{name}"
    if alias.asname is None or alias.asname == (name if isinstance(node, ast.Import) else alias.name):
        return name
    return f"{name} as {alias.asname}"


def _removal(source: Source, node: ast.stmt, alias: ast.alias) -> Edit | None:
    """Take out a whole import statement with its rows, or one of the names in it."""
    lines = source.lines
    names = _aliases(node)
    start, end = _span(lines, node)
    if len(names) == 1:
        row = lines.position(end)[0]
        below = lines.line_end(row)
        is_alone = not (source.text[lines.line_start(node.lineno) : start] + source.text[end:below]).strip()
        return Edit(lines.line_start(node.lineno), below, "") if is_alone else None
    at = names.index(alias)
    own, other = _span(lines, alias), _span(lines, names[at + 1 if at == 0 else at - 1])
    edit = Edit(own[0], other[0], "") if at == 0 else Edit(other[1], own[1], "")
    return edit if "#" not in source.text[edit.start : edit.end] else None


def _span(lines: LineTable, node: ast.stmt | ast.alias) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return lines.offset(node.lineno, node.col_offset), lines.offset(node.end_lineno, node.end_col_offset)
