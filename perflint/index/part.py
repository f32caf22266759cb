"""A part of the index: one kind of question about a project, such as who calls a function."""

from __future__ import annotations

from typing import TypeVar

from perflint.index.project import Project

P = TypeVar("P", bound="Part")


class Part:
    """Answers questions about one project, and keeps the answers in its memory.  Each project has one of each class.

    Args:
        project: what the questions are about.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self.memory = project.memory

    @classmethod
    def of(cls: type[P], project: Project) -> P:
        """The part of this class that a project has."""
        known = project.parts.get(cls)
        if known is None:
            known = project.parts[cls] = cls(project)
        return known
