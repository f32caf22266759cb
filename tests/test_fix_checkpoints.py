"""PPF401 and PPF402 fixed in code as people format it: checkpoints."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from perflint.findings import Level
from tests.support import check, fixed, in_step, levels


def epochs(imports: str, save: str, after: str = "print('done')") -> str:
    return (
        f"{imports}\n\n\ndef train(model, loader, optimizer):\n    for epoch in range(3):\n"
        "        for x in loader:\n            loss = model(x).mean()\n"
        "            loss.backward()\n            optimizer.step()\n"
        + indent(dedent(save).strip("\n"), " " * 8)
        + f"\n{indent(after, '    ')}\n"
    )


CLONE = "{k: v if paddle.is_compiled_with_cuda() else v.clone() for k, v in model.state_dict().items()}"
FLUSH = "paddle.clear_async_save_task_queue()"


def later(*arguments: str, paddle: str = "paddle") -> str:
    """The call that the fix writes, at the margin."""
    rows = (
        f"{{\n        k: v if {paddle}.is_compiled_with_cuda() else v.clone()\n"
        "        for k, v in model.state_dict().items()\n    }",
        *arguments,
        "sync_other_task=True",
    )
    return f"{paddle}.async_save(\n" + "".join(f"    {row},\n" for row in rows) + ")"


@pytest.mark.parametrize(
    ("save", "expected"),
    [
        ("paddle.save(model.state_dict(), f'{epoch}.pdparams')", later("f'{epoch}.pdparams'")),
        (
            "path = f'{epoch}'\npaddle.save(\n    obj=model.state_dict(),  # weights\n    path=path,\n)  # saved",
            f"path = f'{{epoch}}'\npaddle.async_save(\n    obj={CLONE},  # weights\n    path=path,\n"
            "    sync_other_task=True,\n)  # saved",
        ),
        (
            "if rank == 0: paddle.save(model.state_dict(), f'{epoch}'); n = 1",
            "if rank == 0: " + later("f'{epoch}'") + "; n = 1",
        ),
        ("paddle.save(model.state_dict(), path='last', protocol=2)", later("path='last'", "protocol=2")),
        ("paddle.save(model.state_dict(), ('out/' + name))", later("('out/' + name)")),
        (
            "os.makedirs(os.path.dirname(path))\npaddle.save(model.state_dict(), path)\nprint('saved', path)",
            f"os.makedirs(os.path.dirname(path))\n{later('path')}\nprint('saved', path)",
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
        "import paddle", later("f'{epoch}'"), f"{FLUSH}\nprint('done')"
    )
    text = epochs("import paddle as pd", "pd.save(model.state_dict(), f'{epoch}')")
    assert fixed(text, "PPF402", level=Level.UNSAFE) == epochs(
        "import paddle as pd",
        later("f'{epoch}'", paddle="pd"),
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
        "paddle.save(model.state_dict(), f'{epoch}', use_binary_format=True)",
        "path = f'{epoch}'\npaddle.save(model.state_dict(), path)\nevaluate(path)",
        "paddle.save(model.state_dict(), f'{epoch}')\nsend(f'{epoch}')",
        "from shutil import copyfile\npaddle.save(model.state_dict(), f'{epoch}')\ncopyfile('a', 'b')",
        "paddle.save(model.state_dict(), f'{epoch}')\nif stop(epoch):\n    return epoch",
        "try:\n    paddle.save(model.state_dict(), f'{epoch}')\nexcept OSError:\n    print('no room')",
    ],
)
def test_other_checkpoints_are_left_to_a_person(save: str) -> None:
    text = epochs("import paddle", save)
    assert set(levels(text, "PPF402")) == {Level.DISPLAY}
    assert [each.fix.edits for each in check(text, "PPF402") if each.fix] == [()], "words, no edit that is wrong"
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


def test_what_the_loop_does_in_its_else_may_read_the_file() -> None:
    text = epochs("import paddle", "paddle.save(model.state_dict(), f'{epoch}')", "else:\n    check(epoch)")
    assert levels(text, "PPF402") == [Level.DISPLAY]


@pytest.mark.parametrize("name", ["paddle.async_save", "paddle.framework.io.async_save"])
def test_a_save_in_the_background_keeps_no_step_waiting_for_the_disk(name: str) -> None:
    assert check(in_step(f"{name}(dict(model.state_dict()), f'{{step}}')"), "PPF401", "PPF402") == []


@pytest.mark.parametrize(
    ("test", "is_each"),
    [
        ("epoch >= 5", True),
        ("epoch > args.first", True),
        ("rank == 0", True),
        ("epoch % 5 == 0", False),
        ("epoch == args.epochs - 1", False),
        ("epoch in args.kept", False),
        ("epoch < 5", False),
        ("score > highest", False),
    ],
)
def test_a_save_that_tests_of_the_epoch_let_through_after_each(test: str, is_each: bool) -> None:
    save = f"if {test}:\n    paddle.save(model.state_dict(), f'{{epoch}}.pdparams')"
    assert bool(check(epochs("import paddle", save), "PPF402")) is is_each
