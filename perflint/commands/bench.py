"""``perflint bench``: run a training script before and after its fixes, and report what they gain.

The one command that runs the code it is given.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perflint.bench import measure
from perflint.bench.figures import by_name, interval, ratio
from perflint.bench.measure import Bench, as_text
from perflint.bench.notes import not_measured
from perflint.bench.page import curve_section, page
from perflint.bench.results import ALL_FIXES, BEFORE, BenchReport
from perflint.bench.script_run import Outcome, Plan
from perflint.bench.searching import CannotSearch, Search, candidates, most_runs
from perflint.bench.searching import said as said_of_search
from perflint.bench.table import table
from perflint.bench.tuning import CannotTune, Tuned, recommendation, said, tuned, wanted
from perflint.bench.variants import NOW, Fixes, NotPicked, VariantFiles, picked, revisions
from perflint.commands import CommandError, as_command_error, profile, refuse_options
from perflint.commands.read_files import resolve_settings
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.inputs.git import GitError
from perflint.inputs.projects import split
from perflint.output.console import Console
from perflint.run import discovery, engine
from perflint.text.source import Source
from perflint.text.visible import counted, listed, palette, visible, visible_line

_MANY = 8
"""From this number of fixes on, the default is to measure the fixes of each rule, not each fix."""
_PICKED = "chosen fixes"
"""The name of the variant with all fixes that ``--fix`` names."""
_SHOWN = 5
"""How many files are named; the others are only counted."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Measure and report; return 0, or 1 if ``--fail-under`` says so.

    Raises:
        CommandError: the script does not exist or fails, there is nothing to compare, or a file cannot be written.
    """
    script: Path = options.script
    options.json = options.json or options.resume
    profile.insist_possible(options)
    _refuse_options(options)
    settings = resolve_settings(options, [script])
    plan = profile.plan_run(options, settings.root, None if options.no_seed else 0)
    console.note(f"perflint bench RUNS {script}, in copies of {plan.root}")
    try:
        with profile.errors_for_people(), closing(MeasuringProgress(console)) as progress:
            choice = _Measuring(options, settings, plan, progress).choice()
    except KeyboardInterrupt:
        if progress.resumes_with:
            console.note(f"the finished rounds are kept: --resume {progress.resumes_with} continues with them")
        raise
    console.write(table(choice.report, shutil.get_terminal_size().columns, palette(sys.stdout, options.color)))
    console.close()
    if options.json:
        profile.write_file(options.json, as_text({**choice.report.to_json(), **choice.extra}))
    if options.html:
        profile.write_file(options.html, page(choice.report, *choice.sections))
    return judged(options.fail_under, choice.report, choice.overall, console)


@dataclass(frozen=True)
class Choice:
    """What was measured, and what was chosen: parts of the HTML page, and entries for the JSON file."""

    report: BenchReport
    sections: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    overall: str = ""
    """The name of the variant that ``--fail-under`` judges."""


class _Measuring:
    """Measures what the options ask for."""

    def __init__(
        self, options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress
    ) -> None:
        self._options, self._settings, self._plan, self._progress = options, settings, plan, progress
        self._bench = Bench(plan, options.time_limit)
        self._bench.waiting = progress.tell

    def choice(self) -> Choice:
        """Measure, and choose the best if the options ask for it.

        Raises:
            CommandError: there is nothing to compare or to change, or the losses cannot be compared.
            RunFailed: the script failed, or the time was too short.
            OSError: the script cannot be started.
        """
        with as_command_error(CannotTune, CannotSearch):
            if self._options.tune:
                return self._tune()
            return self._search() if self._options.search else self._compare()

    def _compare(self) -> Choice:
        """Compare the script with its fixes, or at two revisions."""
        options, progress = self._options, self._progress
        progress.tell("asking git what differs" if options.against else "looking for what can be fixed")
        plan = self._plan
        source = OfRevisions(options, plan) if options.against else OfFixes(options, self._settings, plan)
        progress.tell("a first run, to see which files the script runs, and how long it takes")
        first = self._bench.run(source.first)
        chosen = source.chosen(first)
        conditions = measure.conditions(plan, chosen.states, first)
        earlier = measure.read_measurement(options.resume, conditions) if options.resume else None

        def kept(report: BenchReport) -> BenchReport:
            return replace(report, conditions=conditions, notes=[*report.notes, *chosen.notes])

        def keep(report: BenchReport) -> None:
            if options.json:
                with suppress(CommandError):  # the end of the report says so, and names what could not be kept
                    profile.write_file(options.json, as_text(kept(report).to_json()))
                    progress.resumes_with = options.json

        left = options.time_limit - first.seconds
        missing = max(0, options.rounds - (earlier.rounds if earlier else 0))
        progress.start(len(chosen.states) * missing, first.seconds, missing, left, options.until is not None)
        report = self._bench.measure(chosen.states, options.rounds, progress.run, keep, earlier, options.until)
        return Choice(kept(report), overall=chosen.overall)

    def _tune(self) -> Choice:
        """Measure the values of ``--tune``."""
        options, plan, progress = self._options, self._plan, self._progress
        asked = wanted(options.tune)  # report a mistake before anything runs
        progress.tell("a first run, to see which files the script runs")
        first = self._bench.run(VariantFiles(BEFORE))
        run = _files_run(first, plan)
        sources = _projects_of(_sources(self._settings, plan), plan.root, run)
        varied = tuned(asked, sources, run, plan.root, self._settings, options.loader or "")
        progress.start(len(varied.states) * options.rounds, first.seconds)
        report = self._bench.measure(varied.states, options.rounds, progress.run, until=options.until)
        report.notes[:0] = said(report, varied)
        return Choice(report, [curve_section(report, varied)], {"tuned": _kept(report, varied)})

    def _search(self) -> Choice:
        """Search for the best combination of fixes, and measure it against the script as it is."""
        options, progress = self._options, self._progress
        progress.tell("looking for what can be fixed")
        source = OfFixes(options, self._settings, self._plan)
        progress.tell("a first run, to see which files the script runs")
        first = self._bench.run(source.first)
        fixes, seconds = source.run_by(first), first.seconds
        if not fixes.findings():
            raise source.nothing(fixes)
        given = candidates(fixes)
        runs = most_runs(len(given), options.rounds)
        progress.tell(f"searching among {counted(len(given), 'candidate')}, which takes at most")
        progress.start(runs, seconds)
        end: float = time.monotonic() + options.time_limit - seconds
        done = 0

        def measure(states: Sequence[VariantFiles], rounds: int) -> BenchReport:
            nonlocal done
            before, done = done, done + len(states) * rounds
            return self._bench.measure(states, rounds, lambda count, _, name: progress.run(before + count, runs, name))

        def has_time(more: int) -> bool:
            finish: float = time.monotonic() + (more + 2 * options.rounds) * seconds
            return finish < end

        found = Search(fixes, measure, has_time, options.tolerance).run(given)
        best = measure([VariantFiles(BEFORE), found.winner], options.rounds) if found.winner is not None else None
        report = best or found.alone
        report.notes[:0] = said_of_search(found, best, options.tolerance)
        return Choice(report, [], {"search": found.to_json()})


def _kept(report: BenchReport, varied: Tuned) -> dict[str, Any]:
    found = recommendation(report, varied)
    return {
        "argument": varied.wanted.name,
        "place": varied.place,
        "written": varied.written,
        "values": list(varied.wanted.values),
        "recommended": found.value,
        "keep": found.keep,
        "as_good": found.as_good,
    }


def _refuse_options(options: argparse.Namespace) -> None:
    """Reject options that would do nothing.

    Raises:
        CommandError: such an option is given.
    """
    choice = {"--suggestions": options.suggestions, "--by": options.by}
    if options.against:
        fixes = {"--fix": options.fix, "--suggestions": options.suggestions, "--unsafe-fixes": options.unsafe_fixes}
        refuse_options({**fixes, **choice}, "--against compares revisions and makes no fixes: leave out")
    if options.fix:
        refuse_options(choice, "--fix already chooses what is measured: leave out")
    if options.loader and not options.tune:
        raise CommandError("--loader says which loader --tune changes: give --tune too, or leave out --loader")
    if options.tolerance is not None and not options.search:
        raise CommandError(
            "--tolerance says how far --search may change the losses: give --search too, or leave out --tolerance"
        )
    if not (options.tune or options.search):
        return
    given = {
        "--search": options.tune and options.search,
        "--against": options.against,
        "--fix": options.fix,
        "--suggestions": options.suggestions,
        "--by": options.by,
        "--unsafe-fixes": options.tune and options.unsafe_fixes,
        "--until": options.search and options.until,
        "--fail-under": options.fail_under,
        "--resume": options.resume,
    }
    refuse_options(given, f"{'--tune' if options.tune else '--search'} decides what is measured, and how: leave out")


def judged(least: float | None, report: BenchReport, overall: str, console: Console) -> int:
    """The exit status for ``--fail-under``: 1 if the upper end of the interval is below it.

    Args:
        least: the ratio that was asked for; None: nothing is judged.
        report: what was measured.
        overall: the name of the variant that is judged.
        console: where to print how it was judged.

    Raises:
        CommandError: the variant that it judges could not be measured.
    """
    if least is None:
        return 0
    found = by_name(report).get(overall)
    if found is None:
        raise CommandError(f"--fail-under {least:g}: {overall} could not be measured, so there is nothing to judge")
    if found.high < least:
        says = "is below it with its whole interval"
    elif found.low < least:
        says = "may be below it: the interval includes values above and below"
    else:
        says = "is not below it with any part of its interval"
    console.note(f"--fail-under {least:g}: {overall}, {ratio(found)} ({interval(found)}), {says}")
    return 1 if found.high < least else 0


# -- what is compared -------------------------------------------------------------------------------------------------


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
        sources = _sources(settings, plan)
        level = Level.UNSAFE if options.unsafe_fixes else Level.SAFE
        files = {Path(path).relative_to(plan.root) for path in sources}
        self._fixes = Fixes(sources, plan.root, files, lambda current: engine.check(current, settings), level)
        if options.fix:
            self._picked(self._fixes)  # report a mistake before anything runs
        elif not self._fixes.findings() and not (options.suggestions and self._fixes.suggested()):
            raise self.nothing(self._fixes)

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
        files = _files_run(first, self._plan)
        return replace(self._fixes, sources=_projects_of(self._fixes.sources, self._plan.root, files), files=files)

    def nothing(self, fixes: Fixes) -> CommandError:
        """The error if no fix applies to the files that the script runs."""
        elsewhere = fixes.elsewhere()
        what = f"nothing to compare: no fix applies to {self._plan.script} and the files that it runs"
        others = f"; {elsewhere} apply to other files of the project" if elsewhere else ""
        left = "".join(f". {sentence.rstrip('.')}" for sentence in not_measured(fixes, self._options.suggestions))
        return CommandError(what + others + left)

    def _of_picked(self, fixes: Fixes) -> Chosen:
        findings = self._picked(fixes)
        states = [VariantFiles(BEFORE), *fixes.each(fixes.of_one_fix(findings))]
        if len(states) > 2:
            states.append(fixes.alone(_PICKED, findings))
        return Chosen(states, [], states[-1].name)

    def _picked(self, fixes: Fixes) -> list[Finding]:
        with as_command_error(NotPicked):
            return picked(fixes, self._options.fix)


class OfRevisions:
    """Compares the script at two revisions, or at one revision and in the working tree."""

    def __init__(self, options: argparse.Namespace, plan: Plan) -> None:
        """Ask git which files differ.

        Raises:
            CommandError: git fails, nothing differs, or the script does not exist at one of them.
        """
        wanted: str = options.against
        with as_command_error(GitError, place=f"--against {wanted}: "):
            self._found = revisions(plan.root, wanted)
        self.first = self._found.after
        """The files of the first run, to see how long a run takes."""
        self._states = [self._found.before, self._found.after]
        names = [state.name for state in self._states]
        if not self._found.differing:
            raise CommandError(f"--against {wanted}: nothing to compare: {' and '.join(names)} have the same files")
        for state in self._states:
            if plan.script in state.removed:
                raise CommandError(f"--against {wanted}: {plan.script} is not in {state.name}")

    def chosen(self, first: Outcome) -> Chosen:
        """The two variants."""
        found = self._found
        files = [path.as_posix() for path in found.differing]
        verb = "differs" if len(files) == 1 else "differ"
        notes = [f"{counted(len(files), 'file')} {verb}: {listed(files, _SHOWN)}."]
        is_run = not set(found.differing).isdisjoint(map(Path, first.files))
        if not is_run and all(path.endswith(".py") for path in files):
            notes.append(f"The script runs none of them in {found.after.name}, so no difference is to be expected.")
        if found.left_alone:
            notes.append(
                f"Links and files in Git LFS are the same in both, as in the {NOW}: {listed(found.left_alone, _SHOWN)}."
            )
        return Chosen(self._states, notes, found.after.name)


def _alone(fixes: Fixes, made: Sequence[Finding], shown: Sequence[Finding], way: str) -> list[VariantFiles]:
    """The variants besides those with all fixes; none if there would be only one of its kind."""
    if way == "all":
        return []
    split_up = fixes.of_one_fix if way == "fix" else fixes.of_one_rule
    own = split_up(made)
    return fixes.each([*(own if len(own) > 1 else []), *split_up(shown)])


def _together(fixes: Fixes, made: Sequence[Finding], shown: Sequence[Finding]) -> list[VariantFiles]:
    whole = [fixes.together(made)] if made else []
    if shown and (made or len(fixes.of_one_fix(shown)) > 1):
        whole.append(fixes.together([*made, *shown], Level.DISPLAY))
    return whole


def _sources(settings: Settings, plan: Plan) -> dict[str, Source]:
    """The files around the script."""
    files = {file.resolve() for file in discovery.python_files([plan.root], settings).files}
    sources, _ = discovery.read_all(sorted(files | {plan.root / plan.script}))
    return sources


def _files_run(first: Outcome, plan: Plan) -> set[Path]:
    """The files that the script runs, relative to the project."""
    return {Path(file) for file in first.files} | {plan.script}


def _projects_of(sources: Mapping[str, Source], root: Path, files: Collection[Path]) -> dict[str, Source]:
    """All files of the projects that contain some of these; the others need not be checked again."""
    paths = {str(root / file) for file in files}
    together = [project for project in split(sources).projects if not paths.isdisjoint(project)]
    return {path: source for project in together for path, source in project.items()}


# -- progress ---------------------------------------------------------------------------------------------------------


class MeasuringProgress:
    """Reports runs on standard error. The bar is drawn by tqdm (in the extra ``bench``), if it is installed."""

    def __init__(self, console: Console) -> None:
        """Report on this console of the process."""
        self._console = console
        self._bar: Any = None
        self._seconds = 0.0
        self.resumes_with: Path | None = None  # the file from which ``--resume`` can continue so far

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def tell(self, line: str) -> None:
        """Report something other than a run: what is being prepared, or that a run seems stuck."""
        if self._bar is None:
            self._console.note(line)
        else:
            self._bar.write(visible_line(line), file=sys.stderr)

    def start(
        self, runs: int, seconds: float, rounds: int = 0, limit: float = math.inf, is_least: bool = False
    ) -> None:
        """Report how long it will take.

        Args:
            runs: how many runs remain.
            seconds: how long each takes, approximately.
            rounds: how many rounds they form, or 0 not to mention rounds.
            limit: the number of seconds after which no run is started.
            is_least: whether more rounds may follow.
        """
        self._seconds = seconds
        of = f" ({counted(runs // rounds, 'variant')} in {counted(rounds, 'round')})" if rounds else ""
        whole = f"{'at least ' if is_least else ''}{runs} runs{of}, about {_duration(runs * seconds)} in all"
        self._console.note(f"{whole}{_beyond(runs, seconds, rounds, limit)}; Ctrl-C stops them")
        with suppress(ImportError):
            if sys.stderr.isatty():
                from tqdm import tqdm

                self._bar = tqdm(total=runs, leave=False, unit="run", dynamic_ncols=True)

    def run(self, done: int, runs: int, name: str) -> None:
        """Report the start of a run; ``done`` of ``runs`` are finished."""
        if self._bar is None:
            left = _duration((runs - done) * self._seconds)
            self._console.note(f"run {done + 1} of {runs}: {name} (about {left} left)")
            return
        self._bar.total = runs  # the total grows if rounds are added
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix_str(visible(name))


def _beyond(runs: int, seconds: float, rounds: int, limit: float) -> str:
    """How many rounds fit in the time limit, if not all do."""
    if not rounds or runs * seconds <= limit:
        return ""
    fitting = int(limit / (seconds * runs / rounds))
    return f", of which --time-limit leaves {_duration(limit)}: time for {fitting} of {counted(rounds, 'round')}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
