"""Inserts the imports that an edit needs, and removes those that it leaves unused.

A new import goes below the last import that runs before the code that needs it, and not to the top: what the module
does between its imports, such as setting flags in ``os.environ``, stays before it. If the only ``gc.collect()`` of a
file is removed, ``import gc`` is removed with it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from perflint.findings import Edit, Fix, overlap
from perflint.index.imports import BRINGING
from perflint.syntax.always_bound import Given, always_does, given_by
from perflint.syntax.names import imported_name
from perflint.syntax.scopes import FUNCTIONS, TRIES, Function
from perflint.syntax.tree import Reading, alike, first_row, string_of, walk
from perflint.text.source import LineTable, Source

# --- new imports


@dataclass(frozen=True)
class ImportPlace:
    """The places for new imports in a text, and the imports it has; parsed only when a fix needs it."""

    text: str

    def missing(self, statements: Iterable[str], start: int) -> list[str]:
        """The statements whose names the module has not always imported above a place."""
        if not statements:
            return []
        above = self._above(start)
        return [item for item in dict.fromkeys(statements) if not _is_there(ast.parse(item).body[0], above)]

    def at(self, start: int) -> int:
        """Where a new import for code at a place goes: the start of a row above it."""
        lines, above = self._lines, self._above(start)
        last = next((node for node in reversed(above) if _imports(node) or _has_to_be_first(node)), None)
        if last is not None:
            return lines.line_end(self._last_row(last))
        return lines.line_start(first_row(self._body[0])) if self._body else 0

    def edit(self, statements: Sequence[str], at: int) -> Edit:
        """The insertion of these statements at such a place, each on its own line, with the file's line ends."""
        newline = Source("", self.text).newline
        return Edit(at, at, "".join(statement + newline for statement in statements))

    def edits(self, fix: Fix) -> list[Edit]:
        """The insertion of the imports that a fix needs and that the text lacks."""
        start = first_written(fix)
        missing = self.missing(fix.imports, start)
        return [self.edit(missing, self.at(start))] if missing else []

    @cached_property
    def _lines(self) -> LineTable:
        return LineTable(self.text)

    @cached_property
    def _body(self) -> list[ast.stmt]:
        tree = Reading(self.text).tree
        return tree.body if tree is not None else []

    def _above(self, start: int) -> list[ast.stmt]:
        """The statements of the module that are complete before a place."""
        row = self._lines.position(start)[0]
        return [node for node in self._body if self._last_row(node) < row]

    def _last_row(self, last: ast.stmt) -> int:
        """The last row of the line that ``last`` ends on: ``import os; x = [`` continues below."""
        row = last.end_lineno or last.lineno
        for statement in self._body:
            if statement.lineno <= row:
                row = max(row, statement.end_lineno or row)
        return row


def first_written(fix: Fix) -> int:
    """Where the first text of a fix begins that may need its imports; an import that it removes does not."""
    written = [edit for edit in fix.edits if edit.content] or fix.edits
    return min(written, default=Edit(0, 0, "")).start


