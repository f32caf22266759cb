"""PPF301: which programs train in float32, what leaves their AMP off, and what has to be mended before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perflint.cli import main
from perflint.flow.resolving import opened
from perflint.inputs.input_files import AMP_OPTIONS, AmpSetting
from perflint.output.verdict_text import verdict_lines
from perflint.trace.step_trace import traces
from perflint.trace.verdict import verdict
from tests.support import check, sources

HEAD = """\
import argparse
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader
from paddle.vision.models import resnet50

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--do_train", action="store_true")
"""
TRAIN = """\
net = resnet50()
opt = paddle.optimizer.Momentum(parameters=net.parameters())
for x, y in loader:
    {around}
        loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
PLAIN = TRAIN.format(around="if True:")
AS_ASKED = TRAIN.format(around="with paddle.amp.auto_cast(enable=args.amp):")
OPTIONS = HEAD + "args = parser.parse_args()\n"


def said(files: Mapping[str, str] | str) -> list[str]:
    """The messages of PPF301."""
    return [finding.message for finding in check(files, "PPF301")]


def reported(folder: Path, files: Mapping[str, str], output: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The findings of PPF301 in files on disk, with those of other kinds next to them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    main(["check", "--select", "PPF301", "--no-cache", "--output-format", "json", str(folder)])
    found: list[dict[str, Any]] = json.loads(output.readouterr().out)
    return found


def test_an_option_that_is_off_by_default_is_named_and_not_edited() -> None:
    (finding,) = check(OPTIONS + AS_ASKED, "PPF301")
    assert "off by default: `--amp` (line 8)" in finding.message
    assert finding.fix is not None and not finding.fix.edits


def test_by_default_the_rule_is_on() -> None:
    from perflint.catalogue import shipped

    assert shipped()["PPF301"].default


@pytest.mark.parametrize(
    "comment", ["# with paddle.amp.auto_cast():", "'''autocast and GradScaler were not needed'''", "# use_amp, fp16"]
)
def test_words_in_comments_turn_nothing_on(comment: str) -> None:
    (message,) = said(OPTIONS + f"{comment}\n" + PLAIN)
    assert "This step trains `net` in float32" in message


@pytest.mark.parametrize(
    "around",
    [
        "with paddle.amp.auto_cast():",
        "with paddle.amp.auto_cast(enable=not args.amp):",
        "with paddle.amp.auto_cast(enable=unknown()):",
        "with paddle.amp.auto_cast(enable=False):",  # somebody wanted it so
    ],
)
def test_what_is_on_or_not_known_or_decided_is_left_alone(around: str) -> None:
    assert said(OPTIONS + TRAIN.format(around=around)) == []


def test_an_inner_part_without_amp_is_no_switch() -> None:
    text = AS_ASKED.replace(
        "        loss = F.cross_entropy(net(x), y)\n",
        "        out = net(x)\n        with paddle.amp.auto_cast(enable=False):\n"
        "            loss = F.cross_entropy(out, y)\n",
    )
    (message,) = said(OPTIONS + text)
    assert "`--amp` (line 8)" in message


def test_a_test_that_turns_on_all_of_training_is_no_switch() -> None:
    """`enable=unknown()` may be on, and `--do_train` says nothing of AMP."""
    body = TRAIN.format(around="with paddle.amp.auto_cast(enable=unknown()):")
    inside = "".join(f"    {line}\n" for line in body.splitlines())
    assert said(OPTIONS + "if args.do_train:\n" + inside) == []


CONFIGURED = TRAIN.format(around="with paddle.amp.auto_cast(enable=cfg.train.amp):")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"conf/a.yml": "train:\n  amp: False\n"}, "`amp: False` (conf/a.yml:2)"),
        ({"conf/a.json": '{\n  "amp": false\n}\n'}, "`amp: false` (conf/a.json:2)"),
        ({"conf/a.yml": "train: {lr: 0.1, amp: no}\n"}, "`amp: no` (conf/a.yml:1)"),
        ({"conf/a.yml": "amp: False\n", "conf/b.yml": "amp: true\n"}, ""),
        ({"conf/a.yml": "amp: False\n", "run.sh": "python train.py --amp\n"}, ""),
        ({"conf/a.yml": "amp: False\n", "README.md": "python train.py --amp\n"}, ""),
        ({"conf/a.yml": "amp: False\n", "README.md": "There is also --amp.\n"}, "`amp: False` (conf/a.yml:1)"),
        ({"conf/a.yml": "clamp: False\n"}, ""),
        ({}, ""),
    ],
)
def test_a_configuration(
    files: Mapping[str, str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import yaml\n" + HEAD.replace('parser.add_argument("--amp", action="store_true")\n', "")
    files = {**files, "setup.cfg": "", "train.py": f"{text}cfg = read(yaml)\n{CONFIGURED}"}
    found = reported(tmp_path, files, capsys)
    assert len(found) == bool(words)
    assert all(words in each["message"] for each in found)


def test_a_program_that_asks_for_a_configuration_has_no_default() -> None:
    ask = 'parser.add_argument("--config", type=str)\nargs = parser.parse_args()\n'
    assert said(HEAD + ask + AS_ASKED) == []
    (message,) = said(HEAD + ask.replace("type=str", 'default="a.yml"') + AS_ASKED)
    assert "`--amp`" in message


def test_an_option_that_nothing_reads_is_no_switch() -> None:
    """`cfg.get("amp", False)` has the name of an option that is never put into `cfg`."""
    text = TRAIN.format(around='with paddle.amp.auto_cast(enable=cfg.get("amp", False)):')
    read = "args = parser.parse_args()\ncfg = read(args.path)\n"
    assert said(HEAD + read + text) == []
    (message,) = said(HEAD + read + "cfg.update(vars(args))\n" + text)
    assert "`--amp` (line 8)" in message


def test_a_default_counts_if_something_calls_the_function() -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.format(around="with paddle.amp.auto_cast(amp):").splitlines())
    text = OPTIONS + "def train(loader, amp=False):\n" + body
    assert said(text) == []
    (message,) = said(text + "train(DataLoader(data, num_workers=2))\n")
    assert "`amp=False` (line 11)" in message


SAMPLING = """\
import paddle
import net


def main(model):
    model.{mode}()
    with paddle.amp.auto_cast():
        model.predict()
"""


@pytest.mark.parametrize(("mode", "found"), [("eval", 1), ("train", 0)])
def test_amp_of_a_function_that_only_evaluates_is_not_that_of_the_training(mode: str, found: int) -> None:
    """Of a program that imports what the training imports, too."""
    net = "import paddle\nfrom train import net\n"
    assert len(said({"train.py": OPTIONS + PLAIN, "net.py": net, "speak.py": SAMPLING.format(mode=mode)})) == found


SHARED = """\
class Loop:
    def run(self, loader):
        for batch in loader:
            self.step(batch)
"""
OWN_STEP = """\
import paddle
from paddle import nn
from loop import Loop


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = {layer}

    def forward(self, x):
        return self.body(x)


class {name}Loop(Loop):
    def __init__(self, optimizer):
        self.net = Net()
        self.optimizer = optimizer

    def step(self, batch):
        out = self.net(batch)
        loss = out.mean()
        loss.backward()
        self.optimizer.step()
"""


def test_of_programs_that_share_a_loop_a_wide_model_is_reported() -> None:
    narrow = OWN_STEP.format(name="Narrow", layer="nn.Conv2D(8, 16, 3)")
    wide = OWN_STEP.format(name="Wide", layer="nn.Conv2D(64, 512, 3)")
    (finding,) = check({"loop.py": SHARED, "a_narrow.py": narrow, "b_wide.py": wide}, "PPF301")
    assert finding.path == "b_wide.py"
    assert "a_narrow.py" in {place.path for place in finding.related if place.message == "a step like it"}
    assert check({"loop.py": SHARED, "a_narrow.py": narrow}, "PPF301") == []


@pytest.mark.parametrize(
    ("layer", "arguments"),
    [
        ("nn.Conv3D(64, 512, 3)", 'dtype="bfloat16", custom_white_list={"conv3d"}'),
        ("nn.Conv2D(64, 512, 3)", 'dtype="bfloat16"'),
        ("nn.Conv3D(8, 16, 3)", None),
        ("nn.Conv3DTranspose(64, 512, 3)", None),
    ],
)
def test_three_dimensional_convolutions_have_to_be_named(layer: str, arguments: str | None) -> None:
    messages = said({"loop.py": SHARED, "own.py": OWN_STEP.format(name="Own", layer=layer)})
    assert [f"`paddle.amp.auto_cast({arguments})`" in each for each in messages] == ([True] if arguments else [])


SPECTRAL = (
    HEAD
    + """\
class {name}(paddle.nn.Layer):
    def forward(self, out, y):
        return paddle.log(paddle.signal.stft(out, 256).abs() + 1e-5).mean() - y.mean()


net, criterion = resnet50(), {name}()
opt = paddle.optimizer.Momentum(parameters=net.parameters())
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    opt.step()
"""
)


@pytest.mark.parametrize(("name", "is_whole"), [("STFTLoss", False), ("AudioLoss", True)])
def test_a_loss_on_spectra_stays_in_float32(name: str, is_whole: bool) -> None:
    (finding,) = check(SPECTRAL.format(name=name), "PPF301")
    assert ("run its forward pass and its loss under" in finding.message) is is_whole
    assert ("run its forward pass, but not its loss on spectra, under" in finding.message) is not is_whole
    assert finding.fix is not None and bool(finding.fix.edits) is is_whole


def test_a_model_that_runs_without_gradients_is_not_the_one_that_trains() -> None:
    teacher = "with paddle.no_grad():\n        seen = teacher(x)\n    loss = F.mse_loss(net(x), seen)"
    text = OPTIONS + PLAIN.replace("if True:\n        loss = F.cross_entropy(net(x), y)", teacher)
    assert "seen" in text
    (message,) = said(text.replace("net = resnet50()", "net, teacher = resnet50(), resnet50()"))
    assert message.startswith("This step trains `net` in float32.")


def test_programs_count_each_and_variants_next_to_one_do_not() -> None:
    one = OPTIONS + PLAIN
    apart = {"a/train.py": one, "b/train.py": one}
    beside = {"train.py": one, "train_bk.py": one + "print(1)\n", "results/old/train.py": one}
    assert len(said(apart)) == 2
    (finding,) = check(beside, "PPF301")
    assert finding.path == "train.py"
    alike = {place.path for place in finding.related if place.message == "a step like it"}
    assert alike == {"train_bk.py", "results/old/train.py"}


LAYERS = """\
class Net(paddle.nn.Layer):
    def __init__(self, classes=2):
        super().__init__()
        self.body = paddle.nn.Sequential(paddle.nn.Conv2D(3, 64, 3), paddle.nn.Conv2D(64, {width}, 3))
        self.head = paddle.nn.Conv2D({width}, classes, 1)

    def forward(self, x):
        return self.head(self.body(x))


"""


@pytest.mark.parametrize(("width", "count"), [("128", 0), ("256", 1), ("2 * wide()", 1)])
def test_narrow_convolutions_do_not_limit_a_step(width: str, count: int) -> None:
    text = OPTIONS + LAYERS.format(width=width) + PLAIN.replace("resnet50()", "Net()")
    assert len(said(text)) == count
    (trace,) = traces(opened(sources({"train.py": text})))
    assert sum(edit.kind == "kernels" for edit in verdict(trace).plan) == count


def test_one_dimensional_convolutions_are_products_as_well() -> None:
    text = LAYERS.format(width="512").replace("Conv2D", "Conv1D")
    assert len(said(OPTIONS + text + PLAIN.replace("resnet50()", "Net()"))) == 1


def test_a_model_in_a_directory_that_the_program_adds_to_its_path() -> None:
    head = "import sys\nsys.path.append('core')\nfrom net import *\n" + OPTIONS
    files = {
        "train.py": head.replace("from paddle.vision.models import resnet50\n", "") + PLAIN.replace("resnet50", "Net"),
        "core/net.py": "import paddle\n" + LAYERS.format(width="512"),
    }
    assert len(said(files)) == 1
    files["core/net.py"] += "amp = paddle.amp.auto_cast()\n"
    assert said(files) == []


@pytest.mark.parametrize(
    ("loader", "level", "words"),
    [
        ("DataLoader(data)", "medium", "First give the DataLoader at line 11 workers"),
        ("DataLoader(data, num_workers=4)", "high", ""),
    ],
)
def test_the_impact_follows_the_step(loader: str, level: str, words: str) -> None:
    (finding,) = check(OPTIONS + f"loader = {loader}\n" + PLAIN, "PPF301")
    assert finding.impact is not None
    assert (str(finding.impact.level), "First give" in finding.message) == (level, bool(words))
    assert words in finding.message


def test_many_waits_come_first() -> None:
    waits = "".join(f"    seen{n}.append(F.relu(net(x)).sum().item())\n" for n in range(4))
    (finding,) = check(OPTIONS + PLAIN + waits, "PPF301")
    assert "waits for the device at 4 places: remove these first" in finding.message
    assert finding.impact is not None and str(finding.impact.level) == "medium"


def test_the_plan_of_the_step_says_it_once_and_with_the_same_switch() -> None:
    for text, words in (
        (AS_ASKED, "turn on paddle.amp, which `--amp` at train.py:8 leaves off"),
        (PLAIN, "train with paddle.amp"),
    ):
        (trace,) = traces(opened(sources({"train.py": OPTIONS + text})))
        lines = [line for line in verdict_lines(verdict(trace), {}) if "paddle.amp" in line]
        assert len(lines) == 1 and words in lines[0]


def test_a_loss_that_reads_by_numpy_gets_words() -> None:
    """NumPy gets the bits of a bfloat16: to match boxes by them would be wrong."""
    match = "def match(out, y):\n    return F.l1_loss(out, paddle.to_tensor(best(out.numpy(), y)))\n\n\n"
    (finding,) = check(OPTIONS + match + PLAIN.replace("F.cross_entropy(", "match("), "PPF301")
    assert finding.fix is not None and not finding.fix.edits and "uint16" in finding.fix.reason


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("a.sh", "python a.py --fp16 --x 1\n", [AmpSetting(1, "fp16", "--fp16", True, True)]),
        ("a.sh", " -o Global.use_amp=True\n", [AmpSetting(1, "use_amp", "Global.use_amp=True", True, True)]),
        ("a.sh", "python a.py --use-amp False\n", [AmpSetting(1, "use_amp", "--use-amp False", False, True)]),
        ("a.sh", "python a.py --sample 1 # for amp\n", []),
    ],
)
def test_what_lines_that_start_programs_say_of_amp(name: str, text: str, settings: list[AmpSetting]) -> None:
    assert list(AMP_OPTIONS.read(name, text.encode()) or ()) == settings


