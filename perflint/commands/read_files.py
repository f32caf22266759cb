"""Reads the files, directories or standard input to check, and the files needed to understand them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perflint import catalogue
from perflint.commands import CommandError, as_command_error
from perflint.configuration import config_files
from perflint.configuration.config_files import DEFAULT
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings
from perflint.files import plain_files, writing
from perflint.findings import Finding, ImpactLevel, StepReport
from perflint.fix.fixer import FixOutcome, Made
from perflint.inputs.input_files import read_inputs
from perflint.inputs.patterns import Patterns, relative
from perflint.inputs.projects import imported_files, is_whole
from perflint.run import discovery
from perflint.run.discovery import Found, why_not_python
from perflint.stopwatch import phase
from perflint.text.source import Source, UnreadableSource, decode

# -- names of files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedPaths:
    """Maps the paths of the files, as the analysis knows them, to the names that the user gave.

    ``hidden`` are files that the user did not name; ``names`` are those that the user named differently.
    """

    hidden: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)

    def reports_any(self, paths: Collection[str]) -> bool:
        """Whether one of these files, by its path in the analysis, is reported."""
        return not self.hidden or any(path not in self.hidden for path in paths)

    def reported(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are reported; with the paths of the analysis."""
        return [finding for finding in findings if finding.path not in self.hidden]

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are reported, under the names that the user gave."""
        found = self.reported(findings)
        return [self._renamed(finding) for finding in found] if self.names else found

    def steps(self, steps: Iterable[StepReport]) -> tuple[StepReport, ...]:
        """The steps in files that are reported, or of programs that are; with the paths of the analysis."""
        return tuple(each for each in steps if self.reports_any([each.place.path, *each.programs]))

    def sources(self, sources: Mapping[str, Source]) -> dict[str, Source]:
        """The files that are reported, under the names that the user gave."""
        named = {self._name(path): source for path, source in sources.items() if path not in self.hidden}
        return {name: source if source.path == name else replace(source, path=name) for name, source in named.items()}

    def outcome(self, outcome: FixOutcome) -> FixOutcome:
        """The outcome of fixing, under the names that the user gave."""
        if not self.names:
            return outcome
        return replace(
            outcome,
            first=tuple(self.findings(outcome.first)),
            changed=self.sources(outcome.changed),
            remaining=tuple(self.findings(outcome.remaining)),
            fixed={(self._name(path), code): count for (path, code), count in outcome.fixed.items()},
            applied=tuple(tuple(self._made(each)) for each in outcome.applied),
            rejected=tuple(replace(item, path=self._name(item.path)) for item in outcome.rejected),
        )

    def _made(self, made: Iterable[Made]) -> Iterator[Made]:
        return (replace(each, finding=self._renamed(each.finding)) for each in made)

    def _name(self, path: str) -> str:
        return self.names.get(path, path)

    def _renamed(self, finding: Finding) -> Finding:
        related = tuple(replace(place, path=self._name(place.path)) for place in finding.related)
        return replace(finding, path=self._name(finding.path), related=related)


# -- settings ---------------------------------------------------------------------------------------------------------


_OVERRIDING = ("select", "ignore", "extend_select", "exclude", "extend_exclude", "min_confidence", "min_impact")
"""The options that override the setting of the same name."""


@phase("settings")
def resolve_settings(options: argparse.Namespace, paths: Sequence[Path]) -> Settings:
    """The settings for the code in ``paths``, with the options of the command line, which may have none for settings.

    Raises:
        CommandError: the configuration cannot be used, a rule is unknown, or the installation lacks the rule files.
    """
    given = vars(options)
    overrides = {name.replace("_", "-"): given.get(name) for name in _OVERRIDING}
    context: list[Path] | None = given.get("context")
    if context is not None:
        overrides["context"] = [str(path.absolute()) for path in context]
    start = common_directory([*paths, *(context or ())])
    source = {"config": given.get("config"), "pairs": given.get("config_pairs", ())}
    isolated = given.get("isolated", False)
    with as_command_error(catalogue.CatalogueError):
        known = catalogue.selectors(catalogue.shipped())
    try:
        return config_files.load(start, known=known, **source, isolated=isolated, overrides=overrides)
    except ConfigError as error:
        first, *others = error.problems
        raise CommandError(first, [f"perflint: {problem}" for problem in others]) from error


def context_paths(settings: Settings) -> list[Path]:
    """The paths of the context, relative to the current directory."""
    return [_spelled(os.path.normpath(settings.root / entry), settings.root) for entry in settings.context]


def _spelled(path: str, root: Path) -> Path:
    here = Path.cwd()
    try:
        relative = Path(os.path.relpath(path, here))
    except ValueError:  # the paths are on different drives
        return Path(path)
    return relative if ".." not in relative.parts or here.is_relative_to(root) else Path(path)


def common_directory(paths: Sequence[Path]) -> Path:
    """The deepest directory above all of ``paths``; the search for their configuration starts there."""
    # isdir, because it does not raise if a name is too long
    places = [path.absolute() if os.path.isdir(path) else path.absolute().parent for path in paths]  # noqa: PTH112
    try:
        return Path(os.path.commonpath(places))
    except ValueError:  # the paths are on different drives
        return Path.cwd()


# -- files ------------------------------------------------------------------------------------------------------------

STDIN = Path("-")
ReadAll = Callable[[Iterable[Path]], tuple[dict[str, Source], list[Finding]]]


@dataclass(frozen=True)
class Batch:
    """The files of one run.

    ``sources`` also contains files that are read only for context; ``paths`` distinguishes them. ``unreadable`` are
    findings about files and directories that could not be read; ``piped`` is the text from standard input (None: files
    were named); ``known`` are the findings in the sources (None: not known yet). ``skipped`` lists named files that are
    not Python; ``is_anything_excluded``: with ``--force-exclude``, the settings exclude something that was named.
    ``finished`` are files that a killed run had left half written, and that are now complete. ``began``: when reading
    began, in seconds of ``time.monotonic`` (None: not known).
    """

    settings: Settings
    sources: dict[str, Source]
    unreadable: list[Finding]
    piped: bytes | None = None
    known: list[Finding] | None = None
    paths: ReportedPaths = field(default_factory=ReportedPaths)
    skipped: Sequence[str] = ()
    is_anything_excluded: bool = False
    finished: Sequence[Path] = ()
    began: float | None = None

    @property
    def is_nothing_checked(self) -> bool:
        """Whether none of the named files could be checked, although none was excluded on purpose."""
        is_passed_on = self.piped is not None and not self.skipped
        is_any_read = self.unreadable or any(path not in self.paths.hidden for path in self.sources)
        return not (is_any_read or is_passed_on or self.is_anything_excluded)

    @property
    def examined(self) -> Settings:
        """The settings of the check itself: it finds what has a low impact, too, so that it can be counted."""
        return replace(self.settings, min_impact=ImpactLevel.LOW)

    def shown(self) -> Batch:
        """Only the files that are reported, under the names that the user gave."""
        sources = self.paths.sources(self.sources) if self.paths.hidden or self.paths.names else self.sources
        return replace(self, sources=sources, paths=ReportedPaths())


def read(options: argparse.Namespace, read_all: ReadAll | None = None, *, any_name: bool = False) -> Batch:
    """Find and read the files that the arguments name.

    Args:
        options: the arguments.
        read_all: reads the files (default: ``discovery.read_all``).
        any_name: whether named files count as Python whatever their names are.

    Raises:
        CommandError: a path does not exist, the configuration cannot be used, or paths and standard input are mixed.
    """
    paths: list[Path] = options.paths or ([STDIN] if options.stdin_filename else [Path()])
    if STDIN not in paths:
        return _read_files(options, paths, read_all or discovery.read_all, any_name)
    if len(paths) > 1:
        raise CommandError("standard input (-) cannot be checked together with other paths: run perflint twice")
    return _read_stdin(options, options.stdin_filename or STDIN)


def read_text(options: argparse.Namespace, name: Path, text: str) -> Batch:
    """The batch for a text that is checked as if it were the file of this name.

    Raises:
        CommandError: the configuration cannot be used.
    """
    settings = resolve_settings(options, [name])
    if options.force_exclude and excluded(name, settings):
        return Batch(settings, {}, [], b"")
    return _with_piped(settings, name, b"", lambda path: Source(path, text))


def find(
    paths: list[Path],
    settings: Settings,
    *,
    force_exclude: bool = False,
    any_name: bool = False,
    context: list[Path] | None = None,
) -> tuple[Found, ReportedPaths]:
    """The files to read for a check of these paths: those in them, and those of the context (if any).

    If no context is set and single files are named, the context is what they import from their own project.

    ``context`` are the paths of the context, spelled as the names of their files should begin (default: relative to the
    current directory).

    Raises:
        CommandError: a path does not exist.
    """
    with as_command_error(discovery.NoSuchPath):
        named = discovery.python_files(paths, settings, force_exclude=force_exclude, any_name=any_name)
    if not named.files:
        return named, ReportedPaths()
    if settings.context:
        return _together(named, _context(settings, context))
    return _with_imported(named, settings) if reads_imports_only(paths, settings) else (named, ReportedPaths())


def reads_imports_only(paths: list[Path], settings: Settings) -> bool:
    """Whether the named files are read together with what they import, and with nothing else."""
    return not settings.context and not _leaves_context_out(settings) and not any(path.is_dir() for path in paths)


def _read_files(options: argparse.Namespace, paths: list[Path], read_all: ReadAll, any_name: bool) -> Batch:
    if options.stdin_filename:
        raise CommandError("--stdin-filename names what comes through standard input: give - as the only path")
    began = time.monotonic()
    settings = resolve_settings(options, paths)
    found, reported = find(paths, settings, force_exclude=options.force_exclude, any_name=any_name)
    finished = writing.sweep_files(found.leftovers)
    for directory in {path.parent for path in paths if not path.is_dir()}:
        finished += writing.sweep(directory)
    sources, unreadable = read_all(found.files)
    unread = [*map(_passed_over, settings.passed_over), *found.problems, *unreadable]
    whole = not unread and is_whole([*paths, *context_paths(settings)], settings.root)
    return Batch(
        _known(settings, sources, whole),
        sources,
        unread,
        paths=reported,
        skipped=found.skipped,
        is_anything_excluded=found.is_anything_excluded,
        finished=finished,
        began=began,
    )


def _passed_over(path: Path) -> Finding:
    problem = f"{path} is not read as a configuration: {plain_files.problem(path)}"
    return Finding("PPF003", str(path), 0, 0, problem)


def _read_stdin(options: argparse.Namespace, name: Path) -> Batch:
    settings = resolve_settings(options, [name])
    data = sys.stdin.buffer.read()
    if options.force_exclude and excluded(name, settings):
        return Batch(settings, {}, [], data)
    if name != STDIN and (reason := why_not_python(str(name), data)):
        return Batch(settings, {}, [], data, skipped=[f"{name} was not checked: {reason}"])
    return _with_piped(settings, name, data, lambda path: decode(path, data))


def _with_piped(settings: Settings, name: Path, data: bytes, source: Callable[[str], Source]) -> Batch:
    """The batch for a text from standard input, with its context."""
    named = Found([name], [], {os.path.realpath(name): str(name)})
    if settings.context:
        found, reported = _together(named, _context(settings))
    elif _leaves_context_out(settings) or name == STDIN:
        found, reported = named, ReportedPaths()
    else:
        found, reported = _with_imported(named, settings)
    path = found.by_real_path[os.path.realpath(name)]
    try:
        piped = source(path)
    except UnreadableSource as error:
        return Batch(settings, {}, [discovery.unreadable_file(path, str(error))], data, paths=reported)
    others, unread = discovery.read_all(file for file in found.files if str(file) != path)
    sources = {path: piped, **others}
    whole = not unread and is_whole([name, *context_paths(settings)], settings.root)
    settings = _known(settings, sources, whole)
    return Batch(settings, {path: sources[path] for path in sorted(sources)}, [], data, paths=reported)


def _known(settings: Settings, sources: Iterable[str], whole: bool) -> Settings:
    """The settings, plus whether the files are a whole project, and what files of other kinds next to them say."""
    return replace(settings, whole_project=whole, inputs=read_inputs(sources, settings.root))


def _leaves_context_out(settings: Settings) -> bool:
    """Whether an empty context is set explicitly."""
    return settings.origins.get("context", DEFAULT) != DEFAULT


def _with_imported(named: Found, settings: Settings) -> tuple[Found, ReportedPaths]:
    """The named files and the files that they import, and which of them were named."""
    own = [Path(shown) for shown in named.by_real_path.values()]
    others = [path for path in imported_files(own, settings.root) if not excluded(path, settings)]
    imported = Found(others, [], {os.path.realpath(path): str(path) for path in others})
    return _together(named, imported)


def _context(settings: Settings, paths: list[Path] | None = None) -> Found:
    """The files of the context. Unreadable directories are not reported, since the user did not name them."""
    with as_command_error(discovery.NoSuchPath, place=f"context ({settings.origins.get('context')}): "):
        return discovery.python_files(context_paths(settings) if paths is None else paths, settings)


def _together(named: Found, context: Found) -> tuple[Found, ReportedPaths]:
    """All files without duplicates, spelled as in the context; and which of them were named, and how."""
    by_real_path = {**named.by_real_path, **context.by_real_path}
    names = {by_real_path[real]: shown for real, shown in named.by_real_path.items() if by_real_path[real] != shown}
    hidden = frozenset(shown for real, shown in context.by_real_path.items() if real not in named.by_real_path)
    files = [Path(shown) for shown in sorted(by_real_path.values())]
    return replace(named, files=files, by_real_path=by_real_path), ReportedPaths(hidden, names)


def excluded(name: Path, settings: Settings) -> bool:
    """Whether the settings exclude a file that is named, as ``--force-exclude`` asks."""
    patterns = Patterns((*settings.exclude, *settings.extend_exclude))
    return patterns.covers(relative(str(name), str(settings.root)))
