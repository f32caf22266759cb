"""Fixes after which something happens less often: unsafe, with numbers, and never a test inside another one."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from perflint import catalogue
from perflint.findings import Finding, Level
from perflint.rules import guard
from tests.support import check, fixed, in_step

LOGS = ("PPF202", "PPF405")


def one(text: str, *select: str, **options: int) -> Finding:
    [found] = check(text, *(select or LOGS), **options)
    return found


def advice(text: str, *select: str) -> str:
    """The words of a finding that has no edit, each finding of a text the same.

    Raises:
        AssertionError: an edit is offered, or there is no finding.
    """
    said = set()
    for found in check(text, *(select or LOGS)):
        assert found.fix is not None
        assert (found.fix.level, found.fix.edits) == (Level.DISPLAY, ())
        said.add(found.fix.reason)
    [reason] = said
    return reason


# --- how far such a fix is trusted, and what it says


@pytest.mark.parametrize(
    ("body", "interval", "reason"),
    [
        ("print(step)", 10, "9 of 10 lines are no longer printed"),
        ("logger.info('%f', loss)", 10, "9 of 10 lines are no longer printed"),
        ("print(loss)", 2, "1 of 2 lines is no longer printed"),
        ("writer.add_scalar('loss', loss, step)", 100, "99 of 100 points are no longer recorded"),
        ("pbar.set_postfix(loss=loss.item())", 10, "the progress bar shows only every 10th value"),
        ("pbar.set_description(str(step))", 3, "the progress bar shows only every 3rd value"),
        (
            "logger.log(20, loss)",
            10,
            "9 of 10 lines are no longer printed; what `logger.log` does with each line is not known",
        ),
        (
            "if args.a:\n    print(loss)\nelse:\n    pass",
            10,
            "9 of 10 lines are no longer printed; the other branch of `args.a` stays as it is",
        ),
    ],
)
def test_a_guard_is_unsafe_and_says_how_much_goes(body: str, interval: int, reason: str) -> None:
    fix = one(in_step(body), log_interval=interval).fix
    assert fix is not None
    assert (fix.level, fix.reason) == (Level.UNSAFE, reason)
    assert fixed(in_step(body), *LOGS) == in_step(body)


def test_fewer_lines_of_the_high_level_api_are_unsafe_too() -> None:
    fix = one("import paddle\nmodel = paddle.Model(net)\nmodel.fit(data, log_freq=1)\n", "PPF405").fix
    assert fix is not None
    assert (fix.level, fix.reason) == (Level.UNSAFE, "9 of 10 lines are no longer printed")


def test_fewer_batches_in_a_metric_are_unsafe_too() -> None:
    before, after = in_step("metric.update(x, y)").split("    for step, (x, y)")
    fix = one(f"{before}    metric = paddle.metric.Auc()\n    for step, (x, y){after}", "PPF208").fix
    assert fix is not None
    assert fix.level is Level.UNSAFE
    assert fix.reason == "the metric covers only every 10th batch: 9 of 10 are left out"


@pytest.mark.parametrize(("number", "said"), [(2, "2nd"), (3, "3rd"), (10, "10th"), (11, "11th"), (21, "21st")])
def test_ordinals(number: int, said: str) -> None:
    assert guard.ordinal(number) == said


EXAMPLES = [
    pytest.param(rule.code, example.bad, example.fixed, id=f"{rule.code}-{example.title}")
    for rule in catalogue.shipped().values()
    for example in rule.examples
    if example.level is Level.SAFE and example.bad and example.fixed
]


@pytest.mark.parametrize(("code", "bad", "after"), EXAMPLES)
def test_no_safe_fix_of_any_rule_puts_something_under_a_test(code: str, bad: str, after: str) -> None:
    def tests(text: str) -> int:
        return sum(isinstance(node, (ast.If, ast.IfExp)) for node in ast.walk(ast.parse(text)))

    assert tests(bad) == tests(after), code


# --- a test that stands around the line already


def test_an_interval_around_a_line_is_what_the_finding_is_about() -> None:
    text = in_step("if step % 1 == 0:\n    print(loss)")
    assert "decides how often this runs: raise `1`" in advice(text)
    assert fixed(text, *LOGS, level=Level.UNSAFE) == text


@pytest.mark.parametrize(
    ("test", "interval"),
    [
        ("(step + 1) % args.accum_iter == 0", "args.accum_iter"),
        ("step % args.accum_steps == 0 and rank == 0", "args.accum_steps"),
        ("np.mod(step, args.accumulate) == 0", "args.accumulate"),
    ],
)
def test_the_length_of_accumulation_is_no_interval_of_log_lines(test: str, interval: str) -> None:
    text = in_step(f"if {test}:\n    print(loss)")
    assert f"for which `{interval}` batches are added up: count these steps, and log every 10th" in advice(text)
    assert fixed(text, *LOGS, level=Level.UNSAFE) == text


def test_an_interval_around_accumulation_counts() -> None:
    advised = advice(in_step("if x.shape[0] > 3:\n    if step % args.accum_steps == 0:\n        print(loss)"))
    assert "`x.shape[0] > 3` decides at which steps this runs" in advised


@pytest.mark.parametrize(
    "body",
    [
        "if step > args.after:\n    print(loss)",
        "if x.shape[0] > 3:\n    print(loss)",
        "if loss > args.most:\n    print(loss)",
        "if args.due(step):\n    print(loss)",
        "if timer.rang():\n    print(loss)",
        "if args.log_freq:\n    print(loss)",
        "odd = x.shape[0] > 3\nif odd:\n    print(loss)",
        "answer = args.ask(x)\nif answer.due:\n    print(loss)",
        "if y is None:\n    continue\nprint(loss)",
        "if rank == 0:\n    if x.shape[0] > 3:\n        print(loss)",
        "if x.shape[0] > 3:\n    x = 1\nelse:\n    print(loss)",
        "match x.shape[0]:\n    case 3:\n        print(loss)",
    ],
)
def test_a_test_that_may_change_with_the_step_gets_no_second_one_inside(body: str) -> None:
    text = in_step(body)
    assert "decides at which steps this runs" in advice(text)
    assert fixed(text, *LOGS, level=Level.UNSAFE) == text


@pytest.mark.parametrize(
    "test",
    [
        "rank == 0",
        "paddle.distributed.get_rank() == 0",
        "is_main_process()",
        "args.log",
        "args.name == 'a'",
        "logger is not None",
        "isinstance(args.log, list)",
        "hasattr(model, 'loss') and args.use_amp",
        "cfg['log']",
        "cfg.get('log')",
        "paddle.distributed.get_world_size() > 1",
    ],
)
def test_a_rank_test_or_a_setting_decides_nothing(test: str) -> None:
    text = in_step(f"if {test}:\n    print(loss)")
    guarded = in_step(f"if {test}:\n    if step % 10 == 0:\n        print(loss)")
    assert fixed(text, *LOGS, level=Level.UNSAFE) == guarded


@pytest.mark.parametrize(
    "leaves",
    [
        "if step > args.most:\n    break\n",
        "if x.shape[0] > 3:\n    return\n",
        "if not math.isfinite(args.value):\n    sys.exit(1)\n",
        "if y is None:\n    raise ValueError(y)\n",
    ],
)
def test_a_test_that_ends_the_loop_decides_nothing_about_what_follows(leaves: str) -> None:
    text = in_step(f"{leaves}print(loss)")
    expected = in_step(f"{leaves}if step % 10 == 0:\n    print(loss)")
    assert fixed(text, *LOGS, level=Level.UNSAFE) == expected


HELPER = """
import paddle