GIVEN = """\
import paddle
from paddlenlp.transformers import {name}


class Net(paddle.nn.Layer):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = paddle.nn.Linear({width}, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


def train(loader, hidden=1024):
    part = {name}.from_pretrained("ernie-1.0")
    net = paddle.DataParallel(Net({given}))
    opt = paddle.optimizer.AdamW(parameters=net.parameters())
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()


train(paddle.io.DataLoader(data, num_workers=2))
"""


@pytest.mark.parametrize(
    ("name", "given", "count"),
    [("ErnieModel", "part", 1), ("ErnieModel", "part=part", 1), ("ErnieTokenizer", "part", 0)],
)
def test_what_a_model_is_made_of_counts(name: str, given: str, count: int) -> None:
    """The class of the model is in a file of its own, and gets what the program loads."""
    given = given.replace("part=", "encoder=")
    net, _, train = GIVEN.format(name=name, given=given, width=768).partition("def train")
    files = {"net.py": net, "train.py": f"import paddle\nfrom paddlenlp.transformers import {name}\n"}
    files["train.py"] += f"from net import Net\n\ndef train{train}"
    assert len(said(files)) == count


@pytest.mark.parametrize(("width", "count"), [("HIDDEN", 1), ("HIDDEN // 4", 0), ("unknown()", 0)])
def test_the_width_of_a_product_may_have_a_name(width: str, count: int) -> None:
    text = "HIDDEN = 2048\n" + LAYERS.format(width="64").replace("Conv2D(64, classes, 1)", f"Linear(64, {width})")
    assert len(said(OPTIONS + text + PLAIN.replace("resnet50()", "Net()"))) == count


