"""The advice for a host read follows from what its value is for, also through names."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence
from tests.support import check, in_step

FORWARD = """\
import paddle


class Net(paddle.nn.Layer):
    def forward(self, x):
        n = int(x.max())
        if n > 3:
            raise ValueError
        return x
"""


def advice(body: str) -> str:
    """What the message of the one read of a step says to do."""
    [found] = [item for item in check(in_step(body), "PPF201") if item.code == "PPF201"]
    return found.message.partition("; ")[2]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("value = loss.item()\nif value > 3:\n    raise ValueError", "check it only every 10 steps (line 13)."),
        ("value = loss.item()\nif value > 3:\n    print(1)\n    exit(1)", "check it only every 10 steps (line 13)."),
        (
            "if loss.item() > 3:\n    args.lr = 0.1",
            "decide only every 10 steps, or on the device.",
        ),
        (
            "n = int(y.max())\nz = paddle.zeros([n, 3])",
            "take the size from `.shape`, or from the data pipeline (line 13).",
        ),
        (
            "rows = np.repeat(y.numpy(), 3)\nz = paddle.to_tensor(rows)",
            "keep it on the device, where it is used again (line 13).",
        ),
        ("name = args.names[int(y.max())]", "look it up on the device, or get it from the data pipeline."),
        ("z = paddle.to_tensor([loss.item(), 1.0])", "keep it on the device, where it is used again."),
        (
            "args.total += loss.item()",
            "add up `.detach()` of the tensor instead, and read the sum with `float()` where it is used.",
        ),
        (
            "meter.update(loss.item(), 8)",
            "pass `.detach()` of the tensor, and read the kept value when it is shown.",
        ),
        (
            "args.losses.append(loss.item())",
            "keep `.detach()` of the tensor in the list, and read the list where it is used.",
        ),
        ("args.last = loss.item()", "keep `.detach()` of the tensor, and read it where a number is needed."),
        (
            "logs = {}\nlogs['a'] = loss.item()\nlogs['b'] = 1\nif step % 10 == 0:\n    print(logs['a'])",
            "read it only at the steps that log it (line 16).",
        ),
        (
            "logs = {'a': loss.item()}\ntext = ', '.join(f'{k} {v}' for k, v in logs.items())",
            "format the text (line 13) only at the steps that show it.",
        ),
        (
            "text = 'loss '\ntext += f'{loss.item():.3f}'\nif step % 10 == 0:\n    print(text)",
            "read it only at the steps that log it (line 15).",
        ),
        ("args.text += f'{loss.item():.3f}'", "format the text only at the steps that show it."),
        (
            "value = loss.item()\nif value > 3:\n    raise ValueError(f'high: {value}')",
            "check it only every 10 steps (line 13).",
        ),
        ("a = loss.numpy()\nb = np.exp(a)", "compute it on the device, with Paddle's functions (line 13)."),
        ("args.note(loss.item())", "pass `.detach()` of the tensor, if `args.note` accepts one."),
        (
            "from scipy.optimize import linear_sum_assignment\nfor part in y:\n    linear_sum_assignment(part.numpy())",
            "copy what all calls of `linear_sum_assignment` need at once, before them.",
        ),
        (
            "value = loss.numpy()\nprint(value.shape)",
            "keep it on the device, and read it only where a number is needed.",
        ),
    ],
)
def test_the_use_of_a_value_decides_what_is_advised(body: str, said: str) -> None:
    assert advice(body) == said


LOGGED = "read it only at the steps that log it (line {row})."


@pytest.mark.parametrize(
    ("kept", "shown", "row"),
    [
        ("{'a': loss.item()}", "for name in logs.keys():\n    args.ids[name] = 3\nprint(logs['a'])", 16),
        ("{'a': loss.item()}", "for name in logs:\n    args.ids[name] = 3\nprint(logs['a'])", 16),
        (
            "dict(a=loss.item())",
            "for i, (name, value) in enumerate(logs.items()):\n    print(args.ids[name], value)",
            15,
        ),
        ("{'a': loss.item()}", "for i, (name, value) in enumerate(logs.items()):\n    print(args.ids[i], value)", 15),
        (
            "{'a': loss.item()}",
            "for i, name in zip(args.ids, sorted(logs)):\n    print(args.ids[name])\nprint(logs)",
            16,
        ),
        ("[loss.item()]", "for name, value in zip(args.names, logs):\n    print(args.ids[name], value)", 15),
        ("{'a': loss.item()}", "for value in logs.values():\n    print(value)", 15),
        ("{'a': loss.item()}", "known = 'a' in logs\nprint(logs['a'])", 15),
        ("{'a': loss.item()}", "print(args.ids[[name for name in logs][0]])\nprint(logs['a'])", 15),
    ],
)
def test_the_keys_of_a_dict_are_no_values(kept: str, shown: str, row: int) -> None:
    guarded = "".join(f"    {line}\n" for line in shown.splitlines())
    assert advice(f"logs = {kept}\nif step % 10 == 0:\n{guarded}") == LOGGED.format(row=row)


def test_a_line_at_each_step_of_the_optimizer_does_not_need_each_batch() -> None:
    line = "if (step + 1) % args.accum_steps == 0:\n{body}    print(value)"
    outside = advice("value = loss.item()\n" + line.format(body=""))
    assert outside == LOGGED.format(row=14)
    inside = advice(line.format(body="    value = loss.item()\n"))
    assert inside == "run `print` only every 10 steps, and read the value there (line 14)."


def test_what_a_dict_of_unknown_making_gives_may_be_a_value() -> None:
    body = "logs = args.make(3)\nlogs[step] = y.max().item()\nfor index in logs:\n    args.ids[index] = 3"
    assert advice(body) == "look it up on the device, or get it from the data pipeline (line 15)."


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("if step % 10 == 0:", "read it only at the steps that log it (line 18)."),
        ("if args.verbose:", "format the text (line 18) only at the steps that show it."),
    ],
)
def test_a_text_that_is_made_now_and_then(guard: str, said: str) -> None:
    body = f"""\
