"""Finds where the number of a loader's workers comes from: the zeros among its possible values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallSite, Certainty
from perflint.dataflow.constant_values import Found, OriginStep, Special, Value, ValueOrigin
from perflint.dataflow.constants import Constants
from perflint.dataflow.objects import Object, entries_of
from perflint.dataflow.sole_binding import ReadPlace
from perflint.facts.loader_sites import Site, is_loader_class
from perflint.syntax.parameters import is_zero
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_EXPLAINED = re.compile(r"windows|must be 0|only 0|必须|只能", re.IGNORECASE)
_KINDS = {ValueOrigin.OPTION: "option", ValueOrigin.FALLBACK: "fallback", ValueOrigin.DEFAULT: "parameter"}


@dataclass(frozen=True, eq=False)
class WorkerOrigin:
    """A place that makes the number of workers 0.

    ``node``: the 0, or the call that leaves the number out; ``insert`` is then the keyword to add. ``kind``: ``option``
    (argparse), ``fallback`` (of a lookup; ``unknown``: in an unknown object), ``parameter`` (a default), ``value`` or
    ``missing``.
    """

    file: FileIndex
    node: ast.expr
    kind: str
    site: Site
    insert: str = ""
    names: frozenset[str] = frozenset()
    """The arguments that a call without the number does name, including those in its ``**``."""


def zeros(node: ast.expr, site: Site) -> list[WorkerOrigin]:
    """The zeros that an expression may get its value from; none if unknown."""
    values = Constants.of(site.file.project).possible(node, ReadPlace(site.file, site.scope, site.statement))
    return _origins(values, "", site)


def left_out(name: str, site: Site, call: ast.Call) -> list[WorkerOrigin]:
    """The value of a parameter that a call does not name: from its ``**``, or none at all."""
    place = ReadPlace(site.file, site.scope, site.statement)
    values = Constants.of(site.file.project).handed(call, name, place)
    return _origins(values, name, site)


def _origins(values: Found, name: str, site: Site) -> list[WorkerOrigin]:
    """The places of the values that are 0 or missing, if the path there is known."""
    found: list[WorkerOrigin] = []
    for value in values:
        if value.node is None or value.place is None or not all(map(_leads_there, value.calls)) or _is_doubtful(value):
            continue
        there = replace(site, calls=(*site.calls, *(call[:4] for call in value.calls)))
        if value.value is Special.LEFT_OUT and isinstance(value.node, ast.Call):
            names = _names(there, value.place, value.node)
            found.append(WorkerOrigin(value.place.file, value.node, "missing", there, name, names))
        elif is_zero(value.node) and type(value.value) is int:
            found += _written(value.node, value.place, value.steps, there)
    return found


def _written(zero: ast.expr, place: ReadPlace, steps: tuple[OriginStep, ...], site: Site) -> Iterator[WorkerOrigin]:
    """A 0, with its kind; none if it is explained."""
    last = steps[-1] if steps else None
    kind = _KINDS.get(last.origin, "value") if last is not None else "value"
    if last is not None and last.site is not None and kind == "parameter" and _is_of_loader(last):
        # It has the default of Paddle's loader, which is also right for other purposes.
        yield WorkerOrigin(last.site.file, last.site.call, "missing", site, last.name)
    elif kind != "option" or not _is_explained(zero, place):
        is_unknown = any(step.origin is ValueOrigin.UNKNOWN for step in steps)
        yield WorkerOrigin(place.file, zero, "unknown" if is_unknown else kind, site)


def _leads_there(site: CallSite) -> bool:
    """Whether a call surely reaches the function, in a program that does more than predict."""
    return site.certainty is Certainty.SURE and not (site.is_unbound or site.file.is_offline)


def _is_doubtful(value: Value) -> bool:
    """Whether unknown code may give another value; a fallback of a lookup still counts."""
    steps = value.steps
    if len(steps) > 1 and steps[-1].origin is ValueOrigin.FALLBACK and "worker" in steps[-1].name.lower():
        steps = steps[:-2]
    return any(step.origin is ValueOrigin.UNKNOWN for step in steps)


def _is_of_loader(step: OriginStep) -> bool:
    """Whether a parameter is that of the ``__init__`` of a class that inherits from Paddle's loader."""
    if step.function is None:
        return False
    file, scope = step.function
    owner = scope.owner if scope.name == "__init__" else None
    return owner is not None and is_loader_class(file.project, file, owner)


def _is_explained(default: ast.expr, place: ReadPlace) -> bool:
    """Whether the help of an option says why it is 0."""
    calls = place.statement.calls if place.statement is not None else []
    texts = (
        string_of(item.value)
        for call in calls
        if any(item.value is default for item in call.keywords)
        for item in call.keywords
        if item.arg == "help"
    )
    return any(text is not None and _EXPLAINED.search(text) for text in texts)


def _names(site: Site, place: ReadPlace, call: ast.Call) -> frozenset[str]:
    """The keywords of some calls, and the entries of the dicts that the outermost one gets with ``**``."""
    names = {keyword.arg for _, _, _, each in site.calls for keyword in each.keywords if keyword.arg}
    for keyword in call.keywords:
        for value in Constants.of(place.file.project).possible(keyword.value, place) if keyword.arg is None else ():
            entries = entries_of(value.value) if isinstance(value.value, Object) else None
            names.update(entries.values if entries is not None else ())
    return frozenset(names)
