"""``perflint step``: what a training step does, in order, through the calls that it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.flow.branches import Often
from perflint.flow.resolving import opened
from perflint.inputs.input_files import read_inputs
from perflint.output.step_text import as_json, text
from perflint.run import engine
from perflint.trace.events import EventKind
from perflint.trace.loading import loadings
from perflint.trace.step_trace import StepTrace, most_at_each_step, occurrences, traces, unknown_calls
from tests.support import sources

ROOT = Path(__file__).parents[1]
NET = """\
import paddle


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Linear(4, 4)

    def forward(self, x):
        x = self.body(x)
        if (x > 0).any():
            x = x * 2
        return x
"""
TRAIN = """\
import paddle
import paddle.nn.functional as F

from net import Net


def record(loss, losses):
    losses.append(loss.item())


def train(loader, optimizer, writer):
    net, losses = Net(), []
    for step, (x, y) in enumerate(loader):
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        record(loss, losses)
        for value in [loss, out]:
            print(float(value.mean()))
        if step % 100 == 0:
            writer.add_scalar("loss", loss, step)
"""


def trace(files: Mapping[str, str] | str) -> StepTrace:
    """The one step of a program."""
    (found,) = traces(opened(sources(files)))
    return found


def events(files: Mapping[str, str] | str) -> list[tuple[str, int, str]]:
    """The events of its step: file, row and kind, in order."""
    return [(each.event.point.file.path, each.event.row, each.event.kind.value) for each in occurrences(trace(files))]


def in_loop(body: str, before: str = "") -> str:
    """A program whose step does this after its backward pass."""
    inside = "".join(f"        {line}\n" for line in dedent(body).splitlines())
    return f"""\
import paddle
{before}

