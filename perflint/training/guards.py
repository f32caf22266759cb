"""Guards: tests that let a branch run only now and then, so that code under them costs little.

``rare(test, value)`` asks: is it a rare step on which ``test`` is ``value``?  A rank check or a configuration flag
is no guard: rank 0 still stalls on each step, and the others wait for it.
"""

from __future__ import annotations

import ast
import operator as operators
import re
from collections.abc import Callable, Mapping

from perflint.dataflow.settled import Known
from perflint.syntax.names import dotted
from perflint.syntax.scopes import headers
from perflint.syntax.tree import walk

_FLAGS = re.compile(
    r"(^|_)(debug|verbose|benchmark|should_(log|print|save|eval|display|report|record)|need_(log|print|save|eval)"
    r"|do_(log|print|save|eval|logging)|is_(log|print|save|eval|last|first|end)\w*|log_now|print_now|first_(step|iter|batch)"
    r"|last_(step|iter|batch)|every_n\w*|profil\w*|dry_run|dump\w*|visuali[sz]e|show_\w+"
    r"|save_(edge|image|img|imgs|images|vis|fig|pred|preds|result|results|output|outputs|feat|feature|features))($|_)",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(^|_)(i|j|it|iter|iters|iteration|iterations|itr|step|steps|batch|batch_?id|batch_?idx|batch_?index|idx|index"
    r"|n_?iter|niter|cnt|count|counter|num|total_iters|current_iter|global_step)($|_)",
    re.IGNORECASE,
)
_NO_STEP = re.compile(r"size|class|worker|type|mode|name|rank|gpu|device|dim|channel", re.IGNORECASE)
_EPOCH = re.compile(r"(^|_)(epoch|epochs|epo|ep|epoch_?id|epoch_?idx|pass_?id)($|_)", re.IGNORECASE)
_WITHIN_EPOCH = re.compile(r"iter|step|batch|per_epoch|each_epoch|len|size", re.IGNORECASE)
_ACCUMULATION = re.compile(r"accum|grad_acc|update_freq|acc_steps|gradient_acc", re.IGNORECASE)
_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "time.process_time"}
    | {"timeit.default_timer", "datetime.datetime.now", "datetime.now"}
    | {"time", "perf_counter", "monotonic", "default_timer"}
)
_EMPTY = re.compile(r"(list|history|buffer|cache|queue)$", re.IGNORECASE)
_FEW_STEPS = 100
_IS_THERE = frozenset({"exists", "is_not_none", "not_none"})
_INTERVAL = re.compile(r"(^|_)(period|interval|patience|every|freq|frequency)($|_)", re.IGNORECASE)
_END = re.compile(
    r"(^|_)(last|final|end)($|_)|^(iters|steps|iterations)$|(iters?|steps?|batch(es)?)_per_\w+$"
    r"|(^|_)(max|total|num|n|all)_?(train_?)?(iters?|iterations?|steps?|batch(es)?|updates?)($|_)",
    re.IGNORECASE,
)
_RECORDED = re.compile(r"(^|_)(save|log|print|eval|record|report|display|checkpoint)($|_)", re.IGNORECASE)
_SETTINGS = re.compile(r"(^|_)(args?|cfgs?|configs?|conf|opts?|options|h?params|flags|settings)($|_)", re.IGNORECASE)
_REMAINDERS = frozenset({"mod", "fmod", "remainder", "floor_mod"})
_START = re.compile(r"skip|warm|burn|ignore|delay|offset|(^|_)(start|begin|first|initial|profile)($|_)", re.IGNORECASE)
_ORDER: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operators.lt,
    ast.LtE: operators.le,
    ast.Gt: operators.gt,
    ast.GtE: operators.ge,
}
_MODE = re.compile(r"(^|_)(mode|phase|split|stage|subset)($|_)", re.IGNORECASE)
_OTHER_MODES = ("val", "eval", "test", "infer", "pred", "export", "dev")

Definitions = Mapping[str, ast.expr]
"""Names that are bound once in a scope, with the expression they are bound to."""

_NO_NAMES: frozenset[str] = frozenset()


