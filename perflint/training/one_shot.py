"""Recognizes tests that their own branch turns off: ``if not self.warned: self.warned = True; warn()`` runs once.

Change detectors (``if epoch != i // n: epoch = i // n``) and moving thresholds (``if i >= due: due += 100``) count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, dotted_names, plain_names
from perflint.syntax.scopes import FUNCTIONS, LOOPS, Scope
from perflint.syntax.tree import alike
from perflint.syntax.vocabulary import means_epoch
from perflint.training.counting import Definitions, counts_steps
from perflint.training.guards import rare

_LIMITS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq)


def turns_itself_off(
    test: ast.expr, value: bool, block: list[ast.stmt], loop: ast.stmt | None, scope: Scope, definitions: Definitions
) -> bool:
    """Whether the branch (``block``) that runs when ``test`` is ``value`` makes the test false for the next step.

    ``loop`` is the step loop; without one, the scope is a function that is called at each step.
    """
    lasting = _Lasting(loop, scope, block)
    return any(_one_turns_off(part, truth, block, lasting, definitions) for part, truth in _parts(test, value))


def _parts(test: ast.expr, value: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a test that must all have certain values for the whole test to be ``value``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand, not value)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == value:
        for part in test.values:
            yield from _parts(part, value)
    else:
        yield test, value


class _Lasting:
    """Decides which names keep the value that a branch gives them until the next step."""

    def __init__(self, loop: ast.stmt | None, scope: Scope, block: list[ast.stmt]) -> None:
        self._loop = loop if isinstance(loop, LOOPS) else None
        self._scope = scope
        self._block = block
        self._around = self._loop.body if self._loop is not None else scope.node.body

    def keeps(self, name: str) -> bool:
        """Whether no other statement of a step resets the name; ``+= 1`` continues a count, so it is allowed."""
        first, _, rest = name.partition(".")
        if not self._is_outer(first, bool(rest)):
            return False
        if first == "self" and self._scope.owner is not None:
            stored = self._scope.owner.attributes.get(rest, [])
            if any(where is not self._scope and where.name != "__init__" for _, where in stored):
                return False
        return _bindings_of(self._around, name) == _bindings_of(self._block, name)

    def is_shared(self, name: str) -> bool:
        """Whether a name refers to the same object at each step."""
        first = name.partition(".")[0]
        bound = (_bindings_of(self._around, part) for part in (name, first))
        return first not in self._targets() and not any(bound)

    def _is_outer(self, first: str, is_attribute: bool) -> bool:
        """Whether a name is bound outside the code of a step: before the loop, in the object, in the module."""
        if first in self._targets() or (is_attribute and _bindings_of(self._around, first)):
            return False
        if self._loop is not None or first == "self":
            return True
        said = (item.node for item in self._scope.statements if isinstance(item.node, (ast.Global, ast.Nonlocal)))
        return any(first in node.names for node in said) or (is_attribute and first not in self._scope.parameters)

    def _targets(self) -> set[str]:
        if self._loop is None or isinstance(self._loop, ast.While):
            return set()
        return plain_names(self._loop.target)


def _bindings_of(body: list[ast.stmt], name: str) -> int:
    """How often some statements bind a name, including nested statements but not nested functions."""
    count, stack = 0, list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if not isinstance(node, ast.AugAssign):
            count += bound_by(node).count(name)
        for item in ast.iter_child_nodes(node):
            if isinstance(item, ast.stmt):
                stack.append(item)
            elif isinstance(item, (ast.ExceptHandler, ast.match_case)):
                stack.extend(item.body)
    return count


def _one_turns_off(
    test: ast.expr, value: bool, block: list[ast.stmt], lasting: _Lasting, definitions: Definitions
) -> bool:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, operator, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(operator, (ast.In, ast.NotIn)):
            return value == isinstance(operator, ast.NotIn) and _notes(left, right, block, lasting)
        if isinstance(operator, ast.NotEq if value else ast.Eq) and _follows(left, right, block, lasting, definitions):
            return True
        if isinstance(operator, _LIMITS) and _keeps_the_extreme(left, right, block, lasting):
            return True
        is_limit = value and isinstance(operator, _LIMITS)
        if is_limit and (_starts_over(test, block, lasting) or _catches_up(test, block, lasting)):
            return True
    return any(
        lasting.keeps(name) and rare(test, value, {name: bound})
        for name, bound in _bound_in(block)
        if name in dotted_names(test) and not rare(test, value, {})
    )


def _bound_in(block: list[ast.stmt]) -> Iterator[tuple[str, ast.Constant]]:
    """The constants that the statements of a branch bind names to; a created object counts as not None."""
    for node in block:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                name = dotted(target)
                if name is not None and isinstance(node.value, ast.Constant):
                    yield name, node.value
                elif name is not None and isinstance(node.value, (ast.Call, ast.List, ast.Dict)):
                    yield name, ast.Constant(True)


def _notes(item: ast.expr, seen: ast.expr, block: list[ast.stmt], lasting: _Lasting) -> bool:
    """Whether ``item not in seen`` is followed by ``seen.add(item)`` or ``seen[item] = ...``."""
    name = dotted(seen)
    if name is None or not lasting.is_shared(name):
        return False
    for node in block:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted(call.func) in (f"{name}.add", f"{name}.append"):
            return len(call.args) == 1 and alike(call.args[0], item)
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and dotted(target.value) == name and alike(target.slice, item):
                return True
    return False


def _follows(
    left: ast.expr, right: ast.expr, block: list[ast.stmt], lasting: _Lasting, definitions: Definitions
) -> bool:
    """Whether ``known != value`` is followed by ``known = value``, if the value changes only occasionally."""
    for known, value in ((left, right), (right, left)):
        name = dotted(known)
        if name is None or not _is_slow(value, definitions) or not lasting.keeps(name):
            continue
        assigned = (node for node in block if isinstance(node, ast.Assign) and name in map(dotted, node.targets))
        if any(alike(node.value, value) for node in assigned):
            return True
    return False


def _keeps_the_extreme(left: ast.expr, right: ast.expr, block: list[ast.stmt], lasting: _Lasting) -> bool:
    """Whether ``score > highest`` is followed by ``highest = score``: the best so far, whatever its name."""
    for known, value in ((left, right), (right, left)):
        name = dotted(known)
        if name is None or dotted(value) is None or not lasting.keeps(name):
            continue
        assigned = (node for node in block if isinstance(node, ast.Assign) and name in map(dotted, node.targets))
        if any(alike(node.value, value) for node in assigned):
            return not counts_steps(value)
    return False


def _is_slow(value: ast.expr, definitions: Definitions) -> bool:
    """Whether a value stays the same for many steps: ``step // n``, the number of the epoch."""
    name = dotted(value)
    held = definitions.get(name) if name is not None else None
    if held is not None and _is_slow(held, {}):
        return True
    if isinstance(value, ast.Call) and dotted(value.func) == "int" and value.args:
        return isinstance(value.args[0], ast.BinOp) and isinstance(value.args[0].op, ast.Div)
    if isinstance(value, ast.BinOp):
        if isinstance(value.op, (ast.Add, ast.Sub)):
            return _is_slow(value.left, definitions) or _is_slow(value.right, definitions)
        return isinstance(value.op, ast.FloorDiv)
    return name is not None and means_epoch(name.rpartition(".")[2])


