"""PPF403: a checkpoint that every process of a distributed program writes."""

from __future__ import annotations

import ast
from itertools import dropwhile, takewhile

import libcst as cst

from perflint.facts.ranks import SAVES, EveryRank, every_rank_in
from perflint.facts.saves import PATH_POSITION, uses_a_checkpoint
from perflint.findings import Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context, local_name, method_of
from perflint.lint.registry import check, row_gate
from perflint.lint.walk import children
from perflint.rules.arguments import find_argument
from perflint.rules.edits import block_and_line, call_in
from perflint.rules.guard import guard_edits
from perflint.rules.spelled import spelling
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import walk

CODE = "PPF403"
_TITLE = "save only on rank 0"
_REASON = (
    "the other ranks no longer write or wait: they need a barrier before they read the file; on several "
    "machines only the first has the file"
)
_READ_BACK = "line {line} reads the file, on all ranks: they have to wait for rank 0 there, at a barrier"
_BY_HAND = "where the rank is known, and what else belongs under the test, is for you to decide"
_TOGETHER = "what it saves is computed by a call that may need all ranks: make that call before the test of the rank"
_OLD = "put it under a test of the rank that this release of Paddle has"
_SAVING = frozenset(name.rpartition(".")[2] for name in SAVES)
# Calls that do not communicate with other ranks, so that one rank may do them alone.
_LOCAL = frozenset({"state_dict", "join", "format", "str", "int", "default_main_program", "strftime", "parameters"})


@row_gate(CODE)
def _rows(file: FileIndex) -> list[int]:
    return [found.line for found in every_rank_in(file).values()]


@check("Call")
def save_on_every_rank(call: cst.Call, context: Context) -> None:
    """Report a save without a rank test, in a program that runs on several cards."""
    name = context.name(call.func)
    if name not in SAVES or (context.step is not None and name != "paddle.async_save"):
        return  # at each step, PPF401 comes first (it ignores saves in the background)
    found = every_rank_in(context.file).get(context.range(call)[0])
    if found is None:
        return
    path = context.file.path
    related = [Related(*found.start, "the program becomes distributed here")]
    related += [Related(*place, "called here by every rank") for place in found.via]
    started, line = found.start
    context.report(
        CODE,
        call,
        _fix(call, found, context),
        related=tuple(related),
        confidence=found.confidence,
        claims=False,
        start=f"line {line}" if started == path else f"{started}:{line}",
        others=f" (and {found.more} more here)" if found.more else "",
    )


def _fix(call: cst.Call, found: EveryRank, context: Context) -> Fix:
    """The save, and those that follow it directly, under ``if paddle.distributed.get_rank() == 0:``."""
    if _is_old(local_name(call.func), context):
        return Fix(_TITLE, (), Level.DISPLAY, _OLD)
    place = block_and_line(context)
    if place is None:
        return Fix(_TITLE, (), Level.DISPLAY, _BY_HAND)
    block, line = place
    following = dropwhile(lambda row: row is not line, block.body)
    run = list(takewhile(lambda row: _save_in(row, context) is not None, following))
    saves = [save for row in run if (save := _save_in(row, context)) is not None]
    if not saves or not all(map(_is_local, saves)):
        return Fix(_TITLE, (), Level.DISPLAY, _TOGETHER)
    reader = _reader(call, saves, context)
    if reader:
        return Fix(_TITLE, (), Level.DISPLAY, _READ_BACK.format(line=reader))
    here = _in_index(call, context)
    spelled = spelling("paddle", here[1].node, context.file) if here is not None else None
    if spelled is None:
        return Fix(_TITLE, (), Level.DISPLAY, _BY_HAND)
    edits = guard_edits((run[0], run[-1]), f"if {spelled.name}.distributed.get_rank() == 0:", context)
    if len(run) - 1 != found.more:
        return Fix(_TITLE, tuple(edits), Level.DISPLAY, _BY_HAND, spelled.imports)
    return spelled.trusted(Fix(_TITLE, tuple(edits), Level.UNSAFE, _REASON, spelled.imports))


def _reader(save: cst.Call, run: list[cst.Call], context: Context) -> int:
    """The row that loads or copies one of the files after some saves, in the same function; 0 if none does.

    ``shutil.copytree(folder, latest)`` copies the file that was saved to ``os.path.join(folder, "model.pdparams")``.
    """
    file = context.file
    arguments = (_path_of(each) for each in run)
    written = (context.expression(argument.value) for argument in arguments if argument is not None)
    known = [path for path in written if path is not None]
    paths = set(map(ast.unparse, known))
    here = _in_index(save, context)
    if here is None:
        return 0
    folders = {name for path in known for name in _parts_of(path)}
    scope, at = here[0], here[1]
    handed = scope.once("handed", lambda: _handed(scope))
    using = sorted(
        (call.lineno, call.col_offset)
        for text in paths | folders
        for statement, call in handed.get(text, ())
        if (statement.loop is not None and statement.loop is at.loop) or statement.node.lineno > at.node.lineno
        if uses_a_checkpoint(file, call)
    )
    return using[0][0] if using else 0


def _in_index(save: cst.Call, context: Context) -> tuple[Scope, Statement, ast.Call] | None:
    """A save in the tree of the index, with its statement."""
    file, start = context.file, context.range(save)[0]
    saves = file.calls_named(local_name(save.func).rpartition(".")[2])
    return next((item for item in saves if file.source.lines.span(item[2])[0] == start), None)


def _handed(scope: Scope) -> dict[str, list[tuple[Statement, ast.Call]]]:
    """The calls of a function except for saves, by the text of each argument."""
    found: dict[str, list[tuple[Statement, ast.Call]]] = {}
    for statement in scope.statements:
        for call in statement.calls:
            if terminal(call) not in _SAVING:
                for text in {ast.unparse(argument) for argument in arguments_of(call)}:
                    found.setdefault(text, []).append((statement, call))
    return found


def _path_of(save: cst.Call) -> cst.Arg | None:
    """The path that a save writes to: ``model_path`` is what ``paddle.static.save`` calls it."""
    return find_argument(save, "model_path", None) or find_argument(save, "path", PATH_POSITION)


def _parts_of(path: ast.expr) -> set[str]:
    """The names in an expression, as source text: ``args.out`` and ``step`` in ``f"{args.out}/{step}"``."""
    names = {name for item in walk(path) if (name := dotted(item)) is not None}
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _is_old(name: str, context: Context) -> bool:
    """Whether a save is for a release without ``paddle.distributed``."""
    first = context.file.names.resolve(name.partition(".")[0])
    return "fluid" in name or name.endswith("save_dygraph") or first.startswith("paddle.fluid")


def _save_in(row: cst.BaseStatement, context: Context) -> cst.Call | None:
    """The save that a row consists of."""
    call = call_in(row)
    return call if call is not None and context.name(call.func) in SAVES else None


def _is_local(save: cst.Call) -> bool:
    """Whether the arguments of a save call nothing that might wait for the other ranks."""
    stack: list[cst.CSTNode] = [argument.value for argument in save.args]
    while stack:
        item = stack.pop()
        if isinstance(item, cst.NamedExpr):
            return False  # the other ranks would lack the name
        if isinstance(item, cst.Call) and (method_of(item) or local_name(item.func)) not in _LOCAL:
            return False
        stack.extend(children(item))
    return True
