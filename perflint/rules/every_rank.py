"""PPF403: a checkpoint that every process of a distributed program writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.saves import PATH_POSITION, targets_of, uses_a_checkpoint, writes_memory
from perflint.findings import Confidence, Fix, Level, Related
from perflint.flow.branches import is_left_out, tests_within
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.index.imports import Imports
from perflint.index.in_use import Callers
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.call_results import PARALLEL
from perflint.paddle.inside import SAVES
from perflint.query import gathered, query
from perflint.rules.edits import block_of, call_in, has_own_rows, put_under
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bindings_of
from perflint.syntax.bindings import targets_of as assigned_to
from perflint.syntax.names import dotted, dotted_names, names_in
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Link, Scope, Statement, headers, terminal
from perflint.syntax.tree import calls_in, children, string_of, walk
from perflint.syntax.vocabulary import counts_processes, differs_between_processes, exports, is_no_training, means_rank

# Ranks: code that only one process of a distributed program runs, and files that every process writes.

# Finds rank tests: code that makes a place run in only one process of a distributed program.

_DECORATORS = frozenset({"staticmethod", "classmethod", "property", "no_grad", "wraps", "lru_cache", "cache"})
_ANSWERS = (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.IfExp, ast.Subscript)
_READS = frozenset({"int", "bool", "get", "getenv", "getattr"})
_MOST_NAMES = 3
"""Through how many names, attributes and parameters a test is followed to a rank."""


class Ranks(Part):
    """Decides which places of a project run in one process of several, and which paths contain the rank."""

    def guarded(self, statement: Statement, call: ast.Call, at: Place) -> bool:
        """Whether a rank test is around a call in its function."""
        for test, truth in (*_tests(statement.place), *tests_within(call, statement)):
            if self._tells_rank(test, at) or self._is_single(test, truth):
                return True
        for item in (item for header in headers(statement.node) for item in walk(header)):
            if not isinstance(item, (ast.BoolOp, ast.Lambda)) or call not in walk(item):
                continue
            if isinstance(item, ast.Lambda) or self._tells_rank(item, at):
                return True
        around = (link.node.items for link in statement.around if isinstance(link.node, (ast.With, ast.AsyncWith)))
        return any(_names_rank(item.context_expr, False) for items in around for item in items)

    def decorated(self, scope: Scope) -> bool:
        """Whether a decorator may keep a function to one rank: any decorator that is not known to be harmless."""
        if isinstance(scope.node, ast.Module):
            return False
        names = [dotted(d.func if isinstance(d, ast.Call) else d) or "?" for d in scope.node.decorator_list]
        return any(name.rpartition(".")[2] not in _DECORATORS for name in names)

    @query
    def is_per_rank(self, node: ast.expr, at: Place, names: int = _MOST_NAMES) -> bool:
        """Whether a path contains the rank, so that each process writes its own file, also through some names."""
        if any(differs_between_processes(_word(item)) for item in walk(node)):
            return True
        meanings = self._meanings(node, at) if names else ()
        return any(self.is_per_rank(value, place, names - 1) for value, place in meanings)

    @query
    def _tells_rank(self, node: ast.expr, at: Place, names: int = _MOST_NAMES) -> bool:
        is_held = names < _MOST_NAMES
        if _names_rank(node, is_held):
            return True
        if not names or isinstance(node, (ast.BinOp, ast.JoinedStr)):
            return False
        if is_held and isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] not in _READS:
            return self._asks_rank(node, at)
        meanings = ((value, place) for value, place in self._meanings(node, at) if isinstance(value, _ANSWERS))
        return any(self._tells_rank(value, place, names - 1) for value, place in meanings) or any(
            self._asks_rank(call, at) for call in calls_in(node)
        )

    def _asks_rank(self, call: ast.Call, at: Place) -> bool:
        """``if should_save():`` if that function of the project tests the rank."""
        found = CallGraph.of(self._project).called(at, call.func)
        if found is None or len(found[1].statements) > 20:
            return False
        return any(
            _names_rank(header, False) for statement in found[1].statements for header in headers(statement.node)
        )

    def _meanings(self, node: ast.expr, at: Place) -> Iterator[tuple[ast.expr, Place]]:
        """The values of the names in an expression: here, in the class, or by the callers."""
        for name in filter(None, map(dotted, walk(node))):
            yield from ((value, at) for value in _assigned(at.scope, name))
            first, _, rest = name.partition(".")
            if first == "self" and at.scope.owner is not None:
                found = at.scope.owner.attributes.get(rest, ())
                yield from ((value, Place(at.file, where)) for value, where in found[:8])
            is_parameter = name in at.scope.parameters
            for site in CallGraph.of(self._project).callers(at, Certainty.NAME) if is_parameter else ():
                argument = site.argument(at.scope, name)
                if argument is not None and not isinstance(argument, ast.Constant):
                    yield argument, site.function

    def _is_single(self, test: ast.expr, truth: bool) -> bool:
        """Whether a branch runs only in a program of one process: ``if nranks > 1: ... else: here``."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        if not any(map(counts_processes, names_in(test.left))):
            return False
        return isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Eq)) == truth


