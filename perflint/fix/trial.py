"""Tries each edit before it is offered, and withdraws those that would make the file worse.

An edit is offered if the edited file compiles and pyflakes reports nothing new: no undefined name, and no variable that
became unused. A fix that fails keeps its title and its reason, so the user still reads what to do, but loses its edit.
For example, ``if step % 10 == 0:`` around a log line is not offered if there is no name ``step``. An import that
becomes unused by the edit may stay. A fix only notes which imports it may leave unused that nothing else needs; the
fixer removes those that all edits together leave unused.

A safe fix keeps the trained weights bit for bit, nothing new can fail, comments survive, and the program prints, logs
and saves the same as before. Most of that only the rule can ensure, and the tests run it. What the two texts show is
checked here for every safe fix, so that no rule can break it by mistake (`broken_promise`):

* each comment is still there;
* no statement is under a test or in a loop that it was not under before;
* no call that prints, logs, saves or counts is removed.

For example, putting ``print(...)`` under ``if step % 10 == 0:`` breaks the second promise, whatever the rule says.

Rows that an edit makes too long are broken first, like black: inside the brackets of a call, or inside new parentheses.
With rows of at most 60 characters::

    total += loss.detach().astype("float64") * images.shape[0]

becomes::

    total += (
        loss.detach().astype("float64") * images.shape[0]
    )

A row that was already too long is not changed, nor is one that cannot be broken in this way.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from perflint.findings import Edit, Fix, Level, in_order
from perflint.fix.fixer import complete_edits, spliced
from perflint.fix.import_edits import ImportPlace, first_written, imports_in, spelling_of
from perflint.syntax.names import imported_name
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import FUNCTIONS, last_row, terminal
from perflint.syntax.tree import Messages, Reading, alike, first_row, walk
from perflint.text.source import LineTable, Source, lines_of

# --- the part of a file that an edit touches, and a shortened rest, so that a trial need not read all

_Path = tuple[str, ...]


@dataclass(frozen=True)
class Region:
    """Consecutive statements of a module, in whole rows.

    ``start`` and ``end`` are character offsets; ``first`` and ``last`` number the statements, half open.
    ``functions`` are the paths of the functions in it that an edit touches: ``("Trainer", "fit")``.
    """

    start: int
    end: int
    first: int
    last: int
    functions: frozenset[_Path]


class Outline:
    """The statements of a module by their rows."""

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self._lines = source.lines
        self._body = tree.body
        self._starts = [self._lines.line_start(first_row(node)) for node in self._body]
        self._ends = [self._lines.line_end(node.end_lineno or node.lineno) for node in self._body]

    @property
    def size(self) -> int:
        """How many statements the module has."""
        return len(self._body)

    def region(self, edits: Sequence[Edit]) -> Region:
        """The statements that contain some edits, and those next to an insertion between two rows."""
        low, high = min(edit.start for edit in edits), max(edit.end for edit in edits)
        first, last = bisect_left(self._ends, low), bisect_right(self._starts, high)
        while first > 0 and self._ends[first - 1] > self._starts[first]:  # ``a = 1; b = 2`` share a row
            first -= 1
        while 0 < last < len(self._body) and self._starts[last] < self._ends[last - 1]:
            last += 1
        start = min(low, self._starts[first]) if first < last else low
        end = max(high, self._ends[last - 1]) if first < last else high
        start = self._lines.line_start(self._lines.position(start)[0])
        if end > start:  # up to the end of the row, unless it already is one
            end = self._lines.line_end(self._lines.position(end - 1)[0])
        return Region(start, end, first, max(first, last), frozenset(self._touched(edits, first, last)))

    def inside(self, region: Region, part: Reading) -> Reading:
        """The statements of ``part``, the text of a region, with an empty body in untouched functions."""
        body = [] if part.tree is None else part.tree.body
        return Reading(part.text, ast.Module([_emptied(node, region.functions, ()) for node in body], []))

    def around(self, region: Region, inside: Reading, imports: Iterable[str] = ()) -> Reading:
        """The module, its functions emptied, with ``inside`` in place of a region, and with more imports."""
        body = [] if inside.tree is None else inside.tree.body
        head = min(self._head, region.first)
        added = [node for statement in imports for node in ast.parse(statement).body]
        outer = self._outer
        tree = ast.Module([*outer[:head], *added, *outer[head : region.first], *body, *outer[region.last :]], [])
        return Reading("", tree)

    @cached_property
    def _head(self) -> int:
        """How many statements have to stay first: the docstring and the imports from ``__future__``."""
        head = 0
        for node in self._body:
            is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not is_future and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                break
            head += 1
        return head

    @cached_property
    def _outer(self) -> list[ast.stmt]:
        return [_emptied(node, (), ()) for node in self._body]

    def _touched(self, edits: Sequence[Edit], first: int, last: int) -> Iterator[_Path]:
        rows = {row for edit in edits for row in self._rows(edit)}
        for node in self._body[first:last]:
            for path, function in _functions(node, ()):
                if any(first_row(function) <= row <= (function.end_lineno or row) for row in rows):
                    yield path

    def _rows(self, edit: Edit) -> tuple[int, int]:
        """The first and the last row of an edit; an inserted row also belongs to the one above."""
        return self._lines.position(max(edit.start - 1, 0))[0], self._lines.position(edit.end)[0]


def _functions(node: ast.stmt, path: _Path) -> Iterator[tuple[_Path, ast.stmt]]:
    """The functions of a module and its classes with their paths, not those inside of functions."""
    if isinstance(node, FUNCTIONS):
        yield (*path, node.name), node
    elif isinstance(node, ast.ClassDef):
        for item in node.body:
            yield from _functions(item, (*path, node.name))


def _emptied(node: ast.stmt, kept: Collection[_Path], path: _Path) -> ast.stmt:
    """The same statement with its functions emptied, except for those that are kept."""
    if isinstance(node, FUNCTIONS) and (*path, node.name) not in kept:
        return _with_body(node, [ast.copy_location(ast.Pass(), node.body[0])])
    if isinstance(node, ast.ClassDef):
        return _with_body(node, [_emptied(item, kept, (*path, node.name)) for item in node.body])
    return node


def _with_body(node: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    fields = {**{name: getattr(node, name) for name in node._fields if hasattr(node, name)}, "body": body}
    return ast.copy_location(type(node)(**fields), node)


# --- what a safe fix promises

_TESTS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Match)
_REPORTS = frozenset(
    {"print", "pprint", "debug", "info", "warning", "warn", "error", "critical", "exception", "log"}
    | {"add_scalar", "add_scalars", "add_histogram", "add_image", "add_text", "set_postfix", "set_description"}
    | {"save", "async_save", "save_state_dict", "save_pretrained", "savez", "savetxt", "dump", "write", "writelines"}
    | {"append", "update", "step", "backward"}
)
"""Calls that show or store something, by their last name."""


def broken_promise(before: Reading, after: Reading) -> str:
    """The promise that an edit of this code breaks, as the reason of an unsafe fix; empty if none is seen."""
    if before.tree is None or after.tree is None:
        return ""
    if "#" in before.text and _comments(before.text) - _comments(after.text):
        return "a comment would be lost"
    if _runs_less_often(before.tree, after.tree):
        return "the code under the new test would run less often"
    lost = _reports(before.tree) - _reports(after.tree)
    return f"`{next(iter(lost))}` would no longer be called there" if lost else ""


def _comments(text: str) -> Counter[str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return Counter()
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _runs_less_often(before: ast.Module, after: ast.Module) -> bool:
    """Whether a remaining statement is under more tests and loops than before."""
    if _tests(before) == _tests(after):
        return False
    old, new = _depths(before), _depths(after)
    return any(text in new and new[text][0] == count and new[text][1] > depth for text, (count, depth) in old.items())


def _tests(tree: ast.Module) -> int:
    return sum(isinstance(node, _TESTS) for node in ast.walk(tree))


def _depths(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """Each simple statement, as text, with its number of occurrences and the tests and loops around them."""
    found: dict[str, tuple[int, int]] = {}
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        inside = depth + isinstance(node, _TESTS)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                continue
            if not hasattr(child, "body"):
                text = ast.dump(child)
                count, total = found.get(text, (0, 0))
                found[text] = (count + 1, total + inside)
            stack.append((child, inside))
    return found


def _reports(tree: ast.Module) -> Counter[str]:
    """How many calls there are of each function that shows or stores something, by its last name."""
    names = (terminal(node) or "" for node in ast.walk(tree) if isinstance(node, ast.Call))
    return Counter(name for name in names if name in _REPORTS)


_BUDGET = 4_000_000
_BUDGET_PER_CHARACTER = 8
"""How many characters the trials of one file may read. Real files stay far below: a trial reads the function that it
edits. This keeps the time linear for a file with thousands of costly calls in one function.
"""

_PER_FUNCTION = 30
"""The cost, in characters, of reading an emptied function or another statement of the module."""


class Trials:
    """The trials of the fixes of one file.

    Args:
        source: the file.
        tree: its tree.
        limit: the greatest length of a row; None if the project does not set one.
        is_needed: whether something besides the code of the file needs a name that it imports.
    """

    def __init__(
        self,
        source: Source,
        tree: ast.Module,
        limit: int | None = None,
        is_needed: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._limit = usual_limit(source.text) if limit is None else limit
        self._source = source
        self._tree = tree
        self._is_needed = is_needed
        self._outline = Outline(source, tree)
        self._left = _BUDGET + _BUDGET_PER_CHARACTER * len(source.text)
        self._verdicts: dict[Fix, Fix] = {}
        self._lost: dict[Fix, Counter[str]] = {}
        self._regions: dict[tuple[int, int], Reading] = {}
        self._insides: dict[Region, Reading] = {}
        self._modules: dict[Region, Reading] = {}

    def tried(self, fix: Fix | None) -> Fix | None:
        """The fix if its edit may be offered; otherwise the fix without its edit, or with a lower level."""
        if fix is None or not fix.edits:
            return fix
        if fix not in self._verdicts:
            self._verdicts[fix] = self._verdict(fix)
        return self._verdicts[fix]

    def tried_together(self, fixes: Sequence[Fix | None]) -> list[Fix | None]:
        """The fixes as ``tried`` returns them, each with the imports that it may leave unused along with the others."""
        results = [self.tried(fix) for fix in fixes]
        together = sum((self._lost[fix] for fix in {*results} if fix in self._lost), Counter[str]())
        return [
            replace(fix, unneeded=tuple(self._unneeded(self._lost[fix], together))) if fix in self._lost else fix
            for fix in results
        ]

    def _verdict(self, fix: Fix) -> Fix:
        edits = in_order(dict.fromkeys(fix.edits))
        region = self._outline.region(edits)
        self._left -= region.end - region.start
        if self._left < 0:
            return _in_words(fix, "this file has too many edits to try each; make some of them, then look again")
        before = self._before(region)
        after = Reading(spliced(self._source.text, region.start, region.end, edits))
        # (The ``await`` of a notebook did not compile before either.)
        if after.tree is None or (before.compiles and not after.compiles):
            return _in_words(fix, "the edit does not fit the code here: the file would not compile")
        inside = self._outline.inside(region, after)
        new = self._new_messages(region, before, inside, fix)
        bad = [said for (kind, _), said in new.items() if kind != "UnusedImport"]
        if bad:
            return _in_words(fix, f"the edit does not fit the code here: {bad[0]}")
        broken = broken_promise(before, after) if fix.level is Level.SAFE else ""
        fix = replace(fix, edits=in_order(self._fitted(region, edits, after)))
        fix = replace(fix, level=Level.UNSAFE, reason=broken) if broken else fix
        self._lost[fix] = self._inside(region, before).reads - inside.reads
        return fix

    def _fitted(self, region: Region, edits: Sequence[Edit], after: Reading) -> list[Edit]:
        """The edits, with rows that get too long broken; ``after``: the text of the region after the edits."""
        text, newline = self._source.text[region.start : region.end], self._source.newline
        near = [Edit(edit.start - region.start, edit.end - region.start, edit.content) for edit in edits]
        fitting = fitted(text, near, self._limit, newline)
        if fitting == near or not _is_same(after, Reading(spliced(text, 0, len(text), fitting))):
            return list(edits)
        return [Edit(edit.start + region.start, edit.end + region.start, edit.content) for edit in fitting]

    def _unneeded(self, lost: Counter[str], lost_together: Counter[str]) -> Iterator[str]:
        """The imports, as pyflakes calls them, that some fixes may leave unused and nothing else needs.

        Args:
            lost: how often a fix no longer reads each name.
            lost_together: the same for all fixes of the file. What is still read after all of them is needed.
        """
        for node in imports_in(self._tree) if lost else ():
            left = self._reads - lost_together if node in self._tree.body else Counter[str]()
            for alias in node.names:
                name = imported_name(alias)
                if name in lost and name not in left and not self._is_needed(name):
                    yield spelling_of(node, alias)

    @cached_property
    def _reads(self) -> Counter[str]:
        """How often the file reads each name."""
        return Reading("", self._tree).reads

    def _new_messages(self, region: Region, before: Reading, inside: Reading, fix: Fix) -> Messages:
        """The messages of pyflakes about the edited file that it did not have about the file before.

        First, functions that the edits do not touch are emptied, which is fast and finds everything, but sometimes too
        much: an import may only be used in another function. So anything found is checked again with the whole file.

        Args:
            region: what the edits touch.
            before: its text before.
            inside: its statements after the edits, with such functions emptied.
            fix: the fix.
        """
        outline, text = self._outline, self._source.text
        missing = ImportPlace(text).missing(fix.imports, first_written(fix)) if fix.imports else []
        if not missing and inside.names == self._inside(region, before).names:
            return {}  # no name was added or removed, so pyflakes has nothing new to report
        self._left -= _PER_FUNCTION * outline.size
        module = outline.around(region, inside, missing)
        if not module.new_messages(self._module(region, before)):
            return {}
        return Reading(spliced(text, 0, len(text), complete_edits(text, fix))).new_messages(self._whole)

    def _inside(self, region: Region, before: Reading) -> Reading:
        if region not in self._insides:
            self._insides[region] = self._outline.inside(region, before)
        return self._insides[region]

    def _module(self, region: Region, before: Reading) -> Reading:
        if region not in self._modules:
            self._modules[region] = self._outline.around(region, self._inside(region, before))
        return self._modules[region]

    def _before(self, region: Region) -> Reading:
        key = (region.start, region.end)
        if key not in self._regions:
            self._regions[key] = Reading(self._source.text[region.start : region.end])
        return self._regions[key]

    @cached_property
    def _whole(self) -> Reading:
        return Reading(self._source.text)


def _is_same(one: Reading, other: Reading) -> bool:
    """Whether two texts are the same program."""
    return one.tree is not None and other.tree is not None and alike(one.tree, other.tree)


def _in_words(fix: Fix, problem: str) -> Fix:
    """The fix without its edit, which the user has to make."""
    reason = fix.reason if fix.level is Level.DISPLAY and fix.reason else problem
    return replace(fix, edits=(), imports=(), unneeded=(), level=Level.DISPLAY, reason=reason)


_STEP = "    "
_BLACK = 88
"""Black's default line length, for projects that do not set one."""


