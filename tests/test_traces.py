"""What is traced of a training, and how lines and findings are compared."""

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from trace_parts.matching import Findings, Found, lines, ran
from trace_parts.page import PAGE, blocking, page
from trace_parts.scripts import BY_NAME, SCRIPTS, Traced
from trace_parts.statements import rows
from traces import RESULT, TraceError, as_text, trace

SCRIPT = """\
import logging

import paddle
from paddle.io import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return paddle.full([2], float(index))


def shown(value):
    return value.item()


net = paddle.nn.Linear(2, 1)
optimizer = paddle.optimizer.SGD(parameters=net.parameters())
loader = DataLoader(Numbers(), batch_size=2)
for epoch in range(4):
    for number, batch in enumerate(loader):
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        one = paddle.to_tensor(1.0)
        if loss > 100:
            break
        print(
            shown(loss),
        )
        if number == 7:
            logging.warning("never")
        found = paddle.nonzero(batch)
    net.eval()
    with paddle.no_grad():
        float(net(batch).mean())
    net.train()
    paddle.save(net.state_dict(), "net.pdparams")
"""


def row_of(text: str) -> int:
    return SCRIPT[: SCRIPT.index(text)].count("\n") + 1


def found(code: str, row: int, message: str = "", related: tuple[tuple[str, int], ...] = ()) -> Found:
    return Found(code, "low", "high", message, (("train.py", row),), related)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Findings]:
    """A trace of the script above: 8 steps in 4 epochs, of which all but the first are traced."""
    if importlib.util.find_spec("paddle") is None:
        pytest.skip("Paddle is not installed")
    copy = tmp_path_factory.mktemp("traced").resolve() / "copy"
    copy.mkdir()
    (copy / "train.py").write_text(SCRIPT, encoding="utf-8")
    findings = Findings(
        [
            found("PPF201", row_of("shown(loss)")),
            found("PPF201", row_of('logging.warning("never")')),
            found("PPF205", row_of("one = ")),
            found("PPF207", row_of("loss.backward()")),
            found("PPF101", row_of("loader = ")),
            found("PPF212", row_of("loss = net")),
        ],
        copy,
    )
    script = Traced("one", "a/b", "0", "train.py", (), (), 0, 8, "", lambda _: None)
    return trace(script, copy, findings, sys.executable), findings


def line_at(traced: tuple[dict[str, Any], Findings], text: str, kind: str, phase: str = "step") -> dict[str, Any]:
    found = [
        each for each in lines(*traced) if (each["line"], each["kind"], each["phase"]) == (row_of(text), kind, phase)
    ]
    assert len(found) == 1, found
    return found[0]


def test_a_step_is_from_one_optimizer_step_to_the_next(traced: tuple[dict[str, Any], Findings]) -> None:
    assert traced[0]["status"] == "done"
    assert traced[0]["steps"] == 8
    assert line_at(traced, "if loss > 100", "host read")["times_a_step"] == 1


def test_a_read_is_that_of_the_innermost_line_and_predicted_at_its_call(
    traced: tuple[dict[str, Any], Findings],
) -> None:
    line = line_at(traced, "return value.item()", "host read")
    assert (line["what"], line["predicted"], line["blocks"]) == (["Tensor.item"], ["PPF201"], True)
    assert line_at(traced, "if loss > 100", "host read")["predicted"] == []


def test_tensors_sizes_and_prints(traced: tuple[dict[str, Any], Findings]) -> None:
    made = line_at(traced, "one = ", "to_tensor")
    assert (made["note"], made["predicted"], made["blocks"]) == (["a number"], ["PPF205"], False)
    assert line_at(traced, "found = ", "sized by values")["blocks"]
    assert not line_at(traced, "print(", "log")["blocks"]


def test_a_wait_for_a_loader_is_predicted_where_it_is_made(traced: tuple[dict[str, Any], Findings]) -> None:
    line = line_at(traced, "for number, batch", "loader wait")
    assert (line["predicted"], line["blocks"]) == (["PPF101"], True)
    assert line["note"] == [f"0 workers@train.py:{row_of('loader = ')}"]


def test_the_evaluation_and_the_end_of_an_epoch_are_apart(traced: tuple[dict[str, Any], Findings]) -> None:
    assert line_at(traced, "float(net", "host read", "evaluation")["share_of_steps"] == pytest.approx(3 / 7, abs=0.01)
    assert line_at(traced, "paddle.save", "save", "epoch end")["times_a_step"] == pytest.approx(3 / 7, abs=0.01)
    at_each_step = {each["line"] for each in blocking({"lines": lines(*traced)})}
    blocks = ("return value.item()", "if loss > 100", "found = ", "for number, batch")
    assert at_each_step == {row_of(text) for text in blocks}


def test_a_finding_did_what_it_says_if_that_was_seen_on_its_line(traced: tuple[dict[str, Any], Findings]) -> None:
    did = {(each["code"], each["line"]): each["did"] for each in ran(*traced)}
    assert did == {
        ("PPF201", row_of("shown(loss)")): True,
        ("PPF205", row_of("one = ")): True,
        ("PPF207", row_of("loss.backward()")): False,  # it ran, and nothing there has a size that depends on values
        ("PPF101", row_of("loader = ")): True,
    }  # the line of the warning never ran, and a trace does not show a graph that is kept


def test_a_script_that_does_not_train_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "train.py").write_text("print('nothing to do')", encoding="utf-8")
    script = Traced("one", "a/b", "0", "train.py", (), (), 0, 8, "", lambda _: None)
    with pytest.raises(TraceError, match=r"one trained 0 steps:\nnothing to do"):
        trace(script, tmp_path / "copy", Findings([], tmp_path / "copy"), sys.executable)


def test_a_statement_is_one_place_and_so_is_the_head_of_a_loop(tmp_path: Path) -> None:
    text = """\
    for x in [
        1,
    ]:
        print(
            x,
        )
    """
    path = tmp_path / "a.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    assert [rows(path, row) for row in (1, 3, 4, 6, 9)] == [(1, 3), (1, 3), (4, 6), (4, 6), (9, 9)]


def test_a_message_lists_lines(tmp_path: Path) -> None:
    data = {
        "code": "PPF201",
        "message": "`loss.item()` ... at line 3 (2 more waits there: lines 5, 9); keep it",
        "impact": {"level": "medium"},
        "confidence": "high",
        "filename": str(tmp_path / "a.py"),
        "location": {"row": 4},
        "related": [{"filename": str(tmp_path / "b.py"), "row": 7, "message": "the step loop"}],
    }
    one = Found.from_json(data, tmp_path)
    assert one.places == (("a.py", 4), ("a.py", 5), ("a.py", 9))
    assert one.related == (("b.py", 7),)


def test_the_page_is_what_the_traces_give() -> None:
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(kept), "run: python benchmarks/traces.py . --page"
    assert list(kept) == list(BY_NAME)
    assert as_text(kept) == RESULT.read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert (kept[script.name]["commit"], kept[script.name]["command"]) == (script.commit, script.command)
