"""Finds imports that an edit leaves unused, and makes the edits that remove them.

For example, if the only ``gc.collect()`` of a file is removed, ``import gc`` is removed with it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath

from perflint.findings import Edit, overlap
from perflint.fix.parsed_text import Reading
from perflint.text.source import Source

_Import = ast.Import | ast.ImportFrom


def unused_imports(before: Reading, after: Reading) -> list[str] | None:
    """The imports that only ``after`` leaves unused, as pyflakes names them (``numpy as np``).

    None if pyflakes reports something else that it did not report before.
    """
    new = after.new_messages(before)
    return [name for _, name in new] if all(kind == "UnusedImport" for kind, _ in new) else None


def removals(
    source: Source,
    tree: ast.Module,
    names: Iterable[str],
    added: Iterable[str] = (),
    is_loaded: Callable[[str], bool] = lambda package: False,
) -> list[Edit] | None:
    """The edits that remove imports, as pyflakes names them, from a file; None if one has to stay or is unclear.

    Args:
        source: the file.
        tree: its tree.
        names: the imports.
        added: import statements that are added to the file.
        is_loaded: whether another file that this one imports loads a package.
    """
    if PurePath(source.path).name == "__init__.py":
        return None  # other files may import what a package imports
    edits = []
    imports = list(_imports(tree))
    new = [node for statement in added for node in _imports(ast.parse(statement))]
    for name in names:
        found = [(node, alias) for node in imports for alias in node.names if _spelling(node, alias) == name]
        is_free = len(found) == 1 and _is_needless(*found[0], [*imports, *new], is_loaded)
        edit = _removal(source, *found[0], is_first=not new) if is_free else None
        if edit is None:
            return None
        edits.append(edit)
    return edits if not overlap(sorted(edits)) else None


def taking(name: str, path: str) -> re.Pattern[str]:
    """How a text uses an import of a file, as pyflakes names it: ``from train import np``, ``train.np``."""
    module = re.escape(PurePath(path).stem)
    bound = re.escape(name.rpartition(" ")[2].rpartition(".")[2])
    taken = rf"(?:\*|\b{bound}\b)"
    return re.compile(
        rf"\bfrom[ \t]+[\w.]*\b{module}[ \t]+import\b(?:[ \t]*\([^)]*?{taken}|[^\n(]*?{taken})|\b{module}\.{bound}\b"
    )


def _imports(node: ast.AST) -> Iterator[_Import]:
    """The import statements below a node, except for conditional ones, such as in a ``try``."""
    for block in (getattr(node, name, ()) for name in ("body", "orelse")):
        for item in block if isinstance(block, list) else ():
            if isinstance(item, _Import):
                yield item
            elif not isinstance(item, (ast.If, ast.Try)):
                yield from _imports(item)


def _is_needless(node: _Import, alias: ast.alias, imports: Iterable[_Import], is_loaded: Callable[[str], bool]) -> bool:
    """Whether leaving a name out changes nothing: importing its package has no effect, or it is still imported."""
    others = {_package(other, item) for other in imports for item in other.names if item is not alias}
    package = _package(node, alias)
    return package in {"numpy", *sys.stdlib_module_names, *others} or is_loaded(package)


def _package(node: _Import, alias: ast.alias) -> str:
    if isinstance(node, ast.Import):
        return alias.name.partition(".")[0]
    return "." * node.level + (node.module or alias.name if node.level else (node.module or "").partition(".")[0])


def _spelling(node: _Import, alias: ast.alias) -> str:
    """An import as pyflakes names it in its messages."""
    name = alias.name
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        name = module + name if module.endswith(".") else f"{module}.{name}"
    if alias.asname is None or alias.asname == (name if isinstance(node, ast.Import) else alias.name):
        return name
    return f"{name} as {alias.asname}"


def _removal(source: Source, node: _Import, alias: ast.alias, is_first: bool) -> Edit | None:
    """The edit that removes a whole import statement with its rows, or one of the names in it."""
    lines = source.lines
    names = node.names
    start, end = lines.span(node)
    if len(names) == 1:
        row = lines.position(end)[0]
        below = lines.line_end(row)
        comment = source.text.find("#", end, below)
        if comment >= 0 and not source.text[lines.line_start(node.lineno) : start] + source.text[end:comment].strip():
            return Edit(start, comment, "")
        is_alone = not (source.text[lines.line_start(node.lineno) : start] + source.text[end:below]).strip()
        below = _past_blank_rows(source, node.lineno, below) if is_first else below
        return Edit(lines.line_start(node.lineno), below, "") if is_alone else None
    at = names.index(alias)
    own, other = lines.span(alias), lines.span(names[at + 1 if at == 0 else at - 1])
    edit = Edit(own[0], other[0], "") if at == 0 else Edit(other[1], own[1], "")
    return edit if "#" not in source.text[edit.start : edit.end] else None


def _past_blank_rows(source: Source, row: int, end: int) -> int:
    """The end of the blank rows after the first row of a file, so that the file does not begin with them."""
    if row > 1:
        return end
    rest = source.text[end:]
    blank = len(rest) - len(rest.lstrip())
    return max(end, source.lines.line_start(source.lines.position(end + blank)[0]))
