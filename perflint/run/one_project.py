"""Turns the sources of one project into findings."""

from __future__ import annotations

from collections.abc import Mapping

from perflint import catalogue
from perflint.configuration.selection import with_waits
from perflint.configuration.settings import Settings
from perflint.dataflow.opening import opened
from perflint.findings import Finding
from perflint.lint import messages
from perflint.run.examination import Done, Examination
from perflint.text.source import Source

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
        """Some files were checked; what is not parsed by now does not have to be."""
        self._done(self._unparsed + files)
        self._unparsed = 0


def examine(
    sources: Mapping[str, Source],
    settings: Settings,
    codes: frozenset[str],
    gated: bool = True,
    done: Done = lambda _: None,
    last: bool = False,
) -> tuple[list[Finding], dict[str, Exception]]:
    """The findings of one project before they are filtered, and the errors of files that do not parse.

    Args:
        sources: the files of the project by path.
        gated: parse only what can contain a finding.
        done: called with the work that was done since, as `SHARES` of a file.
        last: the process ends after this, so nothing has to be freed.
    """
    project = opened(sources, settings)
    work = _Work(len(sources), done)
    project.on_parse = work.parsed
    rules = catalogue.shipped()
    examination = Examination(project, settings, with_waits(codes, rules), gated)
    try:
        drafts, broken = examination.find(work.checked)
        found = messages.write(drafts, rules, settings)
        return [finding for finding in found if finding.code in codes], broken
    finally:
        if not last:
            project.close()
