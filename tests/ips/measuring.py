"""Measures a script before and after its fix by the engine of ``perflint bench``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from perflint.bench.measure import Bench, rounded
from perflint.bench.results import BEFORE, BenchReport
from perflint.bench.script_run import Plan
from perflint.bench.variants import VariantFiles
from perflint.text.source import Source
from tests.ips.cases import SCRIPTS, Case, findings, fixed
from tests.ips.places import Place

ROUNDS = 10
"""Enough for a gain of some per cent on a machine whose runs differ by ten."""
WARMUP = 6
"""Steps of each run that are not counted; a multiple of the steps of the short epochs that some scripts have."""

_STEPS = re.compile(r"\b(?:running|host_and_card)\.start\(train, steps=(\d+)")


def measure_rule(case: Case, where: Place, rounds: int = ROUNDS, arguments: Sequence[str] = ()) -> BenchReport:
    """A rule's script as it stands against the one with the rule's fix.

    Args:
        case: the script.
        where: the hardware, and what stands for Paddle.
        rounds: how often each is run.
        arguments: the command line of both, beside what the place needs.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything.
    """
    text = case.script.read_text(encoding="utf-8")
    lines = Source(case.script.name, text).lines
    found = [item for item in findings(case.script.name, text, case.code) if item.code == case.code]
    places = [f"{case.script.name}:{lines.position(item.start)[0]}" for item in found]
    after = VariantFiles(
        f"{case.code} {places[0]}", [case.code], places, {case.script.relative_to(SCRIPTS): _bytes(fixed(case))}
    )
    return measure(case.script, text, after, where, rounds, arguments)


def measure(
    script: Path,
    text: str,
    after: VariantFiles,
    where: Place,
    rounds: int = ROUNDS,
    arguments: Sequence[str] = (),
) -> BenchReport:
    """A script with this text against another state of it, in turns.

    Args:
        script: its path.
        text: what is run before.
        after: what is run after.
        where: the hardware, and what stands for Paddle.
        rounds: how often each is run.
        arguments: the command line of both, beside what the place needs.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything.
    """
    before = VariantFiles(BEFORE, [], [], {script.relative_to(SCRIPTS): _bytes(text)})
    return where.labelled(rounded(Bench(plan(script, text, where, arguments)).measure([before, after], rounds)))


def plan(script: Path, text: str, where: Place, arguments: Sequence[str] = ()) -> Plan:
    """How a script with this text is run.

    Args:
        script: its path.
        text: what is run, which says how many steps.
        where: the hardware, and what stands for Paddle.
        arguments: its command line, beside what the place needs.
    """
    return Plan(
        root=SCRIPTS,
        script=script.relative_to(SCRIPTS),
        directory=Path(),
        arguments=[*where.arguments, *arguments],
        python=where.python,
        warmup=WARMUP,
        steps=_steps(text) - WARMUP,
        environment={**where.environment, **where.path},
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8")


def _steps(text: str) -> int:
    """The steps that a script trains when it is run by itself."""
    found = _STEPS.search(text)
    assert found is not None, "a script ends with running.start(train, steps=...)"
    return int(found.group(1))