def usual_limit(text: str) -> int:
    """The line length if the project does not set one: black's default, or that of the longest row."""
    return max(_BLACK, *map(_width, _rows(text)))


def fitted(text: str, edits: Sequence[Edit], limit: int, newline: str) -> list[Edit]:
    """Edits changed so that no row gets longer than ``limit``, unless it was that long before.

    Args:
        text: whole statements of a module before the edits, from the beginning of a row on.
        edits: sorted, not overlapping.
        limit: the greatest length of a row.
        newline: the line end of the file.
    """
    result = spliced(text, 0, len(text), edits)
    lines = LineTable(result)
    old = set(_rows(text))
    long = [row for row in range(1, lines.rows + 1) if _width(lines.line(row)) > limit and lines.line(row) not in old]
    tree = Reading(result).tree if long else None
    if tree is None:
        return list(edits)
    nodes = walk(tree)
    breaks: list[Edit] = []
    for row in long:
        breaks += _broken(result, lines, _statement(nodes, row), limit, newline)
    return composed(edits, breaks)


def composed(edits: Sequence[Edit], later: Sequence[Edit]) -> list[Edit]:
    """The edits with the same result as applying ``edits`` and then ``later``.

    Args:
        edits: sorted, not overlapping.
        later: edits of the result; each replaces spaces that ``edits`` have left unchanged or have written completely.
    """
    pieces = [*edits]
    starts, shifts, shift = [], [], 0  # where the content of each edit begins in the result, and the shift after it
    for edit in edits:
        starts.append(edit.start + shift)
        shift += len(edit.content) - (edit.end - edit.start)
        shifts.append(shift)
    for change in sorted(later, reverse=True):
        at = bisect_right(starts, change.start) - 1
        inside = at >= 0 and change.end <= starts[at] + len(edits[at].content)
        if inside:
            edit, offset = pieces[at], starts[at]
            low, high = change.start - offset, change.end - offset
            pieces[at] = Edit(edit.start, edit.end, edit.content[:low] + change.content + edit.content[high:])
        else:
            back = shifts[at] if at >= 0 else 0
            pieces.append(Edit(change.start - back, change.end - back, change.content))
    return list(in_order(pieces))


