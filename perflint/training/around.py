"""The tests around a statement: those that turn it off, run it once, or on one iteration of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.flow.flow import Flow
from perflint.flow.known_values import Known
from perflint.query import query
from perflint.syntax.bindings import bound_by, bound_in
from perflint.syntax.names import dotted, dotted_names, plain_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import FUNCTIONS, LOOPS, Link, Loop, Scope, Statement, exits, statements_calling, terminal
from perflint.syntax.tree import alike, walk
from perflint.syntax.vocabulary import counts_processes, is_settled, means_epoch, means_interval, means_rank
from perflint.training.branches import Definitions, as_remainder, asks_the_clock, counted_by, counts_steps, rare
from perflint.training.evidence import scales_loss

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.training.steps import Point


# Recognizes tests that select one iteration of a loop: in ``for i in range(n):``, ``if i == 3:`` is true only once.

_NAMED = frozenset({"items", "named_parameters", "named_children", "named_sublayers", "named_buffers"})
"""Methods that yield pairs with unique names."""

_NO_NAMES: frozenset[str] = frozenset()


def is_chosen(link: Link) -> bool:
    """Whether one link of a chain of places is a test that is true in at most one iteration of its innermost loop."""
    node, loop = link.node, link.loop
    if not isinstance(node, ast.If) or not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    return _chooses(node.test, link.branch == "body", loop.target, loop.iter, loop.body)


def chosen_by_filters(generator: ast.comprehension) -> bool:
    """Whether the ``if`` of a comprehension is true in at most one iteration: ``x[i] for i in range(n) if i == 3``."""
    return any(_chooses(test, True, generator.target, generator.iter, []) for test in generator.ifs)


def _chooses(test: ast.expr, value: bool, target: ast.expr, iterated: ast.expr, body: list[ast.stmt]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _chooses(test.operand, not value, target, iterated, body)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) != value:
            return False  # ``i == 1 or other``
        return any(_chooses(part, value, target, iterated, body) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.Eq if value else ast.NotEq):
        return False
    names = _unlike(target, iterated)
    sides = (test.left, test.comparators[0])
    if not names or not any(isinstance(side, ast.Name) and side.id in names for side in sides):
        return False
    bound = bound_in(body)
    if bound & names:
        return False
    bound |= plain_names(target)
    pairs = (sides, sides[::-1])
    return any(isinstance(one, ast.Name) and one.id in names and _is_fixed(other, bound) for one, other in pairs)


def _is_fixed(node: ast.expr, bound: set[str]) -> bool:
    """Whether a value is the same in all iterations: a constant, or a name that the loop does not bind."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    name = dotted(node)
    return isinstance(node, ast.Constant) or (name is not None and name.partition(".")[0] not in bound)


def _unlike(target: ast.expr, iterated: ast.expr) -> frozenset[str]:
    """Names with a different value in each iteration: ``i`` over a ``range``, the name of a parameter."""
    if not isinstance(iterated, ast.Call):
        return _NO_NAMES
    function = terminal(iterated)
    if function == "tqdm" and iterated.args:
        return _unlike(target, iterated.args[0])
    if function in ("range", "trange"):
        return _plain(target)
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    if pair is None:
        return _NO_NAMES
    if function == "enumerate" and iterated.args:
        return _plain(pair[0]) | _unlike(pair[1], iterated.args[0])
    return _plain(pair[0]) if function in _NAMED else _NO_NAMES


def _plain(target: ast.expr) -> frozenset[str]:
    return frozenset({target.id}) if isinstance(target, ast.Name) else _NO_NAMES


def repeating_loops(place: Link | None) -> Iterator[Loop]:
    """The loops that repeat a place, from the inside out, without those of which a test selects one iteration."""
    chosen: list[ast.stmt] = []
    for link in place.chain() if place is not None else ():
        if link.loop is not None and is_chosen(link):
            chosen.append(link.loop)
        if link.branch == "body" and isinstance(link.node, LOOPS) and link.node not in chosen:
            yield link.node


# Recognizes tests that their own branch turns off: ``if not self.warned: self.warned = True; warn()`` runs once.
#
# Change detectors (``if epoch != i // n: epoch = i // n``) and moving thresholds (``if i >= due: due += 100``) count
# too.

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


