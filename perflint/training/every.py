"""How often a place runs while a program trains, and why: the one answer for all rules.

``HowOften`` answers for the places of one function, from the tests around them; ``every`` for a statement that a step
leads to, including the calls on the way: which test decides on which steps it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.flow.branches import EACH_STEP, Every, Often, Switches
from perflint.flow.by_statement import Flow
from perflint.flow.constants import Constants
from perflint.flow.known_values import Known
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted, names_in, plain_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS, Link, Loop, Scope, Statement, blocks, exits, leaves, once, statements_calling
from perflint.syntax.tree import base_of, walk
from perflint.syntax.vocabulary import counts_processes, is_settled, means_accumulation, means_interval, means_rank
from perflint.training.counting import Definitions, as_remainder, asks_the_clock, counted_by, counts_steps
from perflint.training.evidence import scales_loss, takes_optimizer_step, turns_gradients_off
from perflint.training.outcomes import Branch, compares_results, often, selects_one_iteration, spacing

if TYPE_CHECKING:
    from perflint.training.steps import Point, Step


class HowOften:
    """Decides how often the places of a function run, according to the tests around them.

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
        self._known: dict[tuple[Link, ast.stmt | None], Every] = {}

    def every(self, place: Link | None, loop: ast.stmt | None) -> Every:
        """How often a place runs in its step loop (None: in a function that each step calls)."""
        waiting: list[Link] = []
        found = EACH_STEP
        for link in place.chain() if place is not None else ():
            if (link, loop) in self._known:
                found = self._known[link, loop]
                break
            if link.node is loop and link.branch == "body":
                break
            waiting.append(link)
        for link in reversed(waiting):
            if found.is_regular or not found.is_rare:  # no further test makes more frequent what is seldom
                inner = self._of_link(link, loop)
                # In ``if step % 100 == 0: if args.do_eval: ...`` the flag says whether to do it at all, not when.
                is_flag = found.often is Often.EVERY_N and isinstance(
                    inner.test, (ast.Name, ast.Attribute, ast.Subscript)
                )
                found = found if is_flag and inner.often is Often.ONCE else inner.within(found)
            self._known[link, loop] = found
        return found

    def is_rare(self, place: Link | None, loop: ast.stmt | None) -> bool:
        """Whether a place is skipped at most steps of its loop."""
        return self.every(place, loop).is_rare

    def _of_link(self, link: Link, loop: ast.stmt | None) -> Every:
        """How often the code in one link of a chain of places runs."""
        node, branch = link.node, link.branch
        if branch == "handler":
            return Every(Often.ONCE)
        if branch == "else" and isinstance(node, (ast.For, ast.While)):
            return Every(Often.EACH_EPOCH)
        if not isinstance(node, ast.If):
            return EACH_STEP
        value, scope = branch == "body", self._scope
        if self._flow is not None and self._flow.rules_out(node, value):
            return Every(Often.NEVER, node.test)
        definitions = self._definitions
        if self._flow is not None and isinstance(definitions, Known):
            definitions = definitions.beside(self._flow.before.get(node, {}))
        found = often(node.test, value, definitions, counted_by(loop, self._definitions))
        if found.is_rare:
            return EACH_STEP if self._is_of_optimizer(found, link) else found
        if scope is not None and Branch(loop, scope, link.block, definitions).turns_off(node.test, value):
            numbers = spacing(node.test, definitions)
            return Every(Often.EVERY_N if numbers else Often.ONCE, node.test, numbers)
        # The ``else`` of a test may be for the rare step that is skipped: only the other branch trains.
        is_skipped = branch == "else" and _trains(node.body) and not _trains(node.orelse)
        ends = value and _ends_the_loop(node.body, link, loop)
        if is_skipped or ends:
            return Every(Often.ONCE, node.test)
        if scope is not None and scope.name == "forward" and _returns_without_gradients(link.block):
            return Every(Often.ONCE, node.test)
        is_by_result = compares_results(node.test, counted_by(loop, self._definitions))
        return Every(Often.SOMETIMES, node.test) if is_by_result else EACH_STEP

    def _is_of_optimizer(self, found: Every, link: Link) -> bool:
        """Whether code runs at each step of the optimizer, which takes an unknown number of batches: usually one."""
        number = found.number if found.often is Often.EVERY_N else None
        name = dotted(number) if number is not None else None
        known = self._definitions.get(name) if name is not None else number
        return number is not None and not isinstance(known, ast.Constant) and _takes_optimizer_step(link.block)


