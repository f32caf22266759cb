"""The edits of the checks in code as people format it.

Each result is compared with what a person would have written; ``fixed`` also makes sure that it parses, settles, and
is left alone by a second run.  Safe fixes are tried on a real, small training run as well.
"""

from __future__ import annotations

import contextlib
import io
from textwrap import dedent, indent
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest

from perflint import engine, fixer
from perflint.findings import Level
from perflint.settings import Settings
from perflint.source import Source
from tests.support import check, fixed, fixed_body, in_step

SCRIPT = """\
import paddle
import paddle.nn.functional as F


def train(model, loader, optimizer, args):
{before}
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{inside}
{after}
"""
BATCHES = 23


def script(before: str, inside: str, after: str = "return None") -> str:
    """A training function with something before its step loop, at the end of a step, and after the loop."""
    parts = {"before": (before, 4), "inside": (inside, 8), "after": (after, 4)}
    return SCRIPT.format(
        **{name: indent(dedent(text).strip("\n"), " " * depth) for name, (text, depth) in parts.items()}
    )


def run(text: str) -> tuple[list[str], Any, bytes]:
    """Printed lines, result and weights of a script's ``train`` on a few batches."""
    paddle.seed(7)
    random = np.random.default_rng(7)
    model = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    loader = [
        (paddle.to_tensor(random.random((2, 4), dtype="float32")), paddle.to_tensor(random.integers(0, 3, 2)))
        for _ in range(BATCHES)
    ]
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, "train.py", "exec"), names)
        result = names["train"](model, loader, optimizer, SimpleNamespace(weight=0.5, verbose=True))
    return output.getvalue().splitlines(), result, model.weight.numpy().tobytes()


def levels(text: str, *select: str) -> list[Level]:
    return [item.fix.level for item in check(text, *select) if item.fix is not None]


# --- PPF201: sums and lists

SUM = 'total += loss.detach().astype("float64")'
READ = "total = float(total)"