def rare(
    test: ast.expr, value: bool, definitions: Definitions, depth: int = 0, counters: frozenset[str] = _NO_NAMES
) -> bool:
    """Whether ``test`` is ``value`` only on a few steps of a loop.

    Args:
        counters: names that count the steps of the loop, whatever they are called.
    """
    if depth > 9:
        return False
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.And) != value
        parts = [rare(part, value, definitions, depth + 1, counters) for part in test.values]
        return all(parts) if every else any(parts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return rare(test.operand, not value, definitions, depth + 1, counters)
    if isinstance(test, ast.NamedExpr):
        return rare(test.value, value, definitions, depth + 1, counters)
    if isinstance(test, ast.Compare):
        known = _constant_comparison(test, definitions)
        return known != value if known is not None else _rare_comparison(test, value, definitions, counters)
    if isinstance(test, ast.IfExp):
        picks = ((test.body, True), (test.orelse, False))
        return all(
            rare(part, value, definitions, depth + 1, counters)
            or rare(test.test, chosen, definitions, depth + 1, counters)
            for part, chosen in picks
        )
    remainder = as_remainder(test)
    if remainder is not None:
        return not value and _is_interval(remainder, definitions)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitAnd):
        return not value and isinstance(test.right, ast.Constant) and counts_steps(test.left, counters)
    if isinstance(test, ast.Constant):
        return bool(test.value) != value
    if isinstance(test, ast.Call):
        answer = definitions.get(f"{dotted(test.func)}()")
        if answer is not None:
            return rare(answer, value, definitions, depth + 1, counters)
        called = dotted(test.func) or ""
        if called.rpartition(".")[2] in _IS_THERE and len(test.args) == 1 and not called.endswith("path.exists"):
            there = ast.Compare(test.args[0], [ast.IsNot()], [ast.Constant(None)])
            return rare(there, value, definitions, depth + 1, counters)
        if dotted(test.func) == "bool" and test.args:
            return rare(test.args[0], value, definitions, depth + 1, counters)
        return _rare_call(test, value)
    name = dotted(test) or _key(test)
    if name is None:
        return False
    definition = definitions.get(name)
    if definition is not None and not isinstance(definition, ast.Constant):
        if rare(definition, value, definitions, depth + 1, counters):
            return True
        if not isinstance(definition, (ast.Call, ast.Attribute, ast.Subscript, ast.Name)):
            return False  # its value is seen, and is no guard, whatever the name promises
    last = name.rpartition(".")[2]
    constant = definitions.get(name)
    if isinstance(constant, ast.Constant):
        return bool(constant.value) != value
    if value:
        return bool(_FLAGS.search(last)) or _is_told(name, definitions)
    return bool(_EMPTY.search(last)) or name == "self.training" or counts_steps(test, counters)


def _is_told(name: str, definitions: Definitions) -> bool:
    """Whether a field says what to do at this step: ``status.save_checkpoint`` of what a scheduler has answered."""
    receiver, _, last = name.rpartition(".")
    if not receiver or _SETTINGS.search(receiver) or not _RECORDED.search(last):
        return False
    return isinstance(_written(definitions).get(receiver), ast.Call)


def _constant_comparison(test: ast.Compare, definitions: Definitions) -> bool | None:
    """What ``flag is True``, ``mode == "train"`` or ``x is not None`` gives where the name is a known constant."""
    name, right, operator = dotted(test.left), test.comparators[0], test.ops[0]
    if len(test.ops) != 1 or name is None or not isinstance(right, ast.Constant):
        return None
    order = _ORDER.get(type(operator)) if "." not in name else None  # what an object keeps may have grown since
    if order is None and not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    left = definitions.get(name)  # last: it may have to look through all calls of a function
    if not isinstance(left, ast.Constant):
        return None
    if order is not None:
        if isinstance(left.value, (int, float)) and isinstance(right.value, (int, float)):
            return order(left.value, right.value)
        return None
    same = left.value == right.value and type(left.value) is type(right.value)
    return same == isinstance(operator, (ast.Is, ast.Eq))


