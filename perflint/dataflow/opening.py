"""Opens a project: the one place that connects the parts that answer questions about it."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.configuration.settings import Settings
from perflint.dataflow.resolving import Resolving
from perflint.index.project import Project
from perflint.text.source import Source


def opened(sources: Mapping[str, Source], settings: Settings | None = None) -> Project:
    """Create a project that can answer questions.

    Args:
        sources: every readable file by path.
        settings: the settings of the run (default: those of a run without configuration).
    """
    project = Project(sources, settings)
    project.resolving = Resolving.of(project)
    return project
