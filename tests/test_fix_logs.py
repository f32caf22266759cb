"""PPF202 and PPF405 fixed in code as people format it: logs go under a guard."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source
from tests.step_loops import script
from tests.support import check, fixed, fixed_body, in_step, levels
from tests.trained_scripts import BATCHES, READ, SUM, run


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print(step, loss)\n", "if step % 10 == 0:\n    print(step, loss)\n"),
        ("print(step)  # the step\nx = 1\n", "if step % 10 == 0:\n    print(step)  # the step\nx = 1\n"),
        ("logger.info('%f', loss)\n", "if step % 10 == 0:\n    logger.info('%f', loss)\n"),
        ("pbar.set_postfix(loss=loss.item())\n", "if step % 10 == 0:\n    pbar.set_postfix(loss=loss.item())\n"),
        ("print(loss);\n", "if step % 10 == 0:\n    print(loss);\n"),
        (
            "print(\n    step,\n    loss,\n)\n",
            "if step % 10 == 0:\n    print(\n        step,\n        loss,\n    )\n",
        ),
        (
            "print('a', \\\n      loss)\n",
            "if step % 10 == 0:\n    print('a', \\\n          loss)\n",
        ),
        (
            "print(step)\nprint(loss)\nprint('done')\n",
            "if step % 10 == 0:\n    print(step)\n    print(loss)\n    print('done')\n",
        ),
        (
            "# before\nprint(step)\n# between\n\n  # askew\nprint(loss)  # after\n# below\n",
            "# before\nif step % 10 == 0:\n    print(step)\n    # between\n\n"
            "      # askew\n    print(loss)  # after\n# below\n",
        ),
        (
            "print(step)\nx = 1\nprint(loss)\n",
            "if step % 10 == 0:\n    print(step)\nx = 1\nif step % 10 == 0:\n    print(loss)\n",
        ),
        (
            "if args.a:\n    print(loss)\nelse:\n    print(step)\n",
            "if args.a:\n    if step % 10 == 0:\n        print(loss)\nelse:\n"
            "    if step % 10 == 0:\n        print(step)\n",
        ),
        (
            "for k in 'ab':\n  with a:\n    print(k, loss)\n",
            "for k in 'ab':\n  with a:\n    if step % 10 == 0:\n      print(k, loss)\n",
        ),
        (
            "try:\n    print(loss)\nfinally:\n    pass\n",
            "try:\n    if step % 10 == 0:\n        print(loss)\nfinally:\n    pass\n",
        ),
    ],
)
def test_logs_go_under_a_guard(body: str, expected: str) -> None:
    assert fixed_body(body, "PPF202", "PPF405", level=Level.UNSAFE) == expected


def test_strings_over_several_rows_stay_as_they_are() -> None:
    text = in_step("") + (
        '        print("""step\n'
        "            %d\n"
        'end""" % step, f"""\n'
        "  {float(loss):.4f}\n"
        '        """,\n'
        "              'a\\\n"
        "        b')\n"
        "        x = 1\n"
    )
    assert fixed(text, "PPF202", level=Level.UNSAFE) == in_step("") + (
        "        if step % 10 == 0:\n"
        '            print("""step\n'
        "            %d\n"
        'end""" % step, f"""\n'
        "  {float(loss):.4f}\n"
        '        """,\n'
        "                  'a\\\n"
        "        b')\n"
        "        x = 1\n"
    )


