"""What a step gains without its waits, and what to do first about it."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, ImpactLevel, StepEdit, StepPlace, StepVerdict
from perflint.flow.resolving import opened
from perflint.inputs.input_files import read_inputs
from perflint.output.verdict_text import unseen, verdict_json, verdict_lines, with_advice
from perflint.text.source import Source
from perflint.trace.loading import loadings
from perflint.trace.modelled_step import ModelledStep, Span, modelled
from perflint.trace.step_trace import StepTrace, traces
from perflint.trace.verdict import verdict
from tests.support import check, in_step, sources

HEAD = """\
import paddle
import paddle.nn.functional as F

"""


def _trace(text: str) -> StepTrace:
    (found,) = traces(opened(sources({"train.py": text})))
    return found


def _step(text: str) -> ModelledStep:
    return modelled(_trace(text))


def _waits(text: str) -> list[int]:
    """The rows of the waits of a step, in order."""
    step = _step(text)
    return [step.events[key].event.row for key in sorted(step.waits)]


def test_a_wait_behind_the_backward_pass_costs_more_than_one_before_it() -> None:
    behind = _step(in_step("loss.backward()\nkept = loss.item()"))
    before = _step(in_step("kept = loss.item()\nloss.backward()"))
    assert behind.gain(behind.waits) > before.gain(before.waits) > 0


def test_neighbours_gain_only_together() -> None:
    step = _step(in_step("loss.backward()\na = loss.item()\nb = loss.item()"))
    first, second = sorted(step.waits)
    assert step.gain([first]) == pytest.approx(0)
    assert step.gain([second]) == pytest.approx(0)
    assert step.gain([first, second]) > 1
    assert step.gain([first], gone=[second]) == pytest.approx(step.gain([first, second]))


def test_of_alternatives_one_runs() -> None:
    text = in_step("if args.a:\n    p = loss.item()\n    q = x.item()\nelse:\n    r = loss.item()")
    assert _waits(text) == [13, 14]
    start = text.index("loss.item()", text.index("else:"))
    wanted = modelled(_trace(text), Span("train.py", start, start + len("loss.item()")))
    assert [wanted.events[key].event.row for key in wanted.waits] == [16]


def test_each_arm_runs_in_some_pass_of_a_loop() -> None:
    body = "for a in args.all:\n    if a:\n        p = x.item()\n    else:\n        q = x.item()"
    assert _waits(in_step(body)) == [14, 16]


def test_a_loop_runs_as_often_as_the_source_says() -> None:
    body = "loss.backward()\nfor i in {over}:\n    kept = F.relu(x[i]).sum().item()"
    once, often, unknown = (_step(in_step(body.format(over=each))) for each in ("range(1)", "range(30)", "args.all"))
    assert once.gain(once.waits) < unknown.gain(unknown.waits) < often.gain(often.waits)


@pytest.mark.parametrize("over", ["range(10**30)", "range(10**9)", "range(1, 2, 3, 4)", "range(1, 9, 0)", "range()"])
def test_an_odd_range_is_no_error(over: str) -> None:
    step = _step(in_step(f"loss.backward()\nfor i in {over}:\n    y = F.relu(x)\nkept = y.sum().item()"))
    assert step.gain(step.waits) > 0


def test_functions_that_call_each_other_deeply_are_no_error() -> None:
    chain = "".join(f"def f{n}(v):\n    return f{n + 1}(v)\n\n\n" for n in range(400))
    text = in_step("f0(loss)").replace("def train", f"{chain}def f400(v):\n    return v.item()\n\n\ndef train")
    assert all(finding.code == "PPF201" for finding in check(text, "PPF201"))


LOADED = """\
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader


def train(data, model, optimizer):
    for x, y in DataLoader(data, batch_size=8{workers}):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


def test_workers_come_first_and_reads_bring_more_behind_them() -> None:
    found = verdict(_trace(LOADED.format(workers="")))
    assert [edit.kind for edit in found.plan] == ["loading", "waits", "kernels"]
    assert found.plan[0].rows == (("train.py", 7),)
    alone = verdict(_trace(LOADED.format(workers=", num_workers=4")))
    assert [edit.kind for edit in alone.plan] == ["waits", "kernels"]
    assert alone.plan[0].usual == pytest.approx(found.plan[1].usual)