class Trainer:
    def __init__(self):
        self.step = 0

    def log(self, loss):
        if self.logger:
            print(loss)

    def train(self, loader):
        for x in loader:
            loss = self.model(x).mean()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            {call}
"""


def test_a_test_around_the_call_counts_as_well() -> None:
    text = HELPER.format(call="if self.step > self.after:\n                self.log(loss)")
    assert advice(text) == (
        "`self.step > self.after` decides at which steps this runs: make it true less often, instead of adding a "
        "second test inside"
    )
    text = HELPER.format(call="self.log(loss)")
    assert "            if self.step % 10 == 0:\n                print(loss)\n" in fixed(
        text, *LOGS, level=Level.UNSAFE
    )


def test_a_line_that_also_runs_for_a_step_that_fails_is_left_to_a_person() -> None:
    text = in_step("try:\n    x.sum()\nfinally:\n    print(loss)")
    assert "`finally`" in advice(text)
    assert fixed(text, *LOGS, level=Level.UNSAFE) == text


# --- one guard for what stands together


def body_of(text: str) -> str:
    return fixed(in_step(text), *LOGS, level=Level.UNSAFE).removeprefix(in_step("x").removesuffix("        x\n"))


def guarded(text: str) -> str:
    return indent("if step % 10 == 0:\n" + indent(dedent(text), "    "), " " * 8)


def test_what_is_worked_out_for_the_logs_alone_goes_with_them() -> None:
    body = "print(step)\ncost = time.time() - start\nrate = 32 / cost\nprint(cost)\nlogger.info('%f', rate)\n"
    assert body_of(body) == guarded(body)


@pytest.mark.parametrize(
    "between",
    [
        "cost = args.pop()",
        "cost = start = 1",
        "self.cost = 1",
        "cost = next(times)",
        "cost = 1  # noqa: PPF405",
        "cost += 2",
        "other = 1",
    ],
)
def test_what_is_more_than_that_stays_between_two_guards(between: str) -> None:
    body = f"print(step)\n{between}\nprint(cost)\n"
    parts = [guarded("print(step)\n"), indent(f"{between}\n", " " * 8), guarded("print(cost)\n")]
    assert body_of(body) == "".join(parts)


@pytest.mark.parametrize("after", ["total = cost", "args.costs.append(cost)", "x = [cost for y in x]"])
def test_what_is_read_elsewhere_stays_where_it_is(after: str) -> None:
    body = f"print(step)\ncost = 1\nprint(cost)\n{after}\n"
    parts = [guarded("print(step)\n"), " " * 8 + "cost = 1\n", guarded("print(cost)\n"), f"        {after}\n"]
    assert body_of(body) == "".join(parts)


def test_a_line_of_a_logger_of_ones_own_goes_with_the_others() -> None:
    body = "mylogger.print(loss)\npbar.set_postfix(loss=1)\n"
    assert body_of(body) == guarded(body)
    assert {item.fix and item.fix.reason for item in check(in_step(body), *LOGS)} == {
        "9 of 10 lines are no longer printed; the progress bar shows only every 10th value; "
        "what `mylogger.print` does with each line is not known"
    }


# --- the counter


LOOP = """
import paddle