def _returns_without_gradients(body: list[ast.stmt]) -> bool:
    """Whether an arm of a forward pass returns what it computes under ``no_grad``: nothing can be trained by that."""
    around = next((node for node in body if isinstance(node, ast.With)), None)
    is_off = around is not None and any(turns_gradients_off(item.context_expr) for item in around.items)
    return around is not None and is_off and isinstance((around.body if body[-1] is around else body)[-1], ast.Return)


def _takes_optimizer_step(body: list[ast.stmt]) -> bool:
    return any(isinstance(item, ast.Call) and takes_optimizer_step(item) for node in body for item in walk(node))


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


# Finds statements that never run, because of what comes before or after them in their function.

_ONE_TENSOR = frozenset({"paddle.max", "paddle.min", "paddle.sort"})
_PAIR = 2


@once
def never_run(scope: Scope) -> frozenset[ast.stmt]:
    """The statements of a function or a module that follow an exit, a ``return`` or the like in their block."""
    found: set[ast.stmt] = set()
    for block in blocks(scope):
        end = next((at for at, node in enumerate(block, 1) if leaves([node])), len(block))
        found.update(item for node in block[end:] for item in walk(node) if isinstance(item, ast.stmt))
    return frozenset(found)


def is_never_defined(scope: Scope) -> bool:
    """Whether a function is defined after the end of the code around it: after ``exit()`` in a module."""
    outer = scope.parent
    return outer is not None and (scope.node in never_run(outer) or is_never_defined(outer))


def ends_at_once(node: Loop | ast.If) -> bool:
    """Whether the body of a loop ends it in its first iteration, or the branch of a test ends the loop around it."""
    return any(isinstance(each, (ast.Break, ast.Return)) or exits([each]) for each in node.body)


def left_out_of_calls(scope: Scope) -> frozenset[ast.stmt]:
    """The statements of a function that its usual calls do not run, whatever the tests around them."""
    if _remembers_its_result(scope):
        return frozenset(statement.node for statement in scope.statements)
    return never_run(scope) | _leading_to_an_error(scope)


def _remembers_its_result(scope: Scope) -> bool:
    """Whether a function computes its result once, for all calls or for each object: ``@cached_property``."""
    decorators = [] if scope.parameters else scope.decorators
    names = (dotted(each.func if isinstance(each, ast.Call) else each) or "" for each in decorators)
    return any(name.rpartition(".")[2] in ("cache", "lru_cache", "cached_property") for name in names)


def _leading_to_an_error(scope: Scope) -> set[ast.stmt]:
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


def is_never_reached(point: Point) -> bool:
    """Whether a statement follows the end of its block, of its module, or of every run of its function."""
    is_dead = point.statement.node in never_run(point.scope) or is_never_defined(point.scope)
    return is_dead or _follows_a_failure(point)


def _follows_a_failure(point: Point) -> bool:
    """Whether an earlier statement of the function, which always runs before this one, fails in Paddle.

    PyTorch's ``max`` along an axis returns values and indices, Paddle's returns one tensor. So nothing after ``values,
    where = paddle.max(x, 2)`` runs, unless ``x`` happens to have two rows.
    """
    scope, resolve = point.scope, point.file.names.resolve
    return not isinstance(scope.node, ast.Module) and any(
        statement.start < point.statement.start and resolve(called) in _ONE_TENSOR
        for statement, called in _pairs(scope)
    )


@once
def _pairs(scope: Scope) -> list[tuple[Statement, str]]:
    """The top-level statements that unpack a pair from a call along an axis, and what they call."""
    outer = (statement for statement in scope.statements if statement.place is None)
    return [(statement, called) for statement in outer if (called := _pair_from(statement.node))]


