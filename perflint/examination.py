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
from perflint.index.file import FileIndex
from perflint.index.project import Project, Worked
from perflint.processes import Partner, can_fork
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
        """This process looks at what statements do, the others at what is named; each checks what it has found."""
        self.project.parse()  # once, for all processes: what is in memory now is shared
        partners = [Partner(partial(self._help, share)) for share in _shares(self.project, others)]
        try:
            return self._find_beside(partners, done)
        finally:
            for partner in partners:
                partner.end()

    def _find_beside(self, partners: list[Partner], done: Done) -> tuple[list[Draft], dict[str, Exception]]:
        self._follow_steps()
        self._ask(gates.place_rows, self.project.files)
        mine = list(self.rows)
        for partner in partners:
            partner.tell(mine)
        answers: list[_Answer] = [partner.hear() for partner in partners]
        broken: dict[str, Exception] = {}
        for answer in answers:
            broken |= answer.broken
            self.project.worked_out(answer.worked)
            for path, rows in answer.rows.items():
                self.rows[path] = self.rows.get(path, Rows()) | rows
        drafts = self._check_files(mine, done)
        for partner in partners:
            drafts += partner.hear()
        done(len(self.project.files) - len(mine))
        return drafts, broken

    def _help(self, paths: list[str], tell: Callable[[object], None], hear: Callable[[], list[str]]) -> None:
        """What another process does: look for what is named in some files, and check those of them left to it."""
        self._ask(gates.named_rows, paths)
        not_mine = set(hear())
        rows = {path: rows for path, rows in self.rows.items() if path in not_mine and rows.all}
        tell(_Answer(rows, self._broken(paths), self.project.worked))
        tell(self._check_files([path for path in paths if path not in not_mine], lambda _: None))

    # -- gates -------------------------------------------------------------------------------------------------

    def _follow_steps(self) -> None:
        hot.analyse(self.project, gates.forward_names(self.codes))
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


def _shares(project: Project, count: int) -> list[list[str]]:
    """The files in as many parts of the same size."""
    parts: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path, file in sorted(project.files.items(), key=lambda item: -len(item[1].source.text)):
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
