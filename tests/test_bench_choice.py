"""What ``perflint bench`` compares and what it says of the rest; nothing is run here."""

from __future__ import annotations

import random
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from perflint.bench import run_directory
from perflint.bench.measure import Bench
from perflint.bench.notes import not_measured
from perflint.bench.results import BEFORE, BenchReport, Steps
from perflint.bench.run_directory import ProjectCopy
from perflint.bench.script_run import Outcome, Plan
from perflint.bench.variants import Fixes, NotPicked, VariantFiles, picked, revisions
from perflint.cli import main
from perflint.commands import CommandError, bench
from perflint.commands.bench import MeasuringProgress, judged
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Fix, Level
from perflint.inputs.git import GitError
from perflint.output.console import Console
from tests.bench_reports import after, before, committed, compared, git, report
from tests.test_bench_variants import BOTH, fixes

PLAN = Plan(Path("/p"), Path("train.py"), Path(), [], "python", steps=1)


def found(root: Path, level: Level = Level.SAFE, **texts: str) -> Fixes:
    return fixes(root.resolve(), BOTH, level, **texts)


def without_edits(mine: Fixes, code: str) -> Fixes:
    """The same, with no edit for what a rule finds."""

    def check(current: Any) -> list[Finding]:
        return [
            Finding(item.code, item.path, item.start, item.end, item.message) if item.code == code else item
            for item in mine.check(current)
        ]

    return Fixes(mine.sources, mine.root, mine.files, check, mine.level)


def only_shown(mine: Fixes, code: str) -> Fixes:
    """The same, where a rule only shows its edits."""

    def check(current: Any) -> list[Finding]:
        return [
            Finding(item.code, item.path, item.start, item.end, item.message, _shown(item.fix), item.related)
            if item.code == code and item.fix is not None
            else item
            for item in mine.check(current)
        ]

    return Fixes(mine.sources, mine.root, mine.files, check, mine.level)


def _shown(fix: Fix) -> Fix:
    return Fix(fix.message, fix.edits, Level.DISPLAY, "a person has to decide", fix.imports)


def test_what_is_left_out_is_said_with_the_option_that_would_measure_it(tmp_path: Path) -> None:
    mine = found(tmp_path)
    assert not_measured(mine, False) == [
        "2 findings were not measured: 2 need --unsafe-fixes (PPF101 other.py:8, PPF101 train.py:8)."
    ]
    assert not_measured(mine, True) == []
    assert not_measured(found(tmp_path, Level.UNSAFE), False) == []


def test_suggestions_and_findings_without_an_edit_are_told_apart(tmp_path: Path) -> None:
    shown = only_shown(found(tmp_path), "PPF101")
    assert not_measured(shown, False) == [
        "2 findings were not measured: 2 are suggestions, which --suggestions measures as they are shown "
        "(PPF101 other.py:8, PPF101 train.py:8)."
    ]
    assert not_measured(without_edits(found(tmp_path), "PPF201"), False) == [
        "6 findings were not measured: 2 need --unsafe-fixes (PPF101 other.py:8, PPF101 train.py:8); "
        "4 have no edit (PPF201 other.py:13, PPF201 other.py:14, PPF201 train.py:13 and 1 more)."
    ]


def chosen(mine: Fixes, monkeypatch: pytest.MonkeyPatch, *files: str, **options: Any) -> bench.Chosen:
    """What is chosen where the script runs these files."""
    values = {"fix": [], "suggestions": False, "unsafe_fixes": False, "by": None, **options}
    monkeypatch.setattr(bench, "_sources", lambda *_: {})
    monkeypatch.setattr(bench, "Fixes", lambda *_: mine)
    plan = Plan(mine.root, Path("train.py"), Path(), [], "python")
    outcome = Outcome(Steps([], [], [], [], 0.0, "cpu"), {}, "m", list(files), 1.0)
    return bench.OfFixes(Namespace(**values), Settings(), plan).chosen(outcome)