logs = {{}}
logs['a'] = loss.item()
{guard}
    for name in logs.keys():
        value = logs[name]
        text += ' %s: %.3f,' % (name, value)
    line = 'loss: {{}}'.format(text)
"""
    assert advice(body) == said
    written = f"{body}    args.write(line)\n"
    assert advice(written) == "read it only at the steps that log it (line 19)."


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "values = []\nvalues.append(loss.item())\nif sum(values) > 9:\n    raise ValueError",
            "check it only every 10",
        ),
        ("args.seen.append(loss.item())\nif args.seen[-1] < args.best:\n    args.best = 1", "decide only every 10"),
        ("args.last = loss.item()\nif args.last > 9:\n    raise ValueError", "check it only every 10"),
        ("args.last = loss.item()\nif args.last is not None:\n    raise ValueError", "keep `.detach()` of the tensor"),
        ("args.seen.append(loss.item())\nif not args.seen:\n    raise ValueError", "keep `.detach()` of the tensor"),
        (
            "args.seen.append(loss.item())\nif step in args.seen:\n    raise ValueError",
            "keep `.detach()` of the tensor",
        ),
        (
            "args.seen.append(loss.item())\nif step % 10 == 0 and sum(args.seen) > 9:\n    raise ValueError",
            "keep `.detach()` of the tensor",
        ),
        (
            "args.seen.append(loss.item())\nif step % 10 == 0:\n    if sum(args.seen) > 9:\n        raise ValueError",
            "keep `.detach()` of the tensor",
        ),
    ],
)
def test_what_the_step_decides_by_a_list_cannot_wait_in_it(body: str, said: str) -> None:
    assert advice(body).startswith(said)


def test_two_uses_are_both_named() -> None:
    body = "value = loss.item()\nif value != value:\n    raise ValueError\nmeter.update(value)"
    assert advice(body) == (
        "check it only every 10 steps (line 13); "
        "pass `.detach()` of the tensor, and read the kept value when it is shown (line 15)."
    )


def test_a_value_that_only_the_end_of_the_loop_asks_for_is_read_after_it() -> None:
    text = in_step("value = loss.item()") + "    print(value)\n"
    [found] = check(text, "PPF201")
    assert found.message.endswith("; keep `.detach()` of the tensor, and read it once after the loop (line 13).")


def test_a_name_that_is_bound_again_is_another_value() -> None:
    assert advice("value = loss.item()\nvalue = 3\nargs.note(value)").startswith("keep it on the device")


def test_a_forward_pass_has_no_steps_to_leave_out() -> None:
    [found] = check(FORWARD, "PPF210", min_confidence=Confidence.LOW)
    assert found.message.endswith("; check it outside of the model, or while debugging only (line 7).")


RUN_PRINT = "run `print` only every 10 steps, and read the value there (line {row})."


@pytest.mark.parametrize(
    ("body", "row"),
    [
        ("meter.update(loss.item(), 8)\nprint('loss {m.val} {m.avg}'.format(m=meter))", 13),
        ("args.meter.update(loss.item(), 8)\nprint(f'{args.meter.avg:.3f}')", 13),
        ("losses.append(loss.item())\nlast = sum(losses) / 10\nprint(last)", 14),
        ("args.last = loss.item()\nprint(args.last)", 13),
        ("value = loss.item()\nmeter.update(value)\nprint(meter)", 14),
        ("logs = {'a': loss.item()}\nfor key in logs:\n    print(key, logs[key])", 14),
    ],
)
def test_what_a_log_shows_at_each_step_is_to_be_logged_more_rarely(body: str, row: int) -> None:
    assert advice(body) == RUN_PRINT.format(row=row)


@pytest.mark.parametrize(
    "body",
    [
        "meter.update(loss.item(), 8)\nif step % 10 == 0:\n    print(meter.avg)",
        "meter.update(loss.item(), 8)\nprint(other.avg)",
        "args.meter.update(loss.item(), 8)\nprint(args.lr)",
    ],
)
def test_a_meter_that_is_shown_now_and_then_may_keep_tensors(body: str) -> None:
    assert advice(body) == "pass `.detach()` of the tensor, and read the kept value when it is shown."


def test_the_caller_of_a_function_may_show_what_it_returns() -> None:
    text = in_step("value = measure(loss)\nmeter.update(value)\nprint(meter.avg)")
    text += "\n\ndef measure(loss):\n    return loss.item()\n"
    [found] = [item for item in check(text, "PPF201") if "loss.item()" in item.message]
    assert found.message.endswith("; " + RUN_PRINT.format(row=14))


RUNNING_SUM = "add up `.detach()` of the tensor in a running sum, and read the sum where it is shown."
LISTS = """\
import numpy as np
import paddle


