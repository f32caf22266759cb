"""PPF101 where a training goes over a generator that reads its samples, and so loads them in its own process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts.programs import has_no_gpu
from perflint.facts.sample_calls import Conversion, calls_in_loops, calls_of_function, of_call
from perflint.findings import Related
from perflint.flow.by_statement import is_generator
from perflint.flow.sources import Through, ValueSource, asked, function_of
from perflint.index.project import FileIndex, Located, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.paddle.call_results import LOOPED
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Scope, terminal
from perflint.trace.step_trace import outermost_loops

RULE = shipped()["PPF101"]
_THREADS = re.compile(r"paddle\.(?:fluid\.)?reader\.(?:decorator\.)?xmap_readers$")
_PASSES_ON = re.compile(
    r"paddle\.(?:batch|(?:fluid\.)?(?:reader\.(?:decorator\.)?(?:shuffle|buffered|firstn)|io\.batch))$"
)
"""What makes a reader of the reader that is its first argument."""
_FILLED = re.compile(r"paddle\.(?:fluid\.)?io\.(?:DataLoader\.from_generator|PyReader)$")
_FILLING = tuple(
    f"{verb}_{kind}_generator" for verb in ("set", "decorate") for kind in ("sample", "sample_list", "batch")
)
"""The methods that give such a loader what it reads in a thread of its own."""
_WORK = Conversion.READS_FILES | Conversion.TOKENIZES


@dataclass(frozen=True)
class Reader:
    """What gives the batches of a training.

    ``loop``: the loop over them, with its place. ``reads``: the call that reads a file, or converts a text.
    ``in_threads``: threads of the same process make that call.
    """

    loop: ast.For
    at: Place
    reads: ValueSource
    in_threads: bool


@query
def readers(project: Project) -> Mapping[str, Mapping[ast.Call, Reader]]:
    """The calls that make the readers of the step loops of a project, by path."""
    found: dict[str, dict[ast.Call, Reader]] = {}
    static = project.mentions.of("run") if any(project.mentions.of(*_FILLING)) else ()
    for file in dict.fromkeys((*project.mentions.of("backward", "minimize"), *static)):
        if file.is_quiet or file.is_foreign or file.is_offline or has_no_gpu(file):
            continue
        for at, loop in outermost_loops(file):
            statement = next((each for each in at.scope.statements if each.node is loop), None)
            if statement is None or not isinstance(loop, ast.For):
                continue
            for source, reads, in_threads in _reading(asked(loop.iter, at.before(statement)), set()):
                made = _made(source)
                reader = Reader(loop, at, reads, in_threads)
                if made is not None:
                    found.setdefault(made.place.file.path, {}).setdefault(made.call, reader)
    return found


def _reading(source: ValueSource, seen: set[Scope]) -> Iterator[tuple[ValueSource, ValueSource, bool]]:
    """The generators, and readers with threads, that an expression may give items of, with what each reads first."""
    for each in source.sources():
        call = each.node
        if isinstance(call, ast.Call) and (terminal(call) in LOOPED or _PASSES_ON.match(each.qualified)):
            for part in call.args[:1]:
                yield from _reading(each.part(part), seen)
        elif isinstance(call, ast.Call) and _THREADS.match(each.qualified):
            mapper = argument_of(call, "mapper", 0)
            reads = _first(calls_of_function(each.part(mapper))) if mapper is not None else None
            if reads is not None:
                yield each, reads, True
        elif isinstance(call, ast.Call) and _FILLED.match(each.qualified):
            steps = {(dotted(step.node), step.place.scope) for step in each.steps}
            for filling, reader in _fillings(each.place.file.project).get(call, ()):
                filled = filling.node.func if isinstance(filling.node, ast.Call) else None
                name = dotted(filled.value) if isinstance(filled, ast.Attribute) else None
                for _, reads, _ in _reading(reader, seen) if (name, filling.place.scope) in steps else ():
                    yield filling, reads, True
        else:
            for inside in _generators(each):
                if inside.place.scope not in seen:
                    yield from _in_generator(each, inside, seen | {inside.place.scope})
            if (
                isinstance(call, ast.Call)
                and not call.args
                and not call.keywords
                and function_of(each, call.func) is None
            ):
                yield from _reading(each.part(call.func), seen)


@query
def _fillings(project: Project) -> Mapping[ast.expr, list[tuple[ValueSource, ValueSource]]]:
    """The calls that give a loader a generator, each with that, by what makes the loader; not if a process runs it."""
    found: dict[ast.expr, list[tuple[ValueSource, ValueSource]]] = {}
    for file in project.mentions.of(*_FILLING):
        for scope, statement, call in (each for name in _FILLING for each in file.calls_named(name)):
            at, reader = Place(file, scope).before(statement), next(iter(arguments_of(call)), None)
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            for made in asked(receiver, at).sources() if receiver is not None and reader is not None else ():
                process = argument_of(made.node, "use_multiprocess", 5) if isinstance(made.node, ast.Call) else None
                if reader is not None and (
                    process is None or (isinstance(process, ast.Constant) and not process.value)
                ):
                    found.setdefault(made.node, []).append((asked(call, at), asked(reader, at)))
    return found


def _generators(source: ValueSource) -> Iterator[ValueSource]:
    """The inside of a generator: of one that a call starts, of a function that is one, or of an object's."""
    node = source.node
    called = function_of(source, node.func if isinstance(node, ast.Call) else node)
    methods = (source.method(name) for name in ("__iter__", "__call__"))
    found = [source.entered(called)] if called is not None else [each for each in methods if each is not None]
    yield from (each for each in found if is_generator(each.place.scope))


