"""The fixes of PPF205: `paddle.full` for a constant; all others are only shown, such as creating a tensor once."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts import origin as origins
from perflint.findings import Edits, Fix, Level
from perflint.flow.values import Values
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.rules.edits import (
    block_of,
    has_own_rows,
    indentation,
    insert_row_above,
    insert_row_after,
    source_of,
    whole_rows,
)
from perflint.syntax.names import dotted, plain_names, stored_names, super_method
from perflint.syntax.parameters import argument_of, arguments_of, is_spread
from perflint.syntax.scopes import FUNCTIONS, terminal
from perflint.syntax.tree import walk
from perflint.text.source import spans_rows
from perflint.training.steps import Point

FILLED, RANGE, CHANGED, SAME_NUMBER, OPERAND = "filled", "range", "changed", "same number", "operand"
"""The advice if the origin of the data alone does not decide it."""

ADVISED = frozenset({FILLED, RANGE, CHANGED, SAME_NUMBER, OPERAND, origins.INVARIANT})

RULE = shipped()["PPF205"]
_SMALLEST = 1e-6
_NO_DIMENSIONS = "2.5"
"""The release that introduced tensors without dimensions: before it ``to_tensor(0.5)`` has the shape [1]."""

_SAYS_DTYPE = re.compile(r"\bdtype\s*=|\bastype\b")
_DTYPE = re.compile(r"""("|')(bool|uint8|int8|int16|int32|int64|float16|bfloat16|float32|float64)\1""")


def fix(call: ast.Call, data: ast.expr, kind: str, context: Context) -> Fix:
    """The fix for a call whose argument has this origin."""
    if kind == origins.LITERAL:
        filled = _full(call, data, context)
        if filled is not None:
            return filled
    if kind == origins.MADE and _SAYS_DTYPE.search(context.text(call)):
        return RULE.words("made with a dtype")
    if kind == origins.LITERAL and _wants_gradient(call, context):
        return RULE.words("literal with a gradient")
    return replace(RULE.words(kind), edits=_shown_edits(call, data, kind, context))


def _shown_edits(call: ast.Call, data: ast.expr, kind: str, context: Context) -> Edits:
    """The edits that are shown for a call, because the user has to check something; often none."""
    if kind == origins.INVARIANT:
        return _made_once(call, context)
    if kind in ("copy", "cast"):
        text = _as_it_is(call, data, context)
        return _without_the_row(call, text, context) or context.instead(call, text)
    if kind == origins.NUMBER and _meets_a_tensor(call, context):
        return context.instead(call, context.text(data))
    return ()


