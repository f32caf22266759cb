"""Finds what an expression may do besides reading values, so that it must not run at fewer steps.

``print("lr", optimizer.get_lr())`` only logs; ``print(next(names))`` takes an item, too. Calls of Python, NumPy, Paddle
and others are known by their names; functions of the project are judged by what their statements do. All other calls
may do more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.facts.paddle_calls import log_family
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.uses import uses_in
from perflint.index.project import FileIndex, Place
from perflint.paddle.tensor_methods import COPYING_METHODS
from perflint.query import query
from perflint.syntax.bindings import bindings_of, targets_and_values, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters
from perflint.syntax.scopes import Scope, Statement, own_parts, terminal
from perflint.syntax.tree import base_of, walk
from perflint.syntax.vocabulary import draws_batch
from perflint.training.steps import Point

_BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float", "format"}
    | {"frozenset", "getattr", "hasattr", "hex", "id", "int", "isinstance", "issubclass", "len", "list", "map", "max"}
    | {"min", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "super"}
    | {"tuple", "type", "vars", "zip"}
)
_CALL_OTHERS = frozenset({"filter", "map", "max", "min", "sorted"})
"""Those among them that may call another function, their first argument or their ``key``."""

_ITERATORS = frozenset({"enumerate", "filter", "iter", "map", "open", "reversed", "zip"})
"""Those that give an iterator."""

_MODULES = ("numpy.", "math.", "statistics.", "datetime.", "os.path.", "paddle.", "time.", "platform.", "textwrap.")
_DO_MORE = (
    *("numpy.random.", "numpy.save", "numpy.copyto", "numpy.put", "numpy.fill_diagonal", "time.sleep"),
    *("paddle.distributed.", "paddle.save", "paddle.load", "paddle.jit.", "paddle.static.", "paddle.optimizer."),
    *("paddle.seed", "paddle.set_", "paddle.enable_", "paddle.disable_", "paddle.rand", "paddle.uniform"),
    *("paddle.normal", "paddle.standard_", "paddle.bernoulli", "paddle.multinomial", "paddle.poisson"),
    *("paddle.binomial", "paddle.nn.functional.dropout", "paddle.device.set_", "paddle.assign", "paddle.increment"),
    *("paddle.grad", "paddle._"),
)
"""What in these modules changes something, draws random numbers, or is exchanged between processes."""

_FUNCTIONS = frozenset(
    {"paddle.distributed.get_rank", "paddle.distributed.get_world_size", "os.getpid", "os.getcwd", "os.getenv"}
    | {"socket.gethostname", "copy.copy", "copy.deepcopy", "json.dumps", "pprint.pformat", "logging.getLogger"}
    | {"pathlib.Path", "collections.Counter", "collections.OrderedDict", "traceback.format_exc"}
)
_METHODS = COPYING_METHODS | frozenset(
    # of tensors and arrays
    {"abs", "all", "any", "argmax", "argmin", "astype", "cast", "clip", "clone", "cuda", "cumsum", "detach"}
    | {"dim", "element_size", "exp", "flatten", "max", "mean", "median", "min", "norm", "numel", "prod"}
    | {"reshape", "round", "size", "sqrt", "squeeze", "std", "sum", "transpose", "unsqueeze", "var"}
    # of texts and paths
    | {"capitalize", "center", "count", "decode", "encode", "endswith", "expandtabs", "format", "format_map", "hex"}
    | {"join", "ljust", "lower", "lstrip", "partition", "replace", "rjust", "rpartition", "rsplit", "rstrip", "split"}
    | {"splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill", "basename", "dirname"}
    # of containers
    | {"copy", "get", "index", "items", "keys", "values", "most_common"}
    # of dates
    | {"date", "isoformat", "now", "strftime", "timestamp", "today", "total_seconds", "utcnow", "ctime", "time"}
    # of optimizers, metrics and meters
    | {"accumulate", "average", "avg", "compute_eta", "elapsed", "eta", "get_last_lr", "get_lr", "global_avg", "name"}
    | {"state_dict", "parameters", "named_parameters"}
)
"""Methods that only look, whatever they are called on; ``mean`` of a tensor and ``get`` of a dict."""

_CHANGE_TENSORS = frozenset({"set_value", "backward", "register_hook", "clear_grad", "clear_gradient", "retain_grads"})
"""Methods of tensors that do more than compute, besides those whose name ends in ``_``."""

_WAIT = frozenset({"get", "join"})
"""Those among them that must have arguments: ``queue.get()`` and ``thread.join()`` wait for others."""

_FILLS = frozenset(
    {"add", "append", "appendleft", "extend", "insert", "setdefault", "sort", "update", "reverse", "pop"}
)
"""Methods that change the container they are called on."""

_MAKE = frozenset(
    {"list", "dict", "set", "OrderedDict", "defaultdict", "Counter", "deque", "len", "sum", "float", "int"}
)
_MADE = (
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant, ast.JoinedStr),
    *(ast.BinOp, ast.Compare, ast.Tuple),
)
_HANDS_OVER = (ast.Yield, ast.YieldFrom, ast.Await)
_HARMLESS = frozenset({"staticmethod", "classmethod", "property", "no_grad", "lru_cache", "cache", "override", "wraps"})
"""Decorators of functions that do what their statements do."""


def effect_at(point: Point, node: ast.AST, log: ast.expr | None = None) -> str:
    """What in an expression of a statement may do more than read values, in words; ``""`` if nothing does.

    Args:
        point: the statement.
        node: the expression.
        log: a call in it that is known to log.
    """
    for item in walk(node):
        if isinstance(item, ast.NamedExpr) and not _is_used_there_alone(item.target.id, point):
            return ast.unparse(item)
        if isinstance(item, _HANDS_OVER):
            return ast.unparse(item)
        if isinstance(item, ast.Name) and _may_be_drawn_from(item.id, point):
            return f"next({item.id})"
        if isinstance(item, ast.Call) and item is not log and not only_reads(point.function, item, point.full_env):
            return f"{dotted(item.func) or terminal(item) or ast.unparse(item.func)}()"
    return ""


def keeps_state(point: Point, log: ast.Call) -> bool:
    """Whether the function of the project that a logging call reaches changes more than what it writes, as its text
    shows: it counts its calls, or keeps their values.
    """
    targets = CallGraph.of(point.file.project).callees(point.function, log, point.full_env)
    return any(target.sure and not _changes_nothing(target.place, True) for target in targets)


def _may_be_drawn_from(name: str, point: Point) -> bool:
    """Whether a name may be an iterator: each look at its items takes them."""
    scopes = (point.scope, point.file.scopes.module)
    bound = next((found for scope in scopes if (found := bindings_of(scope).get(name))), ())
    values = (item.node.value for item in bound if isinstance(item.node, (ast.Assign, ast.AnnAssign)))
    return any(value is not None and _is_iterator(value, point.file) for value in values)


def _is_iterator(node: ast.expr, file: FileIndex) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.GeneratorExp)
    name = file.names.resolve(dotted(node.func) or "")
    return name.startswith("itertools.") or (name in _ITERATORS and not file.names.is_bound(name))


def _is_used_there_alone(name: str, point: Point) -> bool:
    """Whether a name of a function is used in one of its statements only."""
    uses = uses_in(point.function)
    if isinstance(point.scope.node, ast.Module) or uses.is_hidden(name):
        return False
    return all(use.statement is point.statement for use in uses.by_name.get(name, ()))


def only_reads(at: Place, call: ast.Call, env: Env) -> bool:
    """Whether a call changes nothing, and draws no random numbers; its arguments are not looked at."""
    targets = CallGraph.of(at.file.project).callees(at, call, env)
    if any(target.sure for target in targets):
        return all(_changes_nothing(target.place, False) for target in targets)
    if isinstance(call.func, ast.Name) and call.func.id in _BUILTINS and not at.file.names.is_bound(call.func.id):
        return call.func.id not in _CALL_OTHERS or all(_is_plain_function(item, at.file) for item in _functions(call))
    name = at.file.names.resolve(dotted(call.func) or "")
    if name in _FUNCTIONS:
        return True
    if name.startswith(_MODULES):
        return not name.startswith(_DO_MORE) and not name.endswith("_")
    last = terminal(call) or ""
    if last in _METHODS or _gets(last):
        return isinstance(call.func, ast.Attribute) and (last not in _WAIT or bool(call.args))
    if isinstance(call.func, ast.Attribute) and Evaluator(at.file, env).kind(call.func.value).is_tensor:
        return not last.endswith("_") and last not in _CHANGE_TENSORS
    return bool(targets) and all(_changes_nothing(target.place, False) for target in targets)


def _functions(call: ast.Call) -> Iterator[ast.expr]:
    """The functions that ``map``, ``sorted`` or the like is given."""
    if terminal(call) in ("map", "filter"):
        yield from call.args[:1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "key")


def _is_plain_function(node: ast.expr, file: FileIndex) -> bool:
    """Whether a function that another one calls only reads; the calls in a ``lambda`` are looked at anyway."""
    if isinstance(node, ast.Lambda):
        return True
    name = dotted(node) or ""
    known = name in _BUILTINS or name.partition(".")[0] in ("str", "dict", "operator")
    return known and name not in _CALL_OTHERS and not file.names.is_bound(name)


def _gets(name: str) -> bool:
    """Whether a method's name says that it looks something up: ``get_average``, but not ``get_batch``."""
    return name.startswith("get_") and "next" not in name and not draws_batch(name)