def train(model, loader, optimizer, args):
    for step, (x, y) in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{inside}"""


def test_the_events_of_a_step_in_the_order_in_which_they_happen() -> None:
    assert events({"train.py": TRAIN, "net.py": NET}) == [
        ("net.py", 11, "decision"),
        ("train.py", 16, "backward"),
        ("train.py", 17, "optimizer"),
        ("train.py", 8, "read"),
        ("train.py", 21, "read"),
        ("train.py", 21, "log"),
        ("train.py", 23, "read"),
        ("train.py", 23, "log"),
    ]


def test_how_often_and_through_what() -> None:
    found = occurrences(trace({"train.py": TRAIN, "net.py": NET}))
    assert [each.event.row for each in found if not each.is_at_each_step] == [23, 23]
    assert [len(each.calls) for each in found] == [1, 0, 0, 1, 0, 0, 0, 0]
    assert [len(each.repeats) for each in found] == [0, 0, 0, 0, 1, 1, 0, 0]


def test_the_most_that_a_step_has() -> None:
    step = trace({"train.py": TRAIN, "net.py": NET})
    assert most_at_each_step(step.nodes, lambda event: event.kind.waits) == 3
    assert most_at_each_step(step.nodes, lambda event: event.kind is EventKind.LOG) == 1


def test_of_alternatives_the_longer_one_counts() -> None:
    step = trace(in_loop("if args.fast:\n    loss.item()\nelse:\n    loss.item()\n    x.max().item()\n"))
    assert most_at_each_step(step.nodes, lambda event: event.kind.waits) == 2


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("args.seen = loss.numpy()", ["read"]),
        ("args.seen = x[x > 0]", ["size"]),
        ("args.seen = paddle.nonzero(x > 0)", ["size"]),
        ("while (loss > 1).all():\n    loss = loss / 2", ["decision"]),
        ("args.seen = 1 if loss > 3 else 2", ["decision"]),
        ("args.seen = paddle.to_tensor([1.0])", ["copy"]),
        ("paddle.device.cuda.synchronize()", ["synchronize"]),
        ("paddle.distributed.all_reduce(loss)", ["collective"]),
        ("paddle.save(model.state_dict(), 'last.pdparams')", ["save"]),
        ("args.scaler.step(optimizer)", ["inside", "optimizer"]),
        ("metric = paddle.metric.Accuracy()\nmetric.update(loss)", ["inside"]),
        ("args.scaler.update()", []),
        ("metric = paddle.metric.Accuracy()\nmetric.update(metric.compute(x, y))", ["inside"]),
        ("metric = paddle.metric.Accuracy()\nmetric.update(loss.numpy())", ["read"]),
        ("plateau = paddle.optimizer.lr.ReduceOnPlateau(0.1)\nplateau.step(loss)", ["inside"]),
        ("plateau = paddle.optimizer.lr.ReduceOnPlateau(0.1)\nplateau.step(0.5)", []),
        ("criterion = paddle.nn.GaussianNLLLoss()\nargs.seen = criterion(x, y, x)", ["inside"]),
        ("args.seen = paddle.nn.functional.sequence_mask(x)", ["size"]),
        ("args.seen = paddle.nn.functional.sequence_mask(x, 9)", []),
        ("args.seen = paddle.nn.functional.sequence_mask(x, maxlen=None)", ["size"]),
        ("paddle.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", []),
        ("paddle.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)", ["inside"]),
        ("paddle.nn.utils.clip_grad_norm_(model.parameters(), 1.0, 2.0, False)", []),
        ("args.seen = x.put_along_axis(y, x, 0, broadcast=False)", ["inside"]),
        ("args.seen = x.put_along_axis(y, x, 0)", []),
        ("args.seen = paddle.lcm(x, y)", ["inside"]),
        ("args.seen = x.lcm(y)", ["inside"]),
        ("paddle.summary(model, (1, 4))", ["log"]),
        ("paddle.distributed.all_gather_object(args.all, args.one)", ["inside"]),
        ("paddle.distributed.stream.all_reduce(loss)", ["collective"]),
        ("args.seen = paddle.to_tensor(x)", ["device copy"]),
        ("args.seen = paddle.to_tensor([x, y])", ["inside"]),
        ("args.seen.set_value(x)", []),
        ("args.seen = paddle.concat([x, y], axis=paddle.argmax(x))", ["inside"]),
        ("args.seen = paddle.concat([x, y], axis=1)", []),
        ("args.seen = paddle.distribution.StudentT(x, y, x)", ["inside"]),
        ("print(loss)", ["read", "log"]),
        ("args.seen = f'{loss:.3f}'", ["read"]),
        ("args.seen = 'loss %f' % loss", ["read"]),
        ("args.seen = '{}'.format(loss)", ["read"]),
        ("args.bar.set_postfix(loss=loss)", ["read", "log"]),
        ("print(loss.shape, args.name)", ["log"]),
        ("if step == 1:\n    pass\nelif loss > 1:\n    pass", ["decision"]),
        ("if loss == 'focal':\n    pass", []),
        ("args.lr_sch[0].step()", []),
        ("args.seen = loss.shape[0] + x.ndim", []),
        ("args.seen = loss.detach()", []),
        ("args.names = sorted(args.names)", []),
    ],
)
def test_what_counts_as_an_event(body: str, kinds: list[str]) -> None:
    assert [kind for _, row, kind in events(in_loop(body)) if row > 8] == kinds


def test_why_a_call_of_paddle_waits() -> None:
    said = text(trace(in_loop("args.scaler.step(optimizer)\nargs.seen = paddle.lcm(x, y)\n")), {})
    assert "GradScaler.step tests whether gradients overflowed, before the weights are updated: waits for" in said
    assert "lcm tests in each pass of a loop whether it is done: waits for the device" in said


@pytest.mark.parametrize(("wanted", "waits"), [("paddlepaddle>=2.4", True), ("paddlepaddle>=3.0", False), ("", False)])
def test_what_only_an_older_paddle_reads(wanted: str, waits: bool, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(in_loop(""), encoding="utf-8")
    (tmp_path / "requirements.txt").write_text(f"{wanted}\n", encoding="utf-8")
    files = sources({str(program): in_loop("")})
    (found,) = traces(opened(files, Settings(inputs=read_inputs(files, tmp_path))))
    inside = [each for each in occurrences(found) if each.event.kind is EventKind.INSIDE]
    assert [each.event.words.partition(": ")[0] for each in inside] == waits * [
        "cross_entropy counts ignored labels (Paddle before 3.0)"
    ]
    assert not any(each.is_at_each_step for each in inside)


def test_what_cannot_be_followed_is_said() -> None:
    step = trace(in_loop("args.tracker(loss)\nlen(args.names)\nloss.mean()\n"))
    unknown = [(each.node.lineno, each.why) for each in unknown_calls(step.nodes)]
    assert unknown == [(6, "what `model` runs is not known"), (10, "what `args.tracker` runs is not known")]


def test_a_loop_inside_a_step_is_no_step_of_its_own() -> None:
    step = trace(in_loop("for each in args.optimizers:\n    each.step()"))
    assert (step.row, [len(each.repeats) for each in occurrences(step)]) == (5, [0, 0, 1])


def test_an_attribute_of_what_may_be_a_loss_decides_by_no_tensor() -> None:
    helper = "\n\ndef add(loss_of, x):\n    if loss_of.is_edge:\n        return loss_of(x)\n"
    assert events(in_loop("add(args.losses[0], x)", before=helper))[2:] == []


def test_an_object_that_each_step_creates() -> None:
    made = "\n\nclass Norm:\n    def __init__(self, loss):\n        self.norm = loss.numpy()\n"
    assert [kind for _, _, kind in events(in_loop("args.seen = Norm(loss)", before=made))][2:] == ["read"]


def test_a_step_that_no_loop_leads_to() -> None:
    agent = """\
        import paddle


        class Agent:
            def learn(self, obs, reward):
                loss = (self.model(paddle.to_tensor(obs)) - reward).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                return float(loss)
        """
    step = trace(dedent(agent))
    assert [each.event.kind.value for each in occurrences(step)] == ["copy", "backward", "optimizer", "read"]
    assert " 5  def learn(self, obs, reward)  -- each call is a step" in text(step, {}).splitlines()


def test_a_function_that_two_calls_reach_is_written_out_once() -> None:
    helper = "\n\ndef read(x):\n    return x.numpy()\n"
    step = trace(in_loop("read(loss)\nread(loss)", before=helper))
    first, second = (node["runs"][0] for node in as_json(step, {})["nodes"] if node["type"] == "call")
    assert (first["as_above"], len(first["nodes"])) == (False, 1)
    assert second == {"function": "read", "path": "train.py", "row": 4, "as_above": True}
    assert most_at_each_step(step.nodes, lambda event: event.kind.waits) == 2


def test_functions_that_call_each_other_end() -> None:
    helpers = (
        "\n\ndef ping(loss, n):\n    loss.item()\n    pong(loss, n)\n\n\ndef pong(loss, n):\n    ping(loss, n - 1)\n"
    )
    found = events(in_loop("ping(loss, 3)", before=helpers))
    assert [kind for _, _, kind in found if kind == "read"] != []


def test_what_an_evaluation_does_is_no_part_of_the_step() -> None:
    evaluation = "\n\ndef evaluate(model, loader):\n    for x, _ in loader:\n        model(x).numpy()\n"
    found = events(in_loop("if step % 100 == 0:\n    evaluate(model, loader)", before=evaluation))
    assert [kind for _, _, kind in found[2:]] == ["evaluation"]


def test_the_text() -> None:
    said = text(trace({"train.py": TRAIN, "net.py": NET}), {})
    assert said == dedent(
        """\
        train.py, train
        Verdict: likely held up by waits, at 3 places of each step.
          1. remove the waits at net.py:11 and train.py:8, 21: at most 21% of the step
        13  for step, (x, y) in enumerate(loader)  -- each iteration is a step
        14    net(x)  -- Net.forward of net.py
        11      (x > 0).any()  -- decides by a tensor: waits for the device
        16    loss.backward()  -- backward pass
        17    optimizer.step()  -- optimizer step
        19    record(loss, losses)  -- record
         8      loss.item()  -- reads a tensor: waits for the device
        20    for each of [loss, out]  -- 2 times
        21      float(value.mean())  -- reads a tensor: waits for the device
        21      print(float(value.mean()))  -- logs
        22    if step % 100 == 0
        23      loss  -- shows a tensor: waits for the device, every n steps
        23      writer.add_scalar('loss', loss, step)  -- logs, every n steps
        At most, at each step: 3 waits for the device, 1 log line.
        In loops inside the step, again in each pass: 1 of the waits.
        """
    )


LOADERS = """\
import paddle
from paddle.io import DataLoader


