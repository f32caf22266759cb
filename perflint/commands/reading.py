"""Reads the files, directories or standard input to check, and the files needed to understand them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perflint.commands import CommandError
from perflint.commands.naming import Naming
from perflint.commands.run_settings import context_paths, resolve
from perflint.configuration.config_files import DEFAULT
from perflint.configuration.settings import Settings
from perflint.files import plain_files, writing
from perflint.findings import Finding, ImpactLevel
from perflint.inputs.input_files import read_inputs
from perflint.inputs.patterns import Patterns, relative
from perflint.inputs.projects import imported_files, is_whole
from perflint.run import discovery
from perflint.run.discovery import Found, why_not_python
from perflint.text.source import Source, UnreadableSource, decode

STDIN = Path("-")
ReadAll = Callable[[Iterable[Path]], tuple[dict[str, Source], list[Finding]]]


@dataclass(frozen=True)
class Batch:
    """The files of one run.

    ``sources`` also contains files that are read only for context; ``naming`` distinguishes them. ``unreadable`` are
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
    naming: Naming = field(default_factory=Naming)
    skipped: Sequence[str] = ()
    is_anything_excluded: bool = False
    finished: Sequence[Path] = ()
    began: float | None = None

    @property
    def is_nothing_checked(self) -> bool:
        """Whether none of the named files could be checked, although none was excluded on purpose."""
        is_passed_on = self.piped is not None and not self.skipped
        is_any_read = self.unreadable or any(path not in self.naming.hidden for path in self.sources)
        return not (is_any_read or is_passed_on or self.is_anything_excluded)

    @property
    def examined(self) -> Settings:
        """The settings of the check itself: it finds what has a low impact, too, so that it can be counted."""
        return replace(self.settings, min_impact=ImpactLevel.LOW)

    def shown(self) -> Batch:
        """Only the files that are reported, under the names that the user gave."""
        sources = self.naming.sources(self.sources) if self.naming.hidden or self.naming.names else self.sources
        return replace(self, sources=sources, naming=Naming())


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
    settings = resolve(options, [name])
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
) -> tuple[Found, Naming]:
    """The files to read for a check of these paths: those in them, and those of the context (if any).

    If no context is set and single files are named, the context is what they import from their own project.

    ``context`` are the paths of the context, spelled as the names of their files should begin (default: relative to the
    current directory).

    Raises:
        CommandError: a path does not exist.
    """
    try:
        named = discovery.python_files(paths, settings, force_exclude=force_exclude, any_name=any_name)
    except discovery.NoSuchPath as error:
        raise CommandError(str(error)) from error
    if not named.files:
        return named, Naming()
    if settings.context:
        return _together(named, _context(settings, context))
    return _with_imported(named, settings) if reads_imports_only(paths, settings) else (named, Naming())


def reads_imports_only(paths: list[Path], settings: Settings) -> bool:
    """Whether the named files are read together with what they import, and with nothing else."""
    return not settings.context and not _leaves_context_out(settings) and not any(path.is_dir() for path in paths)


def _read_files(options: argparse.Namespace, paths: list[Path], read_all: ReadAll, any_name: bool) -> Batch:
    if options.stdin_filename:
        raise CommandError("--stdin-filename names what comes through standard input: give - as the only path")
    began = time.monotonic()
    settings = resolve(options, paths)
    found, naming = find(paths, settings, force_exclude=options.force_exclude, any_name=any_name)
    finished = writing.sweep_files(found.leftovers)
    for directory in {path.parent for path in paths if not path.is_dir()}:
        finished += writing.sweep(directory)
    sources, unreadable = read_all(found.files)
    problems = [Finding("PPF003", str(problem.path), 0, 0, problem.message) for problem in found.problems]
    unread = [*map(_passed_over, settings.passed_over), *problems, *unreadable]
    whole = not unread and is_whole([*paths, *context_paths(settings)], settings.root)
    skipped = [problem.message for problem in found.skipped]
    return Batch(
        _known(settings, sources, whole),
        sources,
        unread,
        naming=naming,
        skipped=skipped,
        is_anything_excluded=found.is_anything_excluded,
        finished=finished,
        began=began,
    )


def _passed_over(path: Path) -> Finding:
    problem = f"{path} is not read as a configuration: {plain_files.problem(path)}"
    return Finding("PPF003", str(path), 0, 0, problem)


def _read_stdin(options: argparse.Namespace, name: Path) -> Batch:
    settings = resolve(options, [name])
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
        found, naming = _together(named, _context(settings))
    elif _leaves_context_out(settings) or name == STDIN:
        found, naming = named, Naming()
    else:
        found, naming = _with_imported(named, settings)
    path = found.by_real_path[os.path.realpath(name)]
    try:
        piped = source(path)
    except UnreadableSource as error:
        return Batch(settings, {}, [discovery.unreadable_file(path, error)], data, naming=naming)
    others, unread = discovery.read_all(file for file in found.files if str(file) != path)
    sources = {path: piped, **others}
    whole = not unread and is_whole([name, *context_paths(settings)], settings.root)
    settings = _known(settings, sources, whole)
    return Batch(settings, {path: sources[path] for path in sorted(sources)}, [], data, naming=naming)


def _known(settings: Settings, sources: Iterable[str], whole: bool) -> Settings:
    """The settings, plus whether the files are a whole project, and what files of other kinds next to them say."""
    return replace(settings, whole_project=whole, inputs=read_inputs(sources, settings.root))


def _leaves_context_out(settings: Settings) -> bool:
    """Whether an empty context is set explicitly."""
    return settings.origins.get("context", DEFAULT) != DEFAULT


def _with_imported(named: Found, settings: Settings) -> tuple[Found, Naming]:
    """The named files and the files that they import, and which of them were named."""
    own = [Path(shown) for shown in named.by_real_path.values()]
    others = [path for path in imported_files(own, settings.root) if not excluded(path, settings)]
    imported = Found(others, [], {os.path.realpath(path): str(path) for path in others})
    return _together(named, imported)


def _context(settings: Settings, paths: list[Path] | None = None) -> Found:
    """The files of the context. Unreadable directories are not reported, since the user did not name them."""
    try:
        return discovery.python_files(context_paths(settings) if paths is None else paths, settings)
    except discovery.NoSuchPath as error:
        raise CommandError(f"context ({settings.origins['context']}): {error}") from error


def _together(named: Found, context: Found) -> tuple[Found, Naming]:
    """All files without duplicates, spelled as in the context; and which of them were named, and how."""
    by_real_path = {**named.by_real_path, **context.by_real_path}
    names = {by_real_path[real]: shown for real, shown in named.by_real_path.items() if by_real_path[real] != shown}
    hidden = frozenset(shown for real, shown in context.by_real_path.items() if real not in named.by_real_path)
    files = [Path(shown) for shown in sorted(by_real_path.values())]
    return replace(named, files=files, by_real_path=by_real_path), Naming(hidden, names)


def excluded(name: Path, settings: Settings) -> bool:
    """Whether the settings exclude a file that is named, as ``--force-exclude`` asks."""
    patterns = Patterns((*settings.exclude, *settings.extend_exclude))
    return patterns.covers(relative(str(name), str(settings.root)))
