"""The import that a deleted call leaves without a use: ``import gc`` once the last ``gc.collect()`` is gone."""

from __future__ import annotations

import ast

from perflint.checks.delete import whole_rows
from perflint.context import Context
from perflint.findings import Edit
from perflint.index.file import FileIndex
from perflint.index.tree import walk

_Import = ast.Import | ast.ImportFrom


def dead_imports(context: Context) -> list[Edit]:
    """The edits that take out the imports which nothing needs once the current statement is gone.

    An import stays where another place uses the name or binds it again, in the ``__init__`` of a package, beside
    ``__all__``, and where a branch or a ``try`` stands around it.
    """
    point, file = context.point, context.file
    if point is None or file.is_package or "__all__" in file.words:
        return []
    statement = point.statement.node
    gone = {id(item): item.id for item in walk(statement) if isinstance(item, ast.Name)}
    others = {item.id for item in walk(file.tree) if isinstance(item, ast.Name) and id(item) not in gone}
    edits: list[Edit] = []
    for name in sorted(set(gone.values()) - others):
        edits += _without(name, file)
    return edits


def _without(name: str, file: FileIndex) -> list[Edit]:
    """The edits that take the one import of a name out."""
    imports = [item for item in walk(file.tree) if isinstance(item, _Import) and name in map(_bound, item.names)]
    bodies = [file.tree.body, *(item.body for item in walk(file.tree) if isinstance(item, ast.FunctionDef))]
    body = next((body for body in bodies if imports and imports[0] in body), None)
    if len(imports) != 1 or body is None or all(isinstance(item, ast.Expr | _Import) for item in body):
        return []  # bound again elsewhere, or a body that other deletions may empty
    node, source = imports[0], file.source
    lines, last = source.lines, imports[0].end_lineno or imports[0].lineno
    start = lines.offset(node.lineno, node.col_offset)
    end = lines.offset(last, node.end_col_offset or 0)
    around = (
        source.text[lines.line_start(node.lineno) : start] + source.text[end : lines.line_end(last)].partition("#")[0]
    )
    if around.strip():
        return []  # another statement stands in the same row
    if len(node.names) == 1:
        return [whole_rows(start, end, source)] if "#" not in source.text[start:end] else []
    return _without_alias(name, node, file)


def _without_alias(name: str, node: _Import, file: FileIndex) -> list[Edit]:
    """``import gc, os`` as ``import os``: the name goes with the comma behind it, or else with the one before it."""
    offset = file.source.lines.offset
    spans = [
        (offset(item.lineno, item.col_offset), offset(item.end_lineno or 0, item.end_col_offset or 0))
        for item in node.names
    ]
    at = next(index for index, alias in enumerate(node.names) if _bound(alias) == name)
    start, end = (spans[at][0], spans[at + 1][0]) if at + 1 < len(spans) else (spans[at - 1][1], spans[at][1])
    return [Edit(start, end, "")] if "#" not in file.source.text[start:end] else []


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