def _pair_from(node: ast.stmt) -> str:
    """``paddle.max`` of ``values, where = paddle.max(x, axis=2)``; ``""`` for any other statement."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        return ""
    target, call = node.targets[0], node.value
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == _PAIR
    has_axis = len(call.args) == _PAIR or any(item.arg == "axis" for item in call.keywords)
    return (dotted(call.func) or "") if is_pair and has_axis else ""


# Finds tests around a statement that only a configuration or the data decide, so that it may never run.


def is_doubtful(statement: Statement, at: Place) -> bool:
    """Whether a test around a statement cannot be decided from the code, or is false by default.

    Such a test is about selected parts, different shapes, the type of a value, or a kind of device. Or it is ``if
    args.ortho > 0:`` for an option that is 0 by default, or ``if self.ortho > 0:`` where nothing sets it.
    """
    tests = [link.node.test for link in statement.around if isinstance(link.node, ast.If) and link.branch != "after"]
    if any(_only_data_decides(test, at.scope) for test in tests):
        return True
    switches = Switches.of(at.file.project)
    return bool(tests) and (switches.is_off_by_default(statement, at) or switches.is_left_to_settings(statement, at))


def is_doubtful_on_the_way(project: Project, step: Step) -> bool:
    """Whether one of the calls that lead from a step loop to a helper is doubtful."""
    return any(
        is_doubtful(statement, Place(project.files[path], scope))
        for path, line in step.via
        for scope, statement in statements_calling(project.files[path].scopes, line)
    )


def _only_data_decides(test: ast.expr, scope: Scope) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(_only_data_decides(part, scope) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        is_text = isinstance(test.left, ast.Constant) and isinstance(test.left.value, str)
        return is_text and (_is_handed_in(right, scope) or _gives_devices(right))
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return _is_type(right)
    is_same = isinstance(operator, (ast.Eq, ast.NotEq))
    return is_same and (_is_type(right) or (_is_shape(test.left) and _is_shape(right)))


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is the type of tensors or of arrays: ``type(boxes) == np.ndarray``."""
    return isinstance(node, ast.Attribute) and node.attr in ("ndarray", "Tensor")


def _gives_devices(node: ast.expr) -> bool:
    """Whether an expression is like ``paddle.device.get_all_custom_device_type()``."""
    return isinstance(node, ast.Call) and "custom_device" in (dotted(node.func) or "")


