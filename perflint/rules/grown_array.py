"""PPF901: an array that a loop copies in each iteration, to append one more part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.findings import Confidence, Edit, Fix
from perflint.flow.branches import Switches
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.call_results import LOOPED
from perflint.query import query
from perflint.rules.edits import indentation, insert_row_above, insert_row_after_loop, one_level
from perflint.syntax.bindings import bindings_of, loads_of, plain_assignment
from perflint.syntax.names import dotted, names_in, plain_names
from perflint.syntax.parameters import argument_of, is_none, is_spread
from perflint.syntax.reaching import sole_at, value_of
from perflint.syntax.scopes import Loop, Scope, Statement, terminal
from perflint.syntax.tree import alike, walk
from perflint.text.source import Source

# Finds arrays that a loop extends by copying them, ``x = paddle.concat([x, y])``, without reading them.
#
# Only loops with many iterations count: over a loader, over the rows of a tensor, over the steps of a sequence. A
# loop over the layers or the scales of a model has few.

_JOINS = frozenset(
    {"paddle.concat", "paddle.vstack", "paddle.hstack", "numpy.concatenate", "numpy.vstack", "numpy.hstack"}
)
_A_JOIN = re.compile(r"\b(?:concat|concatenate|vstack|hstack)\b")
_FEW = 16
"""The least number of iterations for which copies matter: with 16 equal parts, eight times the bytes are copied."""
_WRAPPERS = LOOPED | {"list", "range", "trange"}
_MANY = re.compile(
    r"(?:^|_)(?:loader|dataloader|reader|data_?iter)|(?:^|_)(?:(?:num|n|max|total|seq|time|decode|tgt|src|trg)_?"
    r"(?:lens?|length|steps?|frames|samples|images|iters?|nodes)|batch_size|bs|seqlen)$",
    re.IGNORECASE,
)
_LOADER = re.compile(r"loader|reader", re.IGNORECASE)
_TARGETS = re.compile(r"^(?:\w+_)?(?:targets?|labels?|gts?|tgt|trg|ground_truth)(?:_\w+)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Grown:
    """An array that grows in a loop.

    Attributes:
        name: the name of the array.
        statement: ``x = concat([x, y])``.
        call: that call.
        part: what is appended.
        loop: the loop, and the statement of it.
        scope: the function.
        choice: the ``if`` whose other arm assigns the first part, as in ``if i == 0: x = y``.
        first: that arm's assignment.
    """

    name: str
    statement: Statement
    call: ast.Call
    part: ast.expr
    loop: Loop
    at: Statement
    scope: Scope
    choice: ast.If | None = None
    first: ast.Assign | None = None

    @property
    def goes_over_batches(self) -> bool:
        """Whether the loop draws from a loader, judging by its name."""
        drawn = [] if isinstance(self.loop, ast.While) else names_in(self.loop.iter)
        return any(_LOADER.search(name) for name in drawn)

    @property
    def predicts(self) -> bool:
        """Whether it is in a part of a layer without targets, or that is not for training."""
        return any(means_training(test) is (not truth) for test, truth in self.statement.conditions)

    def is_of_numpy(self, file: FileIndex) -> bool:
        """Whether it is an array of NumPy, not a tensor."""
        return file.names.qualified(self.call.func).startswith("numpy.")


@query
def grown_arrays(file: FileIndex) -> tuple[Grown, ...]:
    """The arrays of a file that a loop extends in each iteration and does not read otherwise."""
    if not file.has("paddle") or not file.matches(_A_JOIN):
        return ()
    found = (
        _grown(Place(file, scope), statement) for scope, statement in file.statements if statement.loop is not None
    )
    return tuple(each for each in found if each is not None)


def _grown(place: Place, statement: Statement) -> Grown | None:
    """The array that a statement in a loop extends."""
    loop = statement.loop
    name, call = plain_assignment(statement.node) or ("", None)
    if loop is None or not isinstance(call, ast.Call):
        return None
    if place.file.names.qualified(call.func) not in _JOINS or is_spread(call):
        return None
    parts = _parts(call)
    listed = parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else []
    if len(listed) != 2 or dotted(listed[0]) != name or isinstance(listed[1], ast.Starred):
        return None
    at = next((one for one in place.scope.statements if one.node is loop), None)
    if at is None or not _has_many_passes(place.scope, at, loop):
        return None
    found = Grown(name, statement, call, listed[1], loop, at, place.scope, *_first_part(name, statement))
    return found if _is_read_for_nothing_else(found) and not _is_bound_otherwise(found) else None


def _parts(call: ast.Call) -> ast.expr | None:
    """What a call puts together."""
    return argument_of(call, "x", 0)


def _first_part(name: str, statement: Statement) -> tuple[ast.If, ast.Assign] | tuple[None, None]:
    """The ``if`` around a statement whose other arm only assigns the first part."""
    place = statement.place
    if place is None or not isinstance(place.node, ast.If) or place.branch not in ("body", "else"):
        return None, None
    for one in place.node.orelse if place.branch == "body" else place.node.body:
        made = plain_assignment(one)
        if made is not None and made[0] == name and isinstance(one, ast.Assign):
            return place.node, one
    return None, None


def _is_read_for_nothing_else(found: Grown) -> bool:
    """Whether the loop reads the array only in that call, and in the test for the first part."""
    reads = sum(count for at, count in loads_of(found.scope).get(found.name, []) if _is_part(at, found.loop))
    everywhere = _loads(found.loop, found.name)
    tested = _loads(found.choice.test, found.name) if found.choice is not None and _asks_for_none(found) else 0
    return reads == everywhere == 1 + tested


def _is_part(statement: Statement, loop: Loop) -> bool:
    return statement.node is loop or any(link.node is loop for link in statement.around)


def _loads(node: ast.AST, name: str) -> int:
    return sum(isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(node))


def _asks_for_none(found: Grown) -> bool:
    """Whether the test is ``x is None`` or its opposite."""
    test = found.choice.test if found.choice is not None else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    return isinstance(test.ops[0], (ast.Is, ast.IsNot)) and dotted(test.left) == found.name


def _is_bound_otherwise(found: Grown) -> bool:
    """Whether the loop binds the array in another statement than those two."""
    known = {found.statement.node, found.first}
    return any(
        _is_part(one, found.loop) and one.node not in known for one in bindings_of(found.scope).get(found.name, ())
    )


def _has_many_passes(scope: Scope, at: Statement, loop: Loop) -> bool:
    """Whether the number of iterations of a loop grows with the data."""
    if isinstance(loop, ast.While):
        return not isinstance(loop.test, ast.Constant) or bool(loop.test.value)
    return _is_long(scope, at, loop.iter)


def _is_long(scope: Scope, at: Statement, node: ast.expr) -> bool:
    """Whether an expression is a long sequence, or the number of iterations of a loop."""
    waiting = [(node, at)]
    for item, there in waiting:  # grows in the loop
        binding = sole_at(dotted(item) or "", there, scope)
        value = value_of(binding) if binding is not None else None
        if _says_long(item) and not isinstance(value, ast.Constant):
            return True
        parts: list[tuple[ast.expr, Statement]] = []
        if isinstance(item, ast.BinOp):
            parts = [(item.left, there), (item.right, there)]
        elif isinstance(item, ast.Call):
            parts = [(argument, there) for argument in item.args if terminal(item) in _WRAPPERS]
        elif value is not None and binding is not None:
            parts = [(value, binding)]
        waiting += [part for part in parts if part not in waiting]
    return False


def _says_long(node: ast.expr) -> bool:
    """Whether an expression is many by its own value or name, or by a shape in it."""
    if any(_is_of_a_shape(item) for item in walk(node)):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value >= _FEW
    name = terminal(node) if isinstance(node, ast.Call) else dotted(node)
    return _MANY.search((name or "").rpartition(".")[2]) is not None


def means_training(test: ast.expr) -> bool | None:
    """Whether a test is true in training: ``self.training``, ``targets is not None``; None for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        opposite = means_training(test.operand)
        return None if opposite is None else not opposite
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return True if all(means_training(part) for part in test.values) else None
    if dotted(test) == "self.training":
        return True
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _TARGETS.search(dotted(test.left) or ""):
        return None
    if not is_none(test.comparators[0]):
        return None
    return isinstance(test.ops[0], (ast.IsNot, ast.NotEq))