def _key(node: ast.expr) -> str | None:
    """The key of a look-up in a configuration: ``cfg["debug"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return None


def counted_by(loop: ast.stmt | None) -> frozenset[str]:
    """The name that a loop's own ``enumerate`` or ``range`` counts with, if it does."""
    count = loop_count(loop) if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    return frozenset({count.id}) if count is not None else _NO_NAMES


def loop_count(loop: ast.For | ast.AsyncFor) -> ast.Name | None:
    """The target that an ``enumerate`` or a ``range`` counts with, also inside ``tqdm`` and ``zip``."""
    iterated: ast.expr = loop.iter
    target: ast.expr = loop.target
    while isinstance(iterated, ast.Call):
        function = (dotted(iterated.func) or "").rpartition(".")[2]
        if function == "tqdm" and iterated.args:
            iterated = iterated.args[0]
        elif function == "zip" and iterated.args and isinstance(target, ast.Tuple):
            iterated, target = iterated.args[0], target.elts[0]
        elif function == "enumerate" and isinstance(target, ast.Tuple):
            return target.elts[0] if isinstance(target.elts[0], ast.Name) else None
        elif function in ("range", "trange", "count"):
            return target if isinstance(target, ast.Name) and _by_one(iterated) else None
        else:
            return None
    return None


def _by_one(counting: ast.Call) -> bool:
    """Whether a ``range`` or ``count`` goes on by one: a test for each tenth step may never hold for other strides."""
    position = 1 if (dotted(counting.func) or "").endswith("count") else 2
    if any(isinstance(argument, ast.Starred) for argument in counting.args):
        return False
    given = [*counting.args[position:], *(item.value for item in counting.keywords if item.arg in ("step", None))]
    return all(isinstance(stride, ast.Constant) and stride.value == 1 for stride in given)


def within_expressions(node: ast.stmt, definitions: Definitions) -> frozenset[ast.AST]:
    """The parts of a statement's own expressions that a conditional expression runs only on a few steps."""
    found: set[ast.AST] = set()
    for header in headers(node):
        for item in walk(header):
            branches: list[ast.expr] = []
            if isinstance(item, ast.IfExp):
                branches = [
                    part
                    for part, value in ((item.body, True), (item.orelse, False))
                    if rare(item.test, value, definitions)
                ]
            elif isinstance(item, ast.BoolOp):
                truth = isinstance(item.op, ast.And)
                guard = next(
                    (i for i, part in enumerate(item.values) if rare(part, truth, definitions)), len(item.values)
                )
                branches = item.values[guard + 1 :]
            for branch in branches:
                found.update(walk(branch))
    return frozenset(found)


def is_epoch_name(name: str) -> bool:
    """Whether a name counts epochs rather than steps."""
    return bool(_EPOCH.search(name)) and not _WITHIN_EPOCH.search(name)


def _rare_comparison(test: ast.Compare, value: bool, definitions: Definitions, counters: frozenset[str]) -> bool:
    if len(test.ops) != 1:
        return False
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    for side in (left, right):
        modulo = _modulo(side, definitions)
        if modulo is not None:
            return _is_interval(modulo, definitions) and value != isinstance(operator, (ast.NotEq, ast.Gt))
    if isinstance(operator, (ast.Eq, ast.NotEq)) and _is_not_finite(right):
        return value == isinstance(operator, ast.Eq)
    if isinstance(operator, ast.NotEq) and dotted(left) is not None and dotted(left) == dotted(right):
        return value  # ``loss != loss``: not a number
    at_end = _at_the_end(left, operator, right, counters)
    if at_end is not None:
        return at_end == value
    if (
        isinstance(operator, (ast.Eq, ast.NotEq))
        and _is_length(left)
        and isinstance(right, ast.Constant)
        and right.value == 0
    ):
        return value == isinstance(operator, ast.Eq)  # empty: at the start, or when something is wrong
    if _waits(left, operator, right):
        return value == isinstance(operator, (ast.Gt, ast.GtE))
    if _other_mode(left, right) is not None and isinstance(operator, (ast.Eq, ast.NotEq)):
        return _other_mode(left, right) == (value == isinstance(operator, ast.Eq))
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        counts = counts_steps(left, counters) or counts_steps(right, counters)
        return counts and value == isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.In, ast.NotIn)):
        return counts_steps(left, counters) and value == isinstance(operator, ast.In)
    if not value:
        return isinstance(operator, (ast.Gt, ast.GtE)) and counts_steps(left, counters) and _is_early(right)
    is_order = isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
    if is_order and (asks_the_clock(left, definitions) or asks_the_clock(right, definitions)):
        return True
    if isinstance(operator, (ast.Gt, ast.GtE)) and isinstance(right, ast.Constant) and rare(left, True, definitions, 8):
        return True  # ``args.verbose > 1``
    if isinstance(operator, (ast.Lt, ast.LtE)) and counts_steps(left, counters) and _is_early(right):
        return True
    return any("best" in name.lower() for side in (left, right) for name in _names(side))


