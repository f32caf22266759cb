"""Finds the arms of ``if`` statements around a place: the two arms of one test do not run in the same step."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from perflint.index.project import Project
from perflint.syntax.scopes import LOOPS
from perflint.training.around import step_loop
from perflint.training.steps import Point, Step
from perflint.training.ways import way_to

Arms = Mapping[tuple[str, int], bool]
"""Path and row of each ``if`` around a place, up to the step loop, with what its test has to be."""


def arms_of(project: Project, point: Point, step: Step) -> Arms:
    """The arms that lead to a statement in a step.

    Those in a loop inside the step do not count: ``for x in batch: (if x: a() else: b())`` runs both in one step.
    """
    found: dict[tuple[str, int], bool] = {}
    for file, _, statement in way_to(project, point, step):
        path = file.path
        last = step_loop(statement, path, step.path, step.line)
        for link in statement.around:
            if link.node is last:
                break
            if isinstance(link.node, LOOPS) and link.branch == "body":
                found.clear()
            elif isinstance(link.node, ast.If):
                found[path, link.node.lineno] = link.branch == "body"
    return found


def exclude(one: Arms, other: Arms) -> bool:
    """Whether two places are in different arms of one test."""
    return any(other.get(test, value) != value for test, value in one.items())
