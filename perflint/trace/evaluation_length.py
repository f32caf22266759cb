"""How long an evaluation lasts, compared with another: how often loops repeat it, and whether it has batches."""

from __future__ import annotations

import ast
from math import prod

from perflint.facts.evaluations import WholeEvaluation
from perflint.facts.periodic import Periodic
from perflint.flow.sources import sources
from perflint.index.project import Place
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Statement, terminal
from perflint.trace.lengths import passes
from perflint.trace.loading import Loading, loadings
from perflint.training.every import whole_number

_ALONE, _ONE_BY_ONE = 3, 8
"""So much longer an evaluation is taken to last with batches of one sample, and without a loader that reads ahead."""
_SAMPLERS = frozenset({"BatchSampler", "DistributedBatchSampler"})


def times(at: Place, statement: Statement, reached: Periodic) -> int:
    """How often the loops around a call repeat it, up to the loop of the steps, as far as the code shows it."""
    found = []
    for link in statement.around:
        if link.node is reached.loop:
            break
        if link.branch == "body" and isinstance(link.node, (ast.For, ast.AsyncFor)):
            found.append(passes(link.node.iter, at.before(statement)) or 1)
    return prod(found)


def slowness(found: WholeEvaluation, reached: Periodic) -> int:
    """How much longer an evaluation lasts since the model gets one sample at a time; 1 if it gets batches."""
    if {_batch_size(each) for each in loadings(reached.place, reached.loop)} == {1}:
        return 1
    if {_batch_size(each) for each in loadings(found.at, found.loop)} == {1}:
        return _ALONE
    over = found.loop.iter
    is_counted = isinstance(over, ast.Call) and terminal(over) in ("range", "trange") and len(over.args) == 1
    return _ONE_BY_ONE if is_counted else 1


def _batch_size(loading: Loading) -> int | None:
    """How many samples the batches of a loader have; None if that is not known."""
    call, place = loading.made
    sampler = argument_of(call, "batch_sampler", 4)
    if sampler is None:
        given = argument_of(call, "batch_size", 5)
        return 1 if given is None else whole_number(given, place)
    for source in sources(sampler, place):
        if isinstance(source.node, ast.Call) and terminal(source.node) in _SAMPLERS:
            given = argument_of(source.node, "batch_size", None)
            return 1 if given is None else whole_number(given, source.place)
    return None