def facts(place: Link | None) -> frozenset[tuple[str, bool]]:
    """The tests around a place: their text, and whether they are true there."""
    found: set[tuple[str, bool]] = set()
    for test, truth in _tests(place):
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, truth = test.operand, not truth
        found.add((ast.dump(test), truth))
    return frozenset(found)


def contradict(one: frozenset[tuple[str, bool]], other: frozenset[tuple[str, bool]]) -> bool:
    """Whether two places of a function exclude each other: ``if distributed:`` and the ``else`` of another."""
    return any((test, not truth) in other for test, truth in one)


def _tests(place: Link | None) -> Iterator[tuple[ast.expr, bool]]:
    for link in place.chain() if place is not None else ():
        if isinstance(link.node, (ast.If, ast.While)):
            yield link.node.test, link.branch == "body"


def _names_rank(node: ast.expr, bound: bool) -> bool:
    """Whether an expression names the rank; a value is not a rank only because it got one as an argument."""
    stack: list[ast.AST] = [node]
    while stack:
        item = stack.pop()
        if means_rank(_word(item)):
            return True
        if bound and isinstance(item, ast.Call) and (dotted(item.func) or "").rpartition(".")[2] not in _READS:
            stack.append(item.func)
        else:
            stack.extend(children(item))
    return False


