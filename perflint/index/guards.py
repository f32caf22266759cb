"""Guards: tests that let a branch run only now and then, so that code under them costs little.

``rare(test, value)`` asks: is it a rare step on which ``test`` is ``value``?  A rank check or a configuration flag
is no guard: rank 0 still stalls on each step, and the others wait for it.
"""

from __future__ import annotations

import ast
import operator as operators
import re
from collections.abc import Callable, Mapping

from perflint.index.names import dotted
from perflint.index.scopes import Place, exits, headers
from perflint.index.settled import Known
from perflint.index.tree import walk

_FLAGS = re.compile(
    r"(^|_)(debug|verbose|should_(log|print|save|eval|display|report|record)|need_(log|print|save|eval)"
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
_CLOCKS = ("time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now", "datetime.now")
_EMPTY = re.compile(r"(list|history|buffer|cache|queue)$", re.IGNORECASE)
_FEW_STEPS = 100
_IS_THERE = frozenset({"exists", "is_not_none", "not_none"})
_INTERVAL = re.compile(r"(^|_)(period|interval|patience|every|freq|frequency)($|_)", re.IGNORECASE)
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


def rare(test: ast.expr, value: bool, definitions: Definitions, depth: int = 0) -> bool:
    """Whether ``test`` is ``value`` only on a few steps of a loop."""
    if depth > 9:
        return False
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.And) != value
        parts = [rare(part, value, definitions, depth + 1) for part in test.values]
        return all(parts) if every else any(parts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return rare(test.operand, not value, definitions, depth + 1)
    if isinstance(test, ast.NamedExpr):
        return rare(test.value, value, definitions, depth + 1)
    if isinstance(test, ast.Compare):
        known = _constant_comparison(test, definitions)
        return known != value if known is not None else _rare_comparison(test, value, definitions)
    if isinstance(test, ast.IfExp):
        picks = ((test.body, True), (test.orelse, False))
        return all(
            rare(part, value, definitions, depth + 1) or rare(test.test, chosen, definitions, depth + 1)
            for part, chosen in picks
        )
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return not value and _is_interval(test, definitions)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitAnd):
        return not value and isinstance(test.right, ast.Constant) and _counts_steps(test.left)
    if isinstance(test, ast.Constant):
        return bool(test.value) != value
    if isinstance(test, ast.Call):
        answer = definitions.get(f"{dotted(test.func)}()")
        if answer is not None:
            return rare(answer, value, definitions, depth + 1)
        if (dotted(test.func) or "").rpartition(".")[2] in _IS_THERE and len(test.args) == 1:
            there = ast.Compare(test.args[0], [ast.IsNot()], [ast.Constant(None)])
            return rare(there, value, definitions, depth + 1)
        if dotted(test.func) == "bool" and test.args:
            return rare(test.args[0], value, definitions, depth + 1)
        return _rare_call(test, value)
    name = dotted(test) or _key(test)
    if name is None:
        return False
    definition = definitions.get(name)
    if definition is not None and not isinstance(definition, ast.Constant):
        if rare(definition, value, definitions, depth + 1):
            return True
        if not isinstance(definition, (ast.Call, ast.Attribute, ast.Subscript, ast.Name)):
            return False  # its value is seen, and is no guard, whatever the name promises
    last = name.rpartition(".")[2]
    constant = definitions.get(name)
    if isinstance(constant, ast.Constant):
        return bool(constant.value) != value
    if value:
        return bool(_FLAGS.search(last))
    return bool(_EMPTY.search(last)) or name == "self.training" or _counts_steps(test)


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


def off_the_hot_path(place: Place | None, loop: ast.stmt | None, definitions: Definitions) -> bool:
    """Whether a guard stands between a place and its step loop (None: the top of a function called each step)."""
    if place is None:
        return False
    for link in place.chain():
        node, branch = link.node, link.branch
        if node is loop and branch == "body":
            return False
        if branch == "handler" or (branch == "else" and isinstance(node, (ast.For, ast.While))):
            return True
        if not isinstance(node, ast.If):
            continue
        if branch in ("else", "after"):
            if rare(node.test, False, definitions) or (branch == "else" and _skips_the_step(node)):
                return True
        elif rare(node.test, True, definitions) or _ends_the_loop(node.body, link, loop):
            return True
    return False


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


def _skips_the_step(node: ast.If) -> bool:
    """Whether the ``else`` of a test is for the odd step that is skipped: only the other branch trains."""
    return _trains(node.body) and not _trains(node.orelse)


