"""What rules with advice about a whole program share: the entry point at a call, and edits around it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from perflint.catalogue import Rule
from perflint.facts.entry_points import EntryPoint, entries_of
from perflint.findings import Confidence, Fix, Related
from perflint.index.project import FileIndex
from perflint.lint.registry import Candidate
from perflint.rules.edits import insert_row_above
from perflint.rules.spelled import spelling
from perflint.syntax.scopes import LOOPS

_MOST_SHOWN = 3
"""How many places like the reported one are listed with it."""


def entries_in(file: FileIndex, is_worth: Callable[[EntryPoint], bool]) -> Iterator[Candidate]:
    """The entry points of a file about which a rule says something at their backward passes."""
    for entry in entries_of(file):
        if is_worth(entry):
            yield Candidate(entry.call, entry.backward.node, entry, Confidence.MEDIUM)


def models_in(file: FileIndex, is_worth: Callable[[EntryPoint], bool]) -> Iterator[Candidate]:
    """The same at the calls that their forward passes begin with."""
    for entry in entries_of(file):
        if entry.model_call is not None and is_worth(entry):
            yield Candidate(entry.model_call[1], entry.model_call[0].node, entry, Confidence.MEDIUM)


def places_beside(entry: EntryPoint) -> tuple[Related, ...]:
    """The step loop, if it is elsewhere, and the first of the places that the entry point represents."""
    loop = (Related(entry.driven_from.path, entry.driven_from.row(entry.loop), "the step loop"),)
    alike = [Related(file.path, file.row(node), "a step like it") for file, node in entry.others[:_MOST_SHOWN]]
    return (*(() if entry.is_in_loop else loop), *alike)


def model_of(entry: EntryPoint) -> str:
    """The model of a step as source text, or words for it."""
    return f"`{entry.models[0]}`" if entry.models else "the model"


def rows_of_their_own(nodes: Sequence[ast.stmt], around: ast.AST) -> bool:
    """Whether nothing else of a function begins or ends on a row of some neighbouring statements."""
    first, last = nodes[0].lineno, nodes[-1].end_lineno or nodes[-1].lineno
    inside = {item for node in nodes for item in ast.walk(node)}
    others = (node for node in ast.walk(around) if isinstance(node, ast.stmt) and node not in inside)
    return not any(first <= row <= last for node in others for row in _ends(node))


def _ends(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def above_training(entry: EntryPoint, lines: Sequence[str], rule: Rule) -> Fix:
    """The fix that puts lines above the loops of a training; ``{paddle}`` in them is Paddle's name in the file.

    It is only shown if the loops are in another file than the backward pass, which is what is reported.
    """
    at = outermost_loop(entry)
    spelled = spelling("paddle", at, entry.file) if entry.driven_from is entry.file else None
    if spelled is None:
        return rule.words()
    written = (line.format(paddle=spelled.name) for line in lines)
    return spelled.trusted(rule.fix(insert_row_above(entry.file.source, at, line) for line in written))


def outermost_loop(entry: EntryPoint) -> ast.stmt:
    """The loop over epochs around a step loop, or the step loop itself."""
    place = next(statement for statement in entry.driver.statements if statement.node is entry.loop)
    loops = [link.node for link in place.around if isinstance(link.node, LOOPS)]
    return loops[-1] if loops else entry.loop
