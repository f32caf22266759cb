"""Turns sources into findings: each project of the run separately, several at a time if there are processes.

An import that an edit leaves unused stays if a file outside of those that are checked together may take it. ``perflint
check --fix steps.py`` reads ``steps.py`` and what it imports, but ``from steps import np`` may be in another file, one
that git ignores, or one that is found only when the program runs.
"""

from __future__ import annotations

import gc
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from perflint import catalogue
from perflint.configuration.settings import Settings, ignored_for, level_for, selected, with_waits
from perflint.files.plain_files import from_here, project_around
from perflint.findings import Checked, Confidence, Finding, Level, StepReport, by_place
from perflint.fix.import_edits import imports_in, spelling_of
from perflint.fix.trial import Trials
from perflint.flow.resolving import opened
from perflint.index.imports import Imports, is_needed, is_taken
from perflint.index.in_use import InUse
from perflint.index.project import FileIndex, Project
from perflint.inputs.projects import project_top, split
from perflint.lint import messages, registry, unused_noqa, version_checks
from perflint.lint.context import Draft
from perflint.rules import load_checks
from perflint.run.discovery import by_hand
from perflint.run.processes import WorkerKilled, can_fork, in_turn
from perflint.stopwatch import phase
from perflint.suppress import noqa
from perflint.syntax.names import imported_name
from perflint.text.source import Source, UnreadableSource, read
from perflint.trace import hot_path
from perflint.trace.verdict import step_reports
from perflint.training.clues import Clues

Progress = Callable[[int, int], None]
SHARES = 2
"""The work on a file: to parse it, and to check it. Following the steps parses the files one after the other."""

_AT_ONCE = 6_500_000
"""Characters of source to work on at a time if processes share the projects; each takes 60 to 70 bytes."""

_PARALLEL_FROM = 24
"""With fewer files, starting processes costs more than it saves."""

_BUNDLES = 64
"""Pieces of work for each process: enough that none waits long for the last one."""


class Unfinished(Exception):
    """Some projects could not be checked, because something outside perflint ended a process (see ``__cause__``).

    ``found`` has the findings of each project, None for those that were not checked.
    """

    def __init__(self, found: list[Checked | None]) -> None:
        super().__init__(found)
        self.found = found


def check(
    sources: Mapping[str, Source],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Finding]:
    """All findings of the selected rules in some files, by path; the arguments are those of `check_projects`.

    Each project among them is read as a whole, so a helper is checked as part of the loop that calls it.
    """
    found = check_projects(split(sources).projects, settings, jobs, progress)
    return by_place(item for each in found for item in each.findings)


def check_projects(
    projects: list[dict[str, Source]],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
    last: bool = False,
    with_steps: bool = False,
) -> list[Checked]:
    """The findings of the selected rules in each project, sorted by path and place.

    Args:
        projects: the files of each project by path.
        settings: the settings of the run.
        jobs: how many processes to use, each for other projects.
        progress: called with the work that is done and all work, as `SHARES` of a file.
        last: the process ends after this check, so nothing has to be freed.
        with_steps: whether to say of each training step what to do about it, too.

    Raises:
        Unfinished: something outside perflint ended a process.
    """
    with undisturbed():
        load_checks()
        codes = selected(settings, catalogue.shipped())
        run = _Run(settings, codes, sum(map(len, projects)), progress, last, with_steps)
        found = run.found(projects, jobs)
        shown = {
            index: replace(each, findings=by_place(kept(each.findings, projects[index], settings)))
            for index, each in found.items()
        }
        if run.killed is not None:
            raise Unfinished([shown.get(index) for index in range(len(projects))]) from run.killed
        return [shown[index] for index in range(len(projects))]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without Python's warnings about the checked code ("invalid escape sequence"), and without garbage collection.

    The index is millions of objects that all stay, and searching them doubles the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if enabled:
            gc.enable()


