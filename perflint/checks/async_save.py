"""The fix for a checkpoint each epoch: hand a snapshot to Paddle's writer thread, and wait for it at the end."""

from __future__ import annotations

import ast
import re

import libcst as cst

from perflint.checks.edits import insert_argument, insert_row_after_loop
from perflint.context import Context, local_name
from perflint.findings import Edit, Fix, Level
from perflint.index.kinds import LAYER_TAG
from perflint.index.scopes import Loop
from perflint.index.tree import walk

_TITLE = "save a snapshot in the background, and wait for the writer after the loop"
_REASON = (
    "the snapshot takes the model's size in memory once more, an error while writing is not raised,"
    " and the file is complete only after clear_async_save_task_queue()"
)
_UNKNOWN_REASON = "only a model's own state_dict() can be copied and written later without risk"
_MODEL = re.compile(r"(model|net|network|layer|generator|discriminator|student|teacher|backbone)\w*$", re.IGNORECASE)
_OPTIMIZER = re.compile(r"opt|sched|scaler", re.IGNORECASE)


def fix(call: cst.Call, loop: Loop, context: Context) -> Fix:
    """``paddle.save(model.state_dict(), path)`` to ``paddle.async_save`` of a clone, flushed after the loop."""
    model = _model(call, context)
    if model is None or _reads_back(loop) or not isinstance(context.statement, cst.Expr):
        return Fix(_TITLE, (Edit(*context.range(call.func), "paddle.async_save"),), Level.DISPLAY, _UNKNOWN_REASON)
    paddle, imports = _paddle(call, context)
    edits = [
        Edit(*context.range(call.func), f"{paddle}.async_save"),
        Edit(*context.range(call.args[0].value), f"{{k: v.clone() for k, v in {model}.state_dict().items()}}"),
        insert_row_after_loop(context.file.source, loop, f"{paddle}.clear_async_save_task_queue()"),
    ]
    if not _path_changes(call, loop, context):
        # Two writers on one path would tear the file: let each wait for the one before it.
        edits += insert_argument(call, "sync_other_task=True", context)
    return Fix(_TITLE, tuple(sorted(edits)), Level.UNSAFE, _REASON, imports)


def _path_changes(call: cst.Call, loop: Loop, context: Context) -> bool:
    """Whether the path names something that the loop counts or makes anew in each round."""
    bound = {item.id for item in walk(loop) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    named: set[str] = set()
    for argument in call.args[1:]:
        expression = context.expression(argument.value)
        if expression is not None:
            named |= {item.id for item in walk(expression) if isinstance(item, ast.Name)}
    return bool(named & bound)


def _model(call: cst.Call, context: Context) -> str | None:
    if not call.args or call.args[0].star or (call.args[0].keyword and call.args[0].keyword.value != "obj"):
        return None
    state = call.args[0].value
    if not isinstance(state, cst.Call) or state.args or not isinstance(state.func, cst.Attribute):
        return None
    if state.func.attr.value != "state_dict":
        return None
    name = local_name(state.func.value)
    last = name.rpartition(".")[2]
    if not name or _OPTIMIZER.search(last):
        return None
    return name if context.kind(state.func.value).tag == LAYER_TAG or _MODEL.search(last) else None


def _paddle(call: cst.Call, context: Context) -> tuple[str, tuple[str, ...]]:
    """The name Paddle goes by in this file, and the import it takes where there is none."""
    prefix, _, last = local_name(call.func).rpartition(".")
    if last == "save" and context.file.names.resolve(prefix) == "paddle":
        return prefix, ()
    return "paddle", ("import paddle",)


def _reads_back(loop: Loop) -> bool:
    """Whether the loop reads, moves or removes files, which the writer may still be at."""
    names = {"load", "set_state_dict_from", "copy", "copyfile", "move", "rename", "remove", "replace"}
    return any(isinstance(item, ast.Attribute) and item.attr in names for item in walk(loop))