def _trains(body: list[ast.stmt]) -> bool:
    return any(isinstance(item, ast.Attribute) and item.attr == "backward" for node in body for item in walk(node))


def _ends_the_loop(body: list[ast.stmt], link: Place, loop: ast.stmt | None) -> bool:
    if exits(body):
        return True
    if loop is None or link.loop is not loop:
        return False
    if isinstance(body[-1], ast.Continue):  # an odd step that is skipped
        return not _trains(body)
    return isinstance(body[-1], (ast.Break, ast.Return))


def _rare_comparison(test: ast.Compare, value: bool, definitions: Definitions) -> bool:
    if len(test.ops) != 1:
        return False
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    for side in (left, right):
        modulo = _modulo(side, definitions)
        if modulo is not None:
            return _is_interval(modulo, definitions) and value != isinstance(operator, (ast.NotEq, ast.Gt))
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
        counts = _counts_steps(left) or _counts_steps(right)
        return counts and value == isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.In, ast.NotIn)):
        return _counts_steps(left) and value == isinstance(operator, ast.In)
    if not value:
        return isinstance(operator, (ast.Gt, ast.GtE)) and _counts_steps(left) and (_is_few(right) or _is_start(right))
    is_order = isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
    if is_order and (_mentions_clock(left, definitions) or _mentions_clock(right, definitions)):
        return True
    if isinstance(operator, (ast.Gt, ast.GtE)) and isinstance(right, ast.Constant) and rare(left, True, definitions, 8):
        return True  # ``args.verbose > 1``
    if isinstance(operator, (ast.Lt, ast.LtE)) and _counts_steps(left) and (_is_few(right) or _is_start(right)):
        return True
    return any("best" in name.lower() for side in (left, right) for name in _names(side))


def _is_few(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= _FEW_STEPS


def _is_start(node: ast.expr) -> bool:
    """Whether a limit is where the usual steps begin: ``args.skip_batches``, ``warmup_steps``."""
    name = dotted(node) or _key(node) or ""
    return bool(_START.search(name.rpartition(".")[2]))


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
    node = (_written(definitions).get(name) if name else None) or node
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and not isinstance(node.left, (ast.Constant, ast.JoinedStr))
    ):
        return node
    return None


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


def _counts_steps(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return False
    return any(_STEP.search(name) and not _NO_STEP.search(name) for name in _names(node))


def _is_length(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and dotted(node.func) == "len") or (
        isinstance(node, ast.Attribute) and node.attr == "size"
    )


def _mentions_clock(node: ast.expr, definitions: Definitions, depth: int = 0) -> bool:
    """Whether an expression is worked out from the time of day, also through a name that holds it."""
    definitions = _written(definitions)
    for item in walk(node):
        if isinstance(item, ast.Call) and dotted(item.func) in _CLOCKS:
            return True
        held = definitions.get(item.id) if isinstance(item, ast.Name) and depth < 3 else None
        if held is not None and _mentions_clock(held, definitions, depth + 1):
            return True
    return False


def _rare_call(test: ast.Call, value: bool, depth: int = 0) -> bool:
    if depth > 8:
        return False
    name = dotted(test.func) or (test.func.attr if isinstance(test.func, ast.Attribute) else "")
    last = name.rpartition(".")[2]
    if last in ("isfinite",) or name.endswith("os.path.exists") or last in ("is_file", "isfile"):
        return not value  # what is made when it is missing is made once
    if last in ("isnan", "isinf"):
        return value
    if last in ("any", "all", "item", "numpy", "bool") and isinstance(test.func, ast.Attribute):
        inner = test.func.value
        return isinstance(inner, ast.Call) and _rare_call(inner, value, depth + 1)
    if last == "any" and test.args and isinstance(test.args[0], (ast.Name, ast.Attribute)):
        return not value  # nothing is there at all
    if last in ("any", "all", "bool") and test.args and isinstance(test.args[0], ast.Call):
        return _rare_call(test.args[0], value, depth + 1)
    if last in ("get", "getenv") and test.args and isinstance(test.args[0], ast.Constant):
        return value and bool(_FLAGS.search(str(test.args[0].value)))
    return value and (bool(_FLAGS.search(last)) or last == "isEnabledFor")


def _names(node: ast.expr) -> list[str]:
    found = []
    for item in walk(node):
        if isinstance(item, ast.Name):
            found.append(item.id)
        elif isinstance(item, ast.Attribute):
            found.append(item.attr)
    return found