def build(data, workers={default}):
    return DataLoader(data, shuffle=True, num_workers=workers)


def train(model, optimizer, data, args):
    loader = build(data{given})
    for x, y in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("default", "given", "workers"),
    [
        (0, "", (0,)),
        (4, "", (4,)),
        (0, ", 2", (2,)),
        (0, ", args.workers", (None,)),
    ],
)
def test_the_loader_of_a_step_and_its_workers(default: int, given: str, workers: tuple[int | None, ...]) -> None:
    step = trace(LOADERS.format(default=default, given=given))
    (found,) = loadings(step.place, step.loop)
    assert (found.row, found.workers, found.is_in_process) == (6, workers, workers == (0,))


def test_the_number_of_workers_by_its_position() -> None:
    given = "DataLoader(data, None, None, True, None, 8, True, False, None, 2)"
    step = trace(
        LOADERS.format(default=0, given="").replace("DataLoader(data, shuffle=True, num_workers=workers)", given)
    )
    assert [each.workers for each in loadings(step.place, step.loop)] == [(2,)]


def test_a_step_that_draws_from_a_list_has_no_loader() -> None:
    step = trace(LOADERS.format(default=0, given="").replace("enumerate(loader)", "zip([1, 2], args.names)"))
    assert loadings(step.place, step.loop) == []


