"""Checks one project in several processes: each does what none has done yet, beginning with files that it has parsed.

The first process follows the steps, the others look for candidates anywhere. A process that does this in a file also
checks it, because it has indexed the file already. Only the first process, and those that it forks later, know the
steps, so only these check files with steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import libcst as cst

from perflint.index.claims import Claims
from perflint.lint.context import Draft
from perflint.query import Question
from perflint.run.examination import Done, Examination
from perflint.run.processes import Partner, Work
from perflint.training.steps import Points

_FINISHED_TOGETHER_FROM = 24
"""With fewer files left after the steps are known, another process costs more than it saves."""

_STEPS = "the steps are known"

_Tell = Callable[[object], None]
_Drafts = dict[str, list[Draft]]
"""The drafts of each file."""

_Found = tuple[_Drafts, dict[str, Exception]]
"""Drafts, and the errors of files that do not parse."""


class Together:
    """An examination that this process shares with others that it forks.

    Args:
        examination: that of the project, not used yet.
        others: how many processes help this one.
        done: called as files are finished, by this process or by the others.
    """

    def __init__(self, examination: Examination, others: int, done: Done) -> None:
        self._examination = examination
        self._project = examination.project
        self._others = others
        self._done = done
        self._left = len(self._project.files)
        self._paths = list(self._project.files)
        self._places, self._syntax, self._checks = (Claims(self._paths) for _ in range(3))
        self._parsed, self._parsed_by_others = Claims(self._paths), Claims(self._paths)
        self._stepped, self._milestones = Claims(self._paths), Claims([_STEPS])
        self._project.parsed, self._project.stepped = self._parsed, self._stepped

    def find(self) -> tuple[list[Draft], dict[str, Exception]]:
        """The drafts of the project, and the errors of files that do not parse."""
        with _partners([self._help] * self._others) as partners:
            self._examination.follow_steps()
            self._milestones.take(_STEPS)
            steps = frozenset(file.path for file, points in Points.of(self._project).points.items() if points)
            for partner in partners:
                partner.tell(steps)
            self._work_ahead(partners)
            answers = [partner.hear() for partner in partners]
            elsewhere = frozenset().union(*map(self._take, answers)) - steps
            self._count(len(elsewhere))
            drafts, broken = self._finish([path for path in dict.fromkeys(self._in_order()) if path not in elsewhere])
            for answer, partner in zip(answers, partners, strict=True):
                drafts |= partner.hear()
                broken |= answer.broken
            self._count(self._left)
            return [draft for found in drafts.values() for draft in found], broken

    def _help(self, tell: _Tell, hear: Callable[[], frozenset[str]]) -> None:
        """The work of another process."""
        self._project.parsed, self._project.on_parse = self._parsed_by_others, None
        asked = self._ask(self._in_order_for_others())
        tell(_Answer(asked, self._broken(), self._project.memory.portable))
        _load_libcst()
        steps = hear()
        tell(self._drafts(path for path in asked if path not in steps))

    def _work_ahead(self, partners: list[Partner]) -> None:
        """Look for candidates while the others work."""
        _load_libcst()
        for path in self._in_order():
            if all(partner.has_told for partner in partners):
                return
            self._ask([path])

    def _take(self, answer: _Answer) -> list[str]:
        """Store the results of another process; return the files that it checks if they have no steps."""
        self._project.memory.take(answer.worked, self._project)
        return answer.asked

    # -- candidates --------------------------------------------------------------------------------------------

    def _ask(self, paths: Iterable[str]) -> list[str]:
        """Look for candidates in files that no other process looks at, and return which."""
        asked: list[str] = []
        for path in filter(self._places.take, paths):
            self._examination.look_ahead(path)
            asked.append(path)
        return asked

    def _in_order(self) -> Iterator[str]:
        """All files, some of them twice: first those that this process has parsed, then those that none has."""
        yield from [path for path, file in self._project.files.items() if file.is_parsed]
        yield from self._unparsed()
        yield from self._paths

    def _in_order_for_others(self) -> Iterator[str]:
        """The same, but files that the first process has parsed come last, only until the steps are known, and only
        if they have no steps so far: the others cannot check files with steps.
        """
        files = self._project.files
        yield from (path for path in self._paths if files[path].is_parsed and not self._parsed.is_taken(path))
        yield from self._unparsed()
        for path in self._paths:
            if self._milestones.is_taken(_STEPS):
                return
            if not self._stepped.is_taken(path):
                yield path

    def _unparsed(self) -> Iterator[str]:
        either = self._parsed, self._parsed_by_others
        return (path for path in self._paths if not any(parsed.is_taken(path) for parsed in either))

    def _broken(self) -> dict[str, Exception]:
        """The syntax errors of files: those that this process has parsed, and those of the rest that it takes."""
        parsed = [path for path, file in self._project.files.items() if file.is_parsed]
        return self._examination.broken([*parsed, *filter(self._syntax.take, self._unparsed())])

    # -- checks ------------------------------------------------------------------------------------------------

    def _finish(self, paths: list[str]) -> _Found:
        """The findings in some files, with more processes that begin with everything that this one knows."""
        count = self._others if len(paths) >= _FINISHED_TOGETHER_FROM else 0
        with _partners([partial(self._tell_finished, paths)] * count) as partners:
            drafts, broken = self._finished(paths, lambda: self._count(1))
            for partner in partners:
                more, errors = partner.hear()
                drafts |= more
                broken |= errors
        return drafts, broken

    def _tell_finished(self, paths: list[str], tell: _Tell, _: Callable[[], object]) -> None:
        self._project.on_parse = None
        tell(self._finished(paths, lambda: None))

    def _count(self, files: int) -> None:
        self._left -= files
        self._done(files)

    def _finished(self, paths: list[str], done: Callable[[], None]) -> _Found:
        """The findings in those of these files that no other process takes; ``done`` is called for each of them all."""
        drafts: _Drafts = {}
        for path in paths:
            if self._checks.take(path):
                drafts |= self._drafts([path])
            done()
        return drafts, self._broken()

    def _drafts(self, paths: Iterable[str]) -> _Drafts:
        return {path: self._examination.check_file(path) for path in paths}


@dataclass(frozen=True)
class _Answer:
    """The results of another process.

    ``asked``: the files that it checks if they have no steps; ``broken``: errors by path; ``worked``: what it computed
    about the whole project.
    """

    asked: list[str]
    broken: Mapping[str, Exception]
    worked: Mapping[Question, Any]


def _load_libcst() -> None:
    """Import it now if its import was delayed: there will be something to parse."""
    getattr(cst, "Module")  # noqa: B009 - only the look matters


@contextmanager
def _partners(work: Iterable[Work]) -> Iterator[list[Partner]]:
    """Processes that are ended after the block, whatever happens."""
    partners = [Partner(piece) for piece in work]
    try:
        yield partners
    finally:
        for partner in partners:
            partner.end()
