"""PPF201 fixed where a loop may be left early: handlers, `finally`, callers and closures see the numbers they saw."""

from __future__ import annotations

import contextlib
import io
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest

from perflint.findings import Level
from tests.support import check, fixed

RULE = "PPF201"
STEPS = 3
HEAD = """\
import contextlib
import paddle
import paddle.nn.functional as F


"""
STEP = """\
loss = F.cross_entropy(model(x), y)
loss.backward()
optimizer.step()
optimizer.clear_grad()
args.stop(2 * step)
"""


def script(body: str) -> str:
    """A script whose ``STEP`` row is a training step that ``args.stop`` may end."""
    rows = []
    for row in dedent(body).strip("\n").splitlines():
        depth = row[: len(row) - len(row.lstrip())]
        rows += [depth + step for step in STEP.splitlines()] if row.strip() == "STEP" else [row]
    return HEAD + "\n".join(rows) + "\n"


class Stop:
    """Raises an error when it is called with one number."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self._at = at
        self._error = error

    def __call__(self, now: int) -> None:
        if now == self._at:
            raise self._error(f"at {now}")


def described(value: Any) -> Any:
    """A value with its type, and those of what is in it."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(item) for item in value]
    if isinstance(value, dict):
        return "dict", {key: described(item) for key, item in value.items()}
    return type(value).__name__, repr(value)


def outcome(text: str, at: int, error: type[BaseException]) -> tuple[Any, ...]:
    """What a script prints, returns or raises, writes into ``args.out`` and trains to, when it is stopped."""
    paddle.seed(7)
    random = np.random.default_rng(7)
    model = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    loader = [
        (paddle.to_tensor(random.random((2, 4), dtype="float32")), paddle.to_tensor(random.integers(0, 3, 2)))
        for _ in range(STEPS if at > -2 else 0)
    ]
    args = SimpleNamespace(stop=Stop(at, error), out={}, seen=[])
    args.look = lambda values: args.seen.append(described(values))
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, "train.py", "exec"), names)
        try:
            result = described(names["train"](model, loader, optimizer, args))
        except BaseException as raised:
            result = (type(raised).__name__, str(raised))
    return output.getvalue(), result, described(args.out), args.seen, model.weight.numpy().tobytes()


def outcomes(text: str) -> list[tuple[Any, ...]]:
    """The same without a stop, over an empty loader, and stopped before and after the sum of each step."""
    stops = [(at, error) for at in range(2 * STEPS) for error in (KeyboardInterrupt, RuntimeError, StopIteration)]
    return [outcome(text, at, error) for at, error in [(-1, RuntimeError), (-2, RuntimeError), *stops]]


