"""Judges one program: as it stands, and after each way of fixing it, with and without interruptions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.programs import judge, variants
from tests.programs.judge import Failure
from tests.programs.runner import Framework, Interruption, Observation, run

_ERRORS = (KeyboardInterrupt, RuntimeError)


@dataclass(frozen=True)
class Judged:
    """What came of one program: how many fixed texts were run, how often, and what is wrong with them."""

    text: str
    fixed: int
    runs: int
    failures: tuple[Failure, ...]


def interruptions(seed: int, steps: int, count: int = 2) -> list[Interruption]:
    """Where to interrupt a program that makes so many steps: at the first ones, and anywhere."""
    chance = random.Random(seed)
    if not steps:
        return []
    return [Interruption(chance.randint(1, steps), chance.choice(_ERRORS)) for _ in range(count)]


def judge_program(text: str, framework: Framework, seed: int = 0, gains: bool = False) -> Judged:
    """Run a program before and after its fixes.

    Args:
        seed: decides where it is interrupted.
        gains: also complain of fixes of host reads after which the host waits as often (the stand-in alone counts that).
    """
    made = variants.variants(text)
    if not made:
        return Judged(text, 0, 0, ())
    whole = run(text, framework)
    cuts: Sequence[Interruption | None] = [None, *interruptions(seed, whole.steps)]
    before = {cut: whole if cut is None else run(text, framework, cut) for cut in cuts}
    failures: list[Failure] = []
    runs = len(before)
    known: dict[str, dict[Interruption | None, Observation]] = {}
    for variant in made:
        found = list(judge.of_text(text, variant))
        if not any(failure.kind == "syntax" for failure in found):
            if variant.text not in known:
                known[variant.text] = {cut: run(variant.text, framework, cut) for cut in cuts}
                runs += len(cuts)
            found += _of_runs(before, known[variant.text], variant, gains)
        failures += found
    return Judged(text, len(known), runs, tuple(_once(failures)))


def _of_runs(
    before: dict[Interruption | None, Observation],
    after: dict[Interruption | None, Observation],
    variant: variants.Variant,
    gains: bool,
) -> Iterator[Failure]:
    for cut, observation in before.items():
        for failure in judge.of_runs(observation, after[cut], variant):
            yield failure if cut is None else Failure(variant, failure.kind, f"{failure.what} ({cut})")
    if gains:
        yield from judge.of_waits(before[None], after[None], variant)


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
