"""``perflint bench --search``: which fixes are tried on top of which, what ends them, and how few runs that takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from perflint.bench.results import BEFORE, BenchReport, compare
from perflint.bench.script_run import RunFailed
from perflint.bench.searching import CannotSearch, Search, SearchResult, candidates, most_runs, said
from perflint.bench.variants import Fixes, VariantFiles
from perflint.findings import Edit, Finding, Fix, Level
from perflint.text.source import Source
from tests.bench_reports import report, run, variant
from tests.test_bench_command import SCRIPT, bench, project

TEXT = "a = 1\nb = 1\nc = 1\n"
Losses = Callable[[str, int], list[float | None]]


def fixes(root: Path, *edits: Edit, codes: Sequence[str] = ("PPF201", "PPF202", "PPF203")) -> Fixes:
    """Fixes of one file: by default, each turns the 1 of a row into a 2."""
    path = str(root / "train.py")
    edits = edits or tuple(Edit(at, at + 1, "2") for at in (4, 10, 16))
    made = [(code, edit, Fix("", (edit,), Level.SAFE)) for code, edit in zip(codes, edits, strict=True)]
    found = [Finding(code, path, edit.start, edit.end, "", fix) for code, edit, fix in made]
    return Fixes({path: Source(path, TEXT)}, root, {Path("train.py")}, lambda _: found, Level.SAFE)


def same(_: str, __: int) -> list[float | None]:
    return [1.5, 1.25]


class Machine:
    """Measures what a text says: each ``x = 2`` in it has a factor, the time of a step is their product."""

    def __init__(self, factors: Mapping[str, float], losses: Losses = same, fails: str = "") -> None:
        self.factors, self.losses, self.fails = factors, losses, fails
        self.asked: list[list[str]] = []

    def __call__(self, states: Sequence[VariantFiles], rounds: int) -> BenchReport:
        self.asked.append([state.name for state in states])
        texts = [state.changed.get(Path("train.py"), TEXT.encode()).decode() for state in states]
        if self.fails and self.fails in states[-1].name:
            raise RunFailed("it broke")
        variants = [
            variant(
                state.name,
                *(run([self._seconds(text)] * 2, losses=self.losses(text, at)) for at in range(rounds)),
            )
            for state, text in zip(states, texts, strict=True)
        ]
        comparisons = [compare(variants[0].runs, each.runs, each.name) for each in variants[1:]]
        return report(variants, comparisons, rounds=rounds)

    def _seconds(self, text: str) -> float:
        names = re.findall(r"(\w) = 2", text)
        seconds = 0.1
        for name in names:
            seconds *= self.factors[name]
        return seconds * (self.factors.get("+".join(names), 1.0) if len(names) > 1 else 1.0)


def search(given: Fixes, machine: Machine, tolerance: float | None = None, runs: int = 1000) -> SearchResult:
    return Search(given, machine, lambda more: more <= runs, tolerance).run(candidates(given))


A, B, C = (f"PPF20{number} train.py:{number}" for number in (1, 2, 3))


def test_the_best_comes_first_and_what_gains_nothing_is_left_out(tmp_path: Path) -> None:
    machine = Machine({"a": 0.9, "b": 0.5, "c": 1.1})
    found = search(fixes(tmp_path), machine)
    assert machine.asked == [[BEFORE, A, B, C], [B, f"{B} + {A}"]]
    assert found.winner is not None
    assert (found.winner.name, found.winner.codes) == (f"{B} + {A}", ["PPF201", "PPF202"])
    assert found.winner.changed == {Path("train.py"): b"a = 2\nb = 2\nc = 1\n"}
    assert [(trial.fix, trial.kept) for trial in found.trials] == [(A, True), (B, True), (C, False), (A, True)]
    assert found.trials[-1].ratio == pytest.approx(1 / 0.9)
    assert found.trials[2].verdict == "gains nothing"


def test_a_fix_that_gains_alone_and_not_with_another(tmp_path: Path) -> None:
    found = search(fixes(tmp_path), Machine({"a": 0.9, "b": 0.5, "c": 1.1, "a+b": 1.2}))
    assert found.winner is not None
    assert found.winner.name == B


def test_a_fix_that_changes_the_losses_is_left_out(tmp_path: Path) -> None:
    def losses(text: str, _: int) -> list[float | None]:
        return [1.5, 1.25 + 0.001 * ("b = 2" in text)]

    machine = Machine({"a": 0.9, "b": 0.5, "c": 1.0}, losses)
    found = search(fixes(tmp_path), machine)
    assert found.winner is not None
    assert found.winner.name == A
    assert found.trials[1].verdict == "changes the losses by up to 0.0008 of the loss"
    tolerant = search(fixes(tmp_path), machine, tolerance=1e-3)
    assert tolerant.winner is not None
    assert tolerant.winner.name == f"{B} + {A}"


def test_fixes_that_change_the_losses_only_together(tmp_path: Path) -> None:
    def losses(text: str, _: int) -> list[float | None]:
        return [1.5, 1.25 if text.count("2") < 2 else 1.0]

    found = search(fixes(tmp_path), Machine({"a": 0.9, "b": 0.5, "c": 1.0}, losses))
    assert found.winner is not None
    assert found.winner.name == B


def test_losses_that_nobody_can_compare(tmp_path: Path) -> None:
    factors = {"a": 0.9, "b": 0.5, "c": 1.0}
    with pytest.raises(CannotSearch, match="no loss was seen"):
        search(fixes(tmp_path), Machine(factors, lambda _, __: [None, None]))
    wandering = Machine(factors, lambda _, at: [1.0 + 0.0001 * at, 1.0])
    with pytest.raises(CannotSearch, match=r"up to 0\.0002 of the loss.*--tolerance"):
        search(fixes(tmp_path), wandering)
    assert search(fixes(tmp_path), wandering, tolerance=1e-3).winner is not None


def test_nothing_gains(tmp_path: Path) -> None:
    found = search(fixes(tmp_path), Machine({"a": 1.0, "b": 1.1, "c": 1.2}))
    assert found.winner is None
    assert "none is recommended" in said(found, None, None)[1]
    assert [each.name for each in found.alone.variants] == [BEFORE, A, B, C]


def test_fixes_that_clash_or_fail_together(tmp_path: Path) -> None:
    clashing = fixes(tmp_path, Edit(4, 5, "2"), Edit(4, 5, "2 "), Edit(10, 11, "2"))
    found = search(clashing, Machine({"a": 0.5, "b": 0.9}))
    assert "cannot be made together with them" in [trial.verdict for trial in found.trials]
    failing = search(fixes(tmp_path), Machine({"a": 0.9, "b": 0.5, "c": 1.1}, fails=" + "))
    assert failing.winner is not None
    assert (failing.winner.name, failing.trials[-1].verdict) == (B, "failed: it broke")


def test_the_time_limit_ends_the_search_before_the_last_measurement(tmp_path: Path) -> None:
    found = search(fixes(tmp_path), Machine({"a": 0.9, "b": 0.5, "c": 0.8}), runs=5)
    assert found.winner is not None
    assert (found.winner.name, found.untried) == (B, [C, A])


def test_no_more_runs_than_were_announced(tmp_path: Path) -> None:
    machine = Machine({"a": 0.9, "b": 0.5, "c": 0.8})
    search(fixes(tmp_path), machine)
    assert sum(len(states) for states in machine.asked) * 3 + 2 * 5 == most_runs(3, 5)


@pytest.mark.parametrize(
    ("speeds", "says"), [([0.5, 0.5, 0.5], "Recommended:"), ([0.5, 1.5, 0.9], "None is recommended:")]
)
def test_the_last_measurement_decides(speeds: list[float], says: str, tmp_path: Path) -> None:
    found = search(fixes(tmp_path), Machine({"a": 0.9, "b": 0.5, "c": 1.1}))
    assert found.winner is not None
    before = variant(BEFORE, *(run([0.1]) for _ in speeds))
    after = variant(found.winner.name, *(run([0.1 * speed]) for speed in speeds))
    again = report([before, after], [compare(before.runs, after.runs, after.name)], rounds=3)
    assert said(found, again, None)[1].startswith(says)


def test_many_fixes_are_tried_by_rule(tmp_path: Path) -> None:
    path = str(tmp_path / "train.py")
    made = [(f"PPF20{at % 2 + 1}", Fix("", (Edit(at, at + 1, "x"),), Level.SAFE)) for at in range(8)]
    found = [Finding(code, path, at, at + 1, "", fix) for at, (code, fix) in enumerate(made)]
    given = Fixes({path: Source(path, TEXT)}, tmp_path, {Path("train.py")}, lambda _: found, Level.SAFE)
    assert [(each.name, len(each.findings)) for each in candidates(given)] == [("PPF201", 4), ("PPF202", 4)]


def test_the_command_searches_and_measures_the_winner_again(tmp_path: Path) -> None:
    """The loss is read at each step, which a fix puts off; with the made-up Paddle that may gain something, or not."""
    place = project(tmp_path / "p", train=SCRIPT)
    found = bench(place, "train.py", "--search", "--json", str(tmp_path / "r.json"))
    assert found.returncode == 0, found.stderr
    assert "Searched for the fastest fixes" in " ".join(found.stdout.split())
    data = json.loads((tmp_path / "r.json").read_text())
    assert [trial["fix"] for trial in data["search"]["trials"]] == ["PPF201 train.py:11"]
    assert [each["name"] for each in data["variants"]] == [BEFORE, "PPF201 train.py:11"]