def test_a_guarded_run_prints_every_tenth_step_of_the_same_training() -> None:
    text = script("", "print(step, loss.item())\nprint(f'step {step}:', float(loss))", "return float(loss)")
    result = fixed(text, level=Level.UNSAFE)
    lines, value, weights = run(text)
    assert len(lines) == 2 * BATCHES
    assert run(result) == ([lines[2 * step + k] for step in (0, 10, 20) for k in (0, 1)], value, weights)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for x in loader:", "for step, x in enumerate(loader):"),
        ("for x, y in loader:", "for step, (x, y) in enumerate(loader):"),
        ("for (x, y) in loader:", "for step, (x, y) in enumerate(loader):"),
        ("for [x, y] in loader:", "for step, [x, y] in enumerate(loader):"),
        ("for x, in loader:", "for step, (x,) in enumerate(loader):"),
        ("for x, (y, z) in loader():", "for step, (x, (y, z)) in enumerate(loader()):"),
        ("for x.a, y in loader:", "for step, (x.a, y) in enumerate(loader):"),
        ("for x in tqdm(loader, desc='a'):", "for step, x in enumerate(tqdm(loader, desc='a')):"),
        ("for x in (loader):", "for step, x in (enumerate(loader)):"),
        ("for  x  in  loader :  # all", "for  step, x  in  enumerate(loader) :  # all"),
        ("for x, y in zip(\n        loader,\n        labels,\n    ):", None),
        ("for x in \\\n            loader:", "for step, x in \\\n            enumerate(loader):"),
        ("for _, x in enumerate(loader):", "for step, x in enumerate(loader):"),
        ("for _, (x, y) in tqdm(enumerate(loader)):", "for step, (x, y) in tqdm(enumerate(loader)):"),
        ("for _ in range(100):", "for step in range(100):"),
        ("for i, x in enumerate(loader):", "for i, x in enumerate(loader):"),
        ("for i in range(100):", "for i in range(100):"),
        ("for x in a_loader if args.a else b_loader:", "for step, x in enumerate(a_loader if args.a else b_loader):"),
        ("for x in (f(b) for b in loader):", "for step, x in enumerate((f(b) for b in loader)):"),
    ],
)
def test_a_loop_learns_to_count(header: str, expected: str | None) -> None:
    if expected is None:
        expected = "for step, (x, y) in enumerate(zip(\n        loader,\n        labels,\n    )):"
    name = "i" if "for i" in header else "step"
    text = f"""\
import paddle


def train(model, loader, optimizer):
    {header}
        loss = model(x).mean()
        loss.backward()
        optimizer.clear_grad()
        optimizer.step()
        print(loss)
"""
    result = text.replace(header, expected).replace(
        "        print(loss)", f"        if {name} % 10 == 0:\n            print(loss)"
    )
    assert fixed(text, "PPF202", level=Level.UNSAFE) == result


def test_two_logs_share_the_new_count() -> None:
    text = """\
import paddle


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        print(x.shape)
        loss.backward()
        optimizer.step()
        for part in x:
            print(part)
"""
    assert (
        fixed(text, level=Level.UNSAFE)
        == """\
import paddle


def train(model, loader, optimizer):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        if step % 10 == 0:
            print(x.shape)
        loss.backward()
        optimizer.step()
        for part in x:
            if step % 10 == 0:
                print(part)
"""
    )


@pytest.mark.parametrize("counter", ["global_step", "self.step"])
def test_a_counter_of_ones_own_guards_a_while_loop(counter: str) -> None:
    text = f"""\
import paddle


def train(self, model, data, optimizer):
    {counter} = 0
    while {counter} < 100:
        loss = model(data).mean()
        loss.backward()
        optimizer.step()
        print("loss", loss.item())
        {counter} += 1
"""
    assert fixed(text, "PPF202", level=Level.UNSAFE) == text.replace(
        "        print", f"        if {counter} % 10 == 0:\n            print"
    )


def test_names_that_are_taken_are_not_taken_again() -> None:
    text = """\
import paddle


def train(model, loader, optimizer, step):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        print(step, loss)
"""
    result = fixed(text, "PPF202", level=Level.UNSAFE)
    assert "for step_id, x in enumerate(loader):\n" in result
    assert "        if step_id % 10 == 0:\n            print(step, loss)\n" in result


@pytest.mark.parametrize(
    "body",
    [
        "a = 1; print(loss)",
        "print(loss); a = 1",
        "if args.a: print(loss)",
        "value = print(loss)",
        "args.a and print(loss)",
        "print(loss) if args.a else None",
        "[print(v) for v in (loss, x)]",
        "text = f'{loss}'",
        "text = '%f' % loss",
        "text = str(loss)",
        "with open(f'{loss}') as f:\n    pass",
        "if f'{loss}' == 'a':\n    pass",
    ],
)
def test_logs_that_share_their_row_are_left_to_a_person(body: str) -> None:
    text = in_step(body)
    assert set(levels(text, "PPF202")) == {Level.DISPLAY}
    assert fixed(text, "PPF202", level=Level.UNSAFE) == text


def test_logs_that_no_name_counts_are_left_to_a_person() -> None:
    loop = "import paddle\ndef train(model, x, optimizer):\n    while True:\n        loss = model(x).mean()\n"
    text = f"{loop}        loss.backward()\n        optimizer.step()\n        print(loss)\n"
    assert levels(text, "PPF202") == [Level.DISPLAY]
    text = in_step("helper(loss)") + "\n\ndef helper(loss):\n    print(loss)\n"
    assert levels(text, "PPF202") == [Level.DISPLAY]


