"""One project from sources to drafts: index it, ask the gates, parse what can hold a finding, walk it once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import libcst as cst

from perflint import catalogue, gates, messages, noqa, registry, units
from perflint.context import Context, Draft
from perflint.findings import Finding
from perflint.gates import Rows
from perflint.index import hot
from perflint.index.file import FileIndex
from perflint.index.project import Project, Worked
from perflint.processes import Partner, Work, can_fork
from perflint.settings import Settings
from perflint.source import Source
from perflint.walk import Walk

PARALLEL_FROM = 24
"""Files below which starting processes costs more than it saves."""

RowsOf = Callable[[FileIndex, frozenset[str], Settings], Rows]
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
    readers: dict[str, units.Reader] = field(default_factory=dict)
    """For files that are checked again and again."""

    def find(self, jobs: int, done: Done) -> tuple[list[Finding], dict[str, Exception]]:
        """The findings of the project, and the files that do not parse, with what is wrong with them.

        Args:
            jobs: processes to use, this one among them.
            done: told of the files as they are done.
        """
        jobs = min(jobs, len(self.project.files) // (PARALLEL_FROM // 2)) if can_fork() else 1
        drafts, broken = self._find_together(jobs - 1, done) if jobs > 1 else self._find_alone(done)
        return messages.write(drafts, catalogue.shipped(), self.settings), broken

    def _find_alone(self, done: Done) -> tuple[list[Draft], dict[str, Exception]]:
        self._follow_steps()
        self._ask(gates.place_rows, self.project.files)
        self._ask(gates.named_rows, self.project.files)
        return self._check_files(self.project.files, done), self._broken(self.project.files)

    def _find_together(self, others: int, done: Done) -> tuple[list[Draft], dict[str, Exception]]:
        """This process follows the steps, the others look at what statements name and do; each checks what it knows."""
        shares = _shares({path: len(file.source.text) for path, file in self.project.files.items()}, others)
        with _partners([partial(self._help, share) for share in shares]) as partners:
            self._follow_steps()
            mine = list(self.rows)
            parsed = [path for path, file in self.project.files.items() if file.is_parsed]
            for partner in partners:
                partner.tell((mine, parsed))
            self._ask(gates.place_rows, mine)
            self._work_ahead(mine)
            broken = self._broken(parsed)
            for partner in partners:
                broken |= self._take(partner.hear())
            drafts = self._check_together(mine, others, done)
            for partner in partners:
                drafts += partner.hear()
            done(len(self.project.files) - len(mine))
            return drafts, broken

    def _work_ahead(self, paths: list[str]) -> None:
        """Work out what checking these files will ask for anyway, while the others are at work."""
        assert cst.Module is not None  # loads it, where it is to be imported later
        for path in paths:
            if self.rows[path].all:
                gates.type_rows(self.project.files[path], self.rows[path].typed)
                assert self.project.files[path].runs_on_cpu in (True, False)

    def _help(
        self, paths: list[str], tell: Callable[[object], None], hear: Callable[[], tuple[list[str], list[str]]]
    ) -> None:
        """What another process does: ask the gates that need no steps, and check the files left to it."""
        self._ask(gates.named_rows, paths)
        not_mine, parsed = map(frozenset, hear())
        self._ask(gates.place_rows, [path for path in paths if path not in not_mine])
        rows = {path: rows for path, rows in self.rows.items() if path in not_mine and rows.all}
        broken = self._broken(path for path in paths if path not in parsed)
        tell(_Answer(rows, broken, self.project.worked))
        tell(self._check_files([path for path in paths if path not in not_mine], _say_nothing))

    def _take(self, answer: _Answer) -> Mapping[str, Exception]:
        """Enter what another process has found out; what is wrong with the files that it was given."""
        self.project.worked_out(answer.worked)
        for path, rows in answer.rows.items():
            self.rows[path] = self.rows.get(path, Rows()) | rows
        return answer.broken

    def _check_together(self, paths: list[str], others: int, done: Done) -> list[Draft]:
        """The drafts of files whose steps this process knows: others that begin with all it knows get a share."""
        work = {path: len(self.rows[path].all) for path in paths if self.rows[path].all}
        mine, *theirs = _shares(work, others + 1 if len(work) >= PARALLEL_FROM else 1)
        with _partners([partial(self._check_share, share) for share in theirs]) as partners:
            drafts = self._check_files(mine, done)
            for partner in partners:
                drafts += partner.hear()
        done(len(paths) - len(mine))
        return drafts

    def _check_share(self, paths: list[str], tell: Callable[[object], None], hear: Callable[[], object]) -> None:
        tell(self._check_files(paths, _say_nothing))

    # -- gates -------------------------------------------------------------------------------------------------

    def _follow_steps(self) -> None:
        hot.analyse(self.project, gates.forward_clues(self.codes))
        self._ask_steps(self.project.files)

    def _ask_steps(self, paths: Iterable[str]) -> None:
        for path in paths:
            file = self.project.files[path]
            if file.points and self._is_asked(path):
                self.rows[path] = Rows(gates.step_rows(file, self.codes, self.settings))

    def _ask(self, gate: RowsOf, paths: Iterable[str]) -> None:
        for path in paths:
            found = gate(self.project.files[path], self.codes, self.settings) if self._is_asked(path) else None
            if found is not None and found.all:
                self.rows[path] = self.rows.get(path, Rows()) | found

    def _broken(self, paths: Iterable[str]) -> dict[str, Exception]:
        """What keeps files from being parsed."""
        errors = {path: self.project.files[path].syntax_error for path in paths}
        return {
            path: error
            for path, error in errors.items()
            if error is not None and not noqa.skips_file(self.project.files[path].source)
        }

    def _is_asked(self, path: str) -> bool:
        file = self.project.files[path]
        return not file.is_quiet and not noqa.skips_file(file.source)

    # -- drafts ------------------------------------------------------------------------------------------------

    def _check_files(self, paths: Iterable[str], done: Done) -> list[Draft]:
        drafts: list[Draft] = []
        for path in paths:
            if not self.gated or self.rows.get(path, Rows()).all:
                drafts += self.check_file(path)
            done(1)
        return drafts

    def find_in(self, path: str) -> tuple[list[Draft], Exception | None]:
        """The drafts of one file, and what keeps it from being parsed; what runs at each step must be known."""
        self.rows.pop(path, None)
        self._ask_steps([path])
        self._ask(gates.named_rows, [path])
        self._ask(gates.place_rows, [path])
        return (self.check_file(path) if path in self.rows else []), self._broken([path]).get(path)

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
        reader = self.readers.get(path)
        if reader is not None:
            reader.begin()
        for piece in pieces:
            if piece.is_too_deep:
                continue
            try:
                unit = units.parse(file.source, piece, reader)
                context = Context(file, unit, self.settings, catalogue.shipped(), self.codes, points)
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


@contextmanager
def _partners(work: Iterable[Work]) -> Iterator[list[Partner]]:
    """Processes that are ended in the end, whatever has happened."""
    partners = [Partner(piece) for piece in work]
    try:
        yield partners
    finally:
        for partner in partners:
            partner.end()


def _say_nothing(_: int) -> None:
    pass


def _shares(sizes: Mapping[str, int], count: int) -> list[list[str]]:
    """The paths in as many parts of about the same size."""
    parts: list[list[str]] = [[] for _ in range(count)]
    totals = [0] * count
    for path, size in sorted(sizes.items(), key=lambda item: -item[1]):
        least = totals.index(min(totals))
        parts[least].append(path)
        totals[least] += size
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