OTHERS = """\
import paddle


def {name}(net, loader, opt):
    for x, y in loader:
        with paddle.amp.auto_cast():
            loss = net(x).mean()
        {use}
"""


@pytest.mark.parametrize(
    ("name", "use", "count"), [("fit", "loss.backward()", 1), ("evaluate", "print(loss)", 1), ("fit", "seen(loss)", 0)]
)
def test_the_amp_of_another_step_says_nothing(name: str, use: str, count: int) -> None:
    """It may be what runs this step if it does no backward pass itself."""
    text = OPTIONS + f"from other import {name}\n" + PLAIN
    assert len(said({"train.py": text, "other.py": OTHERS.format(name=name, use=use)})) == count


def test_a_type_of_numpy_is_not_amp() -> None:
    assert len(said(OPTIONS + "import numpy as np\nTYPES = (np.float16, np.float32)\n" + PLAIN)) == 1
    assert said(OPTIONS + "TYPES = (paddle.float16, paddle.float32)\n" + PLAIN) == []


def test_amp_that_a_function_refuses_is_not_advised() -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.format(around="with paddle.amp.auto_cast(amp):").splitlines())
    called = "train(DataLoader(data, num_workers=2))\n"
    refuses = "    if amp:\n        raise ValueError('not supported')\n"
    assert len(said(OPTIONS + "def train(loader, amp=False):\n" + body + called)) == 1
    assert said(OPTIONS + "def train(loader, amp=False):\n" + refuses + body + called) == []