SUMS = {
    "interrupted, then printed": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
                print("done", total)
            except KeyboardInterrupt:
                print("stopped", total)
            return total
        """,
    "interrupted, then passed over": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            except KeyboardInterrupt:
                pass
            args.out["total"] = total
            return total
        """,
    "a handler that raises again, and looks at nothing": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            except Exception:
                print("failed")
                raise
            return total
        """,
    "two tries, of which the outer one looks": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                try:
                    for step, (x, y) in enumerate(loader):
                        STEP
                        total += loss.item()
                        args.stop(2 * step + 1)
                except StopIteration:
                    raise
            except KeyboardInterrupt:
                total /= 2
                print(f"{total} {total:.3f}")
            return total
        """,
    "a with that no error stops at": """
        def train(model, loader, optimizer, args):
            total = 0.0
            with paddle.amp.auto_cast(enable=False):
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
                print(total)
            return total
        """,
    "a with that may stop an error": """
        def train(model, loader, optimizer, args, guard=contextlib.nullcontext):
            total = 0.0
            with guard():
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
                print(total)
            return total
        """,
    "epochs, each in a try": """
        def train(model, loader, optimizer, args):
            history = []
            for epoch in range(2):
                total = 0.0
                try:
                    for step, (x, y) in enumerate(loader):
                        STEP
                        total += loss.item()
                        args.stop(2 * step + 1)
                except KeyboardInterrupt:
                    print("skipped", epoch)
                history.append(total)
            return history, total
        """,
    "a whole number to begin with": """
        def train(model, loader, optimizer, args):
            total = 0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                args.stop(2 * step + 1)
            return total
        """,
    "a whole number that is only divided": """
        def train(model, loader, optimizer, args):
            total = 0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                args.stop(2 * step + 1)
            return total / 7
        """,
    "returned from within": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    if step == 1:
                        return total
                    args.stop(2 * step + 1)
            finally:
                print("over")
            return -total
        """,
    "an else that goes on with the next epoch": """
        def train(model, loader, optimizer, args):
            for epoch in range(2):
                total = 0.0
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                else:
                    print(total)
            return total
        """,
    "nothing looks at the sum": """
        def train(model, loader, optimizer, args):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                if step == 1:
                    print(total)
                    total = 0.0
            return None
        """,
}
UNSAFE_SUMS = {
    "finally": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            finally:
                args.out["total"] = total
            return total
        """,
    "logged and raised again": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            except Exception:
                print("failed", total)
                raise
            return total
        """,
    "suppressed": """
        def train(model, loader, optimizer, args):
            total = 0.0
            with contextlib.suppress(RuntimeError):
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            print(total)
            return total
        """,
    "returned through a finally": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    if step == 1:
                        return total
            finally:
                print("over", total)
            return -total
        """,
}
LEFT_ALONE = {
    "a handler that goes on with the next epoch": """
        def train(model, loader, optimizer, args):
            total = 0.0
            for epoch in range(2):
                total = 0.0
                try:
                    for step, (x, y) in enumerate(loader):
                        STEP
                        total += loss.item()
                        args.stop(2 * step + 1)
                except KeyboardInterrupt:
                    continue
                print(total)
            return total
        """,
    "an else that leaves the epochs": """
        def train(model, loader, optimizer, args):
            for epoch in range(2):
                total = 0.0
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                else:
                    break
            return total
        """,
    "a lambda made before the loop": """
        def train(model, loader, optimizer, args):
            total = 0.0
            look = lambda: args.look(total)
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                look()
            return total
        """,
    "a generator made before the loop": """
        def train(model, loader, optimizer, args):
            total = 0.0
            looks = (args.look(total) for _ in range(99))
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                next(looks)
            return total
        """,
    "all names": """
        def train(model, loader, optimizer, args):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
                args.look(locals()["total"])
            return total
        """,
    "a handler that gives it up": """
        def train(model, loader, optimizer, args):
            total = 0.0
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    total += loss.item()
                    args.stop(2 * step + 1)
            except KeyboardInterrupt:
                total = None
            return total
        """,
    "a sum that goes on with what is no number": """
        def train(model, loader, optimizer, args):
            total = 0.0
            if args.out:
                total = args.out
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
            return total
        """,
    "another float": """
        def train(model, loader, optimizer, args, float=str):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.item()
            return total
        """,
    "an array that is indexed": """
        def train(model, loader, optimizer, args):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.reshape([1]).numpy()
                if step % 10 == 0:
                    print(total[0])
            return total
        """,
    "an array that is indexed afterwards": """
        def train(model, loader, optimizer, args):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                total += loss.reshape([1]).numpy()
            return total[0]
        """,
}


@pytest.mark.parametrize("name", SUMS)
def test_a_safe_fix_of_a_sum_shows_nobody_a_tensor(name: str) -> None:
    text = script(SUMS[name])
    result = fixed(text, RULE)
    assert "loss.detach()" in result
    assert outcomes(result) == outcomes(text)


@pytest.mark.parametrize("name", UNSAFE_SUMS)
def test_what_runs_after_any_error_would_read_a_device_that_may_be_gone(name: str) -> None:
    text = script(UNSAFE_SUMS[name])
    [found] = check(text, RULE)
    assert found.fix is not None
    assert found.fix.level is Level.UNSAFE
    assert "after an error on the device" in found.fix.reason
    result = fixed(text, RULE, level=Level.UNSAFE)
    assert "loss.detach()" in result
    assert outcomes(result) == outcomes(text)


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_a_sum_that_something_else_may_see_is_left_to_a_person(name: str) -> None:
    text = script(LEFT_ALONE[name])
    [found] = check(text, RULE)
    assert found.fix is not None
    assert found.fix.edits == ()
    assert found.fix.level is Level.DISPLAY


