"""One project from sources to drafts: index it, ask the gates, parse what can hold a finding, walk it once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from perflint import catalogue, gates, messages, noqa, registry, units
from perflint.context import Context, Draft
from perflint.findings import Finding
from perflint.gates import Rows
from perflint.index import hot
from perflint.index.project import Project, Worked
from perflint.processes import Forked, can_fork
from perflint.settings import Settings
from perflint.source import Source
from perflint.walk import Walk

PARALLEL_FROM = 24
"""Files below which starting processes costs more than it saves."""

Done = Callable[[int], None]
"""Told how many more files are done."""


@dataclass
class Examination:
    """What one process needs to check the files of one project.

    ``gated``: parse only what can hold a finding; False parses everything, which must find the same.
    """

    project: Project
    settings: Settings
    codes: frozenset[str]
    gated: bool
    rows: dict[str, Rows] = field(default_factory=dict)

    def find(self, jobs: int, done: Done) -> tuple[list[Finding], dict[str, Exception]]:
        """The findings of the project, and the files that do not parse, with what is wrong with them.

        Args:
            jobs: processes to use, this one among them.
            done: told of the files as they are done.
        """
        jobs = min(jobs, len(self.project.files) // (PARALLEL_FROM // 2)) if can_fork() else 1
        broken = self._gate(jobs)
        busy = [path for path, rows in self.rows.items() if rows.all or not self.gated]
        if len(busy) < len(self.project.files):
            done(len(self.project.files) - len(busy))
        drafts = self._drafts(busy, min(jobs, len(busy) // 4), done)
        return messages.write(drafts, catalogue.shipped(), self.settings), broken

    # -- gates -------------------------------------------------------------------------------------------------

    def _gate(self, jobs: int) -> dict[str, Exception]:
        """Fill ``rows``: this process looks for the step loops, the others ask what needs no step loop."""
        if jobs <= 1:
            self._follow_steps()
            return self._ask(self.project.files)
        asked = Forked([partial(self._answer, paths) for paths in _shares(self.project, jobs - 1)])
        self._follow_steps()
        return self._answers(asked.results())

    def _follow_steps(self) -> None:
        hot.analyse(self.project, gates.forward_names(self.codes))
        for file in self.project.files.values():
            if file.points and self._is_asked(file.source.path):
                self.rows[file.source.path] = Rows(gates.step_rows(file, self.codes, self.settings))

    def _ask(self, paths: Iterable[str]) -> dict[str, Exception]:
        """Ask the gates that need no step loop of some files; what keeps files from being parsed."""
        broken: dict[str, Exception] = {}
        for path in paths:
            file = self.project.files[path]
            if self._is_asked(path):
                found = gates.rows(file, self.codes, self.settings)
                self.rows[path] = self.rows.get(path, Rows()) | found
            error = file.syntax_error
            if error is not None and not noqa.skips_file(file.source):
                broken[path] = error
        return broken

    def _answer(self, paths: list[str]) -> _Answer:
        broken = self._ask(paths)
        return _Answer({path: rows for path, rows in self.rows.items() if rows.all}, broken, self.project.worked)

    def _is_asked(self, path: str) -> bool:
        file = self.project.files[path]
        return not file.is_quiet and not noqa.skips_file(file.source)

    def _answers(self, answers: Iterable[_Answer]) -> dict[str, Exception]:
        broken: dict[str, Exception] = {}
        for answer in answers:
            broken |= answer.broken
            self.project.worked_out(answer.worked)
            for path, rows in answer.rows.items():
                self.rows[path] = self.rows.get(path, Rows()) | rows
        self.rows = {path: self.rows[path] for path in self.project.files if path in self.rows}
        return broken

    # -- drafts ------------------------------------------------------------------------------------------------

    def _drafts(self, paths: list[str], jobs: int, done: Done) -> list[Draft]:
        drafts: list[Draft] = []
        if jobs <= 1:
            for path in paths:
                drafts += self.check_file(path)
                done(1)
            return drafts
        shares = _shares(self.project, jobs, paths)
        others = Forked([partial(self._check_files, share) for share in shares[1:]])
        drafts += self._check_files(shares[0])
        for found in others.results():
            drafts += found
        done(len(paths))
        return drafts

    def _check_files(self, paths: Iterable[str]) -> list[Draft]:
        return [draft for path in paths for draft in self.check_file(path)]

    def check_file(self, path: str) -> list[Draft]:
        """The drafts of one file."""
        file = self.project.files[path]
        rows = self.rows.get(path, Rows())
        pieces = units.units_of(file.tree)
        if self.gated:
            pieces = units.chosen(pieces, rows.all)
            gates.type_rows(file, rows.typed)
        else:
            gates.type_all(file)
        lines = file.source.lines
        points = {lines.offset(node.lineno, node.col_offset): point for node, point in file.points.items()}
        drafts: list[Draft] = []
        for piece in pieces:
            if piece.is_too_deep:
                continue
            try:
                context = Context(
                    file, units.parse(file.source, piece), self.settings, catalogue.shipped(), self.codes, points
                )
                Walk(context, registry.checks, rows.all if self.gated else None).run()
            except (units.UnparsableError, RecursionError):
                continue  # ast has accepted the file, so the rest of it is still worth checking
            drafts += context.drafts
        return drafts


@dataclass(frozen=True)
class _Answer:
    """What another process has found out: rows and errors by path, and what it worked out of the whole project."""

    rows: Mapping[str, Rows]
    broken: Mapping[str, Exception]
    worked: Worked


def _shares(project: Project, count: int, paths: Iterable[str] | None = None) -> list[list[str]]:
    """The files in as many parts of the same size."""
    parts: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    files = project.files if paths is None else {path: project.files[path] for path in paths}
    for path, file in sorted(files.items(), key=lambda item: -len(item[1].source.text)):
        least = sizes.index(min(sizes))
        parts[least].append(path)
        sizes[least] += len(file.source.text)
    return parts


def examine(
    sources: Mapping[str, Source],
    settings: Settings,
    codes: frozenset[str],
    jobs: int = 1,
    gated: bool = True,
    done: Done = lambda _: None,
    last: bool = False,
) -> tuple[list[Finding], dict[str, Exception]]:
    """The findings of one project before they are filtered, and its files that do not parse.

    ``last``: the process ends after this, so that nothing has to be freed.
    """
    project = Project(sources, settings.loaders)
    try:
        return Examination(project, settings, codes, gated).find(jobs, done)
    finally:
        if not last:
            project.close()