def _in_generator(
    source: ValueSource, inside: ValueSource, seen: set[Scope]
) -> Iterator[tuple[ValueSource, ValueSource, bool]]:
    """What a generator reads, itself or in those that its loops go over."""
    reads = _first(calls_in_loops(inside))
    if reads is not None:
        yield source, reads, False
        return
    for statement in inside.place.scope.statements:
        if isinstance(statement.node, ast.For):
            for _, inner, in_threads in _reading(inside.at(statement).part(statement.node.iter), seen):
                yield source, inner, in_threads


def _first(calls: Iterator[ValueSource]) -> ValueSource | None:
    return next((each for each in calls if of_call(each) & _WORK), None)


def _made(source: ValueSource) -> Located | None:
    """The call that makes a reader, where the training gets it: ``reader = images(paths)``, not ``reader()``."""
    node = source.node
    start = list(source.part(node.func).sources()) if isinstance(node, ast.Call) else []
    steps = [(step.node, step.place) for each in (source, *start) for step in each.steps if step.kind is Through.RETURN]
    calls = [each for each in (*steps, *((each.node, each.place) for each in start)) if each[0] is not node]
    for call, place in (*calls, (node, source.place)):
        if isinstance(call, ast.Call):
            return Located(call, place)
    return None


# PPF101: the call that makes the reader of a training.


def _places(file: FileIndex) -> Iterator[Candidate]:
    for call, found in readers(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, call)
        if statement is not None:
            yield Candidate(call, statement, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, needs_kinds=False)
def reader_of_training(found: Reader, context: Context) -> None:
    """Report a reader that loads the samples of a training in its process."""
    reads, at = found.reads, found.at
    where = (reads.place.file.path, reads.place.file.row(reads.node))
    context.report(
        RULE.words("reader", workers=str(context.settings.default_workers)),
        related=(Related(*where, "runs for the samples"),),
        message=RULE.texts["reader with threads" if found.in_threads else "reader"],
        reader=context.where(at.file.path, at.file.row(found.loop)),
        text=reads.qualified or "",
        place=context.where(*where),
    )
