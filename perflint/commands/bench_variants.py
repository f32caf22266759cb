"""What ``perflint bench`` compares: the script before and after its fixes, or at two revisions."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflint.bench.notes import not_measured
from perflint.bench.results import ALL_FIXES, BEFORE
from perflint.bench.script_run import Outcome, Plan
from perflint.bench.variants import NOW, Fixes, NotPicked, Revisions, VariantFiles, picked, revisions
from perflint.commands import CommandError
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.inputs.git import GitError
from perflint.inputs.projects import split
from perflint.run import discovery, engine
from perflint.text.source import Source
from perflint.text.visible import counted, listed

_MANY = 8
"""From this number of fixes on, the default is to measure the fixes of each rule, not each fix."""
_PICKED = "chosen fixes"
"""The name of the variant with all fixes that ``--fix`` names."""
_SHOWN = 5
"""How many files are named; the others are only counted."""


@dataclass(frozen=True)
class Chosen:
    """The variants, and notes about their choice. All others are compared with the first one.

    ``overall`` is the name of the variant that ``--fail-under`` judges, such as the one with all fixes.
    """

    states: list[VariantFiles]
    notes: list[str]
    overall: str


class OfFixes:
    """Compares the script without and with its fixes."""

    first = VariantFiles(BEFORE)
    """The files of the first run, to see which files the script runs."""

    def __init__(self, options: argparse.Namespace, settings: Settings, plan: Plan) -> None:
        """Find what can be fixed.

        Raises:
            CommandError: there is nothing to fix, or ``--fix`` names a fix that does not exist.
        """
        self._options, self._plan = options, plan
        self._fixes = _fixes(options, settings, plan)
        if options.fix:
            self._picked(self._fixes)  # report a mistake before anything runs
        elif not self._measured(self._fixes):
            raise CommandError(_nothing(options, plan, self._fixes))

    def chosen(self, first: Outcome) -> Chosen:
        """The variants, once the first run has shown which files the script runs.

        Raises:
            CommandError: no fix applies to these files.
        """
        fixes = self.run_by(first)
        if self._options.fix:
            return self._of_picked(fixes)
        made = fixes.findings()
        shown = fixes.suggested() if self._options.suggestions else []
        elsewhere = fixes.elsewhere()
        if not made and not shown:
            raise self.nothing(fixes)
        notes = [f"{elsewhere} more fixes are in files that the script does not run."] if elsewhere else []
        notes += not_measured(fixes, self._options.suggestions)
        count = len(fixes.of_one_fix(made + shown))
        way = self._options.by or ("fix" if count < _MANY else "rule")
        if not self._options.by and way == "rule":
            notes.append(f"{count} fixes are measured by rule; --by fix measures each.")
        states = [VariantFiles(BEFORE), *_alone(fixes, made, shown, way), *_together(fixes, made, shown)]
        names = [state.name for state in states]
        return Chosen(states, notes, ALL_FIXES if ALL_FIXES in names else names[-1])

    def run_by(self, first: Outcome) -> Fixes:
        """What can be fixed in the files that the first run has loaded."""
        return _run_by(self._fixes, {Path(file) for file in first.files} | {self._plan.script})

    def nothing(self, fixes: Fixes) -> CommandError:
        """The error if no fix applies to the files that the script runs."""
        return CommandError(_nothing(self._options, self._plan, fixes, fixes.elsewhere()))

    def _measured(self, fixes: Fixes) -> list[Finding]:
        return fixes.findings() or (fixes.suggested() if self._options.suggestions else [])

    def _of_picked(self, fixes: Fixes) -> Chosen:
        findings = self._picked(fixes)
        states = [VariantFiles(BEFORE), *fixes.each(findings)]
        if len(states) > 2:
            states.append(fixes.alone(_PICKED, findings))
        return Chosen(states, [], states[-1].name)

    def _picked(self, fixes: Fixes) -> list[Finding]:
        try:
            return picked(fixes, self._options.fix)
        except NotPicked as error:
            raise CommandError(str(error)) from error


class OfRevisions:
    """Compares the script at two revisions, or at one revision and in the working tree."""

    def __init__(self, options: argparse.Namespace, plan: Plan) -> None:
        """Ask git which files differ.

        Raises:
            CommandError: git fails, nothing differs, or the script does not exist at one of them.
        """
        wanted: str = options.against
        try:
            self._found: Revisions = revisions(plan.root, wanted)
        except GitError as error:
            raise CommandError(f"--against {wanted}: {error}") from error
        names = [state.name for state in self._states]
        if not self._found.differing:
            raise CommandError(f"--against {wanted}: nothing to compare: {' and '.join(names)} have the same files")
        for state in self._states:
            if plan.script in state.removed:
                raise CommandError(f"--against {wanted}: {plan.script} is not in {state.name}")

    @property
    def _states(self) -> list[VariantFiles]:
        return [self._found.before, self._found.after]

    @property
    def first(self) -> VariantFiles:
        """The files of the first run, to see how long a run takes."""
        return self._found.after

    def chosen(self, first: Outcome) -> Chosen:
        """The two variants."""
        found = self._found
        files = [path.as_posix() for path in found.differing]
        notes = [f"{counted(len(files), 'file')} {_differ(files)}: {listed(files, _SHOWN)}."]
        if not set(found.differing) & {Path(file) for file in first.files} and all(_is_code(path) for path in files):
            notes.append(f"The script runs none of them in {found.after.name}, so no difference is to be expected.")
        if found.left_alone:
            notes.append(
                f"Links and files in Git LFS are the same in both, as in the {NOW}: {listed(found.left_alone, _SHOWN)}."
            )
        return Chosen(self._states, notes, found.after.name)


def _differ(files: Sequence[str]) -> str:
    return "differs" if len(files) == 1 else "differ"


def _is_code(path: str) -> bool:
    return path.endswith(".py")


def _alone(fixes: Fixes, made: Sequence[Finding], shown: Sequence[Finding], way: str) -> list[VariantFiles]:
    """The variants besides those with all fixes; none if there would be only one of its kind."""
    if way == "all":
        return []
    split_up = fixes.each if way == "fix" else fixes.by_rule
    own = split_up(made)
    return [*(own if len(own) > 1 else []), *split_up(shown)]


def _together(fixes: Fixes, made: Sequence[Finding], shown: Sequence[Finding]) -> list[VariantFiles]:
    whole = [fixes.together(made)] if made else []
    if shown and (made or len(fixes.of_one_fix(shown)) > 1):
        whole.append(fixes.together([*made, *shown], Level.DISPLAY))
    return whole


def _fixes(options: argparse.Namespace, settings: Settings, plan: Plan) -> Fixes:
    """The fixes for the files around the script."""
    files = {file.resolve() for file in discovery.python_files([plan.root], settings).files}
    sources, _ = discovery.read_all(sorted(files | {plan.root / plan.script}))

    def check(current: Mapping[str, Source]) -> list[Finding]:
        return engine.check(current, settings)

    level = Level.UNSAFE if options.unsafe_fixes else Level.SAFE
    return Fixes(sources, plan.root, {Path(path).relative_to(plan.root) for path in sources}, check, level)


def _run_by(fixes: Fixes, files: Collection[Path]) -> Fixes:
    """The fixes in files that the script runs; projects without such a file are not checked again."""
    paths = {str(fixes.root / file) for file in files}
    together = [project for project in split(fixes.sources).projects if not paths.isdisjoint(project)]
    sources = {path: source for project in together for path, source in project.items()}
    return replace(fixes, sources=sources, files=files)


def _nothing(options: argparse.Namespace, plan: Plan, fixes: Fixes, elsewhere: int = 0) -> str:
    what = f"nothing to compare: no fix applies to {plan.script} and the files that it runs"
    others = f"; {elsewhere} apply to other files of the project" if elsewhere else ""
    left = "".join(f". {sentence.rstrip('.')}" for sentence in not_measured(fixes, options.suggestions))
    return what + others + left