def test_each_loss_of_a_step_is_scaled() -> None:
    second = "    other = net(y).mean()\n    other.backward()\n    opt_2.step()\n"
    [message] = said(OPTIONS + PLAIN + second)
    assert (
        "`scaler.scale(loss).backward(); scaler.step(opt); scaler.scale(other).backward(); scaler.step(opt_2); "
        "scaler.update()`"
    ) in message
    [alone] = said(OPTIONS + PLAIN)
    assert "`scaler.scale(loss).backward(); scaler.step(opt); scaler.update()`" in alone


START = "import paddle\nfrom {0}.own import {1}Loop\n\n{1}Loop(paddle.optimizer.Adam()).run(load())\n"
STARTED = {"loop.py": SHARED, "train_a.py": START.format("a", "A"), "train_b.py": START.format("b", "B")}


def test_other_networks_of_a_loop_are_programs_of_their_own_if_others_start_them() -> None:
    """Each updater of a trainer is edited alone; those of one program, which an option chooses, are reported once."""
    own = {f"{at}/own.py": OWN_STEP.format(name=at.upper(), layer="nn.Conv2D(64, 512, 3)") for at in ("a", "b")}
    assert [each.path for each in check({**STARTED, **own}, "PPF301")] == ["a/own.py", "b/own.py"]
    both = "import paddle\nfrom a.own import ALoop\nfrom b.own import BLoop\n\n"
    both += "LOOPS = {'a': ALoop, 'b': BLoop}\nLOOPS[input()](paddle.optimizer.Adam()).run(load())\n"
    assert [each.path for each in check({"loop.py": SHARED, **own, "train.py": both}, "PPF301")] == ["a/own.py"]


