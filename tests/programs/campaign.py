"""Judges one program: as it stands, and after each way of fixing it, with and without interruptions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.programs import judge, variants
from tests.programs.judge import Failure
from tests.programs.runner import Framework, Interruption, Observation, run
from tests.programs.texts import Program

_ERRORS = (KeyboardInterrupt, RuntimeError)
_WITHOUT_PADDLE = Interruption(0, ImportError)
_BROKEN = ("TypeError", "AttributeError", "AssertionError", "NameError", "ImportError", "KeyError", "RanTooLong")
"""Errors of programs that do not work in the first place, so that nothing is to be kept of them."""


@dataclass(frozen=True)
class Judged:
    """What came of one program: how many fixed texts were run, how often, and what is wrong with them."""

    program: Program
    fixed: int
    runs: int
    failures: tuple[Failure, ...]


def interruptions(seed: int, steps: int, count: int = 2) -> list[Interruption]:
    """Where to interrupt a program that makes so many steps: at the first ones, and anywhere."""
    chance = random.Random(seed)
    if not steps:
        return []
    return [Interruption(chance.randint(1, steps), chance.choice(_ERRORS)) for _ in range(count)]


def everywhere(steps: int) -> list[Interruption]:
    """Both errors at each step."""
    return [Interruption(at, error) for at in range(1, steps + 1) for error in _ERRORS]


def judge_program(
    program: Program, framework: Framework, seed: int = 0, gains: bool = False, each_step: bool = False
) -> Judged:
    """Run a program before and after its fixes.

    Args:
        seed: decides where it is interrupted.
        each_step: interrupt it at each of its steps instead, with each error.
        gains: also complain of fixes of host reads after which the host waits as often; only the stand-in
            counts that.
    """
    made = variants.variants(program)
    whole = run(program, framework)
    if not made or whole.error.startswith(_BROKEN):
        return Judged(program, 0, 0, ())
    cuts: list[Interruption | None] = [None]
    cuts += [_WITHOUT_PADDLE] if "ImportError" in program.text else []
    cuts += everywhere(whole.steps) if each_step else interruptions(seed, whole.steps)
    trials = _Trials(program, framework, gains, {(program, None): whole})
    failures = [failure for variant in made for failure in trials.failures(variant, cuts)]
    return Judged(program, len({variant.program for variant in made}), len(trials.seen), tuple(_once(failures)))


def fails_again(program: Program, failure: Failure, framework: Framework) -> Failure | None:
    """The failure of the same sort that another program shows, under the same interruption."""
    trials = _Trials(program, framework, failure.kind == "no gain", {})
    for variant in variants.variants(program, failure.variant.name):
        for found in trials.failures(variant, [failure.cut]):
            if (
                found.kind == failure.kind
                and found.variant.level is failure.variant.level
                and _as_grave(found, failure)
            ):
                return found
    return None


def _as_grave(one: Failure, other: Failure) -> bool:
    """Whether an error is the one that it was, and not another that a smaller program has brought about."""
    if one.kind in ("fixing", "pyflakes"):
        return one.what == other.what
    if (one.error, one.trained) != (other.error, other.trained):
        return False
    return one.kind != "error" or one.what.split(":")[0] == other.what.split(":")[0]


@dataclass
class _Trials:
    """The runs of one program and of what fixes make of it, each made once."""

    program: Program
    framework: Framework
    gains: bool
    seen: dict[tuple[Program, Interruption | None], Observation]

    def failures(self, variant: variants.Variant, cuts: Sequence[Interruption | None]) -> Iterator[Failure]:
        found = list(judge.of_text(self.program, variant))
        yield from found
        if any(failure.kind == "syntax" for failure in found):
            return
        for cut in cuts:
            before = self._run(self.program, cut)
            if cut == _WITHOUT_PADDLE and before.error.startswith(_BROKEN):
                continue
            after = self._run(variant.program, cut)
            shown = [*judge.of_runs(before, after, variant)]
            if cut is None:
                shown += judge.of_whole_runs(before, after, variant)
                shown += judge.of_waits(before, after, variant) if self.gains else ()
            for failure in shown:
                yield replace(failure, cut=cut, error=before.error, trained=before.steps > 0)

    def _run(self, program: Program, cut: Interruption | None) -> Observation:
        if (program, cut) not in self.seen:
            self.seen[program, cut] = run(program, self.framework, cut)
        return self.seen[program, cut]


def _once(failures: list[Failure]) -> Iterator[Failure]:
    """One failure of a kind for each variant, and none of several fixes together that one of them shows alone."""
    alone = {failure.kind for failure in failures if failure.variant.name.endswith("alone")}
    seen: set[tuple[str, str]] = set()
    for failure in failures:
        mark = (failure.variant.name, failure.kind)
        if mark in seen or (failure.kind in alone and not failure.variant.name.endswith("alone")):
            continue
        seen.add(mark)
        yield failure
