"""PPF803: every process of a distributed program trains on all of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from perflint.catalogue import shipped
from perflint.facts.loaders import loader_calls, training_on
from perflint.findings import Confidence, Related
from perflint.flow.sources import ValueSource, asked
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.query import query
from perflint.rules.every_rank import RankPath, path_of_ranks
from perflint.syntax.names import names_in
from perflint.syntax.parameters import argument_of, is_none, is_spread
from perflint.syntax.tree import string_of, walk
from perflint.syntax.vocabulary import counts_processes, means_rank

RULE = shipped()["PPF803"]
_DATASETS = re.compile(r"paddle\.(?:vision|text|audio)\.datasets\.(?:\w+\.)?\w+$")
_SHARED_OUT = re.compile(
    r"(?i)shard|ProcessMesh|auto_?parallel|hybrid|(?:model|meta|tensor|pipeline)_parallel|\b[mp]p_degree"
    r"|DistributedBatchSampler|num_replicas"
)
"""What shares the data out in another way, or makes processes that have to see the same data.

Where a file names Paddle's sampler, its other loaders are for one process.
"""
_OF_BATCHES = ("batch_size", "shuffle", "drop_last")
"""The parameters that a loader and a sampler have in common."""


@query
def whole_data(project: Project) -> Mapping[str, Mapping[ast.Call, RankPath]]:
    """The training loaders that give all of the data to each process of a distributed program, by path."""
    found: dict[str, dict[ast.Call, RankPath]] = {}
    for call, at in loader_calls(project):
        if not _batches_by_itself(call) or at.file.matches(_SHARED_OUT):
            continue
        path = path_of_ranks(project, at, call)
        if path is None or path.confidence is not Confidence.HIGH or not _is_whole(call, at):
            continue
        if training_on(call, at) is not None:
            found.setdefault(at.file.path, {})[call] = path
    return found


def _batches_by_itself(call: ast.Call) -> bool:
    """Whether a loader makes the batches without a sampler, which could give each process another part."""
    size, sampler = argument_of(call, "batch_size", 5), argument_of(call, "batch_sampler", 4)
    return not is_spread(call) and sampler is None and (size is None or not is_none(size))


def _is_whole(call: ast.Call, at: Place) -> bool:
    """Whether the samples of a loader are known, and nothing gives each process others."""
    dataset = argument_of(call, "dataset", 0)
    sources = [*asked(dataset, at).sources()] if dataset is not None else []
    return bool(sources) and all(map(_is_same_everywhere, sources))


def _is_same_everywhere(source: ValueSource) -> bool:
    made = source.object
    if made is None:
        return _DATASETS.match(source.qualified) is not None
    lineage = [(made.file, made.owner), *Hierarchy.of(made.file.project).lineage(made.file, made.owner)]
    is_indexed = any("__getitem__" in owner.methods for _, owner in lineage)
    parts = [source.node, *(step.node for step in source.steps)]
    return is_indexed and not any(map(_tells_apart, [*parts, *(owner.node for _, owner in lineage)]))


def _tells_apart(node: ast.AST) -> bool:
    """Whether code names the number of a process, or how many there are."""
    words = [*names_in(node), *(string_of(item) or "" for item in walk(node) if isinstance(item, ast.Constant))]
    return any(means_rank(word) or counts_processes(word) for word in words)


def _places(file: FileIndex) -> Iterator[Candidate]:
    for call, found in whole_data(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, call)
        if statement is not None:
            yield Candidate(call, statement, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def whole_data_on_each_rank(path: RankPath, context: Context) -> None:
    """Report a loader without a sampler that divides the data, in a program that runs on several cards."""
    call = context.node
    assert isinstance(call, ast.Call)
    dataset = argument_of(call, "dataset", 0)
    given = [(name, argument_of(call, name, position)) for position, name in enumerate(_OF_BATCHES, 5)]
    arguments = [context.text(dataset) if dataset is not None else ""]
    arguments += [f"{name}={context.text(value)}" for name, value in given if value is not None]
    context.report(
        RULE.words("", arguments=", ".join(arguments)),
        related=(
            Related(*path.start, "the program becomes distributed here"),
            *(Related(*each, "called here by every rank") for each in path.via),
        ),
        start=context.where(*path.start),
    )