def train(model, loader, optimizer):
    losses = []
    for epoch in range(9):
        for step, (x, y) in enumerate(loader):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
            if step % 10 == 0:
                print({shown})
                {then}
"""


@pytest.mark.parametrize(
    ("shown", "then", "said"),
    [
        ("np.mean(losses)", "", RUNNING_SUM),
        ("sum(losses) / len(losses)", "", RUNNING_SUM),
        # Ten values at most, the last one alone, and the number of them.
        (
            "np.mean(losses)",
            "losses = []",
            "keep `.detach()` of the tensor in the list, and read the list where it is used.",
        ),
        (
            "np.mean(losses)",
            "losses.clear()",
            "keep `.detach()` of the tensor in the list, and read the list where it is used.",
        ),
        ("losses[-1]", "", "keep `.detach()` of the tensor in the list, and read the list where it is used."),
        ("len(losses)", "", "keep `.detach()` of the tensor in the list, and read the list where it is used."),
    ],
)
def test_a_list_that_is_summed_up_while_it_grows_is_no_place_for_tensors(shown: str, then: str, said: str) -> None:
    [found] = check(LISTS.format(shown=shown, then=then), "PPF201")
    assert found.message.partition("; ")[2] == said


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ("self.values.append(value)\n        self.avg = sum(self.values) / len(self.values)", RUNNING_SUM),
        (
            "self.total += value\n        self.count += 1",
            "pass `.detach()` of the tensor, and read the kept value when it is shown.",
        ),
        (
            "self.values.append(value)",
            "pass `.detach()` of the tensor, and read the kept value when it is shown.",
        ),
    ],
)
def test_a_meter_that_sums_all_it_keeps_is_no_place_for_tensors(update: str, said: str) -> None:
    meter = f"class Meter:\n    def update(self, value):\n        {update}\n\n\nmeter = Meter()\n"
    text = meter + in_step("meter.update(loss.item())")
    [found] = [item for item in check(text, "PPF201") if "loss.item()" in item.message]
    assert found.message.partition("; ")[2] == said


_KEPT = """\
import paddle


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(3, 1)
        self.theta = self.create_parameter([3])
        self.register_buffer("mean", paddle.zeros([3]))

    def fit(self, loader, optimizer, kept):
        for x in loader:
            loss = self.linear(x * self.theta).mean()
            loss.backward()
            optimizer.step()
            kept.append({value}.numpy())
