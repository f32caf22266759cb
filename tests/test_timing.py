"""``perflint check --timing``: where the time goes, by a clock that moves one second each time it is looked at."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from speed import with_profile
from speed_parts.page import page

from perflint import catalogue, stopwatch
from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.lint import registry
from perflint.rules import load_checks
from perflint.run import engine
from perflint.run.timing import Times, measured, table
from perflint.stopwatch import PHASES, Stopwatch, phase
from perflint.trace import hot_path
from tests.support import in_step, sources

ROOT = Path(__file__).resolve().parents[1]
TRAINER = in_step("print(loss.item())\npaddle.save(model.state_dict(), 'last')\n")


class HandClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: float, then: Callable[[], object] = lambda: None) -> Callable[[], object]:
        """A function that takes so long, and then calls another."""

        def work() -> object:
            self.now += seconds
            return then()

        return work


def seconds_of(stopwatch: Stopwatch) -> dict[str, float]:
    """The seconds of each phase, with those of its rules."""
    stopwatch.charge()
    accounts = stopwatch.seconds.items()
    return {name: sum(seconds for (phase, _), seconds in accounts if phase == name) for (name, _), _ in accounts}


def ticks() -> Callable[[], float]:
    return map(float, itertools.count()).__next__


def state() -> dict[str, object]:
    """All rules, and whether time is measured."""
    return {"a stopwatch": stopwatch._running, "rules": list(registry.checks)}


# --- the clock


def test_inner_functions_are_not_counted_for_outer_ones() -> None:
    clock = HandClock()
    stopwatch = Stopwatch(clock)
    parse = phase("ast.parse")(clock.taking(2.0))
    gate = stopwatch.timed(clock.taking(0.5, parse), "gates", "PPF101")
    ask = phase("gates")(clock.taking(0.25, lambda: (gate(), clock.taking(1.0)())))
    with stopwatch.running():
        ask()
        clock.now += 4.0
    parse()  # it is no longer measured
    assert seconds_of(stopwatch) == {"the rest": 4.0 + 2.0, "ast.parse": 2.0, "gates": 1.75}
    assert stopwatch.seconds["gates", "PPF101"] == 0.5


def test_functions_that_call_themselves_count_once() -> None:
    clock = HandClock()
    stopwatch = Stopwatch(clock)
    left = iter([True, True, False])

    def work() -> None:
        clock.now += 1.0
        if next(left):
            timed()

    timed = phase("scopes")(work)
    with stopwatch.running():
        timed()
    assert seconds_of(stopwatch) == {"the rest": 0.0, "scopes": 3.0}


def test_what_fails_is_counted_and_ended() -> None:
    clock = HandClock()
    stopwatch = Stopwatch(clock)

    def fail() -> None:
        clock.now += 1.0
        raise ValueError("no")

    with stopwatch.running():
        with pytest.raises(ValueError, match="no"):
            stopwatch.timed(fail, "checks", "PPF101")()
        with pytest.raises(ValueError, match="no"), phase("scopes"):
            fail()
        clock.now += 2.0
    assert seconds_of(stopwatch) == {"the rest": 2.0, "checks": 1.0, "scopes": 1.0}
    assert stopwatch.seconds["checks", "PPF101"] == 1.0


def test_generators_are_gone_through_on_their_own_account() -> None:
    clock = HandClock()
    stopwatch = Stopwatch(clock)

    def rows() -> Iterator[int]:
        clock.now += 1.0
        yield 1
        clock.now += 1.0
        yield 2

    assert list(stopwatch.timed(rows, "gates", "PPF101", collect=True)()) == [1, 2]
    assert stopwatch.seconds["gates", "PPF101"] == 2.0


# --- a run


def test_findings_are_the_same_and_no_tick_is_lost() -> None:
    given, settings = sources(TRAINER), Settings(join_lines=False, select=("ALL",))
    clock = ticks()
    with measured(clock) as times:
        found = engine.check(given, settings)
    assert found == engine.check(given, settings)
    assert {finding.code for finding in found} == {"PPF202", "PPF401"}
    assert times.total == clock() - 1  # the first look at the clock showed 0, the last one what has been counted
    assert set(times.phases) <= set(PHASES)
    asked = {"imports", "projects", "index", "ast.parse", "scopes", "step loops", "gates", "checks"}
    assert asked | {"messages", "the rest"} <= {phase for phase, seconds in times.phases.items() if seconds}


def test_rules_are_part_of_their_phases() -> None:
    with measured(ticks()) as times:
        engine.check(sources(TRAINER), Settings(join_lines=False, select=("ALL",)))
    assert 0 < sum(times.gates.values()) < times.phases["gates"]
    assert sum(times.checks.values()) == times.phases["checks"]
    assert times.rules["PPF401"] == times.gates["PPF401"] + times.checks["PPF401"]


def test_rules_that_share_a_function_are_named_together() -> None:
    with measured(ticks()) as times:
        engine.check(sources(TRAINER), Settings(join_lines=False, select=("ALL",)))
    assert {"PPF202, PPF405", "PPF401"} <= set(times.checks)
    # The calls at each step that rule files declare, whatever rules these are.
    assert any({"PPF703", "PPF704", "PPF705"} <= set(codes.split(", ")) for codes in times.checks)
    assert all(re.fullmatch(r"PPF\d{3}(, PPF\d{3})*", codes) for codes in times.checks)
    assert all(re.fullmatch(r"PPF\d{3}", code) for code in times.gates)


def test_only_selected_rules_ask_their_gates() -> None:
    """Rules about waits are judged together: with one of them, all that are on by default are asked.

    So are others that may claim the same places.
    """
    with measured(ticks()) as times:
        engine.check(sources(TRAINER), Settings(join_lines=False, select=("PPF601",)))
    assert set(times.gates) == {"PPF601"}
    with measured(ticks()) as times:
        engine.check(sources(TRAINER), Settings(join_lines=False, select=("PPF201",)))
    waits = {code for code, rule in catalogue.shipped().items() if rule.bottleneck == "sync" and rule.default}
    claiming = {code for check in registry.checks if check.claims for code in check.codes}
    assert {"PPF201"} < set(times.gates) <= waits | claiming


def test_all_is_put_back() -> None:
    load_checks()
    before = state()
    with measured(ticks()):
        assert {name for name, value in state().items() if value != before.get(name)} >= {
            "a stopwatch",
            "rules",
        }
        engine.check(sources(TRAINER), Settings(join_lines=False))
    assert state() == before


def test_all_is_put_back_when_something_fails() -> None:
    load_checks()
    before = state()
    with pytest.raises(KeyboardInterrupt), measured(ticks()):
        raise KeyboardInterrupt
    assert state() == before


# --- the table


def test_table_is_sorted_and_has_shares() -> None:
    times = Times(
        {"read": 1.0, "gates": 2.5, "checks": 0.5},
        {"PPF101": 0.25, "PPF201": 1.0},
        {"PPF202, PPF405": 0.375, "PPF201": 0.125},
    )
    assert (
        table(times)
        == """\
