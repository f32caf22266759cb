"""Small training projects for the tests: checked against the marks in them, fixed, or asked what a name holds.

A row that ends in ``#: PPF201`` expects a finding of that rule to start there; a row without a mark expects none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from textwrap import dedent, indent

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix.fixer import fix_all
from perflint.flow.by_statement import Flow, module_env
from perflint.flow.resolving import opened
from perflint.flow.values import Values
from perflint.index.kinds import Kind
from perflint.index.project import FileIndex, Place, Project
from perflint.run import engine
from perflint.syntax.scopes import Scope
from perflint.text.source import Source
from perflint.trace import hot_path
from perflint.training.steps import points_of

Files = Mapping[str, str] | str
PATH = "train.py"
_MARK = re.compile(r"#: (PPF\d+(?: PPF\d+)*)")

STEP = """\
import numpy as np
import paddle
import paddle.nn.functional as F


def train(model, loader, optimizer, args):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
"""


def in_step(body: str) -> str:
    """A training function whose step loop (over ``step, (x, y)``) ends with ``body``."""
    return STEP + indent(dedent(body).strip("\n") + "\n", " " * 8)


def sources(files: Files) -> dict[str, Source]:
    """Sources by path; a lone text stands at ``PATH``."""
    texts = {PATH: files} if isinstance(files, str) else files
    return {path: Source(path, dedent(text)) for path, text in texts.items()}


def check(files: Files, *select: str, **options: int) -> list[Finding]:
    """All findings of the selected rules (of all rules, where none is named), whatever they can cost."""
    options.setdefault("min_impact", ImpactLevel.LOW)
    return engine.check(sources(files), Settings(join_lines=False, select=select or ("ALL",), **options))  # type: ignore[arg-type]


def levels(text: str, *select: str) -> list[Level]:
    """How far the fix of each finding that has one can be trusted."""
    return [item.fix.level for item in check(text, *select) if item.fix is not None]


def places(files: Files, *select: str) -> list[tuple[str, int, str]]:
    """Path, row and code of each finding."""
    given = sources(files)
    found = engine.check(given, Settings(join_lines=False, select=select or ("ALL",), min_impact=ImpactLevel.LOW))
    return [(item.path, given[item.path].lines.position(item.start)[0], item.code) for item in found]


def marks(files: Files) -> list[tuple[str, int, str]]:
    """Path, row and code of each mark."""
    return sorted(
        (path, row, code)
        for path, source in sources(files).items()
        for row in range(1, source.lines.rows + 1)
        for match in _MARK.finditer(source.lines.line(row))
        for code in match.group(1).split()
    )


def expect_marked(files: Files, *select: str) -> None:
    """Findings stand on the marked rows and on no others.

    Raises:
        AssertionError: a marked finding is missing, or there is one more.
    """
    _compare(places(files, *select), marks(files))


def expect_reads(files: Files) -> None:
    """The same for the host reads and log lines of a training step, whatever other rules have to say.

    A finding at a call that only points to a marked read in another file belongs to that mark.
    """
    given, marked = sources(files), marks(files)
    rows = {(path, row) for path, row, _ in marked}
    found = [
        (item.path, given[item.path].lines.position(item.start)[0], item.code)
        for item in engine.check(
            given, Settings(join_lines=False, select=("PPF201", "PPF202", "PPF405"), min_impact=ImpactLevel.LOW)
        )
        if not any(part.message == "the host read" and (part.path, part.line) in rows for part in item.related)
    ]
    _compare(found, marked)


def _compare(found: list[tuple[str, int, str]], marked: list[tuple[str, int, str]]) -> None:
    missing, unmarked = sorted(set(marked) - set(found)), sorted(set(found) - set(marked))
    assert found == marked, f"missing: {missing}, not marked: {unmarked}"


def expect_marked_in_step(body: str, *select: str) -> None:
    """The same for what stands at the end of a training step."""
    expect_marked(in_step(body), *(select or ("PPF2", "PPF4")))


def fixed(text: str, *select: str, level: Level = Level.SAFE) -> str:
    """A text after its fixes: valid Python, and as it is however often it is fixed again.

    Raises:
        AssertionError: the fixes never settle, or one had to be rejected.
    """
    settings = Settings(join_lines=False, select=select or ("ALL",), min_impact=ImpactLevel.LOW)
    outcome = fix_all(sources(text), lambda given: engine.check(given, settings), level)
    assert outcome.settled
    assert not outcome.rejected
    result = outcome.changed[PATH].text if outcome.changed else sources(text)[PATH].text
    ast.parse(result)
    again = fix_all({PATH: Source(PATH, result)}, lambda given: engine.check(given, settings), level)
    assert not again.changed
    return result


def fixed_body(body: str, *select: str, level: Level = Level.SAFE) -> str:
    """What the fixes make of the end of a training step, without the rest of the script."""
    result = fixed(in_step(body), *select, level=level)
    assert result.startswith(STEP), result
    return dedent(result[len(STEP) :])


def project(files: Files) -> Project:
    """A project whose step code is known."""
    result = opened(sources(files))
    hot_path.analyse(result)
    return result


def module(text: str) -> FileIndex:
    """The index of a single file."""
    return project(text).files[PATH]


def kind_at_end(text: str, name: str) -> Kind:
    """What a global (``loss``, ``self.loss``) holds at the end of a file."""
    return module_env(module(text))[name]


def returned(text: str, function: str) -> Kind:
    """What a top-level function of a file returns when nothing is known of its arguments."""
    file = module(text)
    scope = file.scopes.module.functions[function]
    result = (
        Flow(Place(file, scope), Values.of(file.project).base_env(Place(file, scope), {}), guess_losses=False)
        .run()
        .result
    )
    assert result is not None
    return result


def scope_of(file: FileIndex, qualname: str) -> Scope:
    """A function of a file by its qualified name."""
    return next(scope for scope in file.scopes.scopes if scope.qualname == qualname)


def hot_rows(files: Files) -> dict[str, set[int]]:
    """The first rows of the statements that run at each step, by path."""
    return {
        path: {point.statement.node.lineno for point in points_of(file).values() if point.step is not None}
        for path, file in project(files).files.items()
    }