def test_the_forward_pass_is_that_of_the_step_and_not_of_another_one_in_the_same_loop() -> None:
    indirect = OWN_STEP.replace("= self.net(batch)", "= self.all(batch)")
    indirect += "\n    def all(self, batch):\n        return self.net(batch)\n"
    narrow = indirect.format(name="A", layer="nn.Conv2D(8, 16, 3)")
    wide = indirect.format(name="B", layer="nn.Conv2D(64, 512, 3)")
    (finding,) = check({**STARTED, "a/own.py": narrow, "b/own.py": wide}, "PPF301")
    assert (finding.path, wide[finding.start : finding.end]) == ("b/own.py", "self.all(batch)")


TRAINER = """\
import gan
import paddle
from registry import build


class Trainer:
    def __init__(self, cfg):
        self.model = build(cfg)

    def run(self, loader):
        for batch in loader:
            self.model.{step}(batch)


Trainer(load()).run(batches())
"""
REGISTERED = """\
import paddle
from registry import MODELS


@MODELS.register()
class Gan:
    def __init__(self):
        self.net = paddle.vision.models.resnet50()
        self.opt = paddle.optimizer.Adam(parameters=self.net.parameters())

    def {step}(self, batch):
        loss = self.net(batch).mean()
        loss.backward()
        self.opt.step()
        self.opt.clear_grad()
"""