def test_json_says_the_same() -> None:
    found = json.loads(json.dumps(as_json(trace({"train.py": TRAIN, "net.py": NET}), {"net.py": "models/net.py"})))
    assert found["row"] == 13
    assert found["most_at_each_step"]["waits for the device"] == 3
    assert [each["type"] for each in found["nodes"]] == ["call", "event", "event", "call", "loop", "choice"]
    (inside,) = found["nodes"][0]["runs"][0]["nodes"]
    assert (inside["path"], inside["row"], inside["kind"], inside["waits"]) == ("models/net.py", 11, "decision", True)


def test_the_page_shows_what_the_command_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["step", "--isolated", "examples/segmentation.py"]) == 0
    page = (ROOT / "docs" / "step.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out in page


def test_a_project_without_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["step", "--isolated"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err[:26]) == ("", "No training step was found")


def test_steps_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    assert main(["step", "--isolated", "--output-format", "json", "train.py"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    (step,) = program["steps"]
    assert (step["path"], step["row"], step["most_at_each_step"]["waits for the device"]) == ("train.py", 13, 3)
    assert step["verdict"]["sentence"].startswith("likely held up by waits, at 3 places of each step")
    assert [edit["kind"] for edit in step["verdict"]["plan"]][:1] == ["waits"]


def test_a_size_that_never_left_the_host_is_no_wait() -> None:
    resize = "paddle.nn.functional.interpolate"
    known = f"{resize}(x, size=paddle.shape(y)[2:])"
    unknown = f"{resize}(x, size=y.max())"
    assert not [each for each in occurrences(trace(in_loop(f"x = {known}"))) if each.event.kind.waits]
    assert [each for each in occurrences(trace(in_loop(f"x = {unknown}"))) if each.event.kind.waits]


MODELS = """\
import paddle
from paddlenlp.transformers import PretrainedModel, register_base_model


class Pretrained(PretrainedModel):
    base_model_prefix = "bert"


class Layer(paddle.nn.Layer):
    def forward(self, x):
        return x * x.max().item()


@register_base_model
class Bert(Pretrained):
    def __init__(self, width):
        super().__init__()
        self.layers = paddle.nn.LayerList([Layer() for _ in range(width)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Classifier(Pretrained):
    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, x):
        return self.bert(x)
"""
LOADED = """\
import paddle

from models import Classifier


def train(loader, optimizer):
    model = Classifier.from_pretrained("base")
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
"""


def test_a_pretrained_model_is_followed_into_the_layers_of_its_base() -> None:
    files = {"train.py": LOADED, "models.py": MODELS}
    assert ("models.py", 11, "read") in events(files)
    (met,) = (each for each in occurrences(trace(files)) if each.event.kind is EventKind.READ)
    assert [call.place.file.path for call in met.calls] == ["train.py", "models.py", "models.py"]
    assert [repeat.times for repeat in met.repeats] == ["self.layers"]


def test_another_base_is_not_that_of_the_model() -> None:
    files = {"train.py": LOADED, "models.py": MODELS.replace('prefix = "bert"', 'prefix = "other"')}
    assert "read" not in [kind for _, _, kind in events(files)]


TRAINER = """\
class Trainer:
    def __init__(self, made, optimizer):
        self.made = made
        self.optimizer = optimizer

    def train(self, loader):
        for x in loader:
            told = self.made(self.reader.fields[x], phase="train")
            loss = told["loss"]
            {backward}
            self.optimizer.step()
"""


@pytest.mark.parametrize("backward", ["loss.backward()", "self.scaler.scale(loss).backward()"])
def test_what_a_loss_comes_from_is_not_known_whatever_its_name(backward: str) -> None:
    step = trace("import paddle\n" + TRAINER.format(backward=backward))
    assert [node.why for node in unknown_calls(step.nodes)] == ["what `self.made` runs is not known"]


def test_a_method_of_another_program_is_not_what_a_name_means() -> None:
    meter = "class Meter:\n    def read_told(self, x):\n        return float(x.mean())\n"
    main = in_loop("args.meter.read_told(loss)") + "\n\nif __name__ == '__main__':\n    train(*given)\n"
    other = "from b.meters import Meter\n" + main.replace("args.meter.read_told(loss)", "args.meter = Meter()")
    for importing, paths in (("", {"a/train.py"}), ("from b.meters import Meter\n", {"a/train.py", "b/meters.py"})):
        files = {"a/train.py": importing + main, "b/train.py": other, "b/meters.py": meter, "b/__init__.py": ""}
        (step,) = (each for each in traces(opened(sources(files))) if each.place.file.path == "a/train.py")
        assert {each.event.point.file.path for each in occurrences(step)} == paths


@pytest.mark.parametrize(("steps", "often"), [("1", Often.EACH_STEP), ("20", Often.EVERY_N)])
def test_an_interval_of_the_settings_holds_beside_a_flag(steps: str, often: Often) -> None:
    settings = f"class Settings:\n    def __init__(self):\n        self.average = True\n        self.every = {steps}\n"
    body = "cfg = Settings()\nif cfg.average and step % cfg.every == 0:\n    loss.item()\n"
    (met,) = (each for each in occurrences(trace(in_loop(body, settings))) if each.event.kind is EventKind.READ)
    assert met.every.often is often


@pytest.mark.parametrize(
    ("call", "is_part"),
    [
        ("evaluate_error(loss * 2, loss.detach())", True),
        ("evaluate_error(gt=loss * 2, pred=loss.detach())", True),
        ("evaluate_error(gt=model, pred=loader)", False),
    ],
)
def test_metrics_of_the_results_of_a_step_are_part_of_it(call: str, is_part: bool) -> None:
    helper = "\n\ndef evaluate_error(gt, pred):\n    return float(paddle.mean(gt - pred))\n"
    kinds = [each.event.kind for each in occurrences(trace(in_loop(call, helper)))]
    assert (EventKind.READ in kinds) is is_part


def test_a_model_that_is_passed_in_is_not_known() -> None:
    step = trace(in_loop("pass"))
    assert [node.why for node in unknown_calls(step.nodes)] == ["what `model` runs is not known"]


def test_a_conditional_expression_that_seldom_reads() -> None:
    found = occurrences(trace(in_loop("y = loss.item() if step % 100 == 0 else 0")))
    (met,) = (each for each in found if each.event.kind.waits)
    assert not met.is_at_each_step


def test_what_a_generator_does_for_each_batch_is_part_of_the_step() -> None:
    drawn = """\
import paddle


def batches(reader):
    total = paddle.zeros([1])
    for x in reader:
        total.item()
        yield x
    total.numpy()


def train(model, reader, optimizer):
    for x in batches(reader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
"""
    assert events(drawn) == [("train.py", 7, "read"), ("train.py", 15, "backward"), ("train.py", 16, "optimizer")]


def test_an_optimizer_of_the_project_is_followed() -> None:
    own = """\
import paddle


class Clipped(paddle.optimizer.SGD):
    def step(self):
        print(self.norm().item())
        super().step()

    def norm(self):
        return paddle.ones([1])


def train(model, loader):
    optimizer = Clipped(parameters=model.parameters())
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
"""
    kinds = [kind for _, _, kind in events(own)]
    assert kinds == ["backward", "read", "log", "optimizer"]


def test_only_what_makes_an_object_is_left_out_of_the_rules() -> None:
    made = "class Made:\n    def __init__(self, x):\n        x.item()\n"
    text = in_loop("init(loss)\nMade(loss)", f"\n\ndef init(loss):\n    loss.item()\n\n\n{made}")
    found = engine.check(sources(text), Settings(join_lines=False, select=("PPF201",)))
    assert [text[each.start : each.end] for each in found] == ["loss.item()"]