@pytest.mark.parametrize(
    ("before", "inside", "after", "new_inside", "new_after"),
    [
        ("total = 0.0", "total += loss.item()", "return total", SUM, f"{READ}\nreturn total"),
        ("total = 0", "total += float(loss)", "return total / 2", SUM, f"{READ}\nreturn total / 2"),
        ("total: float = 0.0", "total += loss.item()", "return total", SUM, f"{READ}\nreturn total"),
        ("total = best = 0.0", "total += loss.item()", "return total", SUM, f"{READ}\nreturn total"),
        (
            "total, count = 0.0, 0",
            "total += loss.item()  # the loss\ncount += 1",
            "return total / count",
            f"{SUM}  # the loss\ncount += 1",
            f"{READ}\nreturn total / count",
        ),
        (
            "total = 0.0",
            "total += loss.item() * x.shape[0]",
            "return total",
            f"{SUM} * x.shape[0]",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += len(x) * loss.item() / 2",
            "return total",
            'total += len(x) * loss.detach().astype("float64") / 2',
            f"{READ}\nreturn total",
        ),
        ("total = 0.0", "total += loss.detach().cpu().item()", "return total", SUM, f"{READ}\nreturn total"),
        (
            "total = 0.0",
            "total += (loss + loss * 2).item()",
            "return total",
            'total += (loss + loss * 2).detach().astype("float64")',
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += (\n    loss.item()  # one\n)",
            "return total",
            'total += (\n    loss.detach().astype("float64")  # one\n)',
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "a = 1; total += loss.item(); b = 2",
            "return total",
            f"a = 1; {SUM}; b = 2",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "if args.weight: total += loss.item()",
            "return total",
            f"if args.weight: {SUM}",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step % 10 == 0:\n    print(step, total / (step + 1))",
            "return total",
            f"{SUM}\nif step % 10 == 0:\n    print(step, float(total) / (step + 1))",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step % 10 == 0:\n    print(f'{total:.3f}', '%.2f' % total, {'total': total})",
            "return total",
            f"{SUM}\nif step % 10 == 0:\n"
            f"    print(f'{{float(total):.3f}}', '%.2f' % float(total), {{'total': float(total)}})",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step % 10 == 9:\n    print(total)\n    total = 0.0",
            "return total",
            f"{SUM}\nif step % 10 == 9:\n    print(float(total))\n    total = 0.0",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step % 10 == 9:\n    total /= 10\n    print(total)\n    total = 0.0",
            "return total",
            f"{SUM}\nif step % 10 == 9:\n    total = float(total) / 10\n    print(float(total))\n    total = 0.0",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step % 10 == 9:\n    total *= 1 + step\n    total -= (2)",
            "return total",
            f"{SUM}\nif step % 10 == 9:\n    total = float(total) * (1 + step)\n    total = float(total) - (2)",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()\nif step == 20:\n    return dict(total=total)",
            "return total",
            f"{SUM}\nif step == 20:\n    return dict(total=float(total))",
            f"{READ}\nreturn total",
        ),
        (
            "total = 0.0",
            "total += loss.item()",
            "# what remains\n\nreturn total",
            SUM,
            f"{READ}\n# what remains\n\nreturn total",
        ),
    ],
)
def test_a_sum_stays_on_the_device(before: str, inside: str, after: str, new_inside: str, new_after: str) -> None:
    text = script(before, inside, after)
    result = fixed(text, "PPF201")
    assert result == script(before, new_inside, new_after)
    assert run(result) == run(text)


@pytest.mark.parametrize(
    ("inside", "new"),
    [
        ("losses.append(loss.item())", "losses.append(loss.detach())"),
        ("losses.append( float( loss ) )", "losses.append( loss.detach() )"),
        ("losses.append(\n    loss.item(),  # one\n)", "losses.append(\n    loss.detach(),  # one\n)"),
    ],
)
def test_a_list_keeps_tensors_until_the_loop_is_over(inside: str, new: str) -> None:
    text = script("losses = []", inside, "return losses")
    result = fixed(text, "PPF201")
    assert result == script("losses = []", new, "losses[:] = [float(x) for x in losses]\nreturn losses")
    assert run(result) == run(text)


def test_sums_in_nested_loops_are_read_after_the_step_loop() -> None:
    text = """\
import paddle


def train(model, loader, optimizer, args):
    history = []
    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += loss.item()
        else:
            history.append(-1)
        history.append(total)
    return history
"""
    expected = text.replace("loss.item()", 'loss.detach().astype("float64")').replace(
        "(-1)\n", "(-1)\n        total = float(total)\n"
    )
    assert fixed(text, "PPF201") == expected
    assert run(expected) == run(text)


def test_sums_of_a_while_loop_at_the_end_of_a_module_without_a_final_newline() -> None:
    text = """\
import paddle

model = paddle.nn.Linear(4, 3)
optimizer = paddle.optimizer.SGD(parameters=model.parameters())
total = 0.0
step = 0
while step < 100:
\tloss = model(paddle.rand([2, 4])).mean()
\tloss.backward()
\toptimizer.step()
\tstep += 1
\ttotal += loss.item()"""
    assert (
        fixed(text, "PPF201")
        == text.replace("loss.item()", 'loss.detach().astype("float64")') + "\ntotal = float(total)"
    )


def test_several_sums_in_one_loop() -> None:
    names = [f"sum_{n}" for n in range(4)]
    before = "\n".join(f"{name} = 0.0" for name in names)
    text = script(before, "\n".join(f"{name} += loss.item()" for name in names), f"return {', '.join(names)}")
    result = fixed(text, "PPF201")
    assert result.count("loss.detach()") == 4
    for name in names:
        assert f"\n    {name} = float({name})\n" in result
    assert run(result) == run(text)


def test_line_ends_and_tabs_are_those_of_the_file() -> None:
    text = script("total = 0.0", "total += loss.item()", "return total")
    result = script("total = 0.0", SUM, f"{READ}\nreturn total")
    for old, new in (("\n", "\r\n"), ("    ", "\t"), ("\n", "\r")):
        assert fixed(text.replace(old, new), "PPF201") == result.replace(old, new)


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("total = 0.0", "total += loss.item() * args.weight", ""),
        ("total = 0.0", "total += loss.numpy()", ""),
        ("total = 0.0", "total += float(loss.numpy())", ""),
        ("total = 0", "total += (x > 0).sum().item()", ""),
        ("total = 0.0", "total += args.criterion(model(x), y).item()", ""),
        ("total = 0.0", "total += F.cross_entropy(model(x), y, reduction='none').item()", ""),
        ("total = 0.0", "total += F.mse_loss(model(x), y, 'none').item()", ""),
        ("losses = []", "losses.append(loss.numpy())", ""),
    ],
)
def test_what_is_not_known_for_sure_waits_to_be_asked_for(before: str, inside: str, after: str) -> None:
    text = script(before, inside, after)
    assert set(levels(text, "PPF201")) == {Level.UNSAFE}
    assert fixed(text, "PPF201") == text
    assert ".item()" not in fixed(text, "PPF201", level=Level.UNSAFE)


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("", "args.total += loss.item()", ""),
        ("sums = {}", "sums['a'] += loss.item()", ""),
        ("", "total += loss.item()", "return total"),
        ("total = None", "total += loss.item()", "return total"),
        ("total = []", "total += loss.tolist()", "return total"),
        ("total = 0.0", "total -= loss.item()", "return total"),
        ("total = 0.0", "total += loss.item() + 1", "return total"),
        ("total = 0.0", "total += 1 / loss.item()", "return total"),
        ("total = 0.0", "total = 0.9 * total + loss.item()", "return total"),
        ("total = 0.0", "total += loss.item()\nargs.meter(total)", "return total"),
        ("total = 0.0", "total += loss.item()\nargs.call(lambda: total)", "return total"),
        ("total = 0.0", "total += loss.item()\nif step % 9 == 0:\n    args.call(lambda: total)", "return total"),
        ("total = 0.0", "total += loss.item()\ntotal, old = 0.0, total", "return total"),
        ("total = 0.0", "total += loss.item()\nif step == 9:\n    del total\n    total = 0.0", "return total"),
        ("total = 0.0\ndef show():\n    return total", "total += loss.item()", "return show()"),
        ("global total\ntotal = 0.0", "total += loss.item()", "return total"),
        ("losses = []", "losses.append(loss.item())\nargs.show(losses[-1])", "return losses"),
        ("losses = []", "losses.append((step, loss.item()))", "return losses"),
        ("losses = []", "losses.append(loss.item())\nlosses.append(x.mean().item())", "return losses"),
        ("losses = [1]", "losses.append(loss.item())", "return losses"),
        ("losses = []", "args.losses.append(loss.item())", "return losses"),
        ("", "value = loss.item()", ""),
        ("", "args.meter.update(loss.item(), n=1)", ""),
        ("", "if loss.item() > 3:\n    pass", ""),
    ],
)
def test_what_uses_the_value_otherwise_is_left_to_a_person(before: str, inside: str, after: str) -> None:
    text = script(before, inside, after)
    assert set(levels(text, "PPF201")) == {Level.DISPLAY}
    assert fixed(text, "PPF201", level=Level.UNSAFE) == text