@query(cycle=True)  # what a function does by calling itself, its other statements show
def _changes_nothing(at: Place, may_write: bool) -> bool:
    """Whether a function of the project only computes, prints and logs.

    Args:
        may_write: it is itself what logs, so calls that are not known count as parts of that.
    """
    if isinstance(at.scope.node, ast.Module):
        return False
    decorators = (
        dotted(item.func if isinstance(item, ast.Call) else item) or "" for item in at.scope.node.decorator_list
    )
    if not may_write and any(name.rpartition(".")[2] not in _HARMLESS for name in decorators):
        return False
    return not any(
        _stores(statement, at.scope) or any(_changes(call, at, may_write) for call in _calls_in(statement))
        for statement in at.scope.statements
    )


def _stores(statement: Statement, scope: Scope) -> bool:
    """Whether a statement of a function binds or removes something that exists outside of it, or hands out values."""
    node = statement.node
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in _made_in(scope):
        return True
    targets = [target for target, _ in targets_and_values(node)]
    stored = (item for target in (*targets, *targets_of(node)) for item in walk(target))
    places = (item for item in stored if isinstance(item, (ast.Attribute, ast.Subscript)))
    if any(not isinstance(item.ctx, ast.Load) and dotted(base_of(item)) not in _made_in(scope) for item in places):
        return True
    return any(isinstance(item, _HANDS_OVER) for part in own_parts(node) for item in walk(part))