@pytest.mark.parametrize(
    "body",
    [
        "writer.add_scalar('loss', loss, step)",
        "wandb.log({'loss': loss})",
        "print(value := loss, value)",
        "logger.log(20, loss)",
        "print(loss, optimizer.get_lr(), meter.avg, time.time() - start)",
        "logger.info('{} {:.4f} {}'.format(step, float(loss), optimizer.get_lr()))",
        "print(f'{loss.item():.4f} {datetime.timedelta(seconds=int(left))}')",
        "pbar.set_postfix(loss=loss.item(), lr=scheduler.get_last_lr()[0])",
        "print(' '.join(map(str, values)), sorted(values, key=lambda value: -value), max(values, key=len))",
        "print(np.mean(losses), paddle.mean(loss).item(), math.exp(float(loss)), meters['loss'].global_avg)",
        "logging.getLogger().info('%f', loss)",
    ],
)
def test_logs_that_only_log_wait_to_be_asked_for(body: str) -> None:
    text = in_step(body)
    assert set(levels(text, "PPF202", "PPF405")) == {Level.UNSAFE}
    assert fixed(text, "PPF202", "PPF405") == text
    guarded = in_step(f"if step % 10 == 0:\n    {body}")
    assert fixed(text, "PPF202", "PPF405", level=Level.UNSAFE) == guarded


@pytest.mark.parametrize(
    ("body", "done"),
    [
        ("print(loss, next(names))", "next()"),
        ("print(loss, stack.pop())", "stack.pop()"),
        ("print(meter.update(loss))", "meter.update()"),
        ("logger.info('%s', scheduler.step())", "scheduler.step()"),
        ("print(values.append(loss))", "values.append()"),
        ("print(evaluate_more(loss))", "evaluate_more()"),
        ("print(loss, model(x))", "model()"),
        ("print(loss, paddle.rand([1]), flush=True)", "paddle.rand()"),
        ("print(loss, np.random.rand())", "np.random.rand()"),
        ("print(loss, loader.get_batch())", "loader.get_batch()"),
        ("print(loss, queue.get(timeout=1))", "queue.get()"),
        ("print(loss, list(map(notes.pop, keys)))", "map()"),
        ("print(loss, min(values, key=seen.add))", "min()"),
        ("print((yield loss))", "(yield loss)"),
        ("print(loss, value := args.n)\nargs.last = value", "(value := args.n)"),
        ("losses.append(print(loss))", "losses.append()"),
        ("take(writer).add_scalar('loss', loss, step)", "take()"),
        ("f'{next(names)} {loss}'.format() and 0\nprint(f'{next(names)} {loss}')", "next()"),
    ],
)
def test_a_line_that_does_more_than_log_is_left_to_a_person(body: str, done: str) -> None:
    text = in_step(body)
    fixes = [finding.fix for finding in check(text, "PPF202", "PPF405") if finding.fix is not None]
    assert not any(fix.edits for fix in fixes)
    said = f"`{done}` would no longer run at each step: do that on a row of its own first"
    assert said in {fix.reason for fix in fixes}


@pytest.mark.parametrize(
    ("made", "takes", "is_iterator"),
    [
        ("iter(names)", "sum(tags)", True),
        ("(name for name in names)", "list(zip(tags, range(2)))", True),
        ("itertools.count()", "{tag for tag, _ in zip(tags, 'ab')}", True),
        ("open(path)", "3 in tags", True),
        ("list(map(str, names))", "sum(tags)", False),
        ("[1, 2]", "list(zip(tags, range(2)))", False),
    ],
)
def test_a_line_that_takes_items_of_an_iterator(made: str, takes: str, is_iterator: bool) -> None:
    text = in_step(f"print(loss, {takes})").replace(
        "import paddle\n", f"import itertools\nimport paddle\ntags = {made}\n", 1
    )
    fixes = [finding.fix for finding in check(text, "PPF202", "PPF405") if finding.fix is not None]
    said = "`next(tags)` would no longer run at each step: do that on a row of its own first"
    assert (said in {fix.reason for fix in fixes}) is is_iterator
    assert any(fix.edits for fix in fixes) is not is_iterator