def train(model, loader, optimizer, iters):
    iter = seen = global_step = 0
    {header}
        {first}loss = model(x).mean()
        loss.backward()
        optimizer.step()
        print("loss", loss{last}
"""


@pytest.mark.parametrize(
    ("header", "first", "last", "counter"),
    [
        ("for x in loader:", "iter += 1\n        ", "", "iter"),
        ("for x in loader:", "", "\n        iter += 1", "iter"),
        ("for x in loader:", "", "\n        iter = iter + 1", "iter"),
        ("for x in loader:", "", "\n        iter = 1 + iter", "iter"),
        ("for x in loader:", "", "\n        seen += 1\n        global_step += 1", "global_step"),
        ("for _, x in enumerate(loader):", "", "\n        iter += 1", "iter"),
        ("for k, x in enumerate(loader):", "iter += 1\n        ", ", iter)  # shown", "iter"),
        ("for x in loader:", "", "\n        with timer:\n            iter += 1", "iter"),
        ("for k, x in zip(range(9), loader):", "", "", "k"),
        ("for k, x in enumerate(loader, 1):", "", "", "k"),
        ("while iter < iters:", "", "\n        iter += 1", "iter"),
    ],
)
def test_a_counter_that_is_there_is_used(header: str, first: str, last: str, counter: str) -> None:
    text = LOOP.format(header=header, first=first, last=last if last.startswith(",") else f"){last}")
    guard = f"        if {counter} % 10 == 0:\n            print("
    assert fixed(text, "PPF202", level=Level.UNSAFE) == dedent(text).replace("        print(", guard)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for k in range(1, 100, 2):", "for step, k in enumerate(range(1, 100, 2)):"),
        ("for k in range(0, len(loader), size):", "for step, k in enumerate(range(0, len(loader), size)):"),
    ],
)
def test_a_count_in_strides_may_step_over_every_tenth(header: str, expected: str) -> None:
    text = LOOP.format(header=header, first="", last=")")
    guard = "        if step % 10 == 0:\n            print("
    result = dedent(text).replace("        print(", guard).replace(header, expected)
    assert fixed(text, "PPF202", level=Level.UNSAFE) == result


def test_a_counter_that_a_method_counts_as_well_is_none() -> None:
    text = """
        import paddle

        class Trainer:
            def update(self):
                self.step += 1

            def train(self, loader):
                for x in loader:
                    loss = self.model(x).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.update()
                    self.step += 1
                    print("loss", loss)
    """
    assert "if step % 10 == 0:" in fixed(text, "PPF202", level=Level.UNSAFE)


@pytest.mark.parametrize(
    ("call", "counter"),
    [
        ("log(loss, step)", "number"),
        ("log(loss, number=step + 1)", "number"),
        ("log(loss, 7)", ""),
        ("log(loss, args.epoch)", ""),
        ("log(loss, step // 2)", ""),
        ("log(loss, step)\nlog(loss, None)", ""),
    ],
)
def test_a_parameter_counts_where_its_one_call_hands_over_the_counter(call: str, counter: str) -> None:
    text = in_step(call) + "\n\ndef log(loss, number):\n    print(loss)\n"
    if counter:
        guarded_text = text.replace("    print(loss)", f"    if {counter} % 10 == 0:\n        print(loss)")
        assert fixed(text, *LOGS, level=Level.UNSAFE) == guarded_text
    else:
        assert "steps are counted elsewhere" in advice(text)


def test_a_counter_is_handed_on_from_one_helper_to_the_next() -> None:
    text = in_step("log(loss, step)") + (
        "\n\ndef log(loss, number):\n    write(number, loss)\n\n\ndef write(count, loss):\n    print(loss)\n"
    )
    expected = text.replace("    print(loss)", "    if count % 10 == 0:\n        print(loss)")
    assert fixed(text, *LOGS, level=Level.UNSAFE) == expected


def test_a_parameter_that_is_bound_again_counts_nothing() -> None:
    text = in_step("log(loss, step)") + "\n\ndef log(loss, number):\n    number = 3\n    print(loss)\n"
    assert "steps are counted elsewhere" in advice(text)


# --- rows that were aligned


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "for _, (x,\n            y) in enumerate(loader):",
            "for step, (x,\n               y) in enumerate(loader):",
        ),
        (
            "for x, y in zip(loader,\n                    labels):",
            "for step, (x, y) in enumerate(zip(loader,\n                                      labels)):",
        ),
        (
            "for x, y in zip(\n        loader,\n        labels,\n    ):",
            "for step, (x, y) in enumerate(zip(\n        loader,\n        labels,\n    )):",
        ),
        (
            "for (x,\n         y) in loader:",
            "for step, (x,\n               y) in enumerate(loader):",
        ),
        (
            "for x in loaders(a, [b,\n                         c],\n                     d):",
            "for step, x in enumerate(loaders(a, [b,\n                                         c],\n"
            "                                     d)):",
        ),
        (
            "for x in loader(a,  # one\n                    # two\n                    b):",
            "for step, x in enumerate(loader(a,  # one\n                    # two\n"
            "                                    b)):",
        ),
    ],
)
def test_a_header_over_several_rows_stays_aligned(header: str, expected: str) -> None:
    text = LOOP.format(header=header, first="", last=")")
    guard = "        if step % 10 == 0:\n            print("
    result = text.replace("        print(", guard).replace(header, expected)
    for tabs in (False, True):
        before, after = (item.replace("\r", "") if tabs else item.replace("\n", "\r\n") for item in (text, result))
        assert fixed(before, "PPF202", level=Level.UNSAFE) == after


# --- words where there is nothing to name


@pytest.mark.parametrize(
    "text",
    [
        "import paddle\ndef train(model, x, optimizer):\n    while True:\n        loss = model(x).mean()\n"
        "        loss.backward()\n        optimizer.step()\n        print(loss)\n",
        in_step("helper(loss)") + "\n\ndef helper(loss):\n    print(loss)\n",
        in_step("").replace("for step, (x, y) in enumerate(loader)", "for x, y in loader")
        + "        a = print(loss)\n",
    ],
)
def test_no_code_names_a_counter_that_is_not_there(text: str) -> None:
    assert advice(text, *LOGS).startswith("guard it with a step counter")


@pytest.mark.parametrize(
    "body",
    ["a = 1; print(loss)", "text = f'{loss}'", "with open(f'{loss}') as f:\n    pass", "a = [print(v) for v in x]"],
)
def test_no_code_is_shown_where_a_guard_would_take_more_along(body: str) -> None:
    assert advice(in_step(body))


def test_a_checkpoint_is_shown_with_a_guard_only_where_that_is_right() -> None:
    fix = one(in_step("paddle.save(model.state_dict(), 'a')"), "PPF401").fix
    assert fix is not None
    assert fix.reason == "999 of 1000 saves are no longer made; how often to save is your choice"
    text = in_step("if x.shape[0] > 3:\n    paddle.save(model.state_dict(), 'a')")
    assert "decides at which steps this runs" in advice(text, "PPF401")


# --- programs that predict


@pytest.mark.parametrize("name", ["infer.py", "tools/predict.py", "infer_customer.py", "style_predictor.py"])
def test_the_lines_of_a_program_that_predicts_are_left_to_a_person(name: str) -> None:
    text = in_step("print(loss)").replace("def train", "def run")
    [found] = check({name: text}, "PPF202")
    assert found.fix is not None
    assert not found.fix.edits
    assert "predictions" in found.fix.reason
    [found] = check({"train.py": text}, "PPF202")
    assert found.fix is not None
    assert found.fix.edits
