"""The entries of a dict keep kinds of their own where the dict is returned, handed on, kept, copied or merged."""

from __future__ import annotations

import pickle
from textwrap import indent

import pytest

from perflint.index.kinds import HOST, LOSS, TENSOR, UNKNOWN, Kind, dict_of, element, entries_of, join, rest_of
from tests.support import expect_reads

PROGRAM = """\
import copy
import time
import paddle
import paddle.nn.functional as F


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def logs_of(self, loss, start):
        return {{"loss": loss, "seconds": time.time() - start}}

    def on_batch_end(self, step, logs=None):
        logs = logs or {{}}
        if logs["seconds"] is not None:
            self.lines.append(f"{{logs['seconds']:.2f}}")
        if logs.get("loss") is not None:
            self.lines.append(f"{{logs['loss']:.2f}}")  #: PPF202

    def report(self, step, **values):
        self.lines.append(f"{{values['seconds']:.2f}}")
        self.lines.append(f"{{values['loss']:.2f}}")  #: PPF202

    def fit(self, loader, history, seen):
        for step, (x, y) in enumerate(loader):
            start = time.time()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
{body}
"""
CALLED = ("self.on_batch_end(step, self.logs_of(loss, start))", "self.report(step, **self.logs_of(loss, start))")


def _program(body: str) -> str:
    """The program with a step that ends in ``body`` and calls both helpers."""
    return PROGRAM.format(body=indent("\n".join((body, *CALLED)), " " * 12))


@pytest.mark.parametrize(
    "body",
    [
        "out = self.logs_of(loss, start)",
        "out = self.logs_of(loss, start).copy()",
        "out = copy.copy(self.logs_of(loss, start))",
        "out = dict(self.logs_of(loss, start))",
        'out = {**self.logs_of(loss, start), "step": step}',
        'out = self.logs_of(loss, start) | {"step": step}',
        "out = {}\nout.update(self.logs_of(loss, start))",
        "out = dict(loss=loss)\nout.update(seconds=time.time() - start)",
        'out = {}\nout["loss"] = loss\nout["seconds"] = time.time() - start',
        "self.logs = self.logs_of(loss, start)\nout = self.logs",
        'outer = {"logs": self.logs_of(loss, start), "step": step}\nout = outer["logs"]',
        "out = self.logs_of(loss, start) if step else None",
        'out = {"step": step}\nif step:\n    out = self.logs_of(loss, start)',
    ],
)
def test_an_entry_is_what_its_key_says(body: str) -> None:
    expect_reads(
        _program(
            body
            + "\n"
            + 'history.append(float(out["seconds"]))\n'
            + 'history.append(float(out.get("seconds")))\n'
            + 'history.append(float(out["loss"]))  #: PPF201\n'
            + 'history.append(float(out.pop("loss")))  #: PPF201'
        )
    )


def test_what_no_key_tells_apart_may_be_a_tensor() -> None:
    expect_reads(
        _program(
            """\
out = self.logs_of(loss, start)
history.append(float(out[seen]))  #: PPF201
history.append([float(value) for value in out.values()])  #: PPF201
history.append([float(value) for key, value in out.items()])  #: PPF201
history.append([float(key) for key in out])
numbers = {key: float(value) for key, value in out.items()}  #: PPF201
history.append(float(numbers["loss"]))
out["loss"] = float(loss)  #: PPF201
history.append(float(out["loss"]))
out.update(loss=loss * 2)
history.append(float(out["loss"]))  #: PPF201"""
        )
    )


# --- as kinds

LOGS = dict_of({"loss": LOSS, "n": HOST})


def test_a_dict_as_a_kind() -> None:
    assert entries_of(LOGS) == {"loss": LOSS, "n": HOST}
    assert rest_of(LOGS) is UNKNOWN
    assert LOGS.is_tensor
    assert not LOGS.is_host
    assert element(LOGS).is_tensor
    assert dict_of({"n": HOST, "loss": LOSS}) is LOGS
    assert pickle.loads(pickle.dumps(LOGS)) is LOGS
    assert repr(LOGS) == "<dict of loss: <scalar floating tensor>,n: <host>,<unknown>>"


@pytest.mark.parametrize("entries", [{}, {"loss": LOSS}, {f"k{index}": HOST for index in range(32)} | {"loss": LOSS}])
def test_a_dict_that_is_taken_for_a_tensor(entries: dict[str, Kind]) -> None:
    """One with nothing else in it, or with more than 32 keys."""
    assert dict_of(entries) is TENSOR


@pytest.mark.parametrize(
    ("other", "joined"),
    [
        (LOGS, LOGS),
        (UNKNOWN, LOGS),
        (HOST, LOGS),
        (TENSOR, TENSOR),
        (dict_of({"loss": HOST, "m": LOSS}), dict_of({"loss": TENSOR, "m": LOSS, "n": HOST})),
        (dict_of({"loss": LOSS, "n": HOST}, rest=LOSS), dict_of({"loss": LOSS, "n": HOST}, rest=TENSOR)),
    ],
)
def test_where_two_paths_meet(other: Kind, joined: Kind) -> None:
    assert join(LOGS, other) is joined
    assert join(other, LOGS) is joined


def test_dicts_in_dicts_stay_shallow() -> None:
    kind = LOGS
    for _ in range(40):
        kind = dict_of({"a": kind, "b": HOST})
    assert kind.depth <= 4