def _broken(text: str, lines: LineTable, statement: ast.stmt | None, limit: int, newline: str) -> list[Edit]:
    """The changes that break the row of a statement; none if that does not help."""
    if statement is None or last_row(statement) != statement.lineno:
        return []
    row = statement.lineno
    indent = lines.line(row)[: len(lines.line(row)) - len(lines.line(row).lstrip())]
    unit = "\t" if indent.startswith("\t") else _STEP
    for start, end, opens in _splits(lines, statement):
        inner, closing = f"{newline}{indent}{unit}", f"{newline}{indent}"
        changes = [Edit(start, start, opens[:1] + inner), Edit(end, end, closing + opens[1:])]
        first = lines.line_start(row)
        rows = _rows(spliced(text, first, first + len(lines.line(row)), changes))
        if all(_width(part) <= limit for part in rows):
            return changes
    return []


def _rows(text: str) -> list[str]:
    """The rows of a text without their line ends."""
    return [row.rstrip("\r\n") for row in lines_of(text) or [""]]


def _width(row: str) -> int:
    return len(row.expandtabs(len(_STEP))) if "\t" in row else len(row)


def _statement(nodes: Iterable[ast.AST], row: int) -> ast.stmt | None:
    """The statement that begins on a row; None if several do."""
    found = [node for node in nodes if isinstance(node, ast.stmt) and node.lineno == row]
    return found[0] if len(found) == 1 else None


def _splits(lines: LineTable, node: ast.stmt) -> Iterator[tuple[int, int, str]]:
    """Where a statement may be broken: a range that is put on separate rows, and the parentheses it gets, if any."""
    value = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else getattr(node, "value", None)
    if not isinstance(value, ast.expr):
        return
    if isinstance(value, ast.Call) and arguments_of(value) and not _is_chain(value.func):
        start, end = lines.span(value.func)[1] + 1, lines.span(value)[1] - 1
        if lines.text[start - 1] == "(" and lines.text[end] == ")":
            yield start, end, ""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)) and not isinstance(value, ast.Tuple):
        start, end = lines.span(value)
        if lines.text[start - 1] != "(":
            yield start, end, "()"


def _is_chain(function: ast.expr) -> bool:
    """Whether a call is made on the result of another call: ``a().b()``."""
    return any(isinstance(node, ast.Call) for node in ast.walk(function))