@pytest.mark.parametrize(("step", "count"), [("train_iter", 1), ("process", 0)])
def test_a_method_with_the_name_of_a_step_belongs_to_the_loop_that_calls_it(step: str, count: int) -> None:
    """A registry makes the model, so that only the name shows which method the loop calls."""
    registry = "MODELS = Registry()\n\n\ndef build(cfg):\n    return MODELS.get(cfg.name)()\n"
    files = {
        "train.py": TRAINER.format(step=step),
        "gan.py": REGISTERED.format(step=step),
        "registry.py": "from registries import Registry\n\n" + registry,
    }
    assert len(said(files)) == count


SCALED = PLAIN.replace("net = resnet50()\n", "net = resnet50()\n{made}\n")


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("scaler = paddle.amp.GradScaler()", 1),  # alone it turns itself off
        ("dtype = paddle.float16 if args.amp else paddle.float32", 1),
        ("dtype = paddle.float32 if args.amp else paddle.float16", 0),
        ("net.to(dtype='float16')", 0),
        ("net = scaled(net, fp16=args.level)", 0),
        ("scaled = args.amp", 1),
    ],
)
def test_a_scaler_and_what_an_option_leaves_off_are_no_amp(made: str, count: int) -> None:
    assert len(said(OPTIONS + SCALED.format(made=made))) == count


def test_amp_of_a_static_graph_is_not_that_of_a_step() -> None:
    static = "import paddle\n\npaddle.enable_static()\n\n\ndef compress(opt):\n"
    static += "    return paddle.static.amp.decorate(opt, use_dynamic_loss_scaling=True)\n"
    used = OPTIONS + "from other import compress\n" + PLAIN
    assert len(said({"train.py": used, "other.py": static})) == 1
    assert (
        said({"train.py": used, "other.py": static.replace("paddle.enable_static()\n", "").replace("static.", "")})
        == []
    )


def test_the_configurations_of_a_project_answer_for_one_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = 'parser.add_argument("--config", type=str)\nargs = parser.parse_args()\n'
    files = {"setup.cfg": "", "train.py": HEAD + ask + AS_ASKED}
    assert reported(tmp_path, files, capsys) == []
    (found,) = reported(tmp_path, {**files, "configs/small.yml": "epochs: 3\n"}, capsys)
    assert "off by default: `--amp`" in found["message"]


@pytest.mark.parametrize("word", ["QAT", "QuantConfig"])
def test_training_that_simulates_integers_is_left_alone(word: str) -> None:
    assert said(OPTIONS + f"from paddle.quantization import {word}\n" + PLAIN) == []


@pytest.mark.parametrize(("name", "count"), [("hessian_vector_product", 0), ("average", 1)])
def test_a_step_that_differences_gradients_needs_float32(name: str, count: int) -> None:
    search = f"def {name}(net, x):\n    return net(x + 0.01).mean() - net(x - 0.01).mean()\n\n\n"
    assert len(said(OPTIONS + search + PLAIN.replace("    opt.step()", f"    {name}(net, x)\n    opt.step()"))) == count


@pytest.mark.parametrize(("name", "count"), [("resnet18", 1), ("LeNet", 0)])
def test_a_network_of_a_table_counts(name: str, count: int) -> None:
    nets = f"NETS = {{'small': {name}}}\n"
    text = OPTIONS.replace("import resnet50", f"import {name}") + nets + PLAIN
    assert len(said(text.replace("resnet50()", "NETS[args.net]()"))) == count