def _imports(node: ast.stmt) -> bool:
    """Whether a statement of a module imports something when the module is loaded."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if not isinstance(node, (ast.If, ast.With, *TRIES)):
        return False
    blocks = (getattr(node, name, ()) for name in ("body", "orelse", "finalbody"))
    return any(_imports(item) for block in blocks for item in block)


def _has_to_be_first(node: ast.stmt) -> bool:
    """Whether a statement is the docstring of the module."""
    return isinstance(node, ast.Expr) and string_of(node.value) is not None


def _is_there(wanted: ast.stmt, above: Iterable[ast.stmt]) -> bool:
    """Whether some statements have always bound the names of an import, with the same meaning."""
    names = given_by(wanted)

    def has(name: Given) -> bool:
        return any(always_does(node, lambda item: name in given_by(item)) for node in above)

    return all(map(has, names)) if names else any(alike(node, wanted) for node in above)


# --- unused imports

_Import = ast.Import | ast.ImportFrom
_PURE = frozenset({"numpy"})
"""Packages whose import has no effect that a program could notice."""


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
    added: Iterable[_Import] = (),
    after: ast.Module | None = None,
) -> list[Edit]:
    """The edits that remove imports, as pyflakes names them, from a file; those stay whose loss may be noticed.

    Args:
        source: the file.
        tree: its tree.
        names: the imports.
        added: imports that are added to the file.
        after: the tree of the edited file, which tells apart imports of the same name in several functions.
    """
    imports, new = list(imports_in(tree)), list(added)
    gone: list[ast.alias] = []
    edits: list[Edit] = []
    for name in names:
        found = [(node, alias) for node in imports for alias in node.names if spelling_of(node, alias) == name]
        if len(found) > 1:
            unread = _unread(tree, after) if after is not None else frozenset()
            found = [(node, alias) for node, alias in found if alias in unread]
        for node, alias in found:
            if not _is_needless(node, alias, _block_of(node, tree), tree.body, gone, new):
                continue
            edit = _removal(source, node, alias, is_first=not new)
            if edit is not None and not overlap(sorted((*edits, edit))):
                edits.append(edit)
                gone.append(alias)
    return edits


def _unread(before: ast.Module, after: ast.Module) -> frozenset[ast.alias]:
    """The imports of functions which read the name before some edits, and no longer after them."""
    left = _functions(after)
    found: set[ast.alias] = set()
    for key, function in _functions(before).items():
        gone = _read_in(function) - _read_in(left.get(key, function))
        found |= {alias for node in imports_in(function) for alias in node.names if imported_name(alias) in gone}
    return frozenset(found)


def _functions(tree: ast.Module) -> dict[tuple[str, int], Function]:
    """The functions of a file, by their names and the number of those of the same name above."""
    found: dict[tuple[str, int], Function] = {}
    same = Counter[str]()
    for node in walk(tree):
        if isinstance(node, FUNCTIONS):
            found[node.name, same[node.name]] = node
            same[node.name] += 1
    return found


def _read_in(function: Function) -> set[str]:
    return {node.id for node in walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _block_of(node: _Import, tree: ast.Module) -> Sequence[ast.stmt]:
    """The statements among which an import stands."""
    for around in ast.walk(tree):
        for block in (getattr(around, name, ()) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                return block
    return tree.body


def imports_in(node: ast.AST) -> Iterator[_Import]:
    """The import statements below a node, except for conditional ones, such as in a ``try``."""
    for block in (getattr(node, name, ()) for name in ("body", "orelse")):
        for item in block if isinstance(block, list) else ():
            if isinstance(item, _Import):
                yield item
            elif not isinstance(item, (ast.If, ast.Try)):
                yield from imports_in(item)


def _is_needless(
    node: _Import,
    alias: ast.alias,
    block: Sequence[ast.stmt],
    body: Sequence[ast.stmt],
    gone: Collection[ast.alias],
    new: Iterable[_Import],
) -> bool:
    """Whether leaving a name out changes nothing: importing its package has no effect, or it is loaded all the same.

    Another import of the package must have run before, or must follow with nothing but imports in between. Otherwise
    the package would be loaded later than now, after the program has set something for it.

    Args:
        node: the import statement.
        alias: one of its names.
        block: the statements among which it stands.
        body: those of the module.
        gone: names that are left out already.
        new: imports that are added.
    """
    package = _package(node, alias)
    if package in sys.stdlib_module_names or any(_brings(other, package, gone, alias) for other in new):
        return True
    at = block.index(node)
    below = takewhile(lambda item: isinstance(item, _Import), block[at:])
    before = block[:at] if block is body else (*body, *block[:at])  # a function runs after all of its module
    if any(_brings(item, package, gone, alias) for item in (*before, *below) if isinstance(item, _Import)):
        return True
    anywhere = (item for item in body if isinstance(item, _Import))
    return block is body and package in _PURE and not any(_brings(item, package, gone, alias) for item in anywhere)


def _brings(node: _Import, package: str, gone: Collection[ast.alias], without: ast.alias) -> bool:
    """Whether an import loads a package by one of the names that remain in it."""
    left = (alias for alias in node.names if alias is not without and alias not in gone)
    return any(_package(node, alias) in (package, *BRINGING.get(package, ())) for alias in left)


def _package(node: _Import, alias: ast.alias) -> str:
    if isinstance(node, ast.Import):
        return alias.name.partition(".")[0]
    return "." * node.level + (node.module or alias.name if node.level else (node.module or "").partition(".")[0])


def spelling_of(node: _Import, alias: ast.alias) -> str:
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