LISTS = {
    "nobody looks before the end": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            for step, (x, y) in enumerate(loader):
                STEP
                losses.append(loss.item())
            args.look(losses)
            return losses
        """,
        Level.SAFE,
    ),
    "read by epoch": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            for epoch in range(2):
                for step, (x, y) in enumerate(loader):
                    STEP
                    losses.append(loss.item())
                print(epoch, sum(losses), losses[-1:])
            return losses
        """,
        Level.SAFE,
    ),
    "interrupted": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            try:
                for step, (x, y) in enumerate(loader):
                    STEP
                    losses.append(loss.item())
            except KeyboardInterrupt:
                print(losses)
            return losses
        """,
        Level.UNSAFE,
    ),
    "held by another object": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            args.losses = losses
            for step, (x, y) in enumerate(loader):
                STEP
                losses.append(loss.item())
                args.look(args.losses)
            return losses
        """,
        Level.UNSAFE,
    ),
    "in a loop that may never end": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            batches = iter(loader)
            step = -1
            while step < len(loader) - 1:
                x, y = next(batches)
                step += 1
                STEP
                losses.append(loss.item())
            return losses
        """,
        Level.UNSAFE,
    ),
    "something else is put in beforehand": (
        """
        def train(model, loader, optimizer, args):
            losses = []
            losses.append("losses")
            for step, (x, y) in enumerate(loader):
                STEP
                losses.append(loss.item())
            return losses
        """,
        Level.DISPLAY,
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_how_far_the_fix_of_a_list_may_be_trusted(name: str) -> None:
    body, level = LISTS[name]
    text = script(body)
    [found] = check(text, RULE)
    assert found.fix is not None
    assert found.fix.level is level, found.fix
    assert bool(found.fix.edits) is (level is not Level.DISPLAY)
    result = fixed(text, RULE)
    assert ("loss.detach()" in result) is (level is Level.SAFE)
    assert outcomes(result) == outcomes(text)


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("args.look(1)", "loss.detach()"),
        ("args.look(step, 2 * loss)", "loss.detach()"),
        ("with paddle.no_grad(): loss.zero_()", "loss.detach().clone()"),
        ("with paddle.no_grad(): loss.scale_(3.0)", "loss.detach().clone()"),
        ("with paddle.no_grad(): loss.clip_(max=0.1)", "loss.detach().clone()"),
        ("loss.set_value(paddle.zeros([]))", "loss.detach().clone()"),
        ("with paddle.no_grad(): loss[...] = 3.0", "loss.detach().clone()"),
        ("with paddle.no_grad(): loss.detach().zero_()", "loss.detach().clone()"),
        ("part = loss\nwith paddle.no_grad(): part.zero_()", "loss.detach().clone()"),
        ("change(loss)", "loss.detach().clone()"),
        ("change(value=loss)", "loss.detach().clone()"),
        ("change([loss])", "loss.detach().clone()"),
    ],
)
def test_a_loss_that_is_changed_in_place_is_copied(after: str, kept: str) -> None:
    rows = "\n".join(f"        {row}" for row in after.splitlines())
    text = script(
        f"""
def change(value):
    with paddle.no_grad():
        (value[0] if isinstance(value, list) else value).zero_()


def train(model, loader, optimizer, args):
    losses = []
    for step, (x, y) in enumerate(loader):
        STEP
        losses.append(loss.item())
{rows}
    return losses
"""
    )
    result = fixed(text, RULE)
    assert f"losses.append({kept})" in result
    assert outcome(result, -1, RuntimeError) == outcome(text, -1, RuntimeError)


def test_a_sum_of_float64_losses_that_are_changed_in_place() -> None:
    text = script(
        """
        def train(model, loader, optimizer, args):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                STEP
                value = paddle.mean(loss.astype("float64"))
                total += value.item()
                with paddle.no_grad():
                    value.zero_()
            return total
        """
    )
    result = fixed(text, RULE)
    assert "value.detach()" in result
    assert outcome(result, -1, RuntimeError) == outcome(text, -1, RuntimeError)