def names(one: bench.Chosen) -> list[str]:
    return [state.name for state in one.states]


def test_suggestions_stand_beside_the_fixes_and_have_a_whole_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = only_shown(found(tmp_path), "PPF101")
    one = chosen(mine, monkeypatch, suggestions=True)
    assert names(one) == ["before", "PPF101 train.py:8 (suggestion)", "all fixes", "all with suggestions"]
    assert one.overall == "all fixes"
    assert one.notes == ["2 more fixes are in files that the script does not run."]
    (loader, whole, everything) = (state.changed[Path("train.py")].decode() for state in one.states[1:])
    assert ("num_workers" in loader, "num_workers" in whole, "num_workers" in everything) == (True, False, True)
    assert ("loss.item()" in loader, "loss.item()" in whole, "loss.item()" in everything) == (True, False, False)
    by_rule = chosen(mine, monkeypatch, "other.py", suggestions=True, by="rule")
    assert names(by_rule) == ["before", "PPF101 (suggestion)", "all fixes", "all with suggestions"]
    assert names(chosen(mine, monkeypatch, suggestions=True, by="all")) == [
        *("before", "all fixes", "all with suggestions")
    ]


def test_a_fix_is_measured_by_its_name_whatever_its_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = found(tmp_path)
    one = chosen(mine, monkeypatch, fix=["PPF101:train.py:8"])
    assert names(one) == [one.states[0].name, one.overall] == ["before", "PPF101 train.py:8 (unsafe)"]
    both = chosen(mine, monkeypatch, fix=["ppf201 train.py:14", "PPF101:train.py:8"])
    assert names(both) == [*("before", "PPF101 train.py:8 (unsafe)", "PPF201 train.py:13, train.py:14", "chosen fixes")]
    text = both.states[-1].changed[Path("train.py")].decode()
    assert "num_workers" in text
    assert "loss.item()" not in text
    with pytest.raises(
        CommandError, match=r"PPF201:other.py:13: there is no finding there in the files that the script runs"
    ):
        chosen(mine, monkeypatch, fix=["PPF201:other.py:13"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("PPF201", "write the rule, the file and the line, as in --fix PPF201:train.py:70"),
        ("PPF201:train.py:12", "near it: PPF201:train.py:13, PPF201:train.py:14, PPF101:train.py:8$"),
        ("PPF201:nowhere.py:13", "near it: PPF201:other.py:13, PPF201:train.py:13, "),
        ("PPF201:13", "means several: PPF201:other.py:13, PPF201:train.py:13; name the file too"),
        ("PPF101:train.py:8", "perflint has no edit for this finding"),
    ],
)
def test_a_name_that_does_not_do_is_answered_with_what_there_is(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NotPicked, match=says):
        picked(without_edits(found(tmp_path), "PPF101"), [text])


@pytest.mark.parametrize("text", ["PPF201:train.py:13", "PPF201 ./train.py:14", "ppf201:{root}/train.py:13"])
def test_a_file_may_be_written_as_it_is_seen_from_anywhere(tmp_path: Path, text: str) -> None:
    mine = found(tmp_path)
    assert [item.code for item in picked(mine, [text.format(root=mine.root)])] == ["PPF201", "PPF201"]


def test_a_revision_is_what_git_has_of_it_and_the_rest_as_it_is_now(tmp_path: Path) -> None:
    top = committed(tmp_path / "p", train="1", gone="2", same="3")
    (top / "data").mkdir()
    (top / "data" / "kept.txt").write_text("old")
    git(top, "add", ".")
    git(top, "commit", "-qm", "second")
    (top / "train.py").write_text("now")
    (top / "gone.py").unlink()
    (top / "new.py").write_text("new")
    (top / "data" / "kept.txt").write_text("x")
    git(top, "add", "new.py")
    (top / "unknown.txt").write_text("y")
    seen = revisions(top.resolve(), "HEAD")
    assert [path.as_posix() for path in seen.differing] == ["data/kept.txt", "gone.py", "new.py", "train.py"]
    copy = tmp_path / "copy"
    ProjectCopy(top.resolve()).make(copy, seen.before.changed, seen.before.removed)
    assert {str(path.relative_to(copy)): path.read_text() for path in copy.rglob("*") if path.is_file()} == {
        **{"train.py": "1", "gone.py": "2", "same.py": "3", "data/kept.txt": "old", "unknown.txt": "y"}
    }
    assert (seen.after.name, seen.after.changed, list(seen.after.removed)) == ("working tree", {}, [])