def _is_handed_in(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is like ``self.parts``, passed to ``__init__``: a list from a configuration file."""
    name = dotted(node) or ""
    if not name.startswith("self.") or scope.owner is None:
        return False
    assigned = scope.owner.attributes.get(name[5:], [])
    return bool(assigned) and all(
        made.name == "__init__" and isinstance(value, ast.Name) and value.id in made.parameters
        for value, made in assigned
    )


def _is_shape(node: ast.expr) -> bool:
    base = base_of(node)
    return isinstance(base, ast.Attribute) and base.attr == "shape"


# Finds the test that decides at which steps a statement runs, in its function or on the way to it.

_ASKS_WHAT_IT_IS = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "len", "bool", "int", "str", "float", "type"}
    | {"get", "getenv", "lower", "upper", "startswith", "endswith", "is_initialized", "in_dynamic_mode"}
)
_MAX_DEPTH = 5


def call_path(project: Project, point: Point, step: Step) -> Iterator[tuple[Place, Statement]]:
    """The statement and the calls that lead to it, each with its function; the nearest first.

    Of several calls on one row, only the first counts.
    """
    yield point.function, point.statement
    for path, line in reversed(step.via):
        file = project.files[path]
        found = next(statements_calling(file.scopes, line), None)
        if found is not None:
            yield Place(file, found[0]), found[1]


def step_loop(statement: Statement, path: str, step: Step) -> ast.stmt | None:
    """The loop of a step around a statement of a file, None if it is in another function."""
    if path != step.path:
        return None
    return next((link.node for link in statement.around if link.node.lineno == step.line), None)


def every(project: Project, point: Point) -> Every:
    """At which steps a statement runs, and the nearest test that may come out differently from step to step.

    The calls that lead from the step loop to the statement count as well. A rank test or a setting does not count: its
    result is the same at each step.
    """
    found = _deciding(point.function, point.statement, point.loop)
    for path, line in reversed(point.step.via) if point.step is not None else ():
        for scope, statement in statements_calling(project.files[path].scopes, line):
            if found.often is Often.EACH_STEP and point.step is not None:
                loop = step_loop(statement, path, point.step)
                outer = _deciding(Place(project.files[path], scope), statement, loop)
                found = outer if outer.test is not None else found
    return found


def _deciding(at: Place, statement: Statement, loop: ast.stmt | None) -> Every:
    found, changing = EACH_STEP, _Changing(Known(at), loop, _changed_in(at.file, at.scope, loop))
    for link in statement.around:
        node = link.node
        if node is loop and link.branch == "body":
            break
        test = node.test if isinstance(node, ast.If) else node.subject if isinstance(node, ast.Match) else None
        if link.branch == "after" and isinstance(node, ast.If) and _ends_the_loop(node.body, link, loop, skips=False):
            continue  # what follows runs at each step up to the last one
        if link.loop is not loop and selects_one_iteration(link):
            continue  # it chooses one parameter, or one layer, at each step
        if test is None or not changing.may_change(test):
            continue
        numbers = changing.interval(test)
        if not numbers:
            return Every(Often.SOMETIMES, test)
        if not any(map(means_accumulation, names_in(numbers[0]))) and not _takes_optimizer_step(link.block):
            return Every(Often.EVERY_N, test, numbers)
        found = Every(Often.EACH_STEP, test, numbers)
    return found


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

    def may_change(self, node: ast.expr, names: int = _MAX_DEPTH) -> bool:
        """Whether an expression may have another value at the next step; ``names``: how many are followed."""
        if as_remainder(node) is not None or asks_the_clock(node, self._definitions):
            return True
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name_may_change(node, names)
        if isinstance(node, ast.Call):
            return self._call_may_change(node, names)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return True
        return any(self.may_change(item, names) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr))

    def interval(self, node: ast.expr) -> tuple[ast.expr, ...]:
        """What a test divides a count by, also through names of the remainder or the result."""
        for item in walk(node):
            name = dotted(item) if isinstance(item, (ast.Name, ast.Attribute)) else None
            held = self._definitions.get(name) if name in self._bound and name is not None else None
            for part in walk(held) if held is not None else (item,):
                found = as_remainder(part) if isinstance(part, ast.expr) else None
                if found is not None:
                    return (found.right,)
        return ()

    def _name_may_change(self, node: ast.Name | ast.Attribute, names: int) -> bool:
        name = dotted(node)
        if name is None:
            return isinstance(node, ast.Attribute) and self.may_change(node.value, names)
        last = name.rpartition(".")[2]
        if name in self._counters or counts_steps(node, self._counters) or means_interval(last):
            return True
        if self._bound.isdisjoint({name, name.partition(".")[0]}):
            return False
        held = self._definitions.get(name)
        return held is None or not names or self.may_change(held, names - 1)

    def _call_may_change(self, node: ast.Call, names: int) -> bool:
        name = dotted(node.func)
        answer = self._definitions.get(f"{name}()") if name is not None else None
        if answer is not None and names:
            return self.may_change(answer, names - 1)
        last = name.rpartition(".")[2] if name is not None else ""
        if not means_rank(last) and not counts_processes(last) and last not in _ASKS_WHAT_IT_IS:
            return True
        given = [*arguments_of(node), *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(self.may_change(item, names) for item in given)


# How many steps lie between two runs of a place, in numbers and in words.

USUAL_INTERVAL = 1000
"""How many steps are assumed between two runs, if only a configuration file has the number."""
_SMALL_PART = 1000


@dataclass(frozen=True)
class Interval:
    """How many steps lie between two runs of a place.

    ``steps``: None if unknown. ``text``: in words, "every `args.save_steps` steps". ``beside``: what takes longer at
    the same place, such as "an evaluation"; "" if nothing does. ``times``: how often it runs each time.
    """

    steps: int | None
    text: str
    beside: str = ""
    times: int = 1

    def counted(self) -> int:
        """The number to compute with, known or assumed; next to something longer, the place costs little."""
        steps = self.steps if self.steps is not None else USUAL_INTERVAL
        return steps * _SMALL_PART if self.beside else steps

    def explained(self) -> str:
        """In words, with the assumed number if none is known."""
        text = self.text if self.steps is not None else f"{self.text.rstrip(')')}; taken as {USUAL_INTERVAL})"
        return f"{text}, beside {self.beside}" if self.beside else text


def interval(number: ast.expr, place: Place) -> Interval:
    """The interval of ``step % number == 0``."""
    steps, text = whole_number(number, place), ast.unparse(number)
    if isinstance(number, ast.Constant):
        return Interval(steps, f"every {text} steps")
    known = f"{steps} by default" if steps is not None else "how many, the code does not say"
    return Interval(steps, f"every `{text}` steps ({known})")


def whole_number(node: ast.expr, place: Place) -> int | None:
    """The whole number that an expression is, as far as the code shows, including the default of an option.

    The arguments of known calls take precedence over the default of a parameter; if they differ, the number is unknown.
    """
    if isinstance(node, ast.Constant):
        return _positive(node.value)
    constants = Constants.of(place.file.project)
    numbers = {_positive(value.value) for value in constants.possible(node, place)} - {None}
    if numbers:
        return numbers.pop() if len(numbers) == 1 else None
    found = constants.by_default(node, place)
    return _positive(found.value) if found is not None and found.is_known else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
