"""PPF401 and PPF402: checkpoints that the training loop waits for, at steps or after each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from perflint.catalogue import shipped
from perflint.facts.periodic import loop_of
from perflint.facts.programs import imports_fluid
from perflint.facts.saves import PeriodicSave, periodic_saves, uses_a_checkpoint, writes_memory
from perflint.findings import Fix, Level, Related
from perflint.flow.calls import CallGraph
from perflint.index.kinds import LAYER_TAG
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, named, rule
from perflint.paddle.inside import MODEL_SAVE, SAVES
from perflint.rules import guard
from perflint.rules.arguments import declaration
from perflint.rules.edits import WithArgument, indentation, insert_row_after_loop, one_level
from perflint.rules.every_rank import every_rank_in
from perflint.rules.spelled import spelling
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of, arguments_of, is_spread
from perflint.syntax.scopes import LOOPS, TRIES, Loop, terminal
from perflint.syntax.tree import alike, calls_in, string_of, walk
from perflint.syntax.vocabulary import means_model

# The fix for a checkpoint each epoch: pass a snapshot to Paddle's writer thread, and wait for it at the end.
#
# The behaviour of `paddle.async_save` is tested by running it: `tests/test_async_save.py`. It came with Paddle 2.6.

IN_STEP, EACH_EPOCH = shipped()["PPF401"], shipped()["PPF402"]
_PARAMETERS = frozenset({"obj", "path", "protocol"})
_READS = frozenset(
    {"load", "set_state_dict_from", "copy", "copy2", "copyfile", "copytree", "move", "rename", "remove", "replace"}
    | {"unlink", "link", "symlink", "rmtree", "upload", "upload_file", "exists", "isfile", "getsize", "stat"}
)
# Calls that may name the path next to the save: they print it, or create its directory.
_HARMLESS = frozenset(
    {"print", "info", "debug", "warning", "error", "log", "write", "format", "append"}
    | {"dirname", "basename", "makedirs", "mkdir", "isdir"}
)
_BUILDS_PATHS = frozenset({"join", "save", "save_pretrained"})
_WIDTH = 88
_SINCE = "2.6"
"""The first Paddle with ``paddle.async_save``: its wheel of 2.6.2 has it, as a function of ``paddle.framework.io``."""


def snapshot_fix(call: ast.Call, loop: Loop, context: Context) -> Fix:
    """``paddle.save(model.state_dict(), path)`` to ``paddle.async_save`` of a snapshot, flushed after the loop."""
    if imports_fluid(context.file):
        return EACH_EPOCH.words("in fluid")
    model, spelled = _model(call, context), spelling("paddle", context.here.statement.node, context.file)
    case = "not a model" if model is None else "name taken" if spelled is None else _why_not(call, loop, context)
    if model is None or spelled is None or case:
        return EACH_EPOCH.words(case)
    paddle = spelled.name
    # A GPU build copies each tensor to pinned memory before it continues; other builds copy nothing.
    copied = f"k: v if {paddle}.is_compiled_with_cuda() else v.clone()"
    copy, (first, last) = (copied, f"for k, v in {model}.state_dict().items()"), context.rows(call)
    indent = indentation(context.file.source, first) if first == last else None
    edits = [
        *context.edits(_InBackground(call, f"{paddle}.async_save", copy, indent)),
        insert_row_after_loop(context.file.source, loop, f"{paddle}.clear_async_save_task_queue()"),
    ]
    is_one_path = isinstance(argument_of(call, "path", 1), ast.Constant)
    reason = EACH_EPOCH.texts["reason"] + (EACH_EPOCH.texts["same path"] if is_one_path else "")
    return spelled.trusted(EACH_EPOCH.fix(sorted(edits), Level.UNSAFE, reason, _SINCE))


def periodic_fix(call: ast.Call, found: PeriodicSave, context: Context) -> Fix:
    """The same for a save every n steps; in words if its loop is in another function."""
    loop = found.loop
    if imports_fluid(context.file):
        return IN_STEP.words("in fluid")
    if loop is None:
        return IN_STEP.words("elsewhere")
    if found.more:
        return IN_STEP.words("no edit", why=IN_STEP.texts["made together"])
    around = [link.node for link in context.here.statement.around if isinstance(link.node, LOOPS)]
    made = snapshot_fix(call, around[-1] if around else loop, context)
    return made if made.edits else IN_STEP.words("no edit", why=made.reason)


class _InBackground(WithArgument):
    """The call of ``async_save`` for a copy of the state; ``indent``: that of a call whose arguments get separate rows.

    ``sync_other_task=True`` makes each save wait for the previous one: otherwise two threads may write one file at the
    same time, and snapshots pile up if the disk is slower than an epoch.
    """

    def __init__(self, call: ast.Call, name: str, copy: tuple[str, str], indent: str | None) -> None:
        super().__init__(call, "sync_other_task=True")
        self.name, self.copy, self.indent = name, copy, indent

    def leave_Call(self, call: Any, updated: Any) -> Any:
        """The other call."""
        import libcst as cst

        state, *others = super().leave_Call(call, updated).args
        copy, own = f"{{{' '.join(self.copy)}}}", f"{state.keyword.value}=" if state.keyword is not None else ""
        if self.indent is not None:
            inner = self.indent + one_level(self.indent)
            if len(inner + own + copy) >= _WIDTH:
                copy = "\n".join(["{", *(inner + one_level(self.indent) + part for part in self.copy), f"{inner}}}"])
            indents = (inner, *(inner for _ in others), self.indent)
            first, *rows = (cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(each)) for each in indents)
            pairs = zip((state, *others), rows, strict=True)
            state, *others = (each.with_changes(comma=cst.Comma(whitespace_after=row)) for each, row in pairs)
            call = call.with_changes(whitespace_before_args=first)
        args = [state.with_changes(value=self.expression(copy)), *others]
        return call.with_changes(func=self.expression(self.name), args=args)


def _why_not(call: ast.Call, loop: Loop, context: Context) -> str:
    """The case in which the snapshot of a model cannot be written later, ``""`` if it can."""
    if not isinstance(context.statement, ast.Expr):
        return "no statement"
    if is_spread(call) or not {keyword.arg for keyword in call.keywords} <= _PARAMETERS:
        return "settings"
    inside = context.here.scope.statements_in(loop)
    if loop.orelse or any(isinstance(statement.node, ast.Return) for statement in inside):
        return "left early"
    if _is_caught(loop, context):
        return "caught"
    if _file_is_used_again(call, loop) or _is_loaded_in_a_call(loop, context):
        return "used again"
    return ""


def _is_caught(loop: Loop, context: Context) -> bool:
    """Whether an `except` is between the save and its loop."""
    within = takewhile(lambda link: link.node is not loop, context.here.statement.around)
    return any(isinstance(link.node, TRIES) and link.branch == "body" and link.node.handlers for link in within)


def _file_is_used_again(call: ast.Call, loop: Loop) -> bool:
    """Whether the loop reads, moves or removes files, or passes the path to something that may."""
    given = arguments_of(call)
    path = given[1] if len(given) > 1 else None
    calls = calls_in(loop)
    if any(terminal(item) in _READS for item in calls):
        return True
    if path is None:
        return False
    unrelated = (item for item in calls if terminal(item) in _HARMLESS or item is call)
    excepted = {part for item in unrelated for part in walk(item)}
    others = (item for item in walk(loop) if item not in excepted)
    return any(alike(item, path) for item in others) or _folder_is_handed_on(path, loop, excepted)


def _folder_is_handed_on(path: ast.expr, loop: Loop, excepted: set[ast.AST]) -> bool:
    """Whether a folder that the loop creates for the file is passed to another call: ``publish(folder)``."""
    folders = set(names_in(path)) & set(_made_up_paths(loop))
    return any(
        isinstance(argument, ast.Name) and argument.id in folders
        for item in calls_in(loop)
        if item not in excepted and terminal(item) not in _BUILDS_PATHS
        for argument in arguments_of(item)
    )


def _made_up_paths(loop: Loop) -> Iterator[str]:
    """The names that a loop binds to a computed string: ``folder = os.path.join(out, f"step{step}")``."""
    for item in walk(loop):
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            value = item.value
            is_text = isinstance(value, (ast.JoinedStr, ast.BinOp)) and any(
                string_of(part) is not None for part in walk(value)
            )
            if is_text or (isinstance(value, ast.Call) and terminal(value) in ("join", "format", "Path")):
                yield item.targets[0].id


def _is_loaded_in_a_call(loop: Loop, context: Context) -> bool:
    """Whether a function that the loop calls loads, moves or uploads a file: it may be the one still written."""
    file, scope = context.file, context.here.scope
    graph = CallGraph.of(file.project)
    at, calls = Place(file, scope), (call for statement in scope.statements_in(loop) for call in statement.calls)
    waiting = [found for call in calls for found in graph.reached(at, call)]
    seen: set[Place] = set()
    for place in waiting:  # grows in the loop
        if place not in seen:
            seen.add(place)
            if any(uses_a_checkpoint(place.file, call) for call in place.scope.calls):
                return True
            waiting += (found for call in place.scope.calls for found in graph.reached(place, call))
    return False


def _model(call: ast.Call, context: Context) -> str | None:
    state = argument_of(call, "obj", 0)
    is_first = state is not None and arguments_of(call)[0] is state
    if not is_first or not isinstance(state, ast.Call) or arguments_of(state) or terminal(state) != "state_dict":
        return None
    if not isinstance(state.func, ast.Attribute):
        return None
    owner = state.func.value
    name = dotted(owner) or ""
    is_model = context.kind(owner).tag == LAYER_TAG or means_model(name.rpartition(".")[2])
    return name if is_model and name else None


# PPF401 and PPF402: checkpoints saved synchronously in the step loop, or at each epoch.

_WITH_OPTIMIZER, _PRETRAINED = "whole save", "pretrained save"
_SAVES = SAVES | {MODEL_SAVE}

_SAVE_NAMES = {name.rpartition(".")[2] for name in _SAVES} | {"save_dygraph"}


@rule(IN_STEP.code, at=At.STEP, calls=_SAVE_NAMES, declared="checkpoint_calls")
def save_in_step(call: ast.Call, context: Context) -> None:
    """Report a checkpoint written at each step."""
    is_save = context.callee(call) in _SAVES and not writes_memory(call, context.here.function)
    if is_save or declaration(call, context.settings.checkpoint_calls, context):
        context.report(guard.checkpoint_fix(context))


def _saves(file: FileIndex) -> Iterator[Candidate]:
    return (Candidate(call, found.statement.node, found) for call, found in periodic_saves(file).items())


@rule(IN_STEP.code, at=At.ANYWHERE, find=_saves)
def save_every_so_often(found: PeriodicSave, context: Context) -> None:
    """Report a checkpoint that training waits for every n steps."""
    call = context.node
    if not isinstance(call, ast.Call) or context.step is not None:
        return
    if call in every_rank_in(context.file):
        return
    step, interval = found.reached.step, found.reached.interval
    context.report(
        periodic_fix(call, found, context),
        step=step,
        event=_event(found, call),
        every=replace(interval, beside="an evaluation") if found.is_beside_evaluation else interval,
        message=IN_STEP.texts["message"],
        others=f" (and {found.more} more here)" if found.more else "",
        way="less often" if imports_fluid(context.file) else "less often or in the background",
    )


def _event(found: PeriodicSave, call: ast.Call) -> str:
    """What is saved: ``save_pretrained`` belongs to networks that are larger than most."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "save_pretrained":
        return _PRETRAINED
    return _WITH_OPTIMIZER if found.with_optimizer else ""


@rule(EACH_EPOCH.code, at=At.ANYWHERE, names=named("paddle.save", code=EACH_EPOCH.code))
def save_each_epoch(call: ast.Call, context: Context) -> None:
    """Report a checkpoint that training waits for at each epoch."""
    if context.point is None or context.step is not None or context.callee(call) != "paddle.save":
        return
    loop = loop_of(context.here.statement)
    if loop is None or writes_memory(call, context.here.function):
        return
    if call in every_rank_in(context.file):
        return  # one writer is enough: PPF403 reports that first; after that fix, this rule can report how it writes
    related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
    advice = EACH_EPOCH.texts["less often" if imports_fluid(context.file) else "in background"]
    fix = snapshot_fix(call, loop, context)
    context.report(fix, related=related, line=str(loop.lineno), advice=advice)
