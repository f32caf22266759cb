"""The tests that count as guards, in every spelling that is meant, and their neighbours that are none.

Each case says when a test holds: ``often`` or only now and then (``rarely``), and when it fails.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from perflint.flow.known_values import Known
from perflint.index.kinds import UNKNOWN
from perflint.index.project import Place
from perflint.syntax import vocabulary
from perflint.training import counting, outcomes
from tests.support import PATH, module, project


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_rare(test: str, value: Any = True, counters: Any = frozenset(), **definitions: str) -> bool:
    known = {name.replace("__", "."): expression(text) for name, text in definitions.items()}
    return outcomes.often(expression(test), value, known, counters=counters).is_rare


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


RARELY, OFTEN = True, False


def holds_and_fails(test: str, holds: Any, fails: Any, **definitions: str) -> None:
    """A test holds rarely or often, and fails rarely or often.

    Raises:
        AssertionError: it is taken for something else.
    """
    assert is_rare(test, True, **definitions) is holds, "that it holds"
    assert is_rare(test, False, **definitions) is fails, "that it fails"


# -- counts of steps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        ("step % 10 == 0", RARELY, OFTEN),
        ("step % 10 != 0", OFTEN, RARELY),
        ("step % 10 > 0", OFTEN, RARELY),
        ("step % 10 < 1", RARELY, OFTEN),
        ("step % 10", OFTEN, RARELY),
        ("not step % 10", RARELY, OFTEN),
        ("step & 15", OFTEN, RARELY),
        ("not step & 15", RARELY, OFTEN),
        ("step & mask", OFTEN, OFTEN),
        ("flags & 15", OFTEN, OFTEN),
        ("step | 15", OFTEN, OFTEN),
        ("np.mod(step, 10) == 0", RARELY, OFTEN),
        ("math.fmod(step, 10) == 0", RARELY, OFTEN),
        ("paddle.remainder(step, 10) == 0", RARELY, OFTEN),
        ("paddle.floor_mod(step, 10) == 0", RARELY, OFTEN),
        ("divmod(step, 10)[1] == 0", RARELY, OFTEN),
        ("divmod(step, 10)[0] == 0", RARELY, OFTEN),  # the first ten steps
        ("np.mod(*parts) == 0", OFTEN, OFTEN),
        ("np.mod(step, 10, out) == 0", OFTEN, OFTEN),
        ("np.divide(step, 10)", OFTEN, OFTEN),
        ("'%d' % step == '3'", RARELY, OFTEN),
        ("f'{step}' % 3", OFTEN, OFTEN),
        ("step == 0", RARELY, OFTEN),
        ("0 == step", RARELY, OFTEN),
        ("step != 0", OFTEN, RARELY),
        ("step in (0, 10)", RARELY, OFTEN),
        ("step not in (0, 10)", OFTEN, RARELY),
        ("name in (0, 10)", OFTEN, OFTEN),
        ("step < 100", RARELY, OFTEN),
        ("step <= 100", RARELY, OFTEN),
        ("step < 101", OFTEN, OFTEN),
        ("step < 0.5", OFTEN, OFTEN),
        ("width < 100", OFTEN, OFTEN),
        ("step > 100", OFTEN, RARELY),
        ("step >= 100", OFTEN, RARELY),
        ("step > 101", OFTEN, OFTEN),
        ("step >= args.warmup", OFTEN, RARELY),
        ("step >= cfg['warmup']", OFTEN, RARELY),
        ("step >= args.other", OFTEN, OFTEN),
        ("width > 100", OFTEN, OFTEN),
        ("0 < step < 10", OFTEN, OFTEN),
        ("step() == 0", OFTEN, OFTEN),
        ("step", OFTEN, RARELY),
        ("self.step", OFTEN, RARELY),
        ("index", OFTEN, RARELY),
        ("writer", OFTEN, OFTEN),
    ],
)
def test_counts_of_steps(test: str, holds: bool, fails: bool) -> None:
    holds_and_fails(test, holds, fails)


@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        ("step >= len(loader) - 1", RARELY, OFTEN),
        ("step + 1 > len(loader)", RARELY, OFTEN),
        ("step < len(loader) - 1", OFTEN, RARELY),
        ("step <= len(loader)", OFTEN, RARELY),
        ("len(loader) - 1 <= step", RARELY, OFTEN),
        ("len(loader) > step", OFTEN, RARELY),
        ("step >= args.max_steps", RARELY, OFTEN),
        ("step >= cfg['max_steps']", RARELY, OFTEN),
        ("step >= total_iters + 1", RARELY, OFTEN),
        ("step >= total_iters * 2", OFTEN, OFTEN),
        ("step >= total_iters - rest", OFTEN, OFTEN),
        ("step >= size(loader)", OFTEN, OFTEN),
        ("step >= args.last_start", OFTEN, RARELY),  # where something begins, however it is called
        ("steps <= max_steps", OFTEN, RARELY),
        ("steps_per_epoch <= step", RARELY, OFTEN),
        ("max_steps == 3", RARELY, OFTEN),
        ("width >= len(loader)", OFTEN, OFTEN),
    ],
)
def test_the_last_step(test: str, holds: bool, fails: bool) -> None:
    holds_and_fails(test, holds, fails)


def test_names_that_the_loop_counts_with() -> None:
    assert is_rare("b == 0", counters=frozenset({"b"}))
    assert not is_rare("b == 0")
    assert is_rare("not b & 15", counters=frozenset({"b"}))
    assert is_rare("b in wanted", counters=frozenset({"b"}))
    assert is_rare("b >= len(loader)", counters=frozenset({"b"}))
    assert is_rare("(b == 0 and other)", counters=frozenset({"b"}))
    assert is_rare("not not (due := b == 0)", counters=frozenset({"b"}))
    assert is_rare("(b == 0) if some else (b == 1)", counters=frozenset({"b"}))
    assert is_rare("bool(b == 0)", counters=frozenset({"b"}))
    assert is_rare("b", False, counters=frozenset({"b"}))
    assert is_rare("due", counters=frozenset({"b"}), due="b == 0")
    assert is_rare("due()", counters=frozenset({"b"}), **{"due()": "b == 0"})
    assert is_rare("b < 5", counters=frozenset({"b"}))
    assert is_rare("b > 5", False, counters=frozenset({"b"}))


# -- what spaces steps out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "holds", "definitions"),
    [
        ("step % 1 == 0", OFTEN, {}),
        ("step % 2 == 0", RARELY, {}),
        ("step % every == 0", RARELY, {"every": "2"}),
        ("step % every == 0", OFTEN, {"every": "1"}),
        ("step % args.every == 0", RARELY, {}),
        ("step % args.accum == 0", OFTEN, {}),
        ("step % args.accum == 0", RARELY, {"args__accum": "4"}),
        ("step % args.update_freq == 0", OFTEN, {}),
        ("epoch % 2 == 0", OFTEN, {}),
        ("self.epoch % every == 0", OFTEN, {"every": "2"}),
        ("self.epoch % args.every == 0", OFTEN, {}),
        ("(epoch * count) % args.every == 0", RARELY, {}),
        ("rest == 0", RARELY, {"rest": "step % 10"}),
        ("rest", OFTEN, {"rest": "epoch % 10"}),
        ("3 % rest == 0", OFTEN, {}),
    ],
)
def test_what_spaces_steps_out(test: str, holds: bool, definitions: dict[str, str]) -> None:
    assert is_rare(test, **definitions) is holds


@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        ("self.since_last >= self.period", RARELY, OFTEN),
        ("waited > args.interval", RARELY, OFTEN),
        ("waited < args.interval", OFTEN, RARELY),
        ("waited <= args.log_freq", OFTEN, RARELY),
        ("waited == args.interval", OFTEN, OFTEN),
        ("args.interval > args.period", OFTEN, OFTEN),
        ("args.interval >= 0", OFTEN, OFTEN),
    ],
)
def test_waiting_for_an_interval(test: str, holds: bool, fails: bool) -> None:
    holds_and_fails(test, holds, fails)


@pytest.mark.parametrize(
    "clock",
    [
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.monotonic",
        "time.process_time",
        "timeit.default_timer",
        "datetime.datetime.now",
        "datetime.now",
        "time",
        "perf_counter",
        "monotonic",
        "default_timer",
    ],
)
def test_clocks(clock: str) -> None:
    assert is_rare(f"{clock}() - last > 30")
    assert is_rare(f"30 < {clock}() - last")
    assert not is_rare(f"{clock}() - last == 30")
    assert not is_rare(f"other_{clock}() - last > 30")


def test_a_clock_through_names() -> None:
    held = {"a": "b", "b": "c", "c": "d", "d": "time.time()"}
    assert is_rare("c - last > 30", **held)
    assert is_rare("b - last >= 30", **held)
    assert not is_rare("a - last > 30", **held)  # three names on, and no further
    assert not is_rare("c - last > 30", False, **held)


def test_a_clock_whose_name_says_counter() -> None:
    """The other branch runs at nearly all steps."""
    holds_and_fails("time.perf_counter() - last > 30", RARELY, OFTEN)
    holds_and_fails("self.counter.value() - last > 30", OFTEN, RARELY)


# -- what is seldom so --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        ("loss == float('inf')", RARELY, OFTEN),
        ("loss == -float('INF')", RARELY, OFTEN),
        ("loss == float('+infinity')", RARELY, OFTEN),
        ("loss == float('nan')", RARELY, OFTEN),
        ("loss == float('3')", OFTEN, OFTEN),
        ("loss == float()", OFTEN, OFTEN),
        ("loss == float(text)", OFTEN, OFTEN),
        ("loss == int('inf')", OFTEN, OFTEN),
        ("loss == np.inf", RARELY, OFTEN),
        ("loss != math.nan", OFTEN, RARELY),
        ("loss == np.pi", OFTEN, OFTEN),
        ("loss < np.inf", OFTEN, OFTEN),
        ("loss != loss", RARELY, OFTEN),
        ("loss == loss", OFTEN, OFTEN),
        ("loss != other", OFTEN, OFTEN),
        ("f() != f()", OFTEN, OFTEN),
        ("len(queue) == 0", RARELY, OFTEN),
        ("len(queue) != 0", OFTEN, RARELY),
        ("len(queue) == 1", OFTEN, OFTEN),
        ("len(queue) == none", OFTEN, OFTEN),
        ("array.size == 0", RARELY, OFTEN),
        ("array.ndim == 0", OFTEN, OFTEN),
        ("size(queue) == 0", OFTEN, OFTEN),
        ("len(queue) > 0", OFTEN, OFTEN),
        ("history", OFTEN, RARELY),
        ("self.kept_list", OFTEN, RARELY),
        ("batch_buffer", OFTEN, RARELY),
        ("my_cache", OFTEN, RARELY),
        ("queue", OFTEN, RARELY),
        ("listed", OFTEN, OFTEN),
        ("self.training", OFTEN, RARELY),
        ("training", OFTEN, RARELY),
        ("score > best_score", RARELY, OFTEN),
        ("self.Best < score", RARELY, OFTEN),
        ("score > good_score", OFTEN, OFTEN),
        ("score > best < other", OFTEN, OFTEN),
        ("paddle.isnan(loss)", RARELY, OFTEN),
        ("paddle.isinf(loss)", RARELY, OFTEN),
        ("paddle.isfinite(loss)", OFTEN, RARELY),
        ("paddle.isnan(loss).any()", RARELY, OFTEN),
        ("paddle.isfinite(loss).all().item()", OFTEN, RARELY),
        ("paddle.isnan(loss).numpy()", RARELY, OFTEN),
        ("paddle.isnan(loss).bool()", RARELY, OFTEN),
        ("paddle.isnan(loss).sum()", OFTEN, OFTEN),
        ("loss.any()", OFTEN, OFTEN),
        ("np.any(np.isnan(loss))", RARELY, OFTEN),
        ("all(np.isfinite(loss))", OFTEN, RARELY),
        ("bool(np.isnan(loss))", RARELY, OFTEN),
        ("bool()", OFTEN, OFTEN),
        ("any(found)", OFTEN, RARELY),
        ("any(self.found)", OFTEN, RARELY),
        ("any(x for x in found)", OFTEN, OFTEN),
        ("all(found)", OFTEN, OFTEN),
        ("any()", OFTEN, OFTEN),
        ("os.path.exists(path)", OFTEN, RARELY),
        ("path.exists()", OFTEN, RARELY),
        ("np.any(mask)", OFTEN, OFTEN),
        ("paddle.any(paddle.isnan(loss))", RARELY, OFTEN),
        ("path.is_file()", OFTEN, RARELY),
        ("os.path.isfile(path)", OFTEN, RARELY),
        ("is_not_none(writer)", OFTEN, OFTEN),
    ],
)
def test_what_is_seldom_so(test: str, holds: bool, fails: bool) -> None:
    holds_and_fails(test, holds, fails)


@pytest.mark.parametrize("name", ["exists", "is_not_none", "not_none"])
def test_whether_something_is_there(name: str) -> None:
    assert is_rare(f"{name}(writer)", writer="None")
    assert is_rare(f"tools.{name}(writer)", writer="None")
    assert not is_rare(f"{name}(writer)", False, writer="None")
    assert is_rare(f"{name}(writer)", False, writer="3")
    assert not is_rare(f"{name}(writer, other)", writer="None")
    assert not is_rare(f"is_{name}_at_all(writer)", writer="None")


@pytest.mark.parametrize("key", ["mode", "self.phase", "data.split", "stage", "the_subset", "cfg['mode']"])
def test_other_modes(key: str) -> None:
    holds_and_fails(f"{key} == 'eval'", RARELY, OFTEN)
    holds_and_fails(f"{key} != 'eval'", OFTEN, RARELY)
    holds_and_fails(f"{key} == 'train'", OFTEN, RARELY)
    holds_and_fails(f"{key} == 'TRAINING'", OFTEN, RARELY)
    holds_and_fails(f"{key} != 'train'", RARELY, OFTEN)
    holds_and_fails(f"{key} == 'full'", OFTEN, OFTEN)
    holds_and_fails(f"{key} < 'eval'", OFTEN, OFTEN)


@pytest.mark.parametrize("mode", ["val", "Valid", "eval", "EVALUATE", "test", "infer", "predict", "export", "dev"])
def test_names_of_other_modes(mode: str) -> None:
    holds_and_fails(f"mode == '{mode}'", RARELY, OFTEN)
    holds_and_fails(f"moment == '{mode}'", OFTEN, OFTEN)


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("args.debug", RARELY),
        ("debugger", OFTEN),
        ("logger.isEnabledFor(10)", RARELY),
        ("should_log()", RARELY),
        ("status.should_log()", RARELY),
        ("may_log()", OFTEN),
        ("os.environ.get('DEBUG')", RARELY),
        ("os.getenv('VERBOSE', '0')", RARELY),
        ("os.environ.get('HOME')", OFTEN),
        ("os.environ.get(debug)", OFTEN),
        ("os.environ.get()", OFTEN),
        ("args.verbose > 1", RARELY),
        ("args.verbose >= 1", RARELY),
        ("args.verbose < 1", OFTEN),
        ("args.verbose > least", OFTEN),
        ("args.loud > 1", OFTEN),
        ("cfg['debug']", RARELY),
        ("cfg[debug]", OFTEN),
        ("cfg[3]", OFTEN),
        ("f(x)[0].y", OFTEN),
    ],
)
def test_flags(test: str, holds: bool) -> None:
    assert is_rare(test) is holds
    assert is_rare(test, False) is False


def test_what_a_scheduler_says_of_this_step() -> None:
    assert is_rare("status.save_checkpoint", status="scheduler.next()")
    assert not is_rare("status.save_checkpoint")
    assert not is_rare("status.save_checkpoint", status="other")
    assert not is_rare("args.save_checkpoint", args="parse()")
    assert not is_rare("status.keep", status="scheduler.next()")
    assert not is_rare("save_checkpoint", save_checkpoint="scheduler.next()")
    assert not is_rare("status.save_checkpoint", False, status="scheduler.next()")


# -- what names stand for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "value", "holds", "fails"),
    [
        ("flag is True", "True", OFTEN, RARELY),
        ("flag is True", "False", RARELY, OFTEN),
        ("flag is not True", "True", RARELY, OFTEN),
        ("flag == 'a'", "'a'", OFTEN, RARELY),
        ("flag == 'a'", "'b'", RARELY, OFTEN),
        ("flag != 'a'", "'b'", OFTEN, RARELY),
        ("flag == 1", "1", OFTEN, RARELY),
        ("flag == 1", "True", RARELY, OFTEN),  # of another type
        ("flag < 3", "2", OFTEN, RARELY),
        ("flag < 3", "3", RARELY, OFTEN),
        ("flag <= 3", "3", OFTEN, RARELY),
        ("flag > 3", "3", RARELY, OFTEN),
        ("flag >= 3", "3", OFTEN, RARELY),
        ("flag >= 3", "2.5", RARELY, OFTEN),
        ("flag > 3", "'3'", OFTEN, OFTEN),
        ("flag > '3'", "3", OFTEN, OFTEN),
        ("flag in (1, 2)", "1", OFTEN, OFTEN),
        ("flag == other", "1", OFTEN, OFTEN),
        ("flag == 1 == 1", "2", OFTEN, OFTEN),
        ("flag == 1", "f()", OFTEN, OFTEN),
        ("flag", "True", OFTEN, RARELY),
        ("flag", "0", RARELY, OFTEN),
    ],
)
def test_names_of_constants(test: str, value: str, holds: bool, fails: bool) -> None:
    holds_and_fails(test, holds, fails, flag=value)


def test_an_attribute_may_have_grown_since() -> None:
    holds_and_fails("self.kept < 3", OFTEN, OFTEN, self__kept="0")
    holds_and_fails("kept < 3", OFTEN, RARELY, kept="0")
    assert is_rare("self.kind is None", self__kind="3")


def test_the_value_of_a_name_says_more_than_the_name() -> None:
    assert not is_rare("debug", debug="a + b")
    assert is_rare("debug", debug="make()")
    assert is_rare("debug", debug="args.flag")
    assert is_rare("debug", debug="args['flag']")
    assert is_rare("debug", debug="flag")
    assert is_rare("plain", debug="a + b", plain="step % 10 == 0")
    assert is_rare("self.due()", **{"self__due()": "step == 0"})


def test_only_what_a_scope_itself_says_counts_for_remainders() -> None:
    own = {"rest": expression("step % 10"), "status": expression("scheduler.next()"), "now": expression("time.time()")}
    file = module("def f(): pass\n")
    known = Known(Place(file, file.scopes.scopes[1]), own)
    for test in ("rest == 0", "status.save_now", "now - last > 3"):
        assert outcomes.often(expression(test), True, known).is_rare


# -- how far it is followed ---------------------------------------------------------------------------------------


def nested(wrap: Callable[[str], str], times: int, core: str) -> str:
    for _ in range(times):
        core = wrap(core)
    return core


@pytest.mark.parametrize(
    "wrap",
    [
        lambda test: f"(plain and ({test}))",
        lambda test: f"(name := {test})",
        lambda test: f"(({test}) if plain else False)",
        lambda test: f"(False if plain else ({test}))",
        lambda test: f"bool({test})",
    ],
    ids=["and", "walrus", "body", "orelse", "bool"],
)
def test_nine_tests_inside_each_other_are_followed(wrap: Callable[[str], str]) -> None:
    assert is_rare(nested(wrap, 9, "step % 10 == 0"))
    assert not is_rare(nested(wrap, 10, "step % 10 == 0"))


def test_nine_negations_are_followed() -> None:
    assert is_rare(nested(lambda test: f"not {test}", 9, "step % 10 == 0"), False)
    assert not is_rare(nested(lambda test: f"not {test}", 10, "step % 10 == 0"), True)


def test_nine_names_are_followed() -> None:
    names = {f"n{number}": f"n{number + 1}" for number in range(9)}
    assert is_rare("n0", n9="step % 10 == 0", **{**names, "n8": "step % 10 == 0"})
    assert not is_rare("n0", n9="n10", n10="step % 10 == 0", **names)
    calls = {f"f{number}()": f"f{number + 1}()" for number in range(9)}
    assert is_rare("f0()", **{**calls, "f8()": "step % 10 == 0"})
    assert not is_rare("f0()", **{**calls, "f9()": "step % 10 == 0"})


def test_a_test_of_a_conditional_expression_is_followed_as_far() -> None:
    inner = "(False if debug_it else step == 0)"
    assert is_rare(nested(lambda test: f"not not {test}", 4, inner))
    assert is_rare("(True if debug else False)")
    assert not is_rare("(True if plain else False)")
    assert not is_rare("(False if plain else True)")
    assert is_rare("(False if not debug else True)")
    assert is_rare(f"not {nested(lambda test: f'not {test}', 7, '(True if debug else False)')}")
    assert not is_rare(f"not not {nested(lambda test: f'not {test}', 7, '(True if debug else False)')}", False)


def test_whether_it_is_there_is_followed_as_far() -> None:
    assert is_rare(nested(lambda test: f"not not {test}", 4, "exists(writer)"), writer="None")
    assert not is_rare(nested(lambda test: f"not {test}", 9, "exists(writer)"), False, writer="None")


def test_all_methods_of_a_result_are_followed() -> None:
    assert is_rare("paddle.isnan(loss)" + ".any()" * 30)
    assert not is_rare("paddle.isnan(loss)" + ".any()" * 30, False)
    assert is_rare(nested(lambda test: f"np.all({test})", 30, "np.isnan(loss)"))


def test_several_parts() -> None:
    assert is_rare("plain and step == 0")
    assert not is_rare("plain or step == 0")
    assert is_rare("step == 0 or step == 3")
    assert is_rare("plain or step != 0", False)
    assert not is_rare("plain and step != 0", False)
    assert is_rare("step != 3 and step != 0", False)
    assert not is_rare("-step == 0 if plain else True")
    assert not is_rare("-(step == 0)")


# -- what loops count with ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        ("for b, x in enumerate(loader): pass", "b"),
        ("for b, x in tqdm(enumerate(loader)): pass", "b"),
        ("for b, x in tqdm.tqdm(enumerate(loader), desc='x'): pass", "b"),
        ("for b, x in tqdm(): pass", None),
        ("for (b, x), y in zip(enumerate(loader), other): pass", "b"),
        ("for b in zip(enumerate(loader), other): pass", None),
        ("for b, c in zip(): pass", None),
        ("for b in enumerate(loader): pass", None),
        ("for b.c, x in enumerate(loader): pass", None),
        ("for b in range(10): pass", "b"),
        ("for b in trange(10): pass", "b"),
        ("for b in itertools.count(): pass", "b"),
        ("for b, c in range(10): pass", None),
        ("for b in range(0, 10): pass", "b"),
        ("for b in range(0, 10, 1): pass", "b"),
        ("for b in range(0, 10, 2): pass", None),
        ("for b in range(0, 10, n): pass", None),
        ("for b in range(*limits): pass", None),
        ("for b in itertools.count(3): pass", "b"),
        ("for b in itertools.count(3, 1): pass", "b"),
        ("for b in itertools.count(3, 2): pass", None),
        ("for b in itertools.count(step=2): pass", None),
        ("for b in itertools.count(start=2): pass", "b"),
        ("for b in itertools.count(**how): pass", None),
        ("for b in loader: pass", None),
        ("for b in batches(loader): pass", None),
        ("while b: pass", None),
    ],
)
def test_the_count_of_a_loop(loop: str, name: str | None) -> None:
    assert counting.counted_by(statement(loop)) == (frozenset() if name is None else {name})


def test_the_count_of_a_loop_over_an_asynchronous_source() -> None:
    made = ast.parse("async def f():\n    async for b, x in enumerate(loader): pass").body[0]
    assert isinstance(made, ast.AsyncFunctionDef)
    assert counting.counted_by(made.body[0]) == {"b"}
    assert counting.counted_by(None) == frozenset()


# -- conditional expressions --------------------------------------------------------------------------------------


def made_rarely(text: str) -> list[str]:
    """The calls of a statement that a conditional expression makes only now and then."""
    found = outcomes.within_expressions(statement(text), {}, lambda _: UNKNOWN, project("").files[PATH])
    return sorted(ast.unparse(item) for item in found if isinstance(item, ast.Call))


@pytest.mark.parametrize(
    ("text", "rarely"),
    [
        ("v = f() if step == 0 else g()", ["f()"]),
        ("v = f() if step != 0 else g()", ["g()"]),
        ("v = f() if plain else g()", []),
        ("step == 0 and f()", ["f()"]),
        ("plain and f()", []),
        ("plain and step == 0 and f() and g()", ["f()", "g()"]),
        ("f() and step == 0 and g()", ["g()"]),
        ("step != 0 or f()", ["f()"]),
        ("step == 0 or f()", []),
        ("v = [h(f() if step == 0 else 0)]", ["f()"]),
        ("if step == 0 and f(): pass", ["f()"]),
    ],
)
def test_calls_in_conditional_expressions(text: str, rarely: list[str]) -> None:
    assert made_rarely(text) == rarely


def test_names_of_epochs_and_intervals() -> None:
    assert [vocabulary.means_epoch(name) for name in ("EPOCH", "my_epochs", "epoch_len", "epoch_size")] == [
        True,
        True,
        False,
        False,
    ]
    assert vocabulary.means_interval("log_freq")
    assert vocabulary.means_interval("Save_Every")
    assert not vocabulary.means_interval("everything")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("i", True),
        ("batch_idx", True),
        ("GLOBAL_STEP", True),
        ("step_size", False),
        ("num_classes", False),
        ("num_workers", False),
        ("index_type", False),
        ("mode_index", False),
        ("index_name", False),
        ("rank_index", False),
        ("num_gpu", False),
        ("device_index", False),
        ("dim_index", False),
        ("channel_num", False),
        ("height", False),
    ],
)
def test_names_that_count_steps(name: str, counts: bool) -> None:
    assert counting.counts_steps(ast.Name(name)) is counts
    assert counting.counts_steps(ast.Attribute(ast.Name("self"), name)) is counts