def _full(call: ast.Call, data: ast.expr, context: Context) -> Fix | None:
    """``paddle.to_tensor(0.5)`` as ``paddle.full([], 0.5)``: the same bits, and nothing to copy."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to_tensor":
        return None
    if context.name(call.func.value) != "paddle" or "#" in context.text(call) or not _is_plain(call, context):
        return None
    shape = _uniform(data, context)
    if shape is None:
        return None
    value, sizes, text = shape
    dtype = _dtype(call, value, context)
    if dtype is None:
        return None
    arguments = [f"[{', '.join(map(str, sizes))}]", text, *([dtype] if dtype else [])]
    edits = context.instead(call, f"{context.text(call.func.value)}.full({', '.join(arguments)})")
    if not edits:
        return None
    may_be_half = bool(dtype) and ("float16" in dtype or not _DTYPE.fullmatch(dtype)) and "bfloat16" not in dtype
    rounds = may_be_half and 0 < abs(value) < _SMALLEST
    level, reason = (Level.UNSAFE, RULE.texts["half"]) if rounds else (Level.SAFE, "")
    fix, since = RULE.words(origins.LITERAL), "" if sizes else _NO_DIMENSIONS
    return replace(fix, edits=edits, level=level, reason=reason, paddle=since)


def _is_plain(call: ast.Call, context: Context) -> bool:
    """Whether a call has only arguments that ``paddle.full`` has, too."""
    named = {keyword.arg: context.text(keyword.value) for keyword in call.keywords}
    if named.pop("stop_gradient", "True") != "True" or is_spread(call):
        return False
    return len(call.args) <= 2 and named.keys() <= {"data", "dtype"}


def _wants_gradient(call: ast.Call, context: Context) -> bool:
    """Whether a tensor is created with a gradient, which ``paddle.full`` cannot do."""
    argument = argument_of(call, "stop_gradient", 3)
    return argument is not None and context.text(argument) != "True"


def _dtype(call: ast.Call, value: float, context: Context) -> str | None:
    """The dtype to write: ``""`` for the default one, None if the argument is unknown."""
    argument = argument_of(call, "dtype", 1)
    if argument is None or context.text(argument) == "None":
        return '"bool"' if isinstance(value, bool) else '"int64"' if isinstance(value, int) else ""
    text = context.text(argument)
    name = context.name(argument)
    known = _DTYPE.fullmatch(text) or _DTYPE.fullmatch(f'"{name.removeprefix("paddle.")}"')
    return text if known or _is_dtype_of_a_tensor(argument, context) else None


def _is_dtype_of_a_tensor(node: ast.expr, context: Context) -> bool:
    """Whether this is ``x.dtype``: anything else may be None, or a dtype that ``paddle.full`` does not fill."""
    return isinstance(node, ast.Attribute) and node.attr == "dtype" and context.kind(node.value).is_tensor


def _uniform(node: ast.expr, context: Context) -> tuple[float, list[int], str] | None:
    """The one value of a literal, its shape and its source; None if the values differ."""
    if isinstance(node, (ast.List, ast.Tuple)):
        parts = [_uniform(part, context) for part in node.elts]
        first = parts[0] if parts else None
        if first is None or any(part is None or part[1:] != first[1:] for part in parts):
            return None
        return first[0], [len(parts), *first[1]], first[2]
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    if not isinstance(value, (bool, int, float)) or (isinstance(value, int) and abs(value) >= 2**63):
        return None
    return value, [], context.text(node)


def _meets_a_tensor(call: ast.Call, context: Context) -> bool:
    """Whether a call is one operand of an operation with a tensor, so that a number works as well."""
    parent = context.parent(call)
    if not isinstance(parent, ast.BinOp):
        return False
    kind = context.kind(parent.right if call is parent.left else parent.left)
    return kind.is_tensor and not kind.guess


def _as_it_is(call: ast.Call, data: ast.expr, context: Context) -> str:
    dtype = argument_of(call, "dtype", 1)
    source = source_of(data, context)
    return source if dtype is None else f"{source}.astype({context.text(dtype)})"


def _without_the_row(call: ast.Call, text: str, context: Context) -> Edits:
    """The edits that delete ``image = paddle.to_tensor(image)``, which would otherwise become ``image = image``."""
    statement = context.statement
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return ()
    if context.text(statement.targets[0]) != text or not has_own_rows(statement, context.file.source):
        return ()
    if len(block_of(context.here.statement, context.here.scope)) < 2:
        return ()
    start, end = context.range(statement)
    return () if "#" in context.file.source.text[start:end] else (whole_rows(start, end, context.file.source),)


def _made_once(call: ast.Call, context: Context) -> Edits:
    """The edits that create the tensor of a call only once; none if there is no certain place for it.

    ``x - paddle.to_tensor([0.5, 0.25])`` in a loop: the call is moved above the loop, and gets a name. In a forward
    pass it becomes ``self.register_buffer("constant_tensor", ..., persistable=False)`` in ``__init__``: a buffer that
    is part of the state would add a key to every checkpoint, and old ones would lack it.
    """
    point, text = context.here, context.text(call)
    if spans_rows(text):
        return ()
    name = _new_name(call, point, context)
    if point.step is not None and point.step.forward:
        return _as_buffer(call, text, name, point, context)
    if point.loop is None:
        return ()
    return insert_row_above(context.file.source, point.loop, f"{name} = {text}"), *context.instead(call, name)


def _as_buffer(call: ast.Call, text: str, name: str, point: Point, context: Context) -> Edits:
    source = context.file.source
    made = _super_init(point)
    if made is None or not _is_global(call, context):
        return ()
    last = made.end_lineno or made.lineno
    after = source.text[source.lines.span(made)[1] : source.lines.line_end(last)]
    if after.strip() and not after.lstrip().startswith("#"):
        return ()
    row = f'{indentation(source, made.lineno)}self.register_buffer("{name}", {text}, persistable=False)'
    return insert_row_after(source, last, row), *context.instead(call, f"self.{name}")


def _super_init(point: Point) -> ast.stmt | None:
    """The statement of ``__init__`` that calls that of the base class: a buffer may only be registered after it."""
    owner = point.scope.owner
    init = owner.methods.get("__init__") if owner is not None else None
    if owner is None or init is None or not isinstance(init.node, FUNCTIONS) or not _is_method(point):
        return None
    for statement in init.node.body:
        called = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(called, ast.Call):
            continue
        of_base = terminal(called) == "__init__" and dotted(called.args[0]) == "self" if called.args else False
        if super_method(called) == "__init__" or of_base:  # ``nn.Layer.__init__(self)``
            return statement
    return None


def _is_method(point: Point) -> bool:
    """Whether ``self`` is the layer at the call."""
    node = point.scope.node
    arguments = [] if isinstance(node, ast.Module) else [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg == "self"


def _is_global(expression: ast.Call, context: Context) -> bool:
    """Whether all names in a call mean the same in ``__init__``: they are imported, or bound in the module once."""
    point = context.here
    file, module = context.file, context.file.scopes.module
    local = {name for item in walk(point.scope.node) if (name := getattr(item, "arg", None))}
    local |= stored_names(point.scope.node)
    once = Values.of(file.project).definitions(Place(file, module))
    names = plain_names(expression)
    return all(name not in local and (file.names.is_bound(name) or name in once) for name in names)


def _new_name(call: ast.Call, point: Point, context: Context) -> str:
    words = re.findall(r"[A-Za-z_]\w*", context.text(arguments_of(call)[0]))
    base = words[-1].lower().strip("_") if words else "constant"
    name = f"{base}_tensor"
    owner = point.scope.owner
    taken = {*context.file.identifiers, *(owner.attributes if owner is not None else ()), *(context.file.words)}
    while name in taken:
        name += "_"
    return name