def _is_of_a_shape(item: ast.AST) -> bool:
    """Whether an expression is ``x.shape``, which a list of layers does not have."""
    return isinstance(item, ast.Attribute) and item.attr == "shape"


# PPF901: an array that a loop copies in each iteration, to append one more part.

RULE = shipped()["PPF901"]
_SELDOM = "grown array outside of steps"
"""The event where no step of a training leads to it, as in an evaluation."""


def _places(file: FileIndex) -> Iterator[Candidate]:
    for found in grown_arrays(file) if not file.is_offline else ():
        yield Candidate(found.statement.node, found.statement.node, found)


@rule(
    RULE.code, at=At.ANYWHERE | At.HOT, find=_places, clues=["range"], is_close=True, claims=False, heeds_claims=False
)
def grown_array(found: Grown, context: Context) -> None:
    """Report ``x = paddle.concat([x, y])`` in a loop of many iterations."""
    file = context.file
    is_hot = context.hot is not None
    confidence = _confidence(found, is_hot, file)
    event = "" if is_hot else _SELDOM
    context.report(
        _fix(found, file),
        confidence=confidence,
        costs_on_cpu=True,
        event=event,
        name=found.name,
    )


def _confidence(found: Grown, is_hot: bool, file: FileIndex) -> Confidence:
    """Low if the array may be small, or never created: in a ``while``, in inference, under a flag that is never set."""
    matters = is_hot or found.goes_over_batches or not found.is_of_numpy(file)
    if not matters or isinstance(found.loop, ast.While) or found.predicts:
        return Confidence.LOW
    is_off = Switches.of(file.project).is_left_off(found.statement, Place(file, found.scope))
    return Confidence.LOW if is_off else Confidence.HIGH