def _word(node: ast.AST) -> str:
    """A name, the name of an attribute, or a literal text."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else string_of(node) or ""


def _assigned(scope: Scope, name: str) -> Iterator[ast.expr]:
    for statement in bindings_of(scope).get(name, ()):
        value = getattr(statement.node, "value", None)
        if value is not None and name in map(dotted, assigned_to(statement.node)):
            yield value


# Finds paths through a distributed program that no rank takes: what a call switches off, what ends in an error.

# The methods of ``paddle.DataParallel``, which does not forward methods that only the wrapped model has.
_OF_LAYERS = frozenset(
    {"add_module", "add_parameter", "add_sublayer", "apply", "apply_collective_grads", "astype", "backward", "bfloat16"}
    | {"buffers", "children", "clear_gradients", "cpu", "create_parameter", "create_tensor", "create_variable", "cuda"}
    | {"double", "eval", "extra_repr", "float", "float16", "forward", "full", "full_name", "half", "init_reducer"}
    | {"load_dict", "load_state_dict", "modules", "no_sync", "parameters", "requires_grad_", "scale_loss", "set_dict"}
    | {"set_state_dict", "sharded_state_dict", "state_dict", "sublayers", "to", "to_static_state_dict", "train", "type"}
    | {"xpu", "zero_grad"}
)
_OTHERS = ("get_", "named_", "register_", "set_")
"""How the names of other methods of layers begin."""


@query
def stops(at: Place) -> bool:
    """Whether a function calls a method of its model on the ``paddle.DataParallel`` around it, which does not have it.

    ``model = paddle.DataParallel(model)`` and then ``model.train_model(batch)`` is an AttributeError in each process.
    """
    return any(
        _is_called_on(name, wrap, statement, at) for name, wrap in _wrapped(at) for statement in at.scope.statements
    )


def _wrapped(at: Place) -> Iterator[tuple[str, Statement]]:
    """The names that a function binds to a wrapped model and does not rebind."""
    for statement in at.scope.statements:
        node = statement.node
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            continue
        name = dotted(node.targets[0])
        if name is not None and _wraps(node.value, at.file):
            later = [each.node for each in bindings_of(at.scope).get(name, ()) if each.node.lineno > node.lineno]
            values = [each.value if isinstance(each, ast.Assign) else None for each in later]
            if all(isinstance(value, ast.Call) and _wraps(value, at.file) for value in values):
                yield name, statement


def _wraps(call: ast.Call, file: FileIndex) -> bool:
    return file.names.qualified(call.func) in PARALLEL


def _is_called_on(name: str, wrap: Statement, statement: Statement, at: Place) -> bool:
    """Whether a statement calls, on the wrapped model, a method that only the model has."""
    if statement.node.lineno <= wrap.node.lineno:
        return False
    for call in statement.calls:
        receiver, _, method = (dotted(call.func) or "").rpartition(".")
        if receiver != name or method in _OF_LAYERS or method.startswith(("_", *_OTHERS)):
            continue
        is_single = Ranks.of(at.file.project).guarded(statement, call, at)
        if not is_single and _is_of_layers(at.file.project, method) and not _tells_apart(name, statement, wrap):
            return True
    return False


@query
def _is_of_layers(project: Project, method: str) -> bool:
    """Whether a layer of the project has a method of this name."""
    kind = Modules.of(project).kind_of_instance
    owners = ((file, owner) for file in project.mentions.of(method) for owner in file.scopes.classes.values())
    return any(method in owner.methods and kind(file, owner).tag == LAYER_TAG for file, owner in owners)


def _tells_apart(name: str, statement: Statement, wrap: Statement) -> bool:
    """Whether a test allows only the unwrapped model to reach a statement: ``if isinstance(model, Net):``."""
    return contradict(facts(statement.place), facts(wrap.place)) or any(
        isinstance(link.node, ast.Try) or (isinstance(link.node, ast.If) and name in dotted_names(link.node.test))
        for link in statement.around
    )


# Finds checkpoints that every process of a distributed program writes: saves without a rank test.

_SAVES = SAVES - {"paddle.jit.save"} | {"paddle.async_save"}
"""Calls that write a file in whichever process they run."""

_SAVING = frozenset(name.rpartition(".")[2] for name in _SAVES)

_STARTS = frozenset(
    {
        "paddle.distributed.init_parallel_env",
        "paddle.distributed.parallel.init_parallel_env",
        "paddle.distributed.fleet.init",
        "paddle.distributed.fleet.fleet.init",
        "paddle.fluid.dygraph.parallel.prepare_context",
        "paddle.fluid.dygraph.prepare_context",
    }
)
_SPAWNS = frozenset({"paddle.distributed.spawn"})
# Programs whose processes have different parts of the model, or some of whose processes do not train.
_OTHER_WAYS = re.compile(
    r"group_sharded|save_state_dict\(|hybrid_communicate_group|HybridParallel|hybrid_configs|model_parallel|pipeline_parallel"
    r"|init_server|run_server|is_server\(|stop_worker\(|sharding_stage|GroupSharded",
)
_SAVE = re.compile(r"save(?:(?<=\bsave)|(?<=\basync_save))(?:_dygraph)?\(")  # begins with letters: fast to search for

Facts = frozenset[tuple[str, bool]]


@dataclass(frozen=True)
class RankPath:
    """How every rank gets to a place.

    ``via``: the calls that lead there from the place where the program becomes distributed, as (path, line), outermost
    first; ``start``: that place; ``facts``: the tests known to be true there.
    """

    via: tuple[tuple[str, int], ...]
    start: tuple[str, int]
    confidence: Confidence
    facts: Facts = frozenset()
    wrapped: bool = False
    """Whether only a wrapped model shows it, in a program without other signs of distribution."""


class EveryRank(NamedTuple):
    """A save that every process does: its statement, and how many more saves follow it in the same block."""

    at: Place
    path: RankPath
    more: int


@query
def every_rank(project: Project) -> Mapping[str, Mapping[ast.Call, EveryRank]]:
    """The saves of a project that every rank does, by path."""
    return _Finder.of(project).found()


@query
def path_of_ranks(project: Project, at: Place, call: ast.Call) -> RankPath | None:
    """How every rank of a distributed program gets to a call; None if it does not, or if a program has only one."""
    statement, finder = at.statement, _Finder.of(project)
    if statement is None or not finder.is_distributed() or Ranks.of(project).guarded(statement, call, at):
        return None
    path = finder.path(at.function, statement)
    return None if path is None or contradict(facts(statement.place), path.facts) else path


@query
def every_rank_in(file: FileIndex) -> Mapping[ast.Call, EveryRank]:
    """The saves of a file that every rank does."""
    return every_rank(file.project).get(file.path, {})


def _is_examined(file: FileIndex) -> bool:
    """Whether a file belongs to the programs whose processes are followed."""
    return not (file.is_quiet or file.is_foreign or file.is_offline or exports(file.parts[-1]))


class _Finder(Part):
    """Follows the processes of a distributed program to what they save."""

    def found(self) -> dict[str, dict[ast.Call, EveryRank]]:
        """The saves that every rank does."""
        if not self.is_distributed():
            return {}
        result: dict[str, dict[ast.Call, EveryRank]] = {}
        for file in self._project.files.values():
            if not _is_examined(file) or not file.matches(_SAVE) or file.matches(_OTHER_WAYS):
                continue
            for scope, saves in open_saves(file).items():
                for call, more in _first_of_each_block(saves):
                    statement = next(each for each in scope.statements if call in each.calls)
                    path = self.path(Place(file, scope), statement)
                    if path is not None and not contradict(facts(statement.place), path.facts):
                        entry = EveryRank(Place(file, scope, statement), path, more)
                        result.setdefault(file.path, {})[call] = entry
        return result

    def is_distributed(self) -> bool:
        """Whether the project has programs of several processes."""
        return bool(self._initial() or self._spawned())

    # -- from where every rank comes ---------------------------------------------------------------------------

    @query(cycle=None)  # a function that calls itself
    def path(self, place: Place, at: Statement) -> RankPath | None:
        """How every rank of a distributed program gets to a statement of a function; None if it does not.

        A call that leaves ``save_every`` at None does not reach code under ``if save_every is not None:``.
        """
        ranks = Ranks.of(self._project)
        if ranks.decorated(place.scope) or is_no_training(place.scope.name) or place.file.matches(_OTHER_WAYS):
            return None
        if (own := self._start(place)) is not None:
            return own
        sites = CallGraph.of(self._project).callers(place)
        open_sites = [
            site
            for site in sites
            if _is_examined(site.file)
            and site.scope is not place.scope
            and not ranks.guarded(site.statement, site.call, site.function)
            and not any(ranks.is_per_rank(item, site.function) for item in arguments_of(site.call))
            and not is_left_out(site, place, at)
        ]
        for site in open_sites:
            path = self.path(site.function, site.statement)
            if path is not None and not contradict(facts(site.statement.place), path.facts):
                # A method without known callers is made for other code; the methods that it calls itself run on every
                # rank.
                own_method = place.scope.owner is not None and site.scope.owner is place.scope.owner
                sure = max(path.confidence, Confidence.HIGH if own_method and not path.wrapped else Confidence.LOW)
                via = (*path.via, (site.file.path, site.file.row(site.call)))
                return RankPath(via, path.start, sure, wrapped=path.wrapped)
        return self._from_class(place, sites, open_sites)

    def _from_class(self, at: Place, sites: list[CallSite], open_sites: list[CallSite]) -> RankPath | None:
        """A method of an object that made the program distributed when it was built."""
        if at.scope.owner is None:
            return None
        starts = (self._start(Place(at.file, method)) for method in at.scope.owner.methods.values())
        found = next((start for start in starts if start is not None), None)
        if found is None or (sites and not open_sites):
            return None
        own = [site for site in sites if site.scope.owner is at.scope.owner]
        if own and all(self._is_confined(site) for site in own):
            return None  # code called from elsewhere may not run where this class makes the program distributed
        if not open_sites:
            return RankPath((), found.start, Confidence.LOW, wrapped=found.wrapped)
        place = open_sites[0].file.path, open_sites[0].file.row(open_sites[0].call)
        return RankPath((place,), found.start, found.confidence, wrapped=found.wrapped)

    @query(cycle=False)
    def _is_confined(self, site: CallSite) -> bool:
        """Whether a call runs on one rank only: under a test of it, or in a function all of whose calls are."""
        if Ranks.of(self._project).guarded(site.statement, site.call, site.function):
            return True
        sites = CallGraph.of(self._project).callers(site.function)
        return bool(sites) and all(map(self._is_confined, sites))

    def _start(self, at: Place) -> RankPath | None:
        """The statement of a function that makes the program distributed, or finds it so.

        None if the distributed program stops with an error before it saves anything.
        """
        found = self._begins(at)
        return None if found is not None and stops(at) else found

    def _begins(self, at: Place) -> RankPath | None:
        if at.scope in self._spawned():
            return RankPath((), self._spawned()[at.scope], Confidence.HIGH)
        for statement in at.scope.statements:
            for call in statement.calls:
                name = dotted(call.func)
                last = name.rpartition(".")[2] if name else ""
                if not name or (last not in self._names() and last not in _LAST):
                    continue
                place = at.file.path, at.file.row(call)
                qualified = at.file.names.resolve(name)
                reached = CallGraph.of(self._project).reached(at, call) if qualified not in _STARTS else ()
                if qualified in _STARTS or not self._initial().isdisjoint(reached):
                    return RankPath((), place, Confidence.HIGH, facts(statement.place))
                if qualified in PARALLEL:
                    sure = self._is_started(at.file)
                    confidence = Confidence.HIGH if sure else Confidence.LOW
                    return RankPath((), place, confidence, facts(statement.place), wrapped=not sure)
        return None

    def _is_started(self, file: FileIndex) -> bool:
        """Whether the program that a file belongs to is distributed by any file that it loads, or that loads it."""
        starters, closure = {start.file for start in self._initial()}, Imports.of(self._project).closure
        return bool(closure([file]) & starters) or any(file in closure([start]) for start in starters)

    @query
    def _initial(self) -> frozenset[Place]:
        """The functions that make the program distributed."""
        found = {
            Place(file, scope)
            for file in self._project.files.values()
            if _is_examined(file) and any(map(file.has, ("init_parallel_env", "fleet", "prepare_context")))
            for scope in file.scopes_where(_starts)
        }
        return frozenset(found)

    @query
    def _names(self) -> frozenset[str]:
        return frozenset(
            scope.owner.name if scope.owner is not None and scope.name == "__init__" else scope.name
            for scope in (start.scope for start in self._initial())
        )

    @query
    def _spawned(self) -> dict[Scope, tuple[str, int]]:
        """The functions that ``paddle.distributed.spawn`` runs in each process."""
        found: dict[Scope, tuple[str, int]] = {}
        files = filter(_is_examined, self._project.files.values())
        if not any(file.has("distributed") and file.has("spawn(") for file in files):
            return found
        for file, scope, _, call in Callers.of(self._project).named("spawn"):
            target = dotted(call.args[0]) if call.args else None
            if target and file.names.qualified(call.func) in _SPAWNS:
                reached = CallGraph.of(self._project).called(Place(file, scope), target)
                if reached is not None:
                    found[reached.scope] = (file.path, file.row(call))
        return found


_LAST = frozenset(each.rpartition(".")[2] for each in _STARTS | PARALLEL)


@query
def open_saves(file: FileIndex) -> dict[Scope, list[tuple[ast.Call, Link | None]]]:
    """The saves of a file without a rank test in their own function that write one common file."""
    found = {scope: list(_open_saves(Place(file, scope))) for scope in file.scopes_where(_saves)}
    return {scope: saves for scope, saves in found.items() if saves}


def _open_saves(at: Place) -> Iterator[tuple[ast.Call, Link | None]]:
    ranks = Ranks.of(at.file.project)
    if is_no_training(at.scope.name) or exports(at.scope.name) or ranks.decorated(at.scope):
        return
    for statement in at.scope.statements:
        for call in statement.calls:
            if at.file.names.qualified(call.func) not in _SAVES or ranks.guarded(statement, call, at):
                continue
            is_own = any(ranks.is_per_rank(path, at) for path in targets_of(call))
            if not is_own and not writes_memory(call, at):
                yield call, statement.place


def _saves(at: Place) -> bool:
    return _calls_one(at, _SAVES)


def _starts(at: Place) -> bool:
    return _calls_one(at, _STARTS)


def _calls_one(at: Place, names: Container[str]) -> bool:
    """Whether a function calls one of these by name."""
    return any(at.file.names.qualified(call.func) in names for call in at.scope.calls)


def _first_of_each_block(saves: list[tuple[ast.Call, Link | None]]) -> Iterator[tuple[ast.Call, int]]:
    """The first save of each block, with how many follow it there."""
    blocks = gathered(((id(place.node), place.branch) if place else (0, ""), call) for call, place in saves)
    for calls in blocks.values():
        yield min(calls, key=lambda call: call.lineno), len(calls) - 1


RULE = shipped()["PPF403"]
# Calls that do not communicate with other ranks, so that one rank may do them alone.
_LOCAL = frozenset({"state_dict", "join", "format", "str", "int", "default_main_program", "strftime", "parameters"})


def _places(file: FileIndex) -> Iterator[Candidate]:
    for call, found in every_rank_in(file).items():
        if found.at.statement is not None:
            yield Candidate(call, found.at.statement.node, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def save_on_every_rank(found: EveryRank, context: Context) -> None:
    """Report a save without a rank test, in a program that runs on several cards."""
    call = context.node
    if not isinstance(call, ast.Call) or (context.step is not None and context.name(call.func) != "paddle.async_save"):
        return  # at each step, PPF401 comes first (it ignores saves in the background)
    related = [Related(*found.path.start, "the program becomes distributed here")]
    related += [Related(*caller, "called here by every rank") for caller in found.path.via]
    context.report(
        _fix(call, found, context),
        related=tuple(related),
        confidence=found.path.confidence,
        start=context.where(*found.path.start),
        others=f" (and {found.more} more here)" if found.more else "",
    )


def _fix(call: ast.Call, found: EveryRank, context: Context) -> Fix:
    """The save, and those that follow it directly, under ``if paddle.distributed.get_rank() == 0:``."""
    if _is_old(dotted(call.func) or "", context):
        return RULE.words("old")
    scope, statement = found.at.scope, found.at.statement
    if statement is None or call_in(statement.node) is None or not has_own_rows(statement.node, context.file.source):
        return RULE.words("by hand")
    following = dropwhile(lambda node: node is not statement.node, block_of(statement, scope))
    run = list(takewhile(lambda node: _save_in(node, context) is not None, following))
    saves = [save for node in run if (save := _save_in(node, context)) is not None]
    if not saves or not all(map(_is_local, saves)):
        return RULE.words("computed together")
    if reader := _reader(saves, found.at, statement):
        return RULE.words("read back", line=str(reader))
    spelled = spelling("paddle", statement.node, context.file)
    if spelled is None:
        return RULE.words("by hand")
    header = f"if {spelled.name}.distributed.get_rank() == 0:"
    edits = put_under(header, (run[0], run[-1]), scope, statement, context.file.source)
    if len(run) - 1 != found.more:
        return replace(RULE.words("by hand"), edits=tuple(edits), imports=spelled.imports)
    return spelled.trusted(RULE.fix(edits, Level.UNSAFE, RULE.texts["reason"]))


def _reader(run: list[ast.Call], place: Place, at: Statement) -> int:
    """The row that loads or copies one of the files after some saves, in the same function; 0 if none does.

    ``shutil.copytree(folder, latest)`` copies the file that was saved to ``os.path.join(folder, "model.pdparams")``.
    """
    known = [path for path in map(_path_of, run) if path is not None]
    paths = set(map(ast.unparse, known))
    folders = {name for path in known for name in _parts_of(path)}
    handed = place.scope.once("handed", lambda: _handed(place.scope))
    using = sorted(
        (call.lineno, call.col_offset)
        for text in paths | folders
        for statement, call in handed.get(text, ())
        if (statement.loop is not None and statement.loop is at.loop) or statement.node.lineno > at.node.lineno
        if uses_a_checkpoint(place.file, call)
    )
    return using[0][0] if using else 0


def _handed(scope: Scope) -> dict[str, list[tuple[Statement, ast.Call]]]:
    """The calls of a function except for saves, by the text of each argument."""
    found: dict[str, list[tuple[Statement, ast.Call]]] = {}
    for statement in scope.statements:
        for call in (call for call in statement.calls if terminal(call) not in _SAVING):
            for text in set(map(ast.unparse, arguments_of(call))):
                found.setdefault(text, []).append((statement, call))
    return found


def _path_of(save: ast.Call) -> ast.expr | None:
    """The path that a save writes to: ``model_path`` is what ``paddle.static.save`` calls it."""
    return argument_of(save, "model_path", None) or argument_of(save, "path", PATH_POSITION)


def _parts_of(path: ast.expr) -> set[str]:
    """The names in an expression, as source text: ``args.out`` and ``step`` in ``f"{args.out}/{step}"``."""
    names = dotted_names(path)
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _is_old(name: str, context: Context) -> bool:
    """Whether a save is for a release without ``paddle.distributed``."""
    first = context.file.names.resolve(name.partition(".")[0])
    return "fluid" in name or name.endswith("save_dygraph") or first.startswith("paddle.fluid")


def _save_in(node: ast.stmt, context: Context) -> ast.Call | None:
    """The save that a statement on its own row consists of."""
    call = call_in(node)
    is_save = call is not None and context.name(call.func) in _SAVES and has_own_rows(node, context.file.source)
    return call if is_save else None


def _is_local(save: ast.Call) -> bool:
    """Whether the arguments of a save call nothing that might wait for the other ranks."""
    inside = [item for argument in arguments_of(save) for item in walk(argument)]
    if any(isinstance(item, ast.NamedExpr) for item in inside):
        return False  # the other ranks would lack the name
    return all(terminal(item) in _LOCAL for item in inside if isinstance(item, ast.Call))