# The tests around a statement: those that make it rare, and those that decide on which steps it runs.

_ASKS_WHAT_IT_IS = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "len", "bool", "int", "str", "float", "type"}
    | {"get", "getenv", "lower", "upper", "startswith", "endswith", "is_initialized", "in_dynamic_mode"}
)
_MAX_DEPTH = 5


class HotPath:
    """Decides which places of a scope run at each step, according to the tests around them.

    Each link of a chain of places is examined once: a thousand statements may follow the same early exits.

    Args:
        definitions: what the names in the tests mean.
        scope: the function around the places, if it matters: its other bindings show whether a test is turned off by
            its own branch (log once).
        flow: the kinds of names before each statement, if known: a number fails a test for a tensor.
    """

    def __init__(self, definitions: Definitions, scope: Scope | None = None, flow: Flow | None = None) -> None:
        self._definitions = definitions
        self._scope = scope
        self._flow = flow
        self._known: dict[tuple[Link, ast.stmt | None], bool] = {}

    def is_off(self, place: Link | None, loop: ast.stmt | None) -> bool:
        """Whether a guard is between a place and its step loop (None: the top of a function called at each step)."""
        waiting: list[Link] = []
        found = False
        for link in place.chain() if place is not None else ():
            if (link, loop) in self._known:
                found = self._known[link, loop]
                break
            if link.node is loop and link.branch == "body":
                break
            waiting.append(link)
        for link in reversed(waiting):
            found = self._known[link, loop] = found or self.guards(link, loop)
        return found

    def guards(self, link: Link, loop: ast.stmt | None) -> bool:
        """Whether the code in one link of a chain of places is skipped at most steps."""
        node, branch = link.node, link.branch
        if branch == "handler" or (branch == "else" and isinstance(node, (ast.For, ast.While))):
            return True
        if not isinstance(node, ast.If):
            return False
        value, scope = branch == "body", self._scope
        if self._flow is not None and self._flow.rules_out(node, value):
            return True
        definitions = self._definitions
        if self._flow is not None and isinstance(definitions, Known):
            definitions = definitions.beside(self._flow.before.get(node, {}))
        if rare(node.test, value, definitions, counted_by(loop, self._definitions)):
            return True
        if scope is not None and turns_itself_off(node.test, value, link.block, loop, scope, self._definitions):
            return True
        # The ``else`` of a test may be for the rare step that is skipped: only the other branch trains.
        is_skipped = branch == "else" and _trains(node.body) and not _trains(node.orelse)
        return is_skipped or (value and _ends_the_loop(node.body, link, loop))


def leading_to_an_error(scope: Scope) -> set[ast.stmt]:
    """The statements after which a function always raises, such as those that build the error message."""
    body = scope.node.body
    if isinstance(scope.node, ast.Module) or not exits(body) or _returns(body[-1]):
        return set()
    found: set[ast.stmt] = set()
    for node in reversed(body[:-1]):
        found.add(node)
        if _returns(node):
            break
    return found


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(item, ast.Return) for item in walk(node))


def _trains(body: list[ast.stmt]) -> bool:
    """Whether statements do a backward pass, directly or through ``loss_scaler(loss, optimizer)``."""
    return any(
        (isinstance(item, ast.Attribute) and item.attr == "backward")
        or (isinstance(item, ast.Call) and scales_loss(item))
        for node in body
        for item in walk(node)
    )


def _ends_the_loop(body: list[ast.stmt], link: Link, loop: ast.stmt | None, skips: bool = True) -> bool:
    """Whether a branch ends the run or the step loop, or (``skips``) skips the rest of a rare step."""
    if exits(body):
        return True
    if loop is None or link.loop is not loop:
        return False
    if isinstance(body[-1], ast.Continue):
        return skips and not _trains(body)
    return isinstance(body[-1], (ast.Break, ast.Return))


@dataclass(frozen=True)
class Deciding:
    """A test around a statement that may come out differently from step to step.

    ``interval`` is what a count is divided by, if the test is of that kind (``n`` in ``step % n == 0``).
    """

    test: ast.expr
    interval: ast.expr | None