def _at_the_end(left: ast.expr, operator: ast.cmpop, right: ast.expr, counters: frozenset[str]) -> bool | None:
    """Whether a comparison holds only from the last step on (``i + 1 >= len(loader)``), or fails only there (False).

    None for any other comparison.
    """
    if not isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return None
    up = isinstance(operator, (ast.Gt, ast.GtE))
    if counts_steps(left, counters) and _is_end(right):
        return up
    return not up if counts_steps(right, counters) and _is_end(left) and not _is_end(right) else None


def _is_end(node: ast.expr) -> bool:
    """Whether an expression is the number of the last step, or of all: ``len(loader) - 1``, ``args.max_steps``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        return _is_end(node.left)
    if isinstance(node, ast.Call):
        return dotted(node.func) == "len"
    last = (dotted(node) or _key(node) or "").rpartition(".")[2]
    return bool(_END.search(last)) and not _START.search(last)


def _is_not_finite(node: ast.expr) -> bool:
    """``float("inf")``, ``np.nan``, ``math.inf``: only a run that has gone wrong has such a value."""
    if isinstance(node, ast.UnaryOp):
        return _is_not_finite(node.operand)
    if isinstance(node, ast.Call) and dotted(node.func) == "float" and node.args:
        given = node.args[0]
        return isinstance(given, ast.Constant) and str(given.value).lower().strip("+-") in ("inf", "infinity", "nan")
    return isinstance(node, ast.Attribute) and node.attr in ("inf", "nan")


def _is_early(node: ast.expr) -> bool:
    """Whether a limit is where the usual steps begin: ``5``, ``args.skip_batches``, ``warmup_steps``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value <= _FEW_STEPS
    name = dotted(node) or _key(node) or ""
    return bool(_START.search(name.rpartition(".")[2]))


def is_interval_name(name: str) -> bool:
    """Whether a name is that of an interval: ``log_freq``, ``save_every``."""
    return bool(_INTERVAL.search(name))