@dataclass
class _Run:
    """One run over all projects; ``killed``: why some projects could not be checked."""

    settings: Settings
    codes: frozenset[str]
    files: int
    progress: Progress | None
    last: bool
    with_steps: bool
    work_done: int = 0
    killed: WorkerKilled | None = None

    def found(self, projects: list[dict[str, Source]], jobs: int) -> dict[int, Checked]:
        """The findings of each project, by its index, without projects that could not be checked."""
        if jobs < 2 or len(projects) < 2 or self.files < _PARALLEL_FROM or not can_fork():
            return {index: self._examined(project, self.last) for index, project in enumerate(projects)}
        return self._in_processes(projects, jobs)

    def _examined(self, project: Mapping[str, Source], last: bool) -> Checked:
        index = opened(project, self.settings)
        unparsed = len(project)

        def parsed() -> None:  # those that are parsed for the checks do not count again
            nonlocal unparsed
            if unparsed:
                unparsed -= 1
                self._done(1)

        def checked(files: int) -> None:  # what is not parsed by now does not have to be
            nonlocal unparsed
            self._done(unparsed + files)
            unparsed = 0

        index.on_parse = parsed
        codes = with_waits(self.codes, catalogue.shipped())
        try:
            drafts, broken = Examination(index, self.settings, codes).find(checked)
            found = findings_of(drafts, broken, project, index, self.settings, self.codes)
            return Checked(found, _steps_of(index) if self.with_steps else None)
        finally:
            if not last:
                index.close()

    def _done(self, count: int) -> None:
        """Count more work."""
        self.work_done += count
        if self.progress:
            self.progress(self.work_done, SHARES * self.files)

    def _in_processes(self, projects: list[dict[str, Source]], jobs: int) -> dict[int, Checked]:
        import libcst

        libcst.Module  # noqa: B018 - loaded once, here, rather than by each process
        found: dict[int, Checked] = {}
        sizes = [sum(len(source.text) for source in project.values()) for project in projects]
        bundles = _bundles(sizes, sum(sizes) // (jobs * _BUNDLES))
        work = [partial(self._bundle, [projects[index] for index in bundle]) for bundle in bundles]
        weights = [sum(sizes[index] for index in bundle) for bundle in bundles]
        for number, checked in in_turn(work, weights, jobs, _AT_ONCE):
            if isinstance(checked, WorkerKilled):
                self.killed = checked
            else:
                found |= dict(zip(bundles[number], checked, strict=True))
            self._done(SHARES * sum(len(projects[index]) for index in bundles[number]))
        return found

    def _bundle(self, bundle: list[dict[str, Source]]) -> list[Checked]:
        self.progress = None  # this is another process: the first one reports progress
        return [self._examined(project, last=True) for project in bundle]


def _bundles(sizes: list[int], size: int) -> list[list[int]]:
    """Groups of projects, each for one process: large projects alone, small ones together."""
    bundles: list[list[int]] = []
    room = 0
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        if room <= 0:
            bundles.append([])
            room = size
        bundles[-1].append(index)
        room -= sizes[index]
    return bundles


@phase("verdicts")
def _steps_of(project: Project) -> tuple[StepReport, ...]:
    """What is to be said of each step of a project."""
    return tuple(step_reports(project))


def findings_of(
    drafts: list[Draft],
    broken: Mapping[str, Exception],
    sources: Mapping[str, Source],
    project: Project,
    settings: Settings,
    codes: frozenset[str],
    path: str | None = None,
) -> list[Finding]:
    """The findings of a project, before the settings hide some.

    Args:
        drafts: all drafts of the project: those of one file say how many others its loop has.
        broken: the errors of files that do not parse.
        sources: the files of the project by path; one that does not parse may be newer than in the project.
        project: the project, whose steps are known.
        settings: the settings of the run.
        codes: the rules that are reported.
        path: the file whose findings are wanted; None: all files.
    """
    written = messages.write(drafts, project, catalogue.shipped(), settings)
    found = [finding for finding in written if finding.code in codes and path in (None, finding.path)]
    if "PPF001" in codes:
        found += [_syntax_error(sources[at], error) for at, error in broken.items() if path in (None, at)]
    about = sources.values() if path is None else [sources[path]]
    return found + unused_noqa.find(about, found, settings, codes, settings.whole_project and not broken)


def _syntax_error(source: Source, error: Exception) -> Finding:
    """The finding for a file that does not parse."""
    line, column, what = 1, 1, str(error) or type(error).__name__
    if isinstance(error, SyntaxError):
        line, column, what = error.lineno or 1, max(error.offset or 1, 1), error.msg or "invalid syntax"
    elif isinstance(error, (RecursionError, MemoryError)):
        what = "it is nested too deeply to be parsed"
    line = min(max(line, 1), source.lines.rows)
    start = source.lines.line_start(line) + min(column - 1, len(source.lines.line(line)))
    rule = catalogue.shipped()["PPF001"]
    return Finding("PPF001", source.path, start, start, rule.message.format(what=what, line=line), by_hand(rule))


def kept(
    found: list[Finding], sources: Mapping[str, Source], settings: Settings, around: Around | None = None
) -> list[Finding]:
    """The findings that the settings and the comments in the sources (by path) do not hide, with their fix levels.

    ``around``: the files around the sources that were found before.
    """
    shown: list[Finding] = []
    silenced: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    unread = Unread(sources, settings, around)
    for finding in found:
        if finding.confidence < settings.min_confidence:
            continue
        if finding.impact is not None and finding.impact.level < settings.min_impact:
            continue
        if finding.code in ignored_for(finding.path, settings):
            continue
        if settings.noqa and finding.code != "PPF001" and noqa.suppressed(finding, sources[finding.path]):
            silenced[finding.path, finding.code].append(finding)
            continue
        if finding.fix is not None:
            level = level_for(finding.code, finding.fix.level, settings)
            finding = replace(finding, fix=replace(finding.fix, level=level))
        shown.append(unread.spared(finding))
    return [_withheld(item, silenced[item.path, item.code], sources[item.path]) for item in shown]


def _withheld(finding: Finding, silenced: list[Finding], source: Source) -> Finding:
    """A finding whose fix becomes a suggestion if it would change a line where a comment silences this rule."""
    fix = finding.fix
    if fix is None or fix.level is Level.DISPLAY:
        return finding
    for other in silenced:
        if any(edit.start < other.end and other.start < edit.end for edit in fix.edits):
            line = source.lines.position(other.start)[0]
            why = (
                f"the edit also changes line {line}, where a # noqa says to leave {finding.code}: silence both or none"
            )
            return replace(finding, fix=replace(fix, level=Level.DISPLAY, reason=why))
    return finding


# --- files around those that are checked

_MOST = 20_000
"""The most files and directories to look at."""
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages"})
_DYNAMIC = ("import_module", "__import__")

Around = dict[Path, dict[str, Path] | None]
"""The Python files below a directory, by their real paths, as far as it was searched; None if it has too much in it."""


class Unread:
    """The files around those of a project that are not checked together with them.

    Args:
        sources: the files of the project by path.
        settings: the settings of the run.
        around: what was found before.
    """

    def __init__(self, sources: Mapping[str, Source], settings: Settings, around: Around | None = None) -> None:
        self._sources = sources
        self._settings = settings
        self._around = {} if around is None else around
        self._names: dict[tuple[str, str], bool] = {}

    def spared(self, finding: Finding) -> Finding:
        """A finding whose fix no longer removes what such a file may take."""
        fix = finding.fix
        if fix is None or not fix.unneeded:
            return finding
        left = tuple(name for name in fix.unneeded if not self._is_taken(finding.path, name))
        return finding if left == fix.unneeded else replace(finding, fix=replace(fix, unneeded=left))

    def _is_taken(self, path: str, name: str) -> bool:
        if (path, name) not in self._names:
            self._names[path, name] = self._may_be_taken(path, name)
        return self._names[path, name]

    def _may_be_taken(self, path: str, name: str) -> bool:
        """Whether a file around a file may take one of its imports, which is named as by pyflakes."""
        if not os.path.isfile(path):  # noqa: PTH113 - which does not raise where a name is too long
            return False  # nothing imports a text
        around = self._files_around(_top(Path(path), self._settings))
        if around is None:
            return not self._settings.whole_project
        words = (Path(path).stem, *_DYNAMIC)
        others = {str(other): source for other in around if (source := _mentioning(other, words)) is not None}
        if not others:
            return False
        project: Project = opened({**self._sources, **others}, self._settings)
        file = project.files[path]
        nodes = imports_in(file.tree)
        bound = {spelling_of(node, alias): imported_name(alias) for node in nodes for alias in node.names}
        return is_taken(file, bound.get(name, name))

    def _files_around(self, top: Path) -> list[Path] | None:
        """The Python files below a directory that are not in the project; None if it has too much in it to look."""
        if top not in self._around:
            self._around[top] = _python_files(top)
        found = self._around[top]
        return [path for real, path in found.items() if real not in self._known] if found is not None else None

    @cached_property
    def _known(self) -> frozenset[str]:
        """The real paths of the files of the project."""
        return frozenset(map(os.path.realpath, self._sources))


def _top(path: Path, settings: Settings) -> Path:
    """The directory below which files may take names from a file."""
    top, around = project_top(path.parent.absolute(), settings.root.absolute()), project_around(path)
    return around if top.is_relative_to(around) else top


def _python_files(top: Path) -> dict[str, Path] | None:
    """The Python files below a directory, without hidden ones and installed packages; None if it has too much in it."""
    left = _MOST
    found: dict[str, Path] = {}
    for place, directories, files in os.walk(top):
        left -= len(directories) + len(files)
        if left < 0:
            return None
        paths = [Path(place, name) for name in files if name.endswith(".py")]
        found |= {os.path.realpath(path): from_here(path) for path in paths}
        directories[:] = [
            name
            for name in directories
            if not name.startswith(".") and name not in _PASSED_OVER and not Path(place, name, "pyvenv.cfg").exists()
        ]
    return found


def _mentioning(path: Path, words: tuple[str, ...]) -> Source | None:
    """The source of a file that contains one of some words."""
    try:
        source = read(path)
    except UnreadableSource:
        return None
    return source if any(word in source.text for word in words) else None


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
        """Whether a file is no part of the training: test code, a module or Python 2 that nothing imports."""
        if file.is_quiet or InUse.of(self.project).is_unused(file):
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