HELPER = """
import paddle

LAST = {{}}
COUNT = 0


class Notes:
    def __init__(self):
        self.seen = 0

    def text(self, value):
        parts = []
        parts.append(f"{{value:.4f}}")
        return ", ".join(parts)

    def counted(self, value):
        self.seen += 1
        return self.seen

    def info(self, value):
        print(value)


def shown(value):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "is_guarded"),
    [
        ("return round(len(str(value)), 4)", True),
        ("rows = {}\n    rows['loss'] = value\n    rows.update(a=1)\n    return rows", True),
        ("total = 0\n    for one in [value]:\n        total += float(one)\n    return total", True),
        ("print('now')\n    return value", True),
        ("notes = Notes()\n    return shown(value) if value else 0", False),
        ("return shown(value) if value > 1 else 0", True),
        ("return Notes.text(None, value)", True),
        ("global COUNT\n    COUNT += 1\n    return COUNT", False),
        ("LAST['loss'] = value\n    return value", False),
        ("LAST.update(loss=value)\n    return value", False),
        ("value.best = 1\n    return value", False),
        ("del value.best\n    return value", False),
        ("value += [1]\n    return value", False),
        ("rows = LAST\n    rows['loss'] = value\n    return value", False),
        ("with open('log.txt', 'a') as file:\n        file.write(str(value))\n    return value", False),
        ("return Notes.counted(None, value)", False),
        ("yield value", False),
    ],
)
def test_a_function_of_the_project_in_a_line_is_judged_by_what_it_does(body: str, is_guarded: bool) -> None:
    text = in_step("print(step, shown(loss))").replace(
        "import paddle\n", "import paddle\nfrom helper import shown\n", 1
    )
    files = {"train.py": text, "helper.py": HELPER.format(body=body)}
    fixes = [finding.fix for finding in check(files, "PPF405", "PPF202") if finding.path == "train.py"]
    assert [bool(fix and fix.edits) for fix in fixes] == [is_guarded]


@pytest.mark.parametrize(
    ("body", "is_guarded"),
    [
        ("print(value)", True),
        ("self.file.write(value)\n        self.file.flush()", True),
        ("self.count += 1\n        print(self.count, value)", False),
        ("self.kept.append(value)", False),
        ("self.keep(value)", False),
    ],
)
def test_a_logger_of_the_project_that_keeps_more_than_its_lines_is_not_guarded(body: str, is_guarded: bool) -> None:
    kept = "    def keep(self, value):\n        self.last = value\n"
    logger = f"class Logger:\n    def info(self, value):\n        {body}\n\n{kept}"
    text = in_step("logger.info(step)").replace("    for step", "    logger = Logger()\n    for step", 1)
    fixes = [finding.fix for finding in check(f"{logger}\n\n{text}", "PPF405") if "logger.info" in finding.message]
    assert [bool(fix and fix.edits) for fix in fixes] == [is_guarded]


def test_lines_points_and_bars_side_by_side_share_one_guard() -> None:
    body = "print('step', step)\nprint(loss)\nwriter.add_scalar('loss', loss, step)\npbar.set_postfix(loss=1)\n"
    guarded = "if step % 10 == 0:\n" + indent(body, "    ")
    assert fixed_body(body, "PPF202", "PPF405", level=Level.UNSAFE) == guarded
    assert {item.fix and item.fix.reason for item in check(in_step(body), "PPF202", "PPF405")} == {
        "9 of 10 lines are no longer printed; 9 of 10 points are no longer recorded; "
        "the progress bar shows only every 10th value"
    }


def test_a_line_that_does_more_is_not_guarded_with_its_neighbours() -> None:
    body = "print(loss)\nprint(loss, next(names))\n"
    guarded = "if step % 10 == 0:\n    print(loss)\nprint(loss, next(names))\n"
    assert fixed_body(body, "PPF202", level=Level.UNSAFE) == guarded


def test_tabs_and_line_ends_in_guards() -> None:
    text, result = (
        in_step("print(\n    loss,\n)\nx = 1"),
        in_step("if step % 10 == 0:\n    print(\n        loss,\n    )\nx = 1"),
    )
    for old, new in (("    ", "\t"), ("\n", "\r\n"), ("    ", "  ")):
        assert fixed(text.replace(old, new), "PPF202", level=Level.UNSAFE) == result.replace(old, new)


def test_a_sum_that_a_print_reads_is_fixed_along_with_the_print() -> None:
    """A second run used to make the first of the two."""
    text = script("total = 0.0", "total += loss.item()\nprint(step, total)", "return total")
    expected = script(
        "total = 0.0",
        f"{SUM}\nif step % 10 == 0:\n    print(step, float(total))",
        f"{READ}\nreturn total",
    )
    assert once(text) == expected


def once(text: str) -> str:
    """A text after one run of all fixes."""
    settings = Settings(join_lines=False, select=("ALL",))
    sources = {"train.py": Source("train.py", text)}
    return fixer.fix_all(sources, lambda now: engine.check(now, settings), Level.UNSAFE).changed["train.py"].text


def test_a_line_that_a_test_on_values_chooses_is_left_alone() -> None:
    assert check(in_step("if rate(x) > args.most:\n    print(step)"), "PPF405") == []
    assert len(check(in_step("if args.talks:\n    print(step)"), "PPF405")) == 1
    assert len(check(in_step("if (step + 1) % args.accum_steps == 0:\n    print(step)"), "PPF405")) == 1


_READ_FIRST = """\
import paddle
from tqdm import tqdm