def _fix(found: Grown, file: FileIndex) -> Fix:
    """The edits that collect the parts, and concatenate them after the loop."""
    source = file.source
    if any(isinstance(item, (ast.Return, ast.Yield, ast.YieldFrom)) for item in walk(found.loop)):
        return RULE.words("left early")
    name = _free_name(found, file)
    inside = _appending(found, name, source)
    begun = "[]" if found.choice is not None else f"[{found.name}]"
    above = insert_row_above(source, found.loop, f"{name} = {begun}")
    below = insert_row_after_loop(source, found.loop, _put_together(found, name, source))
    if inside is None or _begins_within_a_row(found.loop, source):
        return RULE.words("comment")
    may_fail = found.choice is not None and not _may_stay_empty(found)
    reason = f"{RULE.fix_reason}; {RULE.texts['no pass']}" if may_fail else ""
    return RULE.fix(sorted((above, *inside, below)), reason=reason)


def _free_name(found: Grown, file: FileIndex) -> str:
    name = f"{found.name}_parts"
    while name in file.identifiers:
        name += "_"
    return name


def _appending(found: Grown, name: str, source: Source) -> list[Edit] | None:
    """The edits that add a part to the list, and the first one too; None if a comment would be lost."""
    first, choice, text = found.first, found.choice, source.text
    row = Edit(*source.lines.span(found.statement.node), f"{name}.append({source.code(found.part)})")
    if first is None or choice is None:
        return None if _has_comment(row, text) else [row]
    if _does_nothing_else(choice) and alike(first.value, found.part):
        whole = Edit(*source.lines.span(choice), row.content)
        return None if _has_comment(whole, text) or source.code(choice).startswith("elif") else [whole]
    other = Edit(*source.lines.span(first), f"{name}.append({source.code(first.value)})")
    reads = found.name in plain_names(choice.test)
    if reads or _has_comment(row, text) or _has_comment(other, text):
        return _with_test(found, name, [row, other], source) if reads else None
    return [row, other]


def _with_test(found: Grown, name: str, rows: list[Edit], source: Source) -> list[Edit] | None:
    """The same if a test checks whether there is a first part: it then checks the list instead."""
    choice = found.choice
    if choice is None or any(_has_comment(edit, source.text) for edit in rows):
        return None
    is_none = isinstance(choice.test, ast.Compare) and isinstance(choice.test.ops[0], ast.Is)
    before = [one for one in bindings_of(found.scope).get(found.name, ()) if one.start < found.at.start]
    if not before:
        return None
    return [*rows, Edit(*source.lines.span(choice.test), f"not {name}" if is_none else name)]


def _does_nothing_else(choice: ast.If) -> bool:
    return len(choice.body) == len(choice.orelse) == 1


def _put_together(found: Grown, name: str, source: Source) -> str:
    """The row after the loop, with the arguments of the call in it; under a test if there may be no parts."""
    start, end = source.lines.span(found.call)
    first, last = source.lines.span(_parts(found.call) or found.call)
    row = f"{found.name} = {source.text[start:first]}{name}{' '.join(source.text[last:end].split())}"
    if not _may_stay_empty(found):
        return row
    outer = indentation(source, found.loop.lineno)
    unit = one_level(indentation(source, found.loop.body[0].lineno), outer)
    return f"if {name}:{source.newline}{outer}{unit}{row}"


def _may_stay_empty(found: Grown) -> bool:
    """Whether the program continues if no iteration has added a part, because of an earlier value or a test."""
    if found.choice is None:
        return False
    before = any(one.start < found.at.start for one in bindings_of(found.scope).get(found.name, ()))
    return before or not any(one is found.choice for one in found.loop.body)


def _has_comment(edit: Edit, text: str) -> bool:
    return "#" in text[edit.start : edit.end]


def _begins_within_a_row(loop: ast.stmt, source: Source) -> bool:
    """Whether other code precedes a loop on its row."""
    start, _ = source.lines.span(loop)
    return bool(source.text[source.lines.line_start(loop.lineno) : start].strip())
