"""Turns the sources of one project into findings, in this process or in several."""

from __future__ import annotations

from collections.abc import Mapping

from perflint import catalogue
from perflint.configuration import selection
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.flow.resolving import opened
from perflint.lint import messages
from perflint.run.examination import Done, Examination
from perflint.run.processes import can_fork
from perflint.text.source import Source

PARALLEL_FROM = 24
"""With fewer files, starting processes costs more than it saves."""

SHARES = 2
"""The work on a file: to parse it, and to check it. Following the steps parses the files one after the other."""


class _Work:
    """Counts the work on the files of a project.

    Args:
        files: how many there are.
        done: called with the work that was done since.
    """

    def __init__(self, files: int, done: Done) -> None:
        self._unparsed = files
        self._done = done

    def parsed(self) -> None:
        """A file was parsed. Those that are parsed for the checks do not count again."""
        if self._unparsed:
            self._unparsed -= 1
            self._done(1)

    def checked(self, files: int) -> None:
        """Some files were checked; what is not parsed by now does not have to be, or was by another process."""
        self._done(self._unparsed + files)
        self._unparsed = 0


def examine(
    sources: Mapping[str, Source],
    settings: Settings,
    codes: frozenset[str],
    jobs: int = 1,
    done: Done = lambda _: None,
    last: bool = False,
) -> tuple[list[Finding], dict[str, Exception]]:
    """The findings of one project before they are filtered, and the errors of files that do not parse.

    Args:
        sources: the files of the project by path.
        jobs: the number of processes to use, including this one.
        done: called with the work that was done since, as `SHARES` of a file.
        last: the process ends after this, so nothing has to be freed.
    """
    project = opened(sources, settings)
    work = _Work(len(sources), done)
    project.on_parse = work.parsed
    rules = catalogue.shipped()
    examination = Examination(project, settings, selection.with_waits(codes, rules))
    jobs = min(jobs, len(sources) // (PARALLEL_FROM // 2)) if can_fork() else 1
    try:
        if jobs > 1:
            from perflint.run.together import Together  # imported late: most runs have one project and one process

            drafts, broken = Together(examination, jobs - 1, work.checked).find()
        else:
            drafts, broken = examination.find(work.checked)
        found = messages.write(drafts, rules, settings)
        return [finding for finding in found if finding.code in codes], broken
    finally:
        if not last:
            project.close()
