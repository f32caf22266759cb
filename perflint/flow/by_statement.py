"""Computes the kinds of names at each statement of a scope, in one pass that goes through loops twice."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from perflint.flow.environment import Environment, arrays, bind, bind_entries, bind_entry, with_item
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.type_tests import impossible, narrowed
from perflint.index.kinds import (
    DICT_TAG,
    GUESS,
    HOST,
    HOST_TAG,
    TENSOR,
    TENSOR_TAG,
    TUPLE_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    entries_of,
    join,
    rest_of,
    tuple_of,
)
from perflint.index.project import FileIndex, Place
from perflint.paddle.tensor_methods import BITWISE, may_have
from perflint.query import query
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import written_entries
from perflint.syntax.scopes import COMPREHENSIONS, LOOPS, TRIES, Scope, headers, leaves, once
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_loss, means_scaler

_MOST_LOOPS = 6
"""How many nested loops are gone through twice: each doubles the time of the inner ones."""

_MOST_BRANCHES = 16
"""How many branches of an ``elif`` chain are merged as if each were in the previous ``else``."""


_CONTAINERS = frozenset({UNKNOWN_TAG, TUPLE_TAG, HOST_TAG, TENSOR_TAG, DICT_TAG})
"""Methods that a container of Python may have."""


_NO_KINDS: Env = {}


@query(cycle=_NO_KINDS)  # a global that depends on itself is unknown while it is computed
def module_env(file: FileIndex) -> Env:
    """The kinds of the globals of a file's module at its end."""
    return Flow(Place(file, file.scopes.module), {}, guess_losses=False).run().final


def backward_names(scope: Scope) -> frozenset[str]:
    """Names that are certainly tensors: ``X.backward()``, ``scaler.scale(X)``, ``optimizer.minimize(X)``."""
    found = set(differentiated(scope))
    found |= set(_summands(scope, found))
    return frozenset(found | set(_summands(scope, found)))


@once
def differentiated(scope: Scope) -> frozenset[str]:
    """Names that a scope calls ``backward`` on, directly or through a loss scaler or an optimizer."""
    found: set[str] = set()
    for statement in scope.statements:
        for call in statement.calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr == "backward":
                found.update(filter(None, [dotted(call.func.value), *map(dotted, call.args[:1])]))
            elif call.func.attr == "minimize" or scales(call):
                found.update(filter(None, map(dotted, call.args[:1])))
    return frozenset(found - {"self"})


@once
def no_tensors(scope: Scope) -> frozenset[str]:
    """Names on which a scope calls a method that tensors do not have: ``graph`` of ``graph.number_of_nodes()``.

    A loader can yield other things than tensors: graphs, samples of a special class, and what a project makes of them.
    """
    calls = (call for statement in scope.statements for call in statement.calls)
    methods = (call.func for call in calls if isinstance(call.func, ast.Attribute) and not may_have(call.func.attr))
    return frozenset(filter(None, (dotted(method.value) for method in methods))) - backward_names(scope)


def scales(call: ast.Call) -> bool:
    """Whether a call is one of a loss scaler: ``scaler.scale(loss)``."""
    receiver, _, method = (dotted(call.func) or "").rpartition(".")
    return method == "scale" and means_scaler(receiver)


def _summands(scope: Scope, tensors: set[str]) -> Iterable[str]:
    """Plain names that are added to one of ``tensors``."""
    for statement in scope.statements:
        node = statement.node
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]) in tensors:
            yield from _terms(node.value)