def test_the_words() -> None:
    found = verdict(_trace(LOADED.format(workers="")))
    lines = list(verdict_lines(found, {"train.py": "src/train.py"}))
    bound = "likely bound by loading: a thread of the training process loads the batches"
    assert lines[0] == f"Verdict: {bound}; it trains in float32."
    assert lines[1].startswith("  1. give the DataLoader at src/train.py:7 worker processes: at most ")
    assert lines[2].startswith("  2. then remove the waits at src/train.py:11: at most ")
    assert "perflint profile" in unseen([found])


CHOSEN = """\
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader


def build(data, args):
    if args.lazy:
        loader = DataLoader(data, batch_size=8)
    else:
        loader = DataLoader(data, batch_size=8, num_workers={workers})
    return loader


def train(data, args, model, optimizer):
    with paddle.amp.auto_cast():
        for x, y in build(data, args):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize("workers", ["4", "args.workers"])
def test_of_two_loaders_the_test_between_them_decides(workers: str) -> None:
    found = verdict(_trace(CHOSEN.format(workers=workers)))
    assert not found.plan
    (possibly,) = found.possibly
    assert (possibly.edit.kind, possibly.edit.rows) == ("loading", (("train.py", 8),))
    assert possibly.decides is not None
    assert (possibly.decides.at, possibly.decides.holds) == (("train.py", 7), True)
    lines = list(verdict_lines(found, {}))
    assert lines[0].startswith("Verdict: perhaps bound by loading; otherwise nothing here is worth your time")
    assert lines[1].startswith(
        "  If `args.lazy` (train.py:7): first give the DataLoader at train.py:8 worker processes: "
    )
    condition = verdict_json(found, {})["possibly"][0]["if"]
    assert condition == {"test": "args.lazy", "holds": True, "path": "train.py", "row": 7}


def test_loading_bounds_a_step_if_all_its_loaders_load_in_its_process() -> None:
    found = verdict(_trace(CHOSEN.format(workers="0")))
    assert not found.possibly
    (edit,) = found.plan
    assert (edit.kind, sorted(edit.rows)) == ("loading", [("train.py", 8), ("train.py", 10)])


def test_the_other_arm_says_unless() -> None:
    text = CHOSEN.format(workers="0").replace("batch_size=8)\n    else", "batch_size=8, num_workers=2)\n    else")
    lines = list(verdict_lines(verdict(_trace(text)), {}))
    assert lines[1].startswith("  Unless `args.lazy` (train.py:7): first give the DataLoader at train.py:10 ")


def test_an_early_return_and_a_conditional_expression_decide_as_well() -> None:
    text = CHOSEN.format(workers="4")
    start, end = text.index("    if args.lazy"), text.index("\n\n\ndef train")
    early = "    if args.lazy:\n        return DataLoader(data)\n    return DataLoader(data, num_workers=4)"
    either = "    return DataLoader(data) if args.lazy else DataLoader(data, num_workers=4)"
    for body in (early, either):
        (possibly,) = verdict(_trace(text[:start] + body + text[end:])).possibly
        assert possibly.decides is not None
        assert (possibly.decides.at, possibly.decides.holds) == (("train.py", 7), True)


def test_where_callers_pass_different_loaders_no_test_is_known() -> None:
    text = CHOSEN.format(workers="4").replace("in build(data, args):", "in data:")
    text += dedent(
        """

        def main(photos, words, args, model, optimizer):
            train(DataLoader(photos, batch_size=8), args, model, optimizer)
            train(DataLoader(words, batch_size=8, num_workers=4), args, model, optimizer)
        """
    )
    found = verdict(_trace(text))
    assert [each.decides for each in found.possibly] == [None]
    line = list(verdict_lines(found, {}))[1]
    assert line.startswith("  If it draws from this one of its loaders: first ")


def test_of_loaders_that_a_step_draws_from_together_one_is_enough() -> None:
    text = LOADED.format(workers=", num_workers=4")
    both = text.replace("in DataLoader(data, batch_size=8, num_workers=4):", "in zip(DataLoader(more), loader):")
    both = both.replace("    for x, y", "    loader = DataLoader(data, num_workers=4)\n    for x, y")
    found = verdict(_trace(both))
    assert not found.possibly
    assert (found.plan[0].kind, found.plan[0].rows) == ("loading", (("train.py", 8),))


def test_nothing_is_worth_it_in_a_step_that_waits_inside_paddle_anyway() -> None:
    text = dedent(
        """\
        import paddle
        import paddle.nn.functional as F


        def train(loader, model, optimizer):
            scaler = paddle.amp.GradScaler()
            for x, y in loader:
                with paddle.amp.auto_cast():
                    loss = F.cross_entropy(model(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
        """
    )
    found = verdict(_trace(text))
    assert not found.plan
    assert found.inside == (("train.py", 11),)
    (sentence, *rest) = verdict_lines(found, {})
    assert sentence == "Verdict: nothing here is worth your time, as far as the source shows."
    assert "  Stays: 1 wait inside Paddle (GradScaler.step), at train.py:11" in rest


def test_a_wait_that_gains_nothing_is_named() -> None:
    text = """\
import paddle
import paddle.nn.functional as F


def train(loader, model, optimizer, seen):
    scaler = paddle.amp.GradScaler()
    for x, y in loader:
        with paddle.amp.auto_cast():
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        seen.norm = x.grad.norm().item()
        scaler.step(optimizer)
        scaler.update()
        seen.last = loss.item()
"""
    found = verdict(_trace(text))
    assert [edit.rows for edit in found.plan] == [(("train.py", 14),)]
    assert "  No gain: 1 wait right beside one that stays, at train.py:11" in list(verdict_lines(found, {}))
    assert verdict_json(found, {})["no_gain"] == [{"path": "train.py", "row": 11}]


def test_a_read_right_behind_a_wait_inside_paddle_gains_nothing() -> None:
    text = dedent(
        """\
        import paddle
        import paddle.nn.functional as F


        def train(loader, model, optimizer, seen):
            scaler = paddle.amp.GradScaler()
            for x, y in loader:
                with paddle.amp.auto_cast(): loss = F.cross_entropy(model(x), y)
                scaler.scale(loss).backward()
                seen.last = loss.item()
                scaler.step(optimizer)
        """
    )
    (found,) = check(text, "PPF201")
    assert found.impact is not None
    assert found.impact.level is ImpactLevel.LOW
    assert found.impact.reason.endswith("where nothing is gained while it also waits at line 11")
    assert found.step == StepPlace("train.py", 7)


def test_a_wait_that_may_go_does_not_keep_others_from_being_worth_it() -> None:
    """What the host has worked out is copied at each step, perhaps needlessly: the read pays off together with it."""
    text = dedent(
        """\
        import paddle
        from edges import find


        def train(loader, model, optimizer, seen):
            for x, y in loader:
                edges = find(y.numpy())
                loss = model(x, paddle.to_tensor(edges)).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )
    found = {each.code: each for each in check(text, "PPF201", "PPF205", min_confidence=Confidence.LOW)}
    assert found["PPF205"].confidence is Confidence.LOW
    (read,) = check(text, "PPF201")
    assert read.impact is not None
    assert read.impact.level is ImpactLevel.MEDIUM


def test_waits_that_cost_little_hold_nothing_up() -> None:
    few, many = StepEdit("waits", (("a.py", 1),), 0.02, 0.05, 0.4), StepEdit("waits", (("a.py", 1),), 0.2, 0.3, 4.0)
    said = [next(verdict_lines(StepVerdict((edit,), (), (), 1, (), ()), {})) for edit in (few, many)]
    assert said == [
        "Verdict: the waits at 1 place of each step cost little, at most 5% of it.",
        "Verdict: likely held up by waits, at 1 place of each step.",
    ]


def test_classes_that_give_each_other_their_loader_lead_nowhere() -> None:
    text = """\
import paddle


class First:
    def __init__(self, other):
        self.train_loader = other.train_loader


class Second:
    def __init__(self, other):
        self.train_loader = other.train_loader


def train(model, runner, optimizer):
    for x in runner.train_loader:
        model(x).mean().backward()
        optimizer.step()
"""
    trace = _trace(text)
    assert loadings(trace.place, trace.loop) == []


def test_of_functions_that_a_name_may_mean_the_verdict_says_which_one_counts() -> None:
    text = """\
import paddle


class Quiet:
    def training_loss(self, x):
        return x.mean()


class Loud:
    def training_loss(self, x):
        return x.mean() * float(x.max()) * float(x.min())


def train(loader, trainer, optimizer):
    for x in loader:
        loss = trainer.training_loss(x)
        loss.backward()
        optimizer.step()
"""
    found = verdict(_trace(text))
    assert [(one.at, one.function, one.number) for one in found.assumed] == [
        (("train.py", 16), "Loud.training_loss", 2)
    ]
    line = "  Assumes: of 2 functions that train.py:16 may run, Loud.training_loss, which waits most"
    assert line in [*verdict_lines(found, {})]


def test_a_metric_inside_paddle_does_not_have_to_stay() -> None:
    text = """\
import paddle


def train(loader, model, optimizer):
    metric = paddle.metric.Accuracy()
    for x, y in loader:
        out = model(x)
        loss = paddle.nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        metric.update(metric.compute(out, y))
"""
    found = verdict(_trace(text))
    assert found.waits >= 1
    assert "Accuracy.update" not in found.made_by
    assert ("train.py", 11) not in found.inside


BY_OPTION = """\
import argparse

import paddle
import paddle.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--level", default="O1")
args = parser.parse_args()
model, optimizer, scaler = paddle.vision.models.resnet50(), make(), paddle.amp.GradScaler()
for x, y in loader:
    with paddle.amp.auto_cast(): loss = F.cross_entropy(model(x), y)
    if args.amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
    optimizer.clear_grad()
    print(loss.item())
"""


def test_of_alternatives_the_arm_runs_that_an_option_leads_to_by_default() -> None:
    assert _waits(BY_OPTION) == [21]
    lines = [*verdict_lines(verdict(_trace(BY_OPTION)), {})]
    assert "  Assumes: `args.amp` at train.py:13 keeps its default" in lines
    assert not any("Stays" in line for line in lines)


@pytest.mark.parametrize(
    ("test", "waits"),
    [
        ("not args.amp", True),
        ("args.level == 'O1'", True),
        ("args.level == 'O2'", False),
        ("args.level == level", True),  # not known: the arm with most waits counts
    ],
)
def test_what_a_default_says_of_a_test(test: str, waits: bool) -> None:
    text = BY_OPTION.replace("if args.amp", f"if {test}")
    assert _waits(text) == ([15, 21] if waits else [21])


def test_an_elif_runs_by_default_if_the_tests_before_it_fail() -> None:
    chain = "if args.amp:\n        a = x.item()\n    elif args.level == 'O1':\n        b = x.item()\n"
    chain += "    else:\n        c = x.item()\n"
    text = BY_OPTION.replace("    optimizer.clear_grad()\n", f"    {chain}    optimizer.clear_grad()\n")
    assert _waits(text) == [23, 27]
    assert _waits(text.replace("== 'O1'", "== 'O2'")) == [25, 27]
    assert _waits(text.replace("== 'O1'", "== 'O2'").replace("    else:\n        c = x.item()\n", "")) == [25]


def test_a_place_that_does_not_run_by_default_is_seen_where_it_is_wanted() -> None:
    start = BY_OPTION.index("scaler.step(optimizer)")
    wanted = modelled(_trace(BY_OPTION), Span("train.py", start, start + 10))
    assert [wanted.events[key].event.row for key in sorted(wanted.waits)] == [15, 21]


@pytest.mark.parametrize(
    ("key", "row", "waits"),
    [
        ("amp", "", False),
        ("amp", "amp: True", True),
        ("amp", "amp: False", False),
        ("cal_metric", "", True),  # what files say of it is not known
    ],
)
def test_a_fallback_that_a_configuration_file_may_replace(tmp_path: Path, key: str, row: str, waits: bool) -> None:
    text = BY_OPTION.replace("if args.amp", f"if config.get('{key}', False)")
    (tmp_path / "config.yml").write_text(f"{row}\nepochs: 9\n")
    path = str(tmp_path / "train.py")
    settings = Settings(inputs=read_inputs([path], tmp_path))
    (trace,) = traces(opened({path: Source(path, text)}, settings))
    step = modelled(trace)
    assert [step.events[key].event.row for key in sorted(step.waits)] == ([15, 21] if waits else [21])


def _rows_to_edit(found: StepVerdict) -> set[int]:
    """The rows of the waits that a plan removes."""
    return {row for edit in found.plan if edit.kind == "waits" for _, row in edit.rows}


def test_a_wait_for_a_value_that_the_host_needs_stays() -> None:
    found = verdict(_trace(in_step("z = paddle.zeros([int(y.max()), 4])\nloss.backward()\nkept = loss.item()")))
    assert _rows_to_edit(found) == {14}
    assert found.needed == (("train.py", 12),)
    assert "  Stays: 1 wait for a value that the host needs, at train.py:12" in [*verdict_lines(found, {})]
    assert verdict_json(found, {})["needed"] == [{"path": "train.py", "row": 12}]


def test_every_wait_that_pays_off_together_with_others_is_in_the_plan() -> None:
    text = in_step("loss.backward()\na = loss.item()\nb = loss.item()")
    shown = {text[: finding.start].count("\n") + 1 for finding in check(text, "PPF201")}
    assert shown <= _rows_to_edit(verdict(_trace(text))) == {13, 14}


@pytest.mark.parametrize(
    ("compute", "goes"),
    [
        ("paths = search(costs)", True),
        ("paths = np.zeros([4, 4])\nfind(paths, costs)", True),
        ("paths = costs\npaths = search(paths)", True),
        ("paths = search(costs.shape)", False),
        ("paths = search(args.paths)", False),
    ],
)
def test_what_the_host_computes_from_a_read_goes_back_with_it(compute: str, goes: bool) -> None:
    body = f"loss.backward()\ncosts = x.numpy()\n{compute}\nkept = paddle.to_tensor(paths)"
    text = in_step(body).replace(
        "import paddle\n", "import numpy as np\nimport paddle\nfrom paths import find, search\n", 1
    )
    found = verdict(_trace(text))
    copy = ("train.py", text[: text.index("kept = ")].count("\n") + 1)
    assert (copy in found.carried) is goes
    assert (copy[1] in _rows_to_edit(found)) is not goes
    assert any("Goes with reads" in line for line in verdict_lines(found, {})) is goes


@pytest.mark.parametrize(("value", "waits"), [("False", False), ("True", True)])
def test_a_scaler_waits_for_nothing_where_amp_is_left_off(tmp_path: Path, value: str, waits: bool) -> None:
    text = BY_OPTION.replace("    if args.amp:\n", "    if True:\n")
    text = text.replace("auto_cast()", "auto_cast(enable=config.use_amp)")
    (tmp_path / "config.yml").write_text(f"use_amp: {value}\n")
    path = str(tmp_path / "train.py")
    (trace,) = traces(opened({path: Source(path, text)}, Settings(inputs=read_inputs([path], tmp_path))))
    step = modelled(trace)
    assert [step.events[key].event.row for key in sorted(step.waits)] == ([15, 21] if waits else [21])


def _said(text: str, *codes: str) -> list[str]:
    """The verdict about the step of a program, with what its findings advise."""
    trace = _trace(text)
    found = [(each, (each.path, text.count("\n", 0, each.start) + 1)) for each in check(text, *codes)]
    return list(verdict_lines(with_advice(verdict(trace), found, {}), {}))


EVALUATED = """\
import paddle
import paddle.nn.functional as F


@paddle.no_grad()
def evaluate(model, dev_loader):
    for x, y in dev_loader:
        model(x)


def train(loader, dev_loader, model, optimizer):
    with paddle.amp.auto_cast():
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if step % {every} == 0:
                evaluate(model, dev_loader)
"""


def test_an_evaluation_that_runs_often_comes_first() -> None:
    sentence, row, *_ = _said(EVALUATED.format(every=100), "PPF603")
    assert sentence == "Verdict: an evaluation that training waits for every 100 steps may cost most."
    assert row.startswith("  1. evaluate less often, or with larger batches, at train.py:19: about 23% of the time if ")
    rare = _said(EVALUATED.format(every=5000), "PPF603")
    assert rare[0] == "Verdict: nothing here is worth your time, as far as the source shows."


def test_how_long_an_evaluation_takes_only_a_run_shows() -> None:
    edit = StepEdit("evaluations", (("train.py", 19),), 0.2, 0.8, 30.0, title="evaluate less often")
    assert unseen([StepVerdict((edit,), (), (), 0, (), ())]).startswith("How long an evaluation takes, what a sample ")


READ_BETWEEN_STEPS = """\
import cv2
import paddle
import paddle.nn.functional as F


def images(paths):
    for path in paths:
        yield cv2.imread(path)


def train(model, paths, optimizer):
    for image in images(paths):
        with paddle.amp.auto_cast():
            loss = model(paddle.to_tensor(image))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(float(loss))
"""


def test_calls_that_could_not_be_followed_are_named() -> None:
    assert "  Not known: what 1 call that could not be followed may wait for, at train.py:14" in _said(
        READ_BETWEEN_STEPS
    )


def test_batches_that_a_generator_reads_come_first_in_the_plan() -> None:
    sentence, first, second, *_ = _said(READ_BETWEEN_STEPS, "PPF101")
    assert sentence == "Verdict: likely bound by loading: the process that trains reads each batch between the steps."
    assert first == "  1. load in worker processes, at train.py:12"
    assert second.startswith("  2. then remove the waits at train.py:14, 18: ")
    assert _said(READ_BETWEEN_STEPS, "PPF201")[1].startswith("  1. remove the waits at train.py:14, 18: ")


def test_what_the_plan_says_by_itself_is_not_advised_again() -> None:
    text = LOADED.format(workers="")
    assert not [line for line in _said(text, "PPF101", "PPF201", "PPF202", "PPF301") if "worth an edit" in line]
    kinds = [edit.kind for edit in with_advice(verdict(_trace(text)), [], {}).plan]
    assert kinds == ["loading", "waits", "kernels"]


DECODED = """

class Decoder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = paddle.nn.GRUCell(64, 64)

    def forward(self, x):
        states = paddle.zeros([x.shape[0], x.shape[1], 64])
        state = paddle.zeros([x.shape[0], 64])
        for step in range(x.shape[1]):
            state, _ = self.cell(x[:, step], state)
            states[:, step] = state
        return states


train(photos, Decoder(), optimizer)
"""


def test_other_advice_stands_between_what_is_large_and_mixed_precision() -> None:
    sentence, *rows = _said(LOADED.format(workers="") + DECODED, "PPF912")
    assert "; also worth an edit: a copy of the whole gradient, for each part that a loop writes" in sentence
    assert [row.split(":")[0] for row in rows if "collect the parts in a list" in row] == [
        "  3. then collect the parts in a list, and `paddle.stack` or `paddle.concat` them after the loop, at train.py"
    ]


def test_a_loader_that_costs_little_does_not_bound_a_step() -> None:
    little = StepEdit("loading", (("data.py", 1),), 0.01, 0.02, 20.0)
    (first, *_) = verdict_lines(StepVerdict((little,), (), (), 0, (), ()), {})
    assert first == (
        "Verdict: a thread of the training process loads the batches, at a cost of at most 2% of the step."
    )


def test_what_brings_little_comes_behind_mixed_precision() -> None:
    text = LOADED.format(workers=", num_workers=4").replace("print(loss.item())", "pass")
    text = text.replace("        loss =", "        seen = bool(x.sum() > 0)\n        loss =")
    found = verdict(_trace(text))
    assert [edit.kind for edit in found.plan] == ["kernels", "waits"]
    assert not found.plan[1].is_large


def test_waits_in_loops_of_unknown_length_have_no_upper_bound() -> None:
    known, unknown = (
        _said(in_step(f"loss.backward()\nfor part in {over}:\n    kept.append(part.item())\nkept.append(loss.item())"))
        for over in ("[x, y, x]", "x")
    )
    assert "at most" in known[1] and "passes" not in known[1]
    assert "remove the waits in loops at train.py:14, and those at train.py:15: at most " in unknown[1]
    assert unknown[1].endswith(" with 8 passes of each loop, and more with more")


def test_json_says_which_waits_are_in_such_loops() -> None:
    found = verdict(
        _trace(in_step("loss.backward()\nfor part in x:\n    kept.append(part.item())\nkept.append(loss.item())"))
    )
    (edit, *_) = verdict_json(found, {})["plan"]
    assert edit["in_loops"] == [{"path": "train.py", "row": 14}]


def test_a_step_of_very_many_operations_is_bound_by_them() -> None:
    loop = (
        "for turn in range({times}):\n" + "".join(f"    x = F.relu(x + {n})\n" for n in range(30)) + "loss.backward()"
    )
    many, few = (_said(in_step(loop.format(times=times)))[0] for times in (90, 3))
    assert "likely bound by its operations, at least 2,700, most of them in the loop at train.py:12" in many
    assert "operations" not in few


@pytest.mark.parametrize(("name", "rows"), [("InferModel", [8]), ("OtherModel", [14])])
def test_a_class_that_only_predicts_does_not_count_beside_one_that_trains(name: str, rows: list[int]) -> None:
    text = f"""\
import paddle
from paddle import nn


class Model(nn.Layer):
    def forward(self, x):
        x = x + 1
        return x * float(x.max())


class {name}(nn.Layer):
    def forward(self, x):
        low = x.min()
        return x * float(low) * float(x.max()) * float(x.mean())


def train(loader, optimizer, quick):
    model = {name}() if quick else Model()
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
"""
    assert sorted(set(_waits(text))) == rows


@pytest.mark.parametrize(
    ("test", "rows"), [("x[0] in [1, 2]", [13]), ("x[0] not in (1, 2)", [13]), ("3 in args.all", []), ("x != None", [])]
)
def test_a_tensor_that_is_looked_up_in_a_list_is_read(test: str, rows: list[int]) -> None:
    assert _waits(in_step(f"loss.backward()\nif {test}:\n    pass")) == rows


OPTION = """\
import argparse

import paddle.nn.functional as F
from paddle.io import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--num_workers", type=int, default=0)
args = parser.parse_args()
for x, y in DataLoader(data, batch_size=8, shuffle=True, num_workers=args.num_workers):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("line", "is_bound"),
    [
        ("python train.py --num_workers 6", False),
        ("python train.py --num_workers 0", True),
        ("python train.py --epochs 6", True),
        ("python other.py --num_workers 6", True),
    ],
)
def test_workers_that_a_script_passes_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, is_bound: bool
) -> None:
    (tmp_path / "train.py").write_text(OPTION, encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"{line}\n", encoding="utf-8")
    main(["check", "--no-cache", "--isolated", "--select", "PPF101", "--output-format", "json", str(tmp_path)])
    assert bool(json.loads(capsys.readouterr().out)) is is_bound
    main(["step", "--isolated", str(tmp_path)])
    assert ("likely bound by loading" in capsys.readouterr().out) is is_bound


@pytest.mark.parametrize(("line", "waits"), [("python train.py", 0), ("python train.py --use_amp", 1)])
def test_amp_that_a_script_turns_on_is_part_of_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, waits: int
) -> None:
    text = """\
import argparse

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--use_amp", action="store_true")
args = parser.parse_args()
scaler = paddle.amp.GradScaler()
for x, y in loader:
    with paddle.amp.auto_cast(enable=args.use_amp):
        loss = model(x).mean()
    if args.use_amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
    else:
        loss.backward()
        optimizer.step()
"""
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"{line}\n", encoding="utf-8")
    main(["step", "--isolated", str(tmp_path)])
    said = capsys.readouterr().out
    assert said.count("Stays: 1 wait inside Paddle (GradScaler.step)") == waits
    assert said.count("Assumes: `args.use_amp`") == 1 - waits