def train(model, loader, optimizer, writer, epochs, losses):
    for epoch in range(epochs):
        bar = tqdm(enumerate(loader), total=len(loader))
        total = paddle.zeros([1])
        for i, (x, y) in bar:
            loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            average = total.numpy()[0] / (i + 1)
            value = loss.numpy()[0]
            bar.set_postfix(loss=value, average=average)
            writer.add_scalar("loss", value, i)
"""


def test_a_value_that_is_read_for_log_lines_goes_under_their_guard() -> None:
    found = check(_READ_FIRST)
    assert [item.code for item in found] == ["PPF201", "PPF201", "PPF405", "PPF405"]
    assert "(1 more wait in the same step: line 15)" in found[0].message
    logs, rest = _READ_FIRST.split("            average"), "            average"
    moved = "".join(f"    {row}\n" for row in (rest + logs[1]).splitlines())
    expected = f"{logs[0]}            if i % 10 == 0:\n{moved}"
    assert fixed(_READ_FIRST, "PPF405", "PPF201", level=Level.UNSAFE) == expected


def test_a_guard_wins_nothing_while_the_value_that_it_shows_is_read_above() -> None:
    text = _READ_FIRST.replace("            bar.set_postfix(loss=value, average=average)\n", "")
    text += "            x = value\n"
    text = text.replace("            average = total.numpy()[0] / (i + 1)\n", "")
    [fix] = [item.fix for item in check(text) if item.code == "PPF405"]
    assert fix is not None
    assert fix.level is Level.DISPLAY
    assert not fix.edits
    assert fix.reason.startswith("no gain while")
    assert " at line 14" in fix.reason


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("f'epoch {epoch}/{args.epochs}'", True),
        ("'training'", True),
        ("f'epoch {epoch} step {step}'", False),
        ("f'epoch {epoch} loss {value}'", False),
        ("f'loss {meter.avg}'", False),
        ("f'{len(kept)}'", False),
    ],
)
def test_a_text_that_is_the_same_at_each_step_is_set_once(text: str, is_same: bool) -> None:
    [fix] = [item.fix for item in check(in_step(f"value = step * 2\npbar.set_description({text})"), "PPF405")]
    assert fix is not None
    assert (fix.message == "set the text once, before the loop") is is_same
    assert bool(fix.edits) is not is_same


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        ("np.mean(loss.numpy())", "PPF202"),
        ("loss.numpy().mean()", "PPF202"),
        ("loss.numpy().item()", "PPF202"),
        ("np.round(loss.numpy(), 3)", "PPF202"),
        ("np.sqrt(loss.item())", "PPF202"),
        ("args.name(float(loss))", "PPF202"),
        ("args.name(loss)", "PPF405"),
        ("args.name(lambda: loss.item())", "PPF405"),
        ("np.mean(args.sizes)", "PPF405"),
    ],
)
def test_a_read_inside_another_call_is_a_read_of_the_log_line(shown: str, code: str) -> None:
    for log in (
        "print({})",
        "logger.info('%s', {})",
        "writer.add_scalar('loss', {}, step)",
        "bar.set_postfix(loss={})",
    ):
        assert [item.code for item in check(in_step(log.format(shown)), "PPF202", "PPF405")] == [code], log