def _waits(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool:
    """Whether a comparison lets a count grow up to an interval: ``self.since_last >= self.period``."""
    if not isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return False
    return any(_INTERVAL.search(name) for name in _names(right)) and not any(
        _INTERVAL.search(name) for name in _names(left)
    )


def _other_mode(left: ast.expr, right: ast.expr) -> bool | None:
    """Whether ``mode == "eval"`` asks for another mode than training; None when it asks for no mode."""
    if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
        return None
    if not any(_MODE.search(name) for name in [*_names(left), _key(left) or ""]):
        return None
    asked = right.value.lower()
    if asked.startswith("train"):
        return False
    return True if asked.startswith(_OTHER_MODES) else None


def _written(definitions: Definitions) -> Definitions:
    """The definitions that may be more than a constant: what is settled by callers is one, and takes long to find."""
    return definitions.own if isinstance(definitions, Known) else definitions


def _modulo(node: ast.expr, definitions: Definitions) -> ast.BinOp | None:
    name = dotted(node)
    return as_remainder((_written(definitions).get(name) if name else None) or node)


def as_remainder(node: ast.expr) -> ast.BinOp | None:
    """``a % b`` as it is, and what says the same: ``np.mod(a, b)``, ``divmod(a, b)[1]``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return None if isinstance(node.left, (ast.Constant, ast.JoinedStr)) else node
    wanted = _REMAINDERS
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1:
        node, wanted = node.value, frozenset({"divmod"})
    if not isinstance(node, ast.Call) or len(node.args) != 2 or isinstance(node.args[0], ast.Starred):
        return None
    if (dotted(node.func) or "").rpartition(".")[2] not in wanted:
        return None
    return ast.BinOp(node.args[0], ast.Mod(), node.args[1])


def _is_interval(modulo: ast.BinOp, definitions: Definitions) -> bool:
    """Whether ``a % b`` spaces steps out: not for 1, not for a count of epochs, not for gradient accumulation.

    Accumulation of a known length of 2 or more does space steps out; of an unknown length it is usually 1.
    """
    every: ast.expr = modulo.right
    name = dotted(every)
    if name and name in definitions:
        every = definitions[name]
    if isinstance(every, ast.Constant):
        return every.value != 1 and not _counts_epochs(modulo.left)
    if any(_ACCUMULATION.search(part) for part in [*_names(modulo.right)]):
        return False
    return not _counts_epochs(modulo.left)


def _counts_epochs(node: ast.expr) -> bool:
    names = list(_names(node))
    return bool(names) and all(is_epoch_name(name) or name == "self" for name in names)


def counts_steps(node: ast.expr, counters: frozenset[str] = _NO_NAMES) -> bool:
    """Whether an expression is worked out from a count of steps, as its names say."""
    if isinstance(node, ast.Call):
        return False
    called = {item.func for item in walk(node) if isinstance(item, ast.Call)}  # ``perf_counter`` counts no steps
    names = (name for item in walk(node) if item not in called for name in _own_names(item))
    return any(name in counters or (_STEP.search(name) and not _NO_STEP.search(name)) for name in names)


def _is_length(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and dotted(node.func) == "len") or (
        isinstance(node, ast.Attribute) and node.attr == "size"
    )


def asks_the_clock(node: ast.expr, definitions: Definitions, depth: int = 0) -> bool:
    """Whether an expression is worked out from the time of day, also through a name that holds it."""
    definitions = _written(definitions)
    for item in walk(node):
        if isinstance(item, ast.Call) and dotted(item.func) in _CLOCKS:
            return True
        held = definitions.get(item.id) if isinstance(item, ast.Name) and depth < 3 else None
        if held is not None and asks_the_clock(held, definitions, depth + 1):
            return True
    return False


def _rare_call(test: ast.Call, value: bool, depth: int = 0) -> bool:
    if depth > 8:
        return False
    name = dotted(test.func) or (test.func.attr if isinstance(test.func, ast.Attribute) else "")
    last = name.rpartition(".")[2]
    if last in ("isfinite", "exists", "is_file", "isfile"):
        return not value  # what is made when it is missing is made once
    if last in ("isnan", "isinf"):
        return value
    inner = test.func.value if isinstance(test.func, ast.Attribute) else None
    if last in ("any", "all", "item", "numpy", "bool") and isinstance(inner, ast.Call):
        return _rare_call(inner, value, depth + 1)
    if name == "any" and test.args and isinstance(test.args[0], (ast.Name, ast.Attribute)):
        return not value  # nothing is there at all
    if last in ("any", "all", "bool") and test.args and isinstance(test.args[0], ast.Call):
        return _rare_call(test.args[0], value, depth + 1)
    if last in ("get", "getenv") and test.args and isinstance(test.args[0], ast.Constant):
        return value and bool(_FLAGS.search(str(test.args[0].value)))
    return value and (bool(_FLAGS.search(last)) or last == "isEnabledFor")


def _names(node: ast.expr) -> list[str]:
    return [name for item in walk(node) for name in _own_names(item)]


def _own_names(item: ast.AST) -> tuple[str, ...]:
    if isinstance(item, ast.Name):
        return (item.id,)
    return (item.attr,) if isinstance(item, ast.Attribute) else ()
