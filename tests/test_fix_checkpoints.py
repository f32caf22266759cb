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