def deciding_test(project: Project, point: Point) -> Deciding | None:
    """The test that decides at which steps a statement runs, the nearest one first; None if it runs at each step.

    The calls that lead from the step loop to the statement count as well. A rank test or a setting does not count: its
    result is the same at each step.
    """
    found = _deciding(project, point.file, point.scope, point.statement, point.loop)
    step = point.step
    if found is not None or step is None:
        return found
    for path, line in reversed(step.via):
        file = project.files[path]
        for scope, statement in statements_calling(file.scopes, line):
            found = _deciding(project, file, scope, statement, step_loop(statement, path, step.path, step.line))
            if found is not None:
                return found
    return None


def step_loop(statement: Statement, path: str, loop_path: str, line: int) -> ast.stmt | None:
    """The loop around a statement at a row of a file, None if it is in another function."""
    if path != loop_path:
        return None
    return next((link.node for link in statement.around if link.node.lineno == line), None)


def _deciding(
    project: Project, file: FileIndex, scope: Scope, statement: Statement, loop: ast.stmt | None
) -> Deciding | None:
    changing = _Changing(Known(file, scope), loop, _changed_in(file, scope, loop))
    for link in statement.around:
        node = link.node
        if node is loop and link.branch == "body":
            return None
        test = node.test if isinstance(node, ast.If) else node.subject if isinstance(node, ast.Match) else None
        if link.branch == "after" and isinstance(node, ast.If) and _ends_the_loop(node.body, link, loop, skips=False):
            continue  # what follows runs at each step up to the last one
        if link.loop is not loop and is_chosen(link):
            continue  # it chooses one parameter, or one layer, at each step
        if test is not None and changing.may_change(test):
            return Deciding(test, changing.interval(test))
    return None


@query
def _changed_in(_: FileIndex, scope: Scope, loop: ast.stmt | None) -> frozenset[str]:
    """The names that a loop binds in its iterations, or that a function binds in its calls if ``loop`` is None."""
    whole = scope.node  # an editing session records who uses it
    body = loop.body if isinstance(loop, LOOPS) else whole.body
    bound = bound_in(body)
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        bound |= plain_names(loop.target)
    elif loop is None:
        bound |= {name for name in scope.parameters if not is_settled(name)}
    return frozenset(bound)


class _Changing:
    """Finds which expressions of a scope may have another value at the next step."""

    def __init__(self, definitions: Definitions, loop: ast.stmt | None, bound: frozenset[str]) -> None:
        self._definitions = definitions
        self._counters = counted_by(loop, definitions)
        self._bound = bound

    def may_change(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression may have another value at the next step."""
        if as_remainder(node) is not None or asks_the_clock(node, self._definitions):
            return True
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name_may_change(node, depth)
        if isinstance(node, ast.Call):
            return self._call_may_change(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return True
        return any(self.may_change(item, depth) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr))

    def interval(self, node: ast.expr) -> ast.expr | None:
        """What a test divides a count by, also through names of the remainder or the result."""
        for item in walk(node):
            name = dotted(item) if isinstance(item, (ast.Name, ast.Attribute)) else None
            held = self._definitions.get(name) if name in self._bound and name is not None else None
            for part in walk(held) if held is not None else (item,):
                found = as_remainder(part) if isinstance(part, ast.expr) else None
                if found is not None:
                    return found.right
        return None

    def _name_may_change(self, node: ast.Name | ast.Attribute, depth: int) -> bool:
        name = dotted(node)
        if name is None:
            return isinstance(node, ast.Attribute) and self.may_change(node.value, depth)
        last = name.rpartition(".")[2]
        if name in self._counters or counts_steps(node, self._counters) or means_interval(last):
            return True
        root = name.partition(".")[0]
        if name not in self._bound and root not in self._bound:
            return False
        held = self._definitions.get(name)
        return held is None or depth >= _MAX_DEPTH or self.may_change(held, depth + 1)

    def _call_may_change(self, node: ast.Call, depth: int) -> bool:
        name = dotted(node.func)
        answer = self._definitions.get(f"{name}()") if name is not None else None
        if answer is not None and depth < _MAX_DEPTH:
            return self.may_change(answer, depth + 1)
        last = name.rpartition(".")[2] if name is not None else ""
        if not means_rank(last) and not counts_processes(last) and last not in _ASKS_WHAT_IT_IS:
            return True
        given = [*arguments_of(node), *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(self.may_change(item, depth) for item in given)