def test_two_commits_do_not_look_at_the_working_tree(tmp_path: Path) -> None:
    top = committed(tmp_path / "p", train="1", same="2")
    (top / "train.py").write_text("3")
    git(top, "commit", "-qam", "second")
    (top / "train.py").write_text("4")
    (top / "same.py").write_text("5")
    for wanted in ("HEAD~1..HEAD", "HEAD~1.."):
        seen = revisions(top.resolve(), wanted)
        contents = [
            {path.as_posix(): data for path, data in state.changed.items()} for state in (seen.before, seen.after)
        ]
        assert contents == [{"train.py": b"1", "same.py": b"2"}, {"train.py": b"3", "same.py": b"2"}]
        assert seen.differing == [Path("train.py")]
        assert seen.before.name.startswith("HEAD~1 (")
    with pytest.raises(GitError, match="git knows no revision 'no'"):
        revisions(top.resolve(), "no")


def test_links_and_large_files_elsewhere_are_left_as_they_are(tmp_path: Path) -> None:
    top = committed(tmp_path / "p", train="1")
    (top / "link").symlink_to("train.py")
    (top / "large.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "second")
    (top / "link").unlink()
    (top / "link").symlink_to("elsewhere.py")
    (top / "large.bin").write_text("the content")
    seen = revisions(top.resolve(), "HEAD")
    assert (seen.differing, seen.left_alone) == ([], ["large.bin", "link"])


def test_a_revision_of_a_linked_file_does_not_change_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a project that is too large to be copied, where data are links, and a directory of many files is one."""
    for name, value in (("BUDGET", 0), ("SMALL", 0), ("MANY", 2)):
        monkeypatch.setattr(run_directory, name, value)
    root = (tmp_path / "p").resolve()
    (root / "data").mkdir(parents=True)
    for name in ("data/one.txt", "data/two.txt", "three.txt"):
        (root / name).write_text("now")
    copy, project = tmp_path / "copy", ProjectCopy(root)
    changed = {Path("data/one.txt"): b"then", Path("three.txt"): b"then", Path("new/four.txt"): b"then"}
    project.make(copy, changed, [Path("data/two.txt")])
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()) == [
        *("data/one.txt", "new/four.txt", "three.txt")
    ]
    assert all((copy / path).read_bytes() == b"then" for path in changed)
    assert {path.read_text() for path in root.rglob("*.txt")} == {"now"}
    assert len(list(root.rglob("*.txt"))) == 3


def test_a_script_that_was_not_there_is_told(tmp_path: Path) -> None:
    top = committed(tmp_path / "p", other="1").resolve()
    (top / "train.py").write_text("2")
    git(top, "add", ".")
    plan = Plan(top, Path("train.py"), Path(), [], "python")
    with pytest.raises(CommandError, match=r"--against HEAD: train.py is not in HEAD \("):
        bench.OfRevisions(Namespace(against="HEAD"), plan)
    git(top, "commit", "-qm", "second")
    with pytest.raises(CommandError, match=r"nothing to compare: HEAD \(.*\) and working tree have the same files"):
        bench.OfRevisions(Namespace(against="HEAD"), plan)
    (top / "other.py").write_text("3")
    mine = bench.OfRevisions(Namespace(against="HEAD"), plan)
    outcome = Outcome(Steps([], [], [], [], 0.0, "cpu"), {}, "m", ["train.py"], 1.0)
    assert mine.chosen(outcome).notes == [
        "1 file differs: other.py.",
        "The script runs none of them in working tree, so no difference is to be expected.",
    ]


@pytest.mark.parametrize(
    ("low", "high", "status", "says"),
    [
        (0.9, 1.049, 1, "all fixes, 0.97 (0.90 to 1.05), is below it with its whole interval"),
        (0.9, 1.05, 0, "may be below it: the interval includes values above and below"),
        (1.05, 1.2, 0, "is not below it with any part of its interval"),
    ],
)
def test_ci_fails_where_the_upper_end_of_the_interval_is_below_the_ratio(
    low: float, high: float, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = report([before(), after()], [compared(0.1, 0.2), compared(low, high, "all fixes")])
    assert judged(1.05, measured, "all fixes", Console()) == status
    assert says in capsys.readouterr().err
    assert judged(None, measured, "all fixes", Console()) == 0
    with pytest.raises(CommandError, match="chosen fixes could not be measured, so there is nothing to judge"):
        judged(1.05, measured, "chosen fixes", Console())


def measured(monkeypatch: pytest.MonkeyPatch, until: float | None, rounds: int = 3) -> BenchReport:
    """A measurement whose runs take a made-up time: after the fix half as long, with 5 in 100 more or less."""
    chance = random.Random(3)

    def run(_: Bench, state: VariantFiles) -> Outcome:
        seconds = (1.0 if state.name == BEFORE else 0.5) * chance.uniform(0.95, 1.05)
        return Outcome(Steps([seconds], [0.0], [8], [1.0], 1.0, "cpu"), {}, "m", [], seconds)

    monkeypatch.setattr(Bench, "run", run)
    told: list[tuple[int, int]] = []
    found = Bench(PLAN).measure(
        [VariantFiles(BEFORE), VariantFiles("all fixes")], rounds, lambda *now: told.append(now[:2]), until=until
    )
    assert [done for done, _ in told] == list(range(2 * found.rounds))
    assert told[-1][1] == 2 * found.rounds
    return found


def test_rounds_are_added_until_the_interval_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, 0.02)
    (comparison,) = found.comparisons
    assert (found.pilot, found.rounds > 10) == (3, True)
    assert comparison.high / comparison.ratio <= 1.02 * (1 + 1e-9)
    assert comparison.low < 2.0 < comparison.high
    assert found.notes == []
    again = measured(monkeypatch, None, 4)
    assert (again.pilot, again.rounds) == (0, 4)
    states = [VariantFiles(BEFORE), VariantFiles("all fixes")]
    resumed = Bench(PLAN).measure(states, found.rounds + 5, earlier=found)
    assert (resumed.pilot, resumed.rounds) == (3, found.rounds + 5)  # the width had decided on the rounds before


@pytest.mark.parametrize(
    ("runs", "limit", "until", "says"),
    [
        (10, 100, False, "10 runs (2 variants in 5 rounds), about 60 s in all; Ctrl-C stops them"),
        (10, 100, True, "at least 10 runs (2 variants in 5 rounds), about 60 s in all; "),
        (10, 40, False, "about 60 s in all, of which --time-limit leaves 40 s: time for 3 of 5 rounds; "),
    ],
)
def test_how_long_it_takes_is_said_before(
    runs: int, limit: float, until: bool, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    MeasuringProgress(Console()).start(runs, 6.0, 5, limit, until)
    assert says in capsys.readouterr().err


def test_what_does_not_go_together_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    for arguments, says in {
        ("--against", "HEAD", "--suggestions"): "makes no fixes: leave out --suggestions",
        ("--fix", "PPF201:3", "--by", "all"): "--fix already chooses what is measured: leave out --by",
        ("--against", "HEAD"): f"--against HEAD: {tmp_path} is in no git repository",
    }.items():
        assert main(["bench", str(script), *arguments]) == 2
        assert says in capsys.readouterr().err
