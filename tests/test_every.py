"""How often a place runs while a program trains: the scale, and what decides."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from perflint.flow.branches import EACH_STEP, Every, Often
from perflint.flow.known_values import Known
from perflint.index.project import Place
from perflint.syntax.scopes import LOOPS, Scope, Statement
from perflint.training.every import HowOften, every
from perflint.training.outcomes import often
from perflint.training.steps import points_of
from tests.support import PATH, in_step, module, project


def runs(body: str, before: str = "", header: str = "for step, x in enumerate(loader):") -> Every:
    """How often a call of ``here`` in a loop of a function runs."""
    text = (
        f"def train(loader, args, epochs):\n{indent(dedent(before), ' ' * 4)}\n    {header}\n{indent(body, ' ' * 8)}\n"
    )
    file = module(text)
    scope = file.scopes.scopes[-1]
    loop = next(each.node for each in scope.statements if isinstance(each.node, LOOPS))
    return HowOften(Known(Place(file, scope)), scope).every(_calling(scope, "here").place, loop)


def _calling(scope: Scope, name: str) -> Statement:
    return next(each for each in scope.statements if any(ast.unparse(call.func) == name for call in each.calls))


def numbers(found: Every) -> list[str]:
    return list(map(ast.unparse, found.numbers))


@pytest.mark.parametrize(
    ("test", "how"),
    [
        ("True", Often.EACH_STEP),
        ("rank == 0", Often.EACH_STEP),
        ("args.log", Often.EACH_STEP),
        ("False", Often.NEVER),
        ("mode == 'eval'", Often.NEVER),
        ("args.verbose > 1", Often.NEVER),
        ("step == 10", Often.ONCE),
        ("step < 5", Often.ONCE),
        ("loss < best_loss", Often.ONCE),
        ("paddle.isnan(loss)", Often.ONCE),
        ("step + 1 >= len(loader)", Often.EACH_EPOCH),
        ("step % 10 == 0", Often.EVERY_N),
        ("waited >= args.period", Often.EVERY_N),
        ("time.time() - last > 60", Often.EVERY_N),
        ("x.mean() > x.std()", Often.SOMETIMES),
    ],
)
def test_the_scale(test: str, how: Often) -> None:
    found = runs(f"if {test}:\n    here()")
    assert found.often is how
    assert (found.test is None) == (how is Often.EACH_STEP)
    assert found.is_rare == (how not in (Often.EACH_STEP, Often.SOMETIMES))


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("try:\n    x()\nexcept ValueError:\n    here()", Often.ONCE),
        ("for y in x:\n    break\nelse:\n    here()", Often.EACH_EPOCH),
        ("if told:\n    continue\ntold = True\nhere()", Often.ONCE),
        ("if x.bad:\n    here()\n    break", Often.ONCE),
        ("for y in x:\n    here()", Often.EACH_STEP),
    ],
)
def test_what_is_around_a_place_other_than_a_rare_test(body: str, how: Often) -> None:
    assert runs(body, "told = False").often is how


def test_tests_inside_each_other() -> None:
    found = runs("if step % 100 == 0:\n    if step % args.n == 0:\n        here()")
    assert (found.often, numbers(found)) == (Often.EVERY_N, ["args.n", "100"])
    found = runs("if step % 100 == 0:\n    if args.do_eval:\n        here()")
    assert (found.often, numbers(found)) == (Often.EVERY_N, ["100"])  # whether to do it at all, not when
    assert runs("if args.do_eval:\n    here()").often is Often.ONCE
    found = runs("if step % 100 == 0:\n    if loss < best_loss:\n        here()")
    assert (found.often, numbers(found)) == (Often.ONCE, [])
    found = runs("if loss > args.limit:\n    if step % 100 == 0:\n        here()")
    assert found.is_rare and not found.is_regular


def test_the_rarer_of_two_parts_decides_and_the_more_regular_of_two_ways() -> None:
    test = ast.parse("step % 10 == 0 and step == 20", mode="eval").body
    assert often(test, True, {}).often is Often.ONCE
    test = ast.parse("step % 10 == 0 or step == 25", mode="eval").body
    assert numbers(often(test, True, {})) == ["10"]
    assert often(test, False, {}) is EACH_STEP


@pytest.mark.parametrize(
    ("test", "how"),
    [
        ("epoch % 5 == 0", Often.EVERY_N),
        ("(epoch + 1) % args.n == 0", Often.EVERY_N),
        ("epoch == epochs - 1", Often.ONCE),
        ("epoch > 5", Often.EACH_STEP),
        ("epoch % 1 == 0", Often.EACH_STEP),
        ("score > highest", Often.SOMETIMES),
    ],
)
def test_an_epoch_counts_the_passes_of_a_loop_over_epochs(test: str, how: Often) -> None:
    assert runs(f"if {test}:\n    here()", header="for epoch in range(epochs):").often is how


def test_an_epoch_counts_no_steps() -> None:
    assert runs("if epoch % 5 == 0:\n    here()", "epoch = args.epoch").often is Often.EACH_STEP


def at_a_step(body: str) -> Every:
    """How often a call of ``here`` runs, with the calls that lead there."""
    made = project(in_step(body))
    point = next(
        point
        for point in points_of(made.files[PATH]).values()
        if any(ast.unparse(call.func) == "here" for call in point.statement.calls)
    )
    return every(made, point)


@pytest.mark.parametrize(
    ("test", "how", "divided"),
    [
        ("rank == 0", Often.EACH_STEP, []),
        ("args.every", Often.SOMETIMES, []),
        ("x.shape[0] > 3", Often.SOMETIMES, []),
        ("step % 1 == 0", Often.EVERY_N, ["1"]),
        ("(step + 1) % args.accum_iter == 0", Often.EACH_STEP, ["args.accum_iter"]),
    ],
)
def test_what_decides_at_which_steps_a_statement_runs(test: str, how: Often, divided: list[str]) -> None:
    found = at_a_step(f"if {test}:\n    here()")
    assert (found.often, numbers(found)) == (how, divided)
    assert found.test is None if test == "rank == 0" else ast.unparse(found.test or found.numbers[0]) == test
