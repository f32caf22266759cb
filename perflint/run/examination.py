"""Turns the sources of one project into findings: follows its steps, and checks each file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.fix.trial import Trials
from perflint.index.imported_names import is_needed
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Project
from perflint.lint import registry, unused_noqa, version_checks
from perflint.lint.context import Draft
from perflint.suppress import noqa
from perflint.trace import hot_path
from perflint.training.clues import Clues

_SHEBANG_2 = re.compile(r"#!.*\bpython2")
_SAYS_2 = re.compile(r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized")
"""The parser's messages about a ``print`` statement, and about ``except X, error``."""

Done = Callable[[int], None]
"""A function that is called with the number of newly finished files."""


@dataclass
class Examination:
    """What one process needs to check the files of one project."""

    project: Project
    settings: Settings
    codes: frozenset[str]

    def find(self, done: Done) -> tuple[list[Draft], dict[str, Exception]]:
        """The drafts of the project, and the errors of files that do not parse.

        Args:
            done: called as files are finished.
        """
        paths = list(self.project.files)
        self.follow_steps()
        drafts: list[Draft] = []
        for path in paths:
            drafts += self.check_file(path)
            done(1)
        return drafts, self.broken(paths)

    def follow_steps(self) -> None:
        """Find the code that runs at each step."""
        hot_path.analyse(self.project, self.clues())

    def clues(self) -> Clues:
        """What makes a forward pass worth checking. What it may reach is only included if it may be needed."""
        files = self.project.files.values()
        is_least = self.settings.min_confidence is Confidence.LOW
        every = is_least or any(unused_noqa.is_worth_a_look(file.source) for file in files)
        return registry.forward_clues_of(self.codes, sure=not every)

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
        """Whether a file is test code, or Python 2 without Paddle that nothing imports: no part of the training."""
        if file.is_quiet:
            return True
        is_old = _SHEBANG_2.match(file.source.text) or (isinstance(error, SyntaxError) and _SAYS_2.match(error.msg))
        if not is_old or "paddle" in file.source.text.lower():
            return False
        return next(Imports.of(self.project).importers(file), None) is None

    def _asked(self, file: FileIndex) -> Settings:
        """The settings that say what is looked at: a comment may be there for a finding that would not be shown."""
        is_least = self.settings.min_confidence is Confidence.LOW
        return self.settings if is_least or not unused_noqa.is_worth_a_look(file.source) else self._unsure

    @cached_property
    def _unsure(self) -> Settings:
        return replace(self.settings, min_confidence=Confidence.LOW)

    def check_file(self, path: str) -> list[Draft]:
        """The drafts of one file; the code that runs at each step must be known."""
        file = self.project.files[path]
        if file.is_quiet or noqa.skips_file(file.source):
            return []
        drafts = registry.drafts_of(file, self.settings, self._asked(file), self.codes)
        return _tried(version_checks.fitting(drafts, file, self.settings), file, self.settings.line_length)


def _tried(drafts: list[Draft], file: FileIndex, limit: int | None) -> list[Draft]:
    """The drafts, with their fixes offered or withdrawn according to their trials."""
    if not any(draft.fix is not None and draft.fix.edits for draft in drafts):
        return drafts
    trials = Trials(file.source, file.tree, limit, lambda name: is_needed(file, name))
    tried = trials.tried_together([draft.fix for draft in drafts])
    return [replace(draft, fix=fix) for draft, fix in zip(drafts, tried, strict=True)]
