"""A file of a project that is kept: what it remembers of other files is tracked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, cast

from perflint.incremental.tracking import Table, TrackedMemory
from perflint.index.project import FileIndex, NamedLoad
from perflint.syntax.file_text import Answer
from perflint.syntax.scopes import Scope, Statement

OF_TEXT = ("is_foreign", "is_static", "is_offline", "may_have_stars", "scales")
"""Answers about the text of a file that an edit seldom changes."""
OWN = ("tree", "scopes", "words", "uses", "identifiers", "loads", "is_quiet", "module", *OF_TEXT)
"""What a file remembers of itself alone."""


class KeptFile(FileIndex):
    """A file of a project that is kept: what it remembers of other files is tracked."""

    memory: TrackedMemory

    @cached_property
    def _calls_by_name(self) -> Table:
        return Table(self.memory.log)

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, Any]]:
        """The calls whose last name is this one, each with its statement."""
        known = self._calls_by_name
        if name not in known:
            known[name] = super().calls_named(name)
        return cast("list[tuple[Scope, Statement, Any]]", known[name])

    @cached_property
    def _loads_by_name(self) -> Table:
        return Table(self.memory.log)

    def loads_named(self, name: str) -> list[NamedLoad]:
        """The places in statements that read a name or an attribute."""
        known = self._loads_by_name
        if name not in known:
            known[name] = super().loads_named(name)
        return cast("list[NamedLoad]", known[name])

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it."""
        if question not in self._questions:
            self._questions[question] = answer, answer(self.source.text)
        return cast("Answer", self._questions[question][1])

    def of_itself(self, question: str, answer: Callable[[FileIndex], Answer]) -> Answer:
        """What a function of this file alone says of it."""
        return self.of_text(question, lambda _: answer(self))

    def scopes_where(self, question: str, answer: Callable[[FileIndex, Scope], bool]) -> list[Scope]:
        """The functions for which a function says so that looks at them and at the names of the file alone."""
        return self.of_itself(question, lambda file: FileIndex.scopes_where(file, question, answer))

    def of_scope(self, question: Hashable, scope: Scope, answer: Callable[[], Answer]) -> Answer:
        """What a function says of one function of the file, whatever it asks; no rows and offsets."""
        key = scope, question
        if key not in self._of_scopes:
            self._of_scopes[key] = answer()
        return cast("Answer", self._of_scopes[key])

    @cached_property
    def _of_scopes(self) -> Table:
        return Table(self.memory.log)

    @cached_property
    def _questions(self) -> dict[Hashable, tuple[Callable[[str], Any], Any]]:
        return {}

    def take_over(self, other: FileIndex) -> None:
        """Take what another project's index of the same text remembers of the text alone."""
        known = vars(other)
        vars(self).update({name: known[name] for name in OWN if name in known})