def _made_in(scope: Scope) -> frozenset[str]:
    """The names that a function only binds to what it has made: new containers, and results of arithmetic."""
    given = {*all_parameters(scope), "self"}
    return scope.once(
        _made_in,
        lambda: frozenset(
            name
            for name, found in bindings_of(scope).items()
            if "." not in name and name not in given and all(map(_makes, found))
        ),
    )


def _makes(statement: Statement) -> bool:
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return True
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Call):
        return terminal(value) in _MAKE
    return isinstance(value, _MADE)


def _calls_in(statement: Statement) -> Iterator[ast.Call]:
    yield from (item for part in own_parts(statement.node) for item in walk(part) if isinstance(item, ast.Call))


def _changes(call: ast.Call, at: Place, may_write: bool) -> bool:
    """Whether a call in a function changes something that exists outside of it."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS:
        return dotted(call.func.value) not in _made_in(at.scope)
    if may_write:
        targets = CallGraph.of(at.file.project).callees(at, call, {})
        return any(target.sure and not _changes_nothing(target.place, True) for target in targets)
    return not _writes_text(call, at) and not only_reads(at, call, {})


def _writes_text(call: ast.Call, at: Place) -> bool:
    """Whether a call in a function prints or logs, or writes to the standard output itself."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "flush"):
        return (dotted(call.func.value) or "").startswith("sys.std")
    return log_family(call, at.file.names) == "text"