def _terms(value: ast.expr) -> Iterable[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            stack += [node.left, node.right]
        elif isinstance(node, ast.Name) and means_loss(node.id):
            yield node.id
        elif (
            isinstance(node, ast.Call)
            and dotted(node.func) == "sum"
            and node.args
            and isinstance(node.args[0], ast.Name)
        ):
            yield node.args[0].id


class Flow:
    """One pass over a scope.

    After ``run``, ``before`` maps each statement to the kinds of names before it, ``result`` is the kind that the
    function returns, ``final`` the kinds at its end.

    Args:
        guess_losses: treat a loss-like name bound to something unknown as a tensor (only in code of a step).
    """

    def __init__(self, at: Place, env: Env, guess_losses: bool) -> None:
        self._file = at.file
        self._tensors = backward_names(at.scope)
        self._others = no_tensors(at.scope)
        self._arrays = arrays(at.scope) - self._tensors
        self._guess = guess_losses
        self._scope = at.scope
        self.before: dict[ast.stmt, Env] = {}
        self.result: Kind | None = None
        self.final: Env = env
        self._loops = 0

    def run(self) -> Flow:
        """Walk the scope and return this object."""
        env = Environment(self.final)
        for name in self._others.intersection(self._scope.parameters):
            self._forget_other(name, env)
        for name in self._arrays.intersection(self._scope.parameters):
            self._name_array(name, env)
        self.final = self._block(self._scope.node.body, env)
        return self

    def _forget_other(self, name: str, env: Environment) -> None:
        """Forget the kind of a name on which the scope uses something that tensors do not have."""
        if name in self._others and env.get(name, UNKNOWN).is_tensor:
            env[name] = UNKNOWN

    def _name_array(self, name: str, env: Environment) -> None:
        """Treat a name of unknown kind as an array if the scope uses something that only arrays have."""
        kind = env.get(name, UNKNOWN)
        if kind.tag == UNKNOWN_TAG or (kind.tag == TENSOR_TAG and kind.guess):
            env[name] = HOST

    def _is_of_paddle(self, value: ast.expr) -> bool:
        """Whether a value comes from a call of Paddle, whose result is known."""
        name = dotted(value.func) if isinstance(value, ast.Call) else None
        return name is not None and self._file.names.resolve(name).startswith("paddle.")

    def rules_out(self, node: ast.If, value: bool) -> bool:
        """Whether the kinds of values rule out that the test of an ``if`` is ``value``."""
        return impossible(node.test, value, self._evaluator(self.before.get(node, _NO_KINDS)).kind, self._file)

    def _block(self, body: list[ast.stmt], env: Environment) -> Environment:
        for node in body:
            self.before[node] = env
            try:
                env = self._statement(node, env)
            except RecursionError:  # hundreds of nested blocks: what the inner ones bind stays unknown
                continue
        return env

    def _statement(self, node: ast.stmt, env: Environment) -> Environment:
        if isinstance(node, ast.Assign):
            return self._assign(node.targets, node.value, env)
        if isinstance(node, ast.AnnAssign):
            return self._assign([node.target], node.value, env) if node.value else env
        if isinstance(node, ast.AugAssign):
            return self._augmented(node, env)
        if isinstance(node, ast.Expr):
            return self._expression(node.value, env)
        if isinstance(node, ast.Return):
            if node.value is not None:
                self._give(self._evaluator(env).kind(node.value))
            return env
        if isinstance(node, ast.If):
            return self._if(node, env)
        if isinstance(node, LOOPS):
            return self._loop(node, env)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, env)
        if isinstance(node, TRIES):
            return self._try(node, env)
        if isinstance(node, ast.Match):
            for case in node.cases:
                env = env.merged(self._block(case.body, env.copy()))
        if isinstance(node, ast.Assert):
            return self._where(node.test, True, env)
        return env

    def _where(self, test: ast.expr, value: bool, env: Environment) -> Environment:
        """The facts in the case that a test is ``value``."""
        told = narrowed(test, value, env, self._file)
        if told:
            env = env.copy()
            env.update(told)
        return env

    def _evaluator(self, env: Env) -> Evaluator:
        return Evaluator(self._file, env)

    def _assign(self, targets: list[ast.expr], value: ast.expr, env: Environment) -> Environment:
        self._yield(value, env)
        evaluator = self._evaluator(env)
        kind = evaluator.kind(value)
        env = env.copy()
        for target in targets:
            bind(target, kind, env)
            bind_entries(target, value, evaluator, env)
            self._name_unknown(target, value, env)
        return env

    def _name_unknown(self, target: ast.expr, value: ast.expr, env: Environment) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._name_unknown(part, value, env)
            return
        name = dotted(target)
        if name is None:
            return
        if not self._is_of_paddle(value):
            self._forget_other(name, env)
            if name in self._arrays:
                self._name_array(name, env)
        if env.get(name, UNKNOWN).tag != UNKNOWN_TAG:
            return
        if name in self._tensors:
            env[name] = TENSOR
        elif self._guess and name not in self._others and means_loss(name) and _may_be_tensor(value, self._file):
            env[name] = GUESS

    def _augmented(self, node: ast.AugAssign, env: Environment) -> Environment:
        name = dotted(node.target)
        evaluator = self._evaluator(env)
        value = evaluator.kind(node.value)
        if name is None:
            return env
        before = evaluator.kind(node.target)
        env = env.copy()
        if value.is_tensor or before.is_tensor:
            truth = isinstance(node.op, BITWISE) and (value.truth or before.truth)
            env[name] = Kind(TENSOR_TAG, guess=value.guess or before.guess, truth=truth)
        else:
            env[name] = join(before, value)
        return env

    def _yield(self, node: ast.expr | None, env: Env) -> None:
        """Record what a generator yields, which is what iterating over its result gives."""
        if isinstance(node, ast.Yield) and node.value is not None:
            self._give(tuple_of([self._evaluator(env).kind(node.value)]))
        elif isinstance(node, ast.YieldFrom):
            self._give(tuple_of([self._evaluator(env).iterated(node.value)]))

    def _give(self, kind: Kind) -> None:
        self.result = kind if self.result is None else join(self.result, kind)

    def _expression(self, node: ast.expr, env: Environment) -> Environment:
        self._yield(node, env)
        call = node.value if isinstance(node, ast.Await) else node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return env
        name = dotted(call.func.value)
        if name is None or call.func.attr not in ("append", "extend", "update", "insert"):
            return env
        if call.func.attr == "update":
            env = self._update(call.func.value, call, env)
            if self._is_told_apart(call, env):
                return env
        return self._fill(call.func, name, call.args[-1], env) if call.args else env

    def _update(self, target: ast.expr, call: ast.Call, env: Environment) -> Environment:
        """``logs.update({"loss": loss})``, ``logs.update(lr=0.1)``, ``logs.update(others)``"""
        evaluator, given = self._evaluator(env), ast.Call(ast.Name("dict"), [], call.keywords)
        if evaluator.kind(target).tag not in _CONTAINERS:
            return env
        env = env.copy()
        for value in (*call.args[:1], given):
            bind_entries(target, value, evaluator, env)
        if call.args and not isinstance(call.args[0], ast.Dict):  # entries without literal keys
            kind = evaluator.kind(call.args[0])
            for key, entry in entries_of(kind).items():
                bind_entry(target, key, entry, env)
            others = rest_of(kind) if kind.tag == DICT_TAG else evaluator.iterated(call.args[0])
            if kind.tag != DICT_TAG or others.tag != UNKNOWN_TAG:
                bind_entry(target, "**", others, env)
        return env

    def _is_told_apart(self, call: ast.Call, env: Environment) -> bool:
        """Whether everything that is added to a dict has known keys."""
        value = call.args[0] if call.args else None
        written = written_entries(value) if isinstance(value, ast.Dict) else None
        if written is not None:
            return written.complete
        return value is None or self._evaluator(env).kind(value).tag == DICT_TAG

    def _fill(self, method: ast.Attribute, name: str, value: ast.expr, env: Environment) -> Environment:
        """Record that something is added to a container."""
        known = env.get(name)
        evaluator = self._evaluator(env)
        if evaluator.kind(method.value).tag not in _CONTAINERS:
            return env  # an object with its own methods, such as a meter
        kind = evaluator.kind(value)
        env = env.copy()
        if kind.is_tensor:
            truth = kind.truth and (known is None or known.truth or not known.is_tensor)
            env[name] = Kind(TENSOR_TAG, guess=kind.guess, truth=truth)
        elif kind.is_host and (known is None or known.tag == TUPLE_TAG):
            env[name] = HOST
        elif known is not None and known.tag == TUPLE_TAG:
            env[name] = (with_item(known, kind) if method.attr == "append" else None) or UNKNOWN
        return env

    def _if(self, node: ast.If, env: Environment) -> Environment:
        chain, bodies = [node], [self._block(node.body, self._where(node.test, True, env).copy())]
        env = self._where(node.test, False, env)
        while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):  # hundreds of ``elif``
            chain.append(chain[-1].orelse[0])
            self.before[chain[-1]] = env
            bodies.append(self._block(chain[-1].body, self._where(chain[-1].test, True, env).copy()))
            env = self._where(chain[-1].test, False, env)
        result = self._block(chain[-1].orelse, env.copy()) if chain[-1].orelse else env
        for number, each in reversed(list(enumerate(chain))):
            if leaves(each.body):
                continue
            if each.orelse and leaves(each.orelse):
                result = bodies[number]
            elif number < _MOST_BRANCHES:
                result = bodies[number].merged(result)
            else:  # the same except for the order, and faster: the result has what all branches below have bound
                result = result.merged(bodies[number])
        return result

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Environment) -> Environment:
        self._loops += 1
        for _ in range(2 if self._loops <= _MOST_LOOPS else 1):
            inner = env.copy()
            if not isinstance(node, ast.While):
                bind(node.target, self._evaluator(env).iterated(node.iter), inner)
                for name in self._others.intersection(plain_names(node.target)):
                    self._forget_other(name, inner)
                self._name_unknown(node.target, node.iter, inner)
            merged = env.merged(self._block(node.body, inner))
            if merged == env:  # a second pass would find nothing new; nested loops would double the passes each time
                break
            env = merged
        self._loops -= 1
        env = self._converted(node, env)
        return self._block(node.orelse, env) if node.orelse else env

    def _converted(self, node: ast.For | ast.AsyncFor | ast.While, env: Environment) -> Environment:
        """``for key in logs: logs[key] = logs[key].item()`` leaves only numbers in ``logs``."""
        looped = None if isinstance(node, ast.While) else _dict_of(node.iter)
        name = dotted(looped) if looped is not None else None
        if name is None or isinstance(node, ast.While):
            return env
        keys = plain_names(node.target)
        for statement in node.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Subscript) and dotted(target.value) == name and dotted(target.slice) in keys:
                assert isinstance(statement, ast.Assign)
                if self._evaluator(self.before[statement]).kind(statement.value).is_host:
                    env = env.copy()
                    env.bind(name, HOST)
        return env

    def _with(self, node: ast.With | ast.AsyncWith, env: Environment) -> Environment:
        env = env.copy()
        for item in node.items:
            if item.optional_vars is not None:
                bind(item.optional_vars, self._evaluator(env).kind(item.context_expr), env)
        return self._block(node.body, env)

    def _try(self, node: ast.Try, env: Environment) -> Environment:
        after = self._block(node.body, env.copy())
        before = env.merged(after)
        before = after if before == after else before  # the more two of them share, the faster they merge
        for handler in node.handlers:
            handled = self._block(handler.body, before)
            if not leaves(handler.body):
                is_shared = before is after
                after = after.merged(handled)
                before = after if is_shared else before.merged(handled)
        after = self._block(node.orelse, after)
        return self._block(node.finalbody, after)


