"""The fix for a checkpoint each epoch: hand a snapshot to Paddle's writer thread, and wait for it at the end.

What `paddle.async_save` does is settled by running it: `tests/test_async_save.py`.  It came with Paddle 2.6.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.edits import indentation, insert_argument, insert_row_after_loop
from perflint.findings import Edit, Fix, Level
from perflint.index.kinds import LAYER_TAG
from perflint.lint.context import Context, local_name
from perflint.syntax.names import dotted
from perflint.syntax.scopes import FUNCTIONS, TRIES, Loop
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import means_model

_TITLE = "save a snapshot in the background, and wait for the writer after the loop"
_REASON = (
    "the snapshot takes the model's size in memory once more (on a GPU build in host memory), an error while writing"
    " is not raised, and the file is complete only after clear_async_save_task_queue()"
)
_NO_MODEL = "only a model's own state_dict() can be copied and written later without risk"
_NO_STATEMENT = "it is part of a larger expression"
_SETTINGS = "paddle.async_save takes the object, the path and the protocol, and no other setting"
_USED_AGAIN = "the loop uses the file again, which may not be complete by then"
_LEFT_EARLY = "the loop can be left without waiting for the writer"
_CAUGHT = "an error while writing would no longer reach the `except` around it"
_PARAMETERS = ("obj", "path", "protocol")
_READS = frozenset(
    {"load", "set_state_dict_from", "copy", "copy2", "copyfile", "copytree", "move", "rename", "remove", "replace"}
    | {"unlink", "link", "symlink", "rmtree", "upload", "upload_file", "exists", "isfile", "getsize", "stat"}
)
# Calls that may name the path beside the save: they show it, or make the directory it lies in.
_HARMLESS = frozenset(
    {"print", "info", "debug", "warning", "error", "log", "write", "format", "append"}
    | {"dirname", "basename", "makedirs", "mkdir", "isdir"}
)
_WIDTH = 88
_SINCE = "2.6"
"""The first Paddle with ``paddle.async_save``: its wheel of 2.6.2 has it, as a function of ``paddle.framework.io``."""


def fix(call: cst.Call, loop: Loop, context: Context) -> Fix:
    """``paddle.save(model.state_dict(), path)`` to ``paddle.async_save`` of a snapshot, flushed after the loop."""
    model = _model(call, context)
    reason = _NO_MODEL if model is None else _why_not(call, loop, context)
    if model is None or reason:
        return Fix(_TITLE, (), Level.DISPLAY, reason)
    paddle, imports = _paddle(call, context)
    # A GPU build copies each tensor to pinned memory before it goes on; any other build copies nothing.
    snapshot = (
        f"k: v if {paddle}.is_compiled_with_cuda() else v.clone()",
        f"for k, v in {model}.state_dict().items()",
    )
    edits = [
        *_call_edits(call, f"{paddle}.async_save", snapshot, context),
        insert_row_after_loop(context.file.source, loop, f"{paddle}.clear_async_save_task_queue()"),
    ]
    return Fix(_TITLE, tuple(sorted(edits)), Level.UNSAFE, _REASON, imports, _SINCE)


def _call_edits(call: cst.Call, name: str, snapshot: tuple[str, str], context: Context) -> list[Edit]:
    """The new call: its arguments on rows of their own, or as they stood where they stood on several rows already.

    ``sync_other_task=True`` lets each save wait for the one before it: else two threads may write one file at a time,
    and snapshots pile up where the disk is slower than an epoch.
    """
    element, source = snapshot
    lines = context.file.source.lines
    start, end = context.range(call)
    first = lines.position(start)[0]
    if first != lines.position(end)[0]:
        return [
            Edit(*context.range(call.func), name),
            Edit(*context.range(call.args[0].value), f"{{{element} {source}}}"),
            *insert_argument(call, "sync_other_task=True", context),
        ]
    outer = indentation(context.file.source, first)
    inner = outer + ("\t" if outer.startswith("\t") else "    ")
    own = f"{call.args[0].keyword.value}=" if call.args[0].keyword else ""
    rows = [f"{own}{{{element} {source}}}"]
    if len(inner) + len(rows[0]) >= _WIDTH:
        deeper = inner + inner[len(outer) :]
        rows = [f"{own}{{", *(f"{deeper[len(inner) :]}{part}" for part in snapshot), "}"]
    rows[-1] += ","
    rows += [f"{_plain(argument, context)}," for argument in call.args[1:]]
    rows.append("sync_other_task=True,")
    newline = context.file.source.newline
    return [Edit(start, end, f"{name}({newline}" + "".join(f"{inner}{row}{newline}" for row in rows) + f"{outer})")]


def _plain(argument: cst.Arg, context: Context) -> str:
    value = context.text(argument.value)
    value = f"({value})" if argument.value.lpar else value
    return f"{argument.keyword.value}={value}" if argument.keyword else value


def _why_not(call: cst.Call, loop: Loop, context: Context) -> str:
    """Why the snapshot of a model cannot be written later all the same, ``""`` where it can."""
    if not isinstance(context.statement, cst.Expr):
        return _NO_STATEMENT
    if not _is_plain(call):
        return _SETTINGS
    if loop.orelse or any(isinstance(item, ast.Return) for item in _own(loop)):
        return _LEFT_EARLY
    if _is_caught(loop, context):
        return _CAUGHT
    return _USED_AGAIN if _file_is_used_again(call, loop, context) else ""


def _is_plain(call: cst.Call) -> bool:
    names = [argument.keyword.value if argument.keyword else "" for argument in call.args]
    return not any(argument.star for argument in call.args) and all(name in ("", *_PARAMETERS) for name in names)


def _is_caught(loop: Loop, context: Context) -> bool:
    """Whether an `except` stands between the save and its loop."""
    statement = context.ast_statement
    for link in statement.around if statement is not None else ():
        if link.node is loop:
            return False
        if isinstance(link.node, TRIES) and link.branch == "body" and link.node.handlers:
            return True
    return False


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, without the bodies of functions defined there."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        if not isinstance(item, (*FUNCTIONS, ast.Lambda)):
            stack.extend(children(item))


def _file_is_used_again(call: cst.Call, loop: Loop, context: Context) -> bool:
    """Whether the loop reads, moves or removes files, or hands the path to something that may."""
    path = context.expression(call.args[1].value) if len(call.args) > 1 else None
    start, span = context.range(call)[0], context.file.source.lines.span
    saves = [item for item in walk(loop) if isinstance(item, ast.Call) and span(item)[0] == start]
    own = {id(item) for save in saves for item in walk(save)}
    harmless: set[int] = set()
    for item in walk(loop):
        if isinstance(item, ast.Call):
            last = str(getattr(item.func, "attr", None) or dotted(item.func))
            if last in _READS:
                return True
            if last in _HARMLESS:
                harmless |= {id(part) for part in walk(item)}
    wanted = ast.dump(path) if path is not None else ""
    return any(
        id(item) not in own | harmless and isinstance(item, ast.expr) and ast.dump(item) == wanted
        for item in walk(loop)
    )


def _model(call: cst.Call, context: Context) -> str | None:
    if not call.args or call.args[0].star or (call.args[0].keyword and call.args[0].keyword.value != "obj"):
        return None
    state = call.args[0].value
    if not isinstance(state, cst.Call) or state.args or not isinstance(state.func, cst.Attribute):
        return None
    if state.func.attr.value != "state_dict":
        return None
    name = local_name(state.func.value)
    is_model = context.kind(state.func.value).tag == LAYER_TAG or means_model(name.rpartition(".")[2])
    return name if is_model and name else None


def _paddle(call: cst.Call, context: Context) -> tuple[str, tuple[str, ...]]:
    """The name Paddle goes by in this file, and the import it takes where there is none."""
    prefix, _, last = local_name(call.func).rpartition(".")
    if last == "save" and context.file.names.resolve(prefix) == "paddle":
        return prefix, ()
    return "paddle", ("import paddle",)
