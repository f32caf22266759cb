"""PPF201 fixed in code as people format it: sums and lists stay on the device until the loop is over."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

from perflint.findings import Level
from tests.step_loops import script
from tests.support import check, fixed, in_step, levels
from tests.trained_scripts import READ, SUM, run


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
    [found] = check(text, "PPF201")
    assert found.fix is not None
    assert "4 KB of memory each" in found.fix.message
    assert run(result) == run(text)


KEEPS = """

class Keeper:
    def __init__(self):
        self.value = paddle.zeros([])

    def kept(self, loss):
        self.value.set_value(loss.detach())
        return {}


keeper = Keeper()
"""


@pytest.mark.parametrize(("returned", "kept"), [("self.value", ".detach().clone()"), ("self.value * 2", ".detach()")])
def test_a_tensor_that_a_method_keeps_as_well_is_copied(returned: str, kept: str) -> None:
    inside = "part = keeper.kept(loss)\nlosses.append(part.item())"
    text = script("losses = []", inside, "return losses", KEEPS.format(returned))
    result = fixed(text, "PPF201", level=Level.UNSAFE)
    assert result == text.replace("part.item()", f"part{kept}").replace(
        "    return losses", "    losses[:] = [float(x) for x in losses]\n    return losses"
    )
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


@pytest.mark.parametrize(
    ("body", "title", "reason"),
    [
        ("meter.update((loss / 2).item(), 1)", "pass `.detach()`", "able to keep tensors"),
        ("args.total += loss.item()", "add up `.detach()`", "then gets a tensor"),
        ("text = f'{loss.item():.3f}'", "format the text only", "is read as well"),
        ("text = '{}'.format(loss.item())", "format the text only", "is read as well"),
        ("if loss.item() > 3: pass", "decide only every 10 steps", "may come late"),
        ("rows = range(loss.item())", "take the size from", "needs a number"),
        ("value = loss.cpu().numpy()[0]", "keep it on the device", "must accept a tensor"),
        ("value = float(loss.item())", "keep it on the device", "must accept a tensor"),
    ],
)
def test_a_read_that_no_edit_takes_away_gets_words(body: str, title: str, reason: str) -> None:
    [found] = check(in_step(body), "PPF201")
    assert found.fix is not None
    assert found.fix.edits == ()
    assert found.fix.level is Level.DISPLAY
    assert title in found.fix.message
    assert reason in found.fix.reason


def test_no_number_is_made_of_a_sum_that_nothing_reads_after_the_loop() -> None:
    inside = "total += loss.item()\nif step % 10 == 9:\n    print(total)\n    total = 0.0"
    text = script("total = 0.0", inside, "return None")
    result = fixed(text, "PPF201")
    assert result == text.replace("loss.item()", 'loss.detach().astype("float64")').replace(
        "print(total)", "print(float(total))"
    )
    assert run(result) == run(text)


@pytest.mark.parametrize(
    ("inside", "after", "conversion"),
    [
        ("total += loss.item()", "return total", "total if isinstance(total, int) else float(total)"),
        ("total += loss.item()", "return total / 7", "float(total)"),
        ("total += loss.item()", "return f'{total:.3f}'", "float(total)"),
        ("total += loss.item()", "return f'{total}'", "total if isinstance(total, int) else float(total)"),
    ],
)
def test_the_whole_number_0_of_a_loop_without_a_step_stays_one(inside: str, after: str, conversion: str) -> None:
    assert f"    total = {conversion}\n" in fixed(script("total = 0", inside, after), "PPF201")


def test_a_whole_number_that_is_printed_before_the_first_sum() -> None:
    text = script("total = 0", "if step % 10 == 0:\n    print(total)\ntotal += loss.item()", "return total / 7")
    [found] = check(text, "PPF201")
    assert found.fix is not None
    assert (found.fix.level, "0.0 is printed instead of 0" in found.fix.reason) == (Level.UNSAFE, True)


@pytest.mark.parametrize(
    ("loss", "read", "level", "reason"),
    [
        ("F.cross_entropy(model(x), y, reduction='none')[:1]", "float(part)", Level.SAFE, ""),
        ("F.cross_entropy(model(x), y, reduction='none')[:1]", "part.item()", Level.UNSAFE, "of shape [1]"),
        ("args.part(x)", "part.item()", Level.UNSAFE, "a Paddle tensor"),
        ("(F.relu(x) > 0).sum()", "float(part)", Level.SAFE, ""),
    ],
)
def test_what_the_fix_asks_of_a_tensor_that_the_read_does_not(loss: str, read: str, level: Level, reason: str) -> None:
    text = script("total = 0.0", f"part = {loss}\ntotal += {read}", "return total")
    [found] = check(text, "PPF201")
    assert found.fix is not None
    assert found.fix.level is level
    assert reason in found.fix.reason


def test_float_makes_no_number_of_a_tensor_of_shape_1_with_numpy_2_4() -> None:
    """What the reason of the unsafe fix says of ``float()``; ``.item()`` makes one."""
    tensor = paddle.to_tensor([1.5])
    assert tensor.item() == 1.5
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        with pytest.raises(TypeError, match="only 0-dimensional"):
            float(tensor)


@pytest.mark.parametrize("read", ["part.numpy()", "part.cpu().numpy()"])
def test_an_array_of_unknown_shape_may_be_a_row_and_has_no_edit(read: str) -> None:
    for start, statement in (("values = []", f"values.append({read})"), ("values = 0.0", f"values += {read}")):
        text = script(start, f"part = model(x)[0]\n{statement}", "return values")
        [found] = check(text, "PPF201")
        assert found.fix is not None
        assert (found.fix.level, found.fix.edits) == (Level.DISPLAY, ())
