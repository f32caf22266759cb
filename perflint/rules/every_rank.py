"""PPF403: a checkpoint that every process of a distributed program writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import dropwhile, takewhile

from perflint.facts.ranks import SAVES, EveryRank, every_rank_in
from perflint.facts.saves import PATH_POSITION, uses_a_checkpoint
from perflint.findings import Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, nodes_at, rule
from perflint.rules.edits import block_of, call_in, has_own_rows
from perflint.rules.guard import guard_edits
from perflint.rules.spelled import spelling
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
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


def _places(file: FileIndex) -> Iterator[Candidate]:
    known = every_rank_in(file)
    for node, statement in nodes_at(file, known):
        name = file.names.resolve(dotted(node.func) or "") if isinstance(node, ast.Call) else ""
        if name in SAVES:
            yield Candidate(node, statement, known[file.source.lines.span(node)[0]])


@rule(CODE, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def save_on_every_rank(found: EveryRank, context: Context) -> None:
    """Report a save without a rank test, in a program that runs on several cards."""
    call = context.node
    if not isinstance(call, ast.Call) or (context.step is not None and context.name(call.func) != "paddle.async_save"):
        return  # at each step, PPF401 comes first (it ignores saves in the background)
    path = context.file.path
    related = [Related(*found.start, "the program becomes distributed here")]
    related += [Related(*place, "called here by every rank") for place in found.via]
    started, line = found.start
    context.report(
        _fix(call, found, context),
        related=tuple(related),
        confidence=found.confidence,
        start=f"line {line}" if started == path else f"{started}:{line}",
        others=f" (and {found.more} more here)" if found.more else "",
    )


def _fix(call: ast.Call, found: EveryRank, context: Context) -> Fix:
    """The save, and those that follow it directly, under ``if paddle.distributed.get_rank() == 0:``."""
    if _is_old(dotted(call.func) or "", context):
        return Fix(_TITLE, (), Level.DISPLAY, _OLD)
    here = _in_index(call, context)
    if here is None or call_in(here[1].node) is None or not has_own_rows(here[1].node, context.file.source):
        return Fix(_TITLE, (), Level.DISPLAY, _BY_HAND)
    scope, statement = here
    following = dropwhile(lambda node: node is not statement.node, block_of(statement, scope))
    run = list(takewhile(lambda node: _save_in(node, context) is not None, following))
    saves = [save for node in run if (save := _save_in(node, context)) is not None]
    if not saves or not all(map(_is_local, saves)):
        return Fix(_TITLE, (), Level.DISPLAY, _TOGETHER)
    reader = _reader(saves, scope, statement, context.file)
    if reader:
        return Fix(_TITLE, (), Level.DISPLAY, _READ_BACK.format(line=reader))
    spelled = spelling("paddle", statement.node, context.file)
    if spelled is None:
        return Fix(_TITLE, (), Level.DISPLAY, _BY_HAND)
    header = f"if {spelled.name}.distributed.get_rank() == 0:"
    edits = guard_edits((run[0], run[-1]), header, scope, statement, context.file.source)
    if len(run) - 1 != found.more:
        return Fix(_TITLE, tuple(edits), Level.DISPLAY, _BY_HAND, spelled.imports)
    return spelled.trusted(Fix(_TITLE, tuple(edits), Level.UNSAFE, _REASON, spelled.imports))


def _reader(run: list[ast.Call], scope: Scope, at: Statement, file: FileIndex) -> int:
    """The row that loads or copies one of the files after some saves, in the same function; 0 if none does.

    ``shutil.copytree(folder, latest)`` copies the file that was saved to ``os.path.join(folder, "model.pdparams")``.
    """
    known = [path for path in map(_path_of, run) if path is not None]
    paths = set(map(ast.unparse, known))
    folders = {name for path in known for name in _parts_of(path)}
    handed = scope.once("handed", lambda: _handed(scope))
    using = sorted(
        (call.lineno, call.col_offset)
        for text in paths | folders
        for statement, call in handed.get(text, ())
        if (statement.loop is not None and statement.loop is at.loop) or statement.node.lineno > at.node.lineno
        if uses_a_checkpoint(file, call)
    )
    return using[0][0] if using else 0


def _in_index(save: ast.Call, context: Context) -> tuple[Scope, Statement] | None:
    """The statement of a save, and its function."""
    saves = context.file.calls_named(terminal(save) or "")
    return next(((scope, statement) for scope, statement, call in saves if call is save), None)


def _handed(scope: Scope) -> dict[str, list[tuple[Statement, ast.Call]]]:
    """The calls of a function except for saves, by the text of each argument."""
    found: dict[str, list[tuple[Statement, ast.Call]]] = {}
    for statement in scope.statements:
        for call in statement.calls:
            if terminal(call) not in _SAVING:
                for text in {ast.unparse(argument) for argument in arguments_of(call)}:
                    found.setdefault(text, []).append((statement, call))
    return found


def _path_of(save: ast.Call) -> ast.expr | None:
    """The path that a save writes to: ``model_path`` is what ``paddle.static.save`` calls it."""
    return argument_of(save, "model_path", None) or argument_of(save, "path", PATH_POSITION)


def _parts_of(path: ast.expr) -> set[str]:
    """The names in an expression, as source text: ``args.out`` and ``step`` in ``f"{args.out}/{step}"``."""
    names = {name for item in walk(path) if (name := dotted(item)) is not None}
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _is_old(name: str, context: Context) -> bool:
    """Whether a save is for a release without ``paddle.distributed``."""
    first = context.file.names.resolve(name.partition(".")[0])
    return "fluid" in name or name.endswith("save_dygraph") or first.startswith("paddle.fluid")


def _save_in(node: ast.stmt, context: Context) -> ast.Call | None:
    """The save that a statement on its own row consists of."""
    call = call_in(node)
    is_save = call is not None and context.name(call.func) in SAVES and has_own_rows(node, context.file.source)
    return call if is_save else None


def _is_local(save: ast.Call) -> bool:
    """Whether the arguments of a save call nothing that might wait for the other ranks."""
    inside = [item for argument in arguments_of(save) for item in walk(argument)]
    return all(
        # ``:=``: the other ranks would lack the name
        not isinstance(item, ast.NamedExpr) and not (isinstance(item, ast.Call) and terminal(item) not in _LOCAL)
        for item in inside
    )
