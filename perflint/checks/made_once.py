"""PPF205 shown as code: the same tensor made once, above the loop or as a buffer of the layer."""

from __future__ import annotations

import ast
import re

import libcst as cst

from perflint.checks.edits import indentation, insert_row_after
from perflint.dataflow.sizes import is_super_init
from perflint.dataflow.values import Values
from perflint.findings import Edit
from perflint.lint.context import Context
from perflint.syntax.names import dotted, plain_names, stored_names
from perflint.syntax.scopes import FUNCTIONS, terminal
from perflint.syntax.tree import walk
from perflint.training.steps import Point


def made_once(call: cst.Call, context: Context) -> list[Edit]:
    """The edits that make the tensor of a call only once; none where there is no certain place for it.

    ``x - paddle.to_tensor([0.5, 0.25])`` in a loop: the call goes above the loop, under a name.  In a forward pass it
    becomes ``self.register_buffer("constant_tensor", ..., persistable=False)`` in ``__init__``: a buffer that is part
    of the state would add a key to every checkpoint, and old ones would lack it.
    """
    point, text = context.here, context.text(call)
    if "\n" in text:
        return []
    name = _new_name(call, point, context)
    if point.step is not None and point.step.forward:
        return _as_buffer(call, text, name, point, context)
    if point.loop is None:
        return []
    source = context.file.source
    at = source.lines.line_start(point.loop.lineno)
    line = f"{indentation(source, point.loop.lineno)}{name} = {text}{source.newline}"
    return [Edit(at, at, line), Edit(*context.range(call), name)]


def _as_buffer(call: cst.Call, text: str, name: str, point: Point, context: Context) -> list[Edit]:
    source = context.file.source
    made = _super_init(point)
    if made is None or not _is_global(call, context):
        return []
    last = made.end_lineno or made.lineno
    after = source.text[source.lines.span(made)[1] : source.lines.line_end(last)]
    if after.strip() and not after.lstrip().startswith("#"):
        return []
    row = f'{indentation(source, made.lineno)}self.register_buffer("{name}", {text}, persistable=False)'
    return [insert_row_after(source, last, row), Edit(*context.range(call), f"self.{name}")]


def _super_init(point: Point) -> ast.stmt | None:
    """The statement of ``__init__`` that readies the layer: only after it may a buffer be registered."""
    owner = point.scope.owner
    init = owner.methods.get("__init__") if owner is not None else None
    if owner is None or init is None or not isinstance(init.node, FUNCTIONS) or not _is_method(point):
        return None
    for statement in init.node.body:
        called = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(called, ast.Call):
            continue
        of_base = terminal(called) == "__init__" and dotted(called.args[0]) == "self" if called.args else False
        if is_super_init(called) or of_base:  # ``nn.Layer.__init__(self)``
            return statement
    return None


def _is_method(point: Point) -> bool:
    """Whether ``self`` is the layer where the call stands."""
    node = point.scope.node
    arguments = [] if isinstance(node, ast.Module) else [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg == "self"


def _is_global(call: cst.Call, context: Context) -> bool:
    """Whether all names in a call mean the same in ``__init__``: they are imported, or bound in the module once."""
    expression, point = context.expression(call), context.here
    if expression is None:
        return False
    file, module = context.file, context.file.scopes.module
    local = {name for item in walk(point.scope.node) if (name := getattr(item, "arg", None))}
    local |= stored_names(point.scope.node)
    once = Values.of(file.project).definitions(file, module)
    names = plain_names(expression)
    return all(name not in local and (file.names.is_bound(name) or name in once) for name in names)


def _new_name(call: cst.Call, point: Point, context: Context) -> str:
    words = re.findall(r"[A-Za-z_]\w*", context.text(call.args[0].value))
    base = words[-1].lower().strip("_") if words else "constant"
    name = f"{base}_tensor"
    owner = point.scope.owner
    taken = {*context.file.identifiers, *(owner.attributes if owner is not None else ()), *(context.file.words)}
    while name in taken:
        name += "_"
    return name