def _starts_over(test: ast.Compare, block: list[ast.stmt], lasting: _Lasting) -> bool:
    """Whether a branch at a limit resets the count that has reached it, or moves the limit.

    ``if seen >= n: seen = 0``, ``if step >= due: due += n``, ``if len(losses) == n: losses.clear()``.
    """
    left, right = test.left, test.comparators[0]
    for side, other in ((left, right), (right, left)):
        counted = side.args[0] if isinstance(side, ast.Call) and dotted(side.func) == "len" and side.args else side
        name = dotted(counted)
        if name is None:
            continue
        if counted is not side:
            if any(_empties(node, name) for node in block):
                return True
        elif any(_sets_back(node, name, other) for node in block) and lasting.keeps(name):
            return True
    return False


def _catches_up(test: ast.Compare, block: list[ast.stmt], lasting: _Lasting) -> bool:
    """Whether a branch records where it last ran, and runs again only well beyond that.

    ``if step - last >= n: last = step``, ``if step // n >= due: due += 1``, also in a ``while`` with the same test.
    """
    inner = [part for node in block if isinstance(node, ast.While) and alike(node.test, test) for part in node.body]
    left, right = test.left, test.comparators[0]
    for node in [*block, *inner]:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            name = dotted(node.target)
            if name is not None and name == dotted(right) and _is_slow(left, {}) and lasting.keeps(name):
                return True
        if isinstance(node, ast.Assign) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub):
            name = dotted(left.right)
            if name in map(dotted, node.targets) and alike(node.value, left.left):
                return name is not None and lasting.keeps(name)
    return False


def _empties(node: ast.stmt, name: str) -> bool:
    """Whether a statement empties a list or a dict."""
    if isinstance(node, ast.Assign):
        return name in map(dotted, node.targets) and isinstance(node.value, (ast.List, ast.Dict, ast.Call))
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr == "clear" and dotted(call.func.value) == name


def _sets_back(node: ast.stmt, name: str, other: ast.expr) -> bool:
    """Whether a statement resets a name: to 0, or beyond the count that it was compared with."""
    if isinstance(node, ast.AugAssign):
        by_one = isinstance(node.value, ast.Constant) and node.value.value == 1
        return dotted(node.target) == name and isinstance(node.op, ast.Add) and not by_one and counts_steps(other)
    if not isinstance(node, ast.Assign) or name not in map(dotted, node.targets):
        return False
    value = node.value
    if isinstance(value, ast.Constant):
        return value.value == 0
    return isinstance(value, ast.BinOp) and alike(value.left, other) and counts_steps(other)