"""
_IN_A_LIST = "keep `.detach(){copy}` of the tensor in the list, and read the list where it is used."


@pytest.mark.parametrize(
    ("value", "is_copied"),
    [
        ("loss", False),
        ("paddle.mean(self.theta)", False),
        ("self.theta.clone()", False),
        ("self.parameters()[0]", True),
        ("list(self.parameters())[0].detach()", True),
        ("self.state_dict()['theta']", True),
        ("self.theta", True),
        ("self.mean", True),
        ("self.linear.weight", True),
    ],
)
def test_a_parameter_has_to_be_copied_to_be_kept(value: str, is_copied: bool) -> None:
    [found] = check(_KEPT.replace("{value}", value), "PPF201")
    assert found.message.partition("; ")[2] == _IN_A_LIST.format(copy=".clone()" if is_copied else "")
    assert found.fix is not None
    assert ("the memory of a parameter" in (found.fix.reason or "")) is is_copied


def test_parameters_that_a_name_stands_for() -> None:
    body = "for weight in model.parameters():\n    args.kept.append(weight.numpy())"
    assert advice(body) == _IN_A_LIST.format(copy=".clone()")
    body = "weight = model.parameters()[0]\nargs.kept.append(weight.numpy())"
    assert advice(body) == _IN_A_LIST.format(copy=".clone()")


_LAST = """\
import paddle


def fit(model, loader, optimizer):
    kept = []
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        kept.append(loss.numpy())
        {inside}
    {after}
"""


@pytest.mark.parametrize(
    ("inside", "after", "is_last"),
    [
        ("pass", "print(kept[-1])", True),
        ("pass", "print(kept[-1], sum(kept[-1]))", True),
        ("pass", "print(kept[-1], len(kept))", False),
        ("pass", "print(kept[0])", False),
        ("last = kept[-1]", "print(kept[-1])", False),
        ("pass", "return lambda: kept[-1]", False),
    ],
)
def test_a_list_of_which_only_the_last_entry_is_used(inside: str, after: str, is_last: bool) -> None:
    found = check(_LAST.format(inside=inside, after=after), "PPF201")[0]
    said = "read it once after the loop, where only the last entry of the list is used."
    assert (found.message.partition("; ")[2] == said) is is_last


HELPER = """\
import paddle


def accuracy(logits, labels, lengths):
    predicted = logits.argmax(axis=-1).numpy()
    truth = labels.numpy()
    return (predicted == truth).mean() * lengths.mean().item()


def train(model, loader, optimizer):
    scores = []
    for x, y, n in loader:
        out = model(x)
        loss = paddle.nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        scores.append(accuracy(out, y, n))
    return scores