Where the time went: 4.000 s of CPU in one process, without a cache.

phase                 s    share
gates             2.500   62.5 %  which statements can hold a finding
read              1.000   25.0 %  the files as text
checks            0.500   12.5 %  what is wrong, and which edit fixes it

rule              gates   checks        s    share
PPF201            1.000    0.125    1.125   28.1 %
PPF202, PPF405    0.000    0.375    0.375    9.4 %
PPF101            0.250    0.000    0.250    6.2 %

Each moment counts once, for the innermost phase; those of the rules are part of the phases gates and checks.
What several ask for is worked out once, and counts for the first of them.
"""
    )


# --- the command


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERFLINT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "perflint.toml").touch()
    (tmp_path / "train.py").write_text(TRAINER, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("workplace")
def test_findings_stay_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output-format", "json"]) == 1
    plain = capsys.readouterr()
    assert main(["check", "--output-format", "json", "--timing"]) == 1
    timed = capsys.readouterr()
    assert plain.err == ""
    assert timed.out == plain.out
    assert len(json.loads(timed.out)) == 2
    for name in ("Where the time went", "discovery", "read", "settings", "step loops", "LibCST parse", "output"):
        assert name in timed.err


def test_cache_is_left_alone(workplace: Path) -> None:
    main(["check", "--timing"])
    assert not (workplace / "cache").exists()


def test_fixing_is_measured_too(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fix", "--unsafe-fixes", "--timing"]) == 1
    assert "Where the time went" in capsys.readouterr().err
    assert (workplace / "train.py").read_text(encoding="utf-8") != TRAINER


@pytest.mark.usefixtures("workplace")
def test_run_that_fails_shows_no_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(hot_path, "analyse", fail)
    load_checks()
    before = state()
    assert main(["check", "--timing"]) == 2
    assert state() == before
    error = capsys.readouterr().err
    assert "internal error" in error
    assert "Where the time went" not in error


def test_nothing_of_it_is_loaded_when_it_is_off(workplace: Path) -> None:
    code = "import sys; from perflint.cli import main; main(['check']); print('perflint.run.timing' in sys.modules)"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    run = subprocess.run(command, cwd=workplace, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False"


# --- the benchmark


def test_benchmark_writes_what_the_page_shows(tmp_path: Path) -> None:
    tree, output = tmp_path / "tree", tmp_path / "profile.json"
    tree.mkdir()
    (tree / "train.py").write_text(TRAINER, encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "profile_cold.py"), str(tree), "--runs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "--output", str(output)], env=environment, check=True, capture_output=True)
    profile = json.loads(output.read_text(encoding="utf-8"))
    assert profile["tree"] == "tree"
    assert profile["command"] == "python benchmarks/profile_cold.py tree --runs 1 --output profile.json"
    assert {"start", "imports"} <= set(profile["phases"]) <= set(PHASES)
    assert set(profile["floor"]) == {"read", "ast.parse"}
    assert profile["plain"] > 0
    results = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text(encoding="utf-8"))
    text = page(with_profile(results, output), "performance.svg")
    assert "A cold run on tree, CPU seconds of one process, by phase:" in text
    assert "| imports |" in text
    assert str(tmp_path) not in output.read_text(encoding="utf-8")
