"""PPF913: tensors that a training step computes and that nothing reads, or only code that is off by default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.facts.effects import effect_at
from perflint.findings import Confidence, Edit
from perflint.flow.branches import Switches
from perflint.flow.evaluate import Evaluator
from perflint.flow.sources import sources
from perflint.flow.uses import is_stored, uses_in
from perflint.flow.values import Values
from perflint.index.kinds import LAYER_TAG
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import has_own_rows, whole_rows
from perflint.syntax.bindings import bound_by, mentions_in
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters
from perflint.syntax.scopes import Statement, blocks, own_parts, terminal
from perflint.syntax.tree import walk
from perflint.training.steps import Point, of_point, points_of

RULE = shipped()["PPF913"]
_HEAVY = frozenset({"matmul", "bmm", "mm", "einsum", "conv2d", "conv3d", "conv1d", "interpolate", "sort", "argsort"})
"""Operations of which one is worth deleting."""
_TRANSFORMS = "paddle.fft."
_CLUES = ("fft2", "rfft2", "fftn")
"""What leads to a forward pass. Others are looked at only for other rules, so their results do not count."""
_FREE = frozenset(
    {"reshape", "squeeze", "unsqueeze", "flatten", "detach", "view", "expand", "expand_as", "cuda", "cpu"}
)
"""Methods that do not compute anything."""
_MOST_MENTIONS = 20
"""A name that a function mentions more often counts as read."""
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_SEVERAL = 4
"""How many small operations are worth deleting."""
_CHEAP = re.compile(r"paddle\.nn\.(?!.*(Linear|Conv|LSTM|GRU|RNN|Transformer|Attention))")
"""Layers that compute little."""


def _unused(point: Point) -> Iterator[tuple[ast.stmt, tuple[Statement, ...]]]:
    found = _dead(point.function)
    if found and found[0].node is point.statement.node and _is_worth_it(found, point):
        yield point.statement.node, found


@rule(
    RULE.code,
    at=At.HOT,
    find_at=_unused,
    clues=[*_CLUES],
    is_close=True,
    claims=False,
    heeds_claims=False,
)
def unused_result(found: tuple[Statement, ...], context: Context) -> None:
    """Report the statements of a step whose results nothing reads."""
    names = dict.fromkeys(name for each in found for name in bound_by(each.node) if name != "_")
    shown = [f"`{name}`" for name in names]
    listed = ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
    edits = _deletion(found, context)
    fix = RULE.fix(edits) if edits else RULE.words("by hand")
    context.report(fix, confidence=Confidence.HIGH, costs_on_cpu=True, names=listed)


@of_point
def _pure(point: Point) -> bool:
    """Whether a statement only computes something and gives it names: nothing else would notice that it is gone."""
    node = point.statement.node
    if not isinstance(node, _ASSIGNS) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    are_names = all(isinstance(part, ast.Name) or (dotted(part) or "").startswith("self.") for part in parts)
    is_kept = any(name != "_" for name in bound_by(node))  # what is only called ``_`` is discarded on purpose
    return are_names and is_kept and not effect_at(point, node.value)


@query
def _dead(at: Place) -> tuple[Statement, ...]:
    """The statements of a function that a step runs whose results only such statements read."""
    if isinstance(at.scope.node, ast.Module):
        return ()
    points, mentions = points_of(at.file), mentions_in(at.scope)
    dead: dict[Statement, dict[str, None]] = {}
    for each in at.scope.statements:
        point, names = points.get(each.node), dict.fromkeys(bound_by(each.node))
        is_followed = all(len(mentions.get(name, ())) <= _MOST_MENTIONS for name in names)
        if is_followed and isinstance(each.node, _ASSIGNS) and point is not None and point.step is not None:
            dead[each] = names
    unread = _without_read(dead, at)  # cheaper than what the statements may change
    return tuple(_without_read({each: unread[each] for each in unread if _pure(points[each.node])}, at))


def _without_read(dead: dict[Statement, dict[str, None]], at: Place) -> dict[Statement, dict[str, None]]:
    """Those of some statements, with the names they bind, whose results none but such statements read."""
    while read := [each for each, names in dead.items() if any(_is_read(name, dead, at) for name in names)]:
        for each in read:
            del dead[each]
    return dead


def _is_read(name: str, dead: dict[Statement, dict[str, None]], at: Place) -> bool:
    """Whether something that stays reads a name, or may read it."""
    if name.startswith("self."):
        return _is_attribute_read(at.file.project, name.removeprefix("self."), frozenset(each.node for each in dead))
    if uses_in(at).is_hidden(name) or name in all_parameters(at.scope):
        return True
    mentions = mentions_in(at.scope).get(name, ())
    return any(not is_stored(each.node) and each.statement not in dead for each in mentions)


def _is_attribute_read(project: Project, name: str, dead: frozenset[ast.stmt]) -> bool:
    """Whether any file reads an attribute with this name, or has it as a text."""
    readers = _readers(project, name) if "." not in name else None
    return readers is None or not readers <= dead


@query
def _readers(project: Project, name: str) -> frozenset[ast.stmt] | None:
    """The statements of all files that read an attribute with a name; None if one has the name as a text."""
    files = project.mentions.of(name)
    if any(f'"{name}"' in file.source.text or f"'{name}'" in file.source.text for file in files):
        return None
    return frozenset(each.statement.node for file in files for each in file.loads_named(name) if each.statement)


def _is_worth_it(found: tuple[Statement, ...], point: Point) -> bool:
    """Whether deleting some statements saves a step a large operation, or several small ones."""
    if point.step is not None and point.step.forward and not any(map(_has_clue, found)):
        return False
    points, several = points_of(point.file), 0
    for each in (points[statement.node] for statement in found):
        kind = Evaluator(each.file, each.full_env).kind
        for item in (item for part in own_parts(each.statement.node) for item in walk(part)):
            if not isinstance(item, (ast.Call, ast.BinOp)) or not kind(item).is_tensor:
                continue
            name = terminal(item) if isinstance(item, ast.Call) else ""
            is_transform = isinstance(item, ast.Call) and point.file.names.qualified(item.func).startswith(_TRANSFORMS)
            if name in _HEAVY or is_transform or isinstance(getattr(item, "op", None), ast.MatMult):
                return True
            several += name not in _FREE
    return several >= _SEVERAL


def _has_clue(statement: Statement) -> bool:
    return any(terminal(call) in _CLUES for call in statement.calls)


def _deletion(found: tuple[Statement, ...], context: Context) -> list[Edit]:
    """The edits that delete the statements; none if a row or a block has something else, or nothing, left in it."""
    source = context.file.source
    gone = {each.node for each in found}
    if not all(has_own_rows(node, source) for node in gone):
        return []
    if any(gone.issuperset(block) for block in blocks(context.here.scope)):
        return []
    return [whole_rows(*source.lines.span(each.node), source) for each in found]


# The results of a layer that only code reads which is off by default.


def _for_a_branch(file: FileIndex) -> Iterator[Candidate]:
    for scope in file.scopes.scopes if file.has("forward") and not file.is_offline else ():
        at = Place(file, scope)
        for statement in scope.statements if scope.name == "forward" and scope.owner is not None else ():
            readers = _readers_in_a_branch(statement, at)
            if readers:
                yield Candidate(statement.node, statement.node, readers)


@rule(RULE.code, at=At.ANYWHERE, find=_for_a_branch, claims=False, heeds_claims=False)
def result_for_a_branch(readers: tuple[Statement, ...], context: Context) -> None:
    """Report a layer of a forward pass whose result is read only where an option is on, which is off by default."""
    names = ", ".join(f"`{name}`" for name in bound_by(context.here.statement.node) if name != "_")
    row = str(min(context.file.row(each.node) for each in readers))
    fix, text = RULE.words("branch"), RULE.texts["branch"]
    context.report(fix, confidence=Confidence.HIGH, costs_on_cpu=True, message=text, names=names, row=row)


def _readers_in_a_branch(statement: Statement, at: Place) -> tuple[Statement, ...]:
    """What reads the results of a layer that a statement calls, if no such statement runs unless an option is given."""
    node, mentions, off = statement.node, mentions_in(at.scope), Switches.of(at.file.project).is_off_by_default
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return ()
    names = [name for name in bound_by(node) if name != "_"]
    if any("." in name or name in all_parameters(at.scope) or uses_in(at).is_hidden(name) for name in names):
        return ()
    found = [each for name in names for each in mentions.get(name, ()) if each.statement is not statement]
    readers = tuple(each.statement for each in found if each.statement is not None and not is_stored(each.node))
    is_plain = len(readers) == len(found) and all(
        each.start > statement.start and each.loop is statement.loop for each in readers
    )
    if not readers or not is_plain or not any(isinstance(link.node, ast.If) for link in readers[0].around):
        return ()
    if off(statement, at) or not all(off(each, at) for each in readers):
        return ()
    return readers if _is_network(node.value.func, at.before(statement)) else ()


def _is_network(node: ast.expr, at: Place) -> bool:
    """Whether a call of this runs a layer that computes more than a few numbers for each one it gets."""
    kind = Values.of(at.file.project).lasting_kind(at, node)
    if kind.tag == LAYER_TAG and not kind.guess:
        return not _CHEAP.match(kind.type)
    return any(each.qualified.endswith(".from_pretrained") for each in sources(node, at))