def test_a_loop_that_tests_its_sum_reads_it_at_each_step() -> None:
    text = """\
import paddle


def train(model, x, optimizer):
    total = 0.0
    while total < 100:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
    assert levels(text, "PPF201") == [Level.DISPLAY]


def test_an_f_string_that_shows_the_name_prints_the_same_name() -> None:
    text = script("total = 0.0", 'total += loss.item()\nif step % 10 == 0:\n    print(f"{total=:.4f}")', "return total")
    assert run(fixed(text, "PPF201")) == run(text)


def test_displayed_fixes_show_the_tensor_kept() -> None:
    [found] = check(in_step("meter.update((loss / 2).item(), 1)"), "PPF201")
    assert found.fix is not None
    assert [edit.content for edit in found.fix.edits] == ["(loss / 2).detach()"]
    assert found.fix.reason


# --- PPF202 and PPF405: logs under a guard


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
    assert fixed_body(body, "PPF202", "PPF405") == expected


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
    assert fixed(text, "PPF202") == in_step("") + (
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
    result = fixed(text)
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
    assert fixed(text, "PPF202") == result


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
        fixed(text)
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
    assert fixed(text, "PPF202") == text.replace("        print", f"        if {counter} % 10 == 0:\n            print")


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
    result = fixed(text, "PPF202")
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
        "print(evaluate_more(loss))",
        "print(loss, next(names))",
        "print(value := loss)",
        "print(loss, stack.pop())",
        "logger.log(20, loss)",
        "print((yield loss))",
    ],
)
def test_logs_that_do_more_than_log_wait_to_be_asked_for(body: str) -> None:
    text = in_step(body)
    assert set(levels(text, "PPF202", "PPF405")) == {Level.UNSAFE}
    assert fixed(text, "PPF202", "PPF405") == text
    guarded = in_step(f"if step % 10 == 0:\n    {body}")
    assert fixed(text, "PPF202", "PPF405", level=Level.UNSAFE) == guarded


def test_logs_of_different_trust_are_guarded_apart() -> None:
    body = "print(loss)\nwriter.add_scalar('loss', loss, step)\n"
    assert fixed_body(body, "PPF202") == "if step % 10 == 0:\n    print(loss)\nwriter.add_scalar('loss', loss, step)\n"


def test_tabs_and_line_ends_in_guards() -> None:
    text, result = (
        in_step("print(\n    loss,\n)\nx = 1"),
        in_step("if step % 10 == 0:\n    print(\n        loss,\n    )\nx = 1"),
    )
    for old, new in (("    ", "\t"), ("\n", "\r\n"), ("    ", "  ")):
        assert fixed(text.replace(old, new), "PPF202") == result.replace(old, new)


def test_a_sum_is_freed_by_the_guard_of_its_print() -> None:
    text = script("total = 0.0", "total += loss.item()\nprint(step, total)", "return total")
    expected = script(
        "total = 0.0",
        f"{SUM}\nif step % 10 == 0:\n    print(step, float(total))",
        f"{READ}\nreturn total",
    )
    assert fixed(text) == expected


def test_high_level_logs() -> None:
    text = "import paddle\nmodel = paddle.Model(net)\nmodel.fit(train_loader, epochs=2, log_freq=1, verbose=1)\n"
    assert fixed(text, "PPF405") == text.replace("log_freq=1", "log_freq=10")
    text = "from paddle.callbacks import ProgBarLogger as P\ncallbacks = [P(1), P(log_freq=1), P(2), P()]\n"
    result = fixed(text, "PPF405")
    assert result == text.replace("P(1)", "P(10)").replace("P(log_freq=1)", "P(log_freq=10)").replace(
        "P()", "P(log_freq=10)"
    )


# --- PPF101: an argument more


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataLoader(data, shuffle=True)", "DataLoader(data, shuffle=True, num_workers=4)"),
        ("DataLoader(data, shuffle=True,)", "DataLoader(data, shuffle=True, num_workers=4,)"),
        ("DataLoader(data, batch_size=8, num_workers=0)", "DataLoader(data, batch_size=8, num_workers=4)"),
        ("DataLoader(data, num_workers = 0 , shuffle=True)", "DataLoader(data, num_workers = 4 , shuffle=True)"),
        ("DataLoader(data, num_workers=(0))", "DataLoader(data, num_workers=(4))"),
        (
            "DataLoader(data, None, None, True, None, 8, True, False, None, 0)",
            "DataLoader(data, None, None, True, None, 8, True, False, None, 4)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True,\n)",
            "DataLoader(\n    data,\n    shuffle=True,\n    num_workers=4,\n)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True\n)",
            "DataLoader(\n    data,\n    shuffle=True,\n    num_workers=4\n)",
        ),
        (
            "DataLoader(\n    data, shuffle=True\n)",
            "DataLoader(\n    data, shuffle=True, num_workers=4\n)",
        ),
        (
            "DataLoader(data,\n           shuffle=True)",
            "DataLoader(data,\n           shuffle=True,\n           num_workers=4)",
        ),
        (
            "DataLoader(\n    data,  # all, of it\n    # mixed\n    shuffle=True,  # yes, do\n    # the end\n)",
            "DataLoader(\n    data,  # all, of it\n    # mixed\n"
            "    shuffle=True,  # yes, do\n    num_workers=4,\n    # the end\n)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True  # yes, do\n)",
            "DataLoader(\n    data,\n    shuffle=True,  # yes, do\n    num_workers=4\n)",
        ),
        (
            "DataLoader(\n    data\n    , shuffle=True  # a, b\n    ,\n)",
            "DataLoader(\n    data\n    , shuffle=True  # a, b\n    , num_workers=4,\n)",
        ),
        (
            "DataLoader(\n\tdata,\n\tshuffle=True,\n)",
            "DataLoader(\n\tdata,\n\tshuffle=True,\n\tnum_workers=4,\n)",
        ),
        (
            "DataLoader(data, collate_fn=lambda b: [\n    b, 1,\n], shuffle=True)",
            "DataLoader(data, collate_fn=lambda b: [\n    b, 1,\n], shuffle=True, num_workers=4)",
        ),
        (
            'DataLoader(data, collate_fn=f("""\n  a,\n"""))',
            'DataLoader(data, collate_fn=f("""\n  a,\n"""), num_workers=4)',
        ),
        (
            "[DataLoader(d, shuffle=True) for d in (a, b)]",
            "[DataLoader(d, shuffle=True, num_workers=4) for d in (a, b)]",
        ),
        (
            "first(iter(DataLoader(data, shuffle=True)()))[0]",
            "first(iter(DataLoader(data, shuffle=True, num_workers=4)()))[0]",
        ),
        (
            "DataLoader(data, shuffle=True, dataset=DataLoader(d, shuffle=True))",
            "DataLoader(data, shuffle=True, dataset=DataLoader(d, shuffle=True, num_workers=4), num_workers=4)",
        ),
    ],
)
def test_workers_are_added_in_the_style_of_the_call(call: str, expected: str) -> None:
    text = f"from paddle.io import DataLoader\n\nloader = {call}  # loader\n"
    assert fixed(text, "PPF101") == text
    assert fixed(text, "PPF101", level=Level.UNSAFE) == text.replace(call, expected)
    crlf = fixed(text.replace("\n", "\r\n"), "PPF101", level=Level.UNSAFE)
    assert crlf == text.replace(call, expected).replace("\n", "\r\n")


@pytest.mark.parametrize(
    "call",
    [
        "DataLoader(data, shuffle=True, num_workers=2)",
        "DataLoader(data, shuffle=True, num_workers=args.workers)",
        "DataLoader(data, shuffle=True, num_workers=0 if debug else 4)",
        "DataLoader(data, shuffle=True, **options)",
        "DataLoader(*arguments, shuffle=True)",
        "DataLoader(data, None, None, True, None, 8, True, False, None, 2)",
        "DataLoader(data, shuffle=True, num_workers=False)",
        "DataLoader",
    ],
)
def test_calls_that_chose_their_workers(call: str) -> None:
    assert levels(f"from paddle.io import DataLoader\nx = {call}\n", "PPF101") == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("model.fit(data, epochs=2)", "model.fit(data, epochs=2, num_workers=4)"),
        ("model.fit(train_data=data, num_workers=0)", "model.fit(train_data=data, num_workers=4)"),
        ("model.evaluate(data)", "model.evaluate(data, num_workers=4)"),
        ("model.evaluate(data, 8, 2, 1, 0)", "model.evaluate(data, 8, 2, 1, 4)"),
        ("model.predict(data, 8, 0)", None),
        ("model.fit(loader, epochs=2)", None),
        ("model.fit(train_data=loader)", None),
        ("model.evaluate(loader)", None),
        ("model.fit(data, num_workers=2)", None),
        ("other.fit(data)", None),
    ],
)
def test_the_high_level_api_takes_workers_where_it_is_handed_a_dataset(call: str, expected: str | None) -> None:
    text = (
        "import paddle\nfrom paddle.vision.datasets import MNIST\n"
        "data = MNIST()\nloader = paddle.io.DataLoader(data, shuffle=True, num_workers=2)\n"
        f"model = paddle.Model(net)\nother = Other()\n{call}\n"
    )
    assert fixed(text, "PPF101", level=Level.UNSAFE) == text.replace(call, expected or call)


# --- PPF306: pad and slice


def network(layers: str, forward: str) -> str:
    return (
        "import paddle\nfrom paddle import nn\n\n\nclass Net(nn.Layer):\n"
        "    def __init__(self):\n        super().__init__()\n"
        + indent(dedent(layers).strip("\n"), " " * 8)
        + "\n\n    def forward(self, x):\n"
        + indent(dedent(forward).strip("\n"), " " * 8)
        + "\n\n\nscaler = paddle.amp.GradScaler()\n"
    )


@pytest.mark.parametrize(
    ("layers", "forward", "new_layers", "new_forward"),
    [
        (
            "self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x))",
            "self.a = nn.Linear(256, 632)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x)[..., :625])",
        ),
        (
            "self.a = nn.Linear(\n    256,\n    out_features = 625,  # wide\n)\nself.b = nn.Linear(625, 8)",
            "y = self.a(\n    x,\n)  # one\nz = self.a(y) + 1\nreturn self.b(z)",
            "self.a = nn.Linear(\n    256,\n    out_features = 632,  # wide\n)\nself.b = nn.Linear(625, 8)",
            "y = self.a(\n    x,\n)[..., :625]  # one\nz = self.a(y)[..., :625] + 1\nreturn self.b(z)",
        ),
        (
            "self.a = nn.Conv2D(64, 100, 3, padding=1)\nself.b = nn.Conv2D(100, 64, 3)",
            "return self.b(nn.functional.relu(self.a(x)))",
            "self.a = nn.Conv2D(64, 104, 3, padding=1)\nself.b = nn.Conv2D(100, 64, 3)",
            "return self.b(nn.functional.relu(self.a(x)[:, :100]))",
        ),
    ],
)
def test_a_hidden_width_is_padded_and_sliced(layers: str, forward: str, new_layers: str, new_forward: str) -> None:
    text = network(layers, forward)
    assert fixed(text, "PPF306") == text
    assert fixed(text, "PPF306", level=Level.UNSAFE) == network(new_layers, new_forward)


@pytest.mark.parametrize(
    ("layers", "forward"),
    [
        ("n = 625\nself.a = nn.Linear(256, n)\nself.b = nn.Linear(n, 8)", "return self.b(self.a(x))"),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(self.a(x) @ self.a.weight.T)"),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "f = self.a\nreturn self.b(f(x))"),
        ("self.a = nn.Sequential(nn.Linear(256, 625), nn.ReLU(), nn.Linear(625, 8))", "return self.a(x)"),
        ("self.a = nn.Linear(100, 64)\nself.b = nn.Linear(64, 8)", "return self.b(self.a(x))"),
        ("self.a = self.c = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(self.a(self.c(x)))"),
        (
            "self.a = nn.Linear(256, 625)\nself.a = nn.Linear(128, 625)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x))",
        ),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(x)"),
    ],
)
def test_widths_that_a_person_has_to_change(layers: str, forward: str) -> None:
    text = network(layers, forward)
    assert set(levels(text, "PPF306")) == {Level.DISPLAY}
    assert fixed(text, "PPF306", level=Level.UNSAFE) == text


# --- PPF401 and PPF402: checkpoints


def epochs(imports: str, save: str, after: str = "print('done')") -> str:
    return (
        f"{imports}\n\n\ndef train(model, loader, optimizer):\n    for epoch in range(3):\n"
        "        for x in loader:\n            loss = model(x).mean()\n"
        "            loss.backward()\n            optimizer.step()\n"
        + indent(dedent(save).strip("\n"), " " * 8)
        + f"\n{indent(after, '    ')}\n"
    )


CLONE = "{k: v.clone() for k, v in model.state_dict().items()}"
FLUSH = "paddle.clear_async_save_task_queue()"


@pytest.mark.parametrize(
    ("save", "expected"),
    [
        ("paddle.save(model.state_dict(), f'{epoch}.pdparams')", f"paddle.async_save({CLONE}, f'{{epoch}}.pdparams')"),
        (
            "path = f'{epoch}'\npaddle.save(\n    obj=model.state_dict(),  # weights\n    path=path,\n)  # saved",
            f"path = f'{{epoch}}'\npaddle.async_save(\n    obj={CLONE},  # weights\n    path=path,\n)  # saved",
        ),
        (
            "if rank == 0: paddle.save(model.state_dict(), f'{epoch}'); n = 1",
            f"if rank == 0: paddle.async_save({CLONE}, f'{{epoch}}'); n = 1",
        ),
        (
            "paddle.save(model.state_dict(), 'last')",
            f"paddle.async_save({CLONE}, 'last', sync_other_task=True)",
        ),
    ],
)
def test_a_checkpoint_is_written_in_the_background_and_waited_for(save: str, expected: str) -> None:
    text = epochs("import paddle", save)
    assert fixed(text, "PPF402") == text
    assert fixed(text, "PPF402", level=Level.UNSAFE) == epochs("import paddle", expected, f"{FLUSH}\nprint('done')")


def test_two_checkpoints_are_waited_for_once() -> None:
    save = "paddle.save(generator.state_dict(), f'g{epoch}')\npaddle.save(discriminator.state_dict(), f'd{epoch}')"
    result = fixed(epochs("import paddle", save), "PPF402", level=Level.UNSAFE)
    assert result.count("paddle.async_save(") == 2
    assert result.count(FLUSH) == 1


def test_paddle_is_imported_where_only_its_save_was() -> None:
    text = epochs("from paddle import save", "save(model.state_dict(), f'{epoch}')")
    assert fixed(text, "PPF402", level=Level.UNSAFE) == epochs(
        "from paddle import save\nimport paddle", f"paddle.async_save({CLONE}, f'{{epoch}}')", f"{FLUSH}\nprint('done')"
    )
    text = epochs("import paddle as pd", "pd.save(model.state_dict(), f'{epoch}')")
    assert fixed(text, "PPF402", level=Level.UNSAFE) == epochs(
        "import paddle as pd",
        f"pd.async_save({CLONE}, f'{{epoch}}')",
        f"pd.{FLUSH.removeprefix('paddle.')}\nprint('done')",
    )


@pytest.mark.parametrize(
    "save",
    [
        "paddle.save(optimizer.state_dict(), f'{epoch}')",
        "paddle.save({'model': model.state_dict()}, f'{epoch}')",
        "paddle.save(state, f'{epoch}')",
        "paddle.save(model.state_dict(), f'{epoch}')\nmodel.set_state_dict(paddle.load('best'))",
        "x = paddle.save(model.state_dict(), f'{epoch}')",
        "paddle.save(path=f'{epoch}', obj=model.state_dict())",
    ],
)
def test_other_checkpoints_are_left_to_a_person(save: str) -> None:
    text = epochs("import paddle", save)
    assert set(levels(text, "PPF402")) == {Level.DISPLAY}
    assert fixed(text, "PPF402", level=Level.UNSAFE) == text


@pytest.mark.parametrize(
    "save",
    [
        "if epoch % 5 == 0:\n    paddle.save(model.state_dict(), f'{epoch}')",
        "if loss < best_loss:\n    paddle.save(model.state_dict(), 'best')",
        "if epoch == 2:\n    paddle.save(model.state_dict(), 'last')",
        "paddle.async_save(model.state_dict(), 'last')",
        "numpy.save('x', y)",
    ],
)
def test_checkpoints_that_are_rare_or_not_written_by_paddle(save: str) -> None:
    assert levels(epochs("import paddle", save), "PPF402") == []


def test_a_checkpoint_at_each_step_is_shown_under_a_guard() -> None:
    [found] = check(in_step("paddle.save(model.state_dict(), 'a')"), "PPF401", "PPF402")
    assert (found.code, found.fix and found.fix.level) == ("PPF401", Level.DISPLAY)
    assert found.fix is not None
    assert "if step % 1000 == 0:" in found.fix.edits[0].content
    assert check(in_step("if step % 1000 == 0:\n    paddle.save(model.state_dict(), 'a')"), "PPF401", "PPF402") == []


NEIGHBOURS = """\
import paddle


def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print("loss", loss)
        print("step", step){comment}
"""


@pytest.mark.parametrize(
    ("comment", "select"),
    [("  # noqa: PPF405", ("PPF202", "PPF405")), ("  # noqa", ("PPF202", "PPF405")), ("", ("PPF202",))],
)
def test_a_neighbour_that_nobody_complains_of_stays_where_it_is(comment: str, select: tuple[str, ...]) -> None:
    source = Source("train.py", NEIGHBOURS.format(comment=comment))
    settings = Settings(select=select)
    outcome = fixer.fix_all({"train.py": source}, lambda given: engine.check(given, settings), Level.SAFE)
    rows = outcome.changed["train.py"].text.splitlines()
    assert rows[-3:] == [
        "        if step % 10 == 0:",
        '            print("loss", loss)',
        f'        print("step", step){comment}',
    ]