"""
DECODE = "decode predictions only every 10 steps, or in the evaluation"


def test_predictions_are_decoded_now_and_then() -> None:
    """A metric is computed from classes and labels, which are not summed as a loss is."""
    decoded = [item for item in check(HELPER, "PPF201") if DECODE in item.message]
    assert [HELPER.count("\n", 0, item.start) + 1 for item in decoded] == [5, 6]
    assert {item.fix.reason for item in decoded if item.fix} == {"a metric then covers only some of the batches"}


@pytest.mark.parametrize(
    "body",
    [
        "args.right += (model(x).argmax(1) == y).sum().item()",  # a count stays exact on the device
        "args.last = loss.item()\nargs.best = model(x).argmax(1)",
    ],
)
def test_a_count_of_right_predictions_is_added_up(body: str) -> None:
    assert DECODE not in advice(body)


@pytest.mark.parametrize(
    ("body", "is_copied"),
    [
        ("y = paddle.to_tensor(np.array(args.y))\nargs.seen.append(y.numpy())", True),
        ("y = paddle.to_tensor(np.array(args.y).reshape((-1, 1)))\nargs.n = y.reshape((4,)).astype(int).numpy()", True),
        ("y = paddle.to_tensor(np.array(args.y))\nz = y * 2\nargs.seen.append(z.numpy())", False),
        ("y = paddle.to_tensor(x)\nargs.seen.append(y.numpy())", False),  # a tensor of the loader
        ("y = paddle.to_tensor(np.array(args.y)) if args.a else x\nargs.seen.append(y.numpy())", False),
    ],
)
def test_values_that_the_host_had_before_need_no_read(body: str, is_copied: bool) -> None:
    assert ("keep the values that line" in advice(body)) is is_copied


BATCH = "call `build` in the dataset or the collate function, where the batch is still on the host."


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("targets = build(y.numpy())", BATCH),
        ("targets = build([part.numpy() for part in y])", BATCH),
        (
            "z = model(x)\n        targets = build(z, y.numpy())",
            "pass `.detach()` of the tensor, if `build` accepts one.",
        ),
        ("z = model(y)\n        targets = build(z.numpy())", "pass `.detach()` of the tensor, if `build` accepts one."),
    ],
)
def test_targets_of_the_batch_belong_into_the_dataset(before: str, said: str) -> None:
    text = in_step("pass").replace("        loss = ", f"        {before}\n        loss = ", 1)
    assert before in text
    assert [item.message.partition("; ")[2] for item in check(text, "PPF201")] == [said]


def test_what_compares_the_batch_with_predictions_stays_behind_the_step() -> None:
    assert advice("seen = build(model(x), y.numpy())") == "pass `.detach()` of the tensor, if `build` accepts one."


def test_the_type_of_a_tensor_needs_no_read() -> None:
    assert advice("least = np.finfo(loss.numpy().dtype).min") == (
        'take `x.dtype`, or for NumPy its name, `str(x.dtype).removeprefix("paddle.")`, without reading the tensor.'
    )


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("args.last = min(loss.item(), 100.0)", "; limit it with `.clip`, since `min` reads a tensor, too."),
        ("args.last = max(loss.item(), 0)", "; limit it with `.clip`, since `max` reads a tensor, too."),
        ("args.last = loss.item()", "."),
    ],
)
def test_a_limit_reads_a_tensor_too(body: str, more: str) -> None:
    assert advice(body) == f"keep `.detach()` of the tensor, and read it where a number is needed{more}"


@pytest.mark.parametrize(
    ("begins", "more"),
    [
        ("[part.numpy() for part in model(y)]", "; the same at line 14, where the sum begins as an array."),
        ("[0.0]", "."),
    ],
)
def test_a_sum_that_begins_as_an_array(begins: str, more: str) -> None:
    body = (
        f"parts = model(x)\nif step == 0:\n    total = {begins}\nfor i in range(2):\n    total[i] += parts[i].numpy()"
    )
    found = [item.message for item in check(in_step(body), "PPF201") if "parts[i].numpy()" in item.message]
    assert [each.partition("where it is used")[2] for each in found] == [more]


WINDOW = """\


class Window:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def median(self):
        return np.median(self.{kept})
"""


@pytest.mark.parametrize(("kept", "is_running"), [("values", True), ("values[-1:]", False)])
def test_a_meter_that_looks_at_all_values_it_keeps(kept: str, is_running: bool) -> None:
    text = in_step("window = Window()\nwindow.update(loss.item())") + WINDOW.format(kept=kept)
    [found] = check(text, "PPF201")
    assert found.message.endswith(RUNNING_SUM) is is_running
