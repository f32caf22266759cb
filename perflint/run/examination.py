"""Turns the sources of one project into findings: index, gates, parsing of what can contain a finding, one walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.fix.trial import Trials
from perflint.index.imported_names import is_needed
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Project
from perflint.lint import registry, units, unused_noqa, version_checks
from perflint.lint.context import Context, Draft
from perflint.lint.registry import Rows
from perflint.lint.walk import Walk
from perflint.suppress import noqa
from perflint.training import hot
from perflint.training.clues import Clues
from perflint.training.steps import points_of

_SHEBANG_2 = re.compile(r"#!.*\bpython2")
_SAYS_2 = re.compile(r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized")
"""The parser's messages about a ``print`` statement, and about ``except X, error``."""

RowsOf = Callable[[FileIndex, frozenset[str], Settings], Rows]
Done = Callable[[int], None]
"""A function that is called with the number of newly finished files."""


@dataclass
class Examination:
    """What one process needs to check the files of one project.

    ``gated``: parse only what can contain a finding; False parses everything, which must find the same.
    """

    project: Project
    settings: Settings
    codes: frozenset[str]
    gated: bool
    rows: dict[str, Rows] = field(default_factory=dict)
    readers: dict[str, units.Reader] = field(default_factory=dict)
    """Whether files are checked repeatedly."""

    def find(self, done: Done) -> tuple[list[Draft], dict[str, Exception]]:
        """The drafts of the project, and the errors of files that do not parse.

        Args:
            done: called as files are finished.
        """
        paths = list(self.project.files)
        self.follow_steps()
        self.ask(registry.place_rows, paths)
        self.ask(registry.named_rows, paths)
        drafts: list[Draft] = []
        for path in paths:
            if self.is_to_check(path):
                drafts += self.check_file(path)
            done(1)
        return drafts, self.broken(paths)

    # -- gates -------------------------------------------------------------------------------------------------

    def follow_steps(self) -> None:
        """Find the code that runs at each step, and its rows; ``rows`` then has an entry for each file with steps."""
        hot.analyse(self.project, self.clues())
        self._ask_steps(self.project.files)

    def clues(self) -> Clues:
        """What makes a forward pass worth checking. What it may reach is only included if it may be needed."""
        files = self.project.files.values()
        is_least = self.settings.min_confidence is Confidence.LOW
        every = is_least or any(unused_noqa.is_worth_a_look(file.source) for file in files)
        return registry.forward_clues_of(self.codes, sure=not every)

    def _ask_steps(self, paths: Iterable[str]) -> None:
        for path in paths:
            file = self.project.files[path]
            if points_of(file) and self._is_asked(path):
                self.rows[path] = Rows(registry.step_rows(file, self.codes, self._asked(file)))

    def ask(self, gate: RowsOf, paths: Iterable[str]) -> None:
        """Run a gate on some files."""
        for path in paths:
            file = self.project.files[path]
            found = gate(file, self.codes, self._asked(file)) if self._is_asked(path) else None
            if found is not None and found.all:
                self.rows[path] = self.rows.get(path, Rows()) | found

    def broken(self, paths: Iterable[str]) -> dict[str, Exception]:
        """The syntax errors of some files."""
        errors = {path: self.project.files[path].syntax_error for path in paths}
        return {
            path: error
            for path, error in errors.items()
            if error is not None and not noqa.skips_file(self.project.files[path].source)
            if not self._is_left_over(self.project.files[path], error)
        }

    def _is_left_over(self, file: FileIndex, error: Exception) -> bool:
        """Whether a file is Python 2 without Paddle that nothing imports, so not part of the training."""
        is_old = _SHEBANG_2.match(file.source.text) or (isinstance(error, SyntaxError) and _SAYS_2.match(error.msg))
        if not is_old or "paddle" in file.source.text.lower():
            return False
        return next(Imports.of(self.project).importers(file), None) is None

    def _asked(self, file: FileIndex) -> Settings:
        """The settings for the gates: a comment may be there for a finding that would not be shown."""
        is_least = self.settings.min_confidence is Confidence.LOW
        return self.settings if is_least or not unused_noqa.is_worth_a_look(file.source) else self._unsure

    @cached_property
    def _unsure(self) -> Settings:
        return replace(self.settings, min_confidence=Confidence.LOW)

    def _is_asked(self, path: str) -> bool:
        file = self.project.files[path]
        return not file.is_quiet and not noqa.skips_file(file.source)

    # -- drafts ------------------------------------------------------------------------------------------------

    def is_to_check(self, path: str) -> bool:
        """Whether a file can contain a finding, according to the gates."""
        return not self.gated or bool(self.rows.get(path, Rows()).all)

    def find_in(self, path: str) -> tuple[list[Draft], Exception | None]:
        """The drafts of one file, and its syntax error; the code that runs at each step must be known."""
        self.rows.pop(path, None)
        self._ask_steps([path])
        self.ask(registry.named_rows, [path])
        self.ask(registry.place_rows, [path])
        return (self.check_file(path) if path in self.rows else []), self.broken([path]).get(path)

    def check_file(self, path: str) -> list[Draft]:
        """The drafts of one file."""
        file = self.project.files[path]
        rows = self.rows.get(path, Rows())
        pieces = units.units_of(file.tree)
        if self.gated:
            pieces = units.chosen(pieces, rows.all)
            registry.type_rows(file, rows.typed)
        else:
            registry.type_all(file)
        lines = file.source.lines
        points = {lines.offset(node.lineno, node.col_offset): point for node, point in points_of(file).items()}
        drafts: list[Draft] = []
        answers: dict[Hashable, Any] = {}
        reader = self.readers.get(path)
        if reader is not None:
            reader.begin()
        for piece in pieces:
            if piece.is_too_deep:
                continue
            try:
                unit = units.parse(file.source, piece, reader)
                context = Context(file, unit, self.settings, catalogue.shipped(), self.codes, points, answers)
                Walk(context, registry.checks, rows.all if self.gated else None).run()
            except (units.UnparsableError, RecursionError):
                continue  # ast has accepted the file, so the rest of it is still worth checking
            drafts += context.drafts
        return _tried(version_checks.fitting(drafts, file, self.settings), file, self.settings.line_length)


def _tried(drafts: list[Draft], file: FileIndex, limit: int | None) -> list[Draft]:
    """The drafts, with their fixes offered or withdrawn according to their trials."""
    if not any(draft.fix is not None and draft.fix.edits for draft in drafts):
        return drafts
    trials = Trials(file.source, file.tree, limit, lambda name: is_needed(file, name))
    tried = trials.tried_together([draft.fix for draft in drafts])
    return [replace(draft, fix=fix) for draft, fix in zip(drafts, tried, strict=True)]