def _may_be_tensor(value: ast.expr, file: FileIndex) -> bool:
    """Whether a value may be the loss it is named after, unlike an instance of an imported class."""
    name = dotted(value.func) if isinstance(value, ast.Call) else None
    if name is None:
        return isinstance(value, (ast.Call, ast.Subscript))
    if not file.names.is_bound(name.partition(".")[0]):
        return name not in ("dict", "list", "set", "tuple")
    last = name.rpartition(".")[2]
    return last not in ("defaultdict", "deque") and (not last[:1].isupper() or last.isupper())


def _dict_of(node: ast.expr) -> ast.expr | None:
    """The dict whose keys a loop iterates over: ``logs``, ``logs.items()``, ``list(logs.keys())``."""
    if isinstance(node, ast.Call) and dotted(node.func) in ("list", "sorted", "tuple") and node.args:
        return _dict_of(node.args[0])
    if isinstance(node, ast.Call):
        method = node.func if isinstance(node.func, ast.Attribute) else None
        return method.value if method is not None and method.attr in ("items", "keys") else None
    return node


def is_generator(scope: Scope) -> bool:
    """Whether calling a function creates a generator."""
    return not isinstance(scope.node, ast.Module) and any(_yields(statement.node) for statement in scope.statements)


def yielding_loops(scope: Scope) -> set[ast.stmt]:
    """The loops of a generator that yield once per iteration: code in a loop around one of them runs less often."""
    loops: set[ast.stmt] = set()
    for statement in scope.statements:
        if statement.loop is not None and _yields(statement.node):
            loops.add(statement.loop)
    return loops


def _yields(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) else None
    return isinstance(value, (ast.Yield, ast.YieldFrom))


def with_comprehensions(node: ast.stmt, env: Env, file: FileIndex) -> Env:
    """``env`` plus the targets of the comprehensions in a statement's own expressions, if they hide nothing."""
    extra: dict[str, Kind] = {}
    for header in headers(node):
        for item in walk(header):
            if isinstance(item, COMPREHENSIONS):
                inner = Environment(env)
                inner.update(extra)
                own = {part.id for made in item.generators for part in walk(made.target) if isinstance(part, ast.Name)}
                inside = Evaluator(file, inner).inside(item.generators).env
                extra.update({name: inside[name] for name in own if name in inside})  # they hide names of the function
    if not extra:
        return env
    known = Environment(env)
    known.update(extra)
    return known
