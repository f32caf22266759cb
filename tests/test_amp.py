"""Where AMP is in use: what turns it on, whether it is on by default, and which files it drives."""

from __future__ import annotations

import pytest

from perflint.facts import amp
from perflint.findings import Confidence
from perflint.flow.branches import State
from tests.support import Files, check, expect_marked, module, project

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


def states(text: str) -> list[State]:
    """How far AMP is on, for each call of a file that sets it up."""
    from perflint.facts import amp

    return [state for _, state in amp.uses(module(text))]


def driven(files: Files) -> dict[str, Confidence]:
    """The files that are trained under AMP."""
    return dict(amp.amp_files(project(files)))


@pytest.mark.parametrize(
    "text",
    [
        "import paddle\nwith paddle.amp.auto_cast():\n    pass\n",
        "from paddle.amp import auto_cast, GradScaler\nwith auto_cast(True):\n    pass\n",
        "import paddle.amp as amp\nscaler = amp.GradScaler(init_loss_scaling=1024)\n",
        "import paddle\nclass A:\n    def f(self):\n        return paddle.amp.decorate(models=self.m, level='O2')\n",
        "import paddle\nwith paddle.amp.amp_guard():\n    pass\n",
        "import paddle.fluid as fluid\nwith fluid.dygraph.amp_guard():\n    pass\n",
        "import paddle\nmodel = paddle.Model(net)\nmodel.prepare(optimizer, loss, amp_configs='O1')\n",
        "from paddle.amp import *\nscaler = GradScaler()\n",
        "import paddle\nfrom functools import partial\ncast = partial(paddle.amp.auto_cast, level='O2')\n",
        "import paddle\nUSE_AMP = True\nwith paddle.amp.auto_cast(enable=USE_AMP):\n    pass\n",
        "import paddle\nif not False:\n    scaler = paddle.amp.GradScaler()\n",
        "import paddle\ndef f(use_amp=True):\n    if use_amp:\n        scaler = paddle.amp.GradScaler()\nf()\n",
    ],
)
def test_amp_is_on(text: str) -> None:
    assert states(text) == [State.ON]


@pytest.mark.parametrize(
    "text",
    [
        "import paddle\nwith paddle.amp.auto_cast(enable=False):\n    pass\n",
        "import paddle\nwith paddle.amp.auto_cast(False):\n    pass\n",
        "import paddle\nscaler = paddle.amp.GradScaler(enable=False)\n",
        "import paddle\nfrom functools import partial\ncast = partial(paddle.amp.auto_cast, False)\n",
        "import paddle\nwith paddle.amp.auto_cast(level='O0'):\n    pass\n",
        "import torch\nwith torch.cuda.amp.autocast():\n    pass\n",
        "import paddle\n# with paddle.amp.auto_cast():\ntext = 'paddle.amp.auto_cast()'\n",
        "import paddle\nmodel.prepare(optimizer, loss)\n",
        "import paddle\nmodel.prepare(optimizer, loss, amp_configs=None)\n",
        "from paddle.amp import GradScaler\n",
        "def auto_cast(): pass\nauto_cast()\n",
        "import paddle\nUSE_AMP = False\nif USE_AMP:\n    scaler = paddle.amp.GradScaler()\n",
        "import paddle\nAMP = False\nscaler = paddle.amp.GradScaler() if AMP else None\n",
        "import paddle\ndef evaluate(model):\n    with paddle.amp.auto_cast():\n        model()\n",
    ],
)
def test_amp_is_off(text: str) -> None:
    assert states(text) == []


OPTION = "import argparse\nimport paddle\np = argparse.ArgumentParser()\np.add_argument({})\nargs = p.parse_args()\n"
ENABLED = "with paddle.amp.auto_cast(enable=args.use_amp):\n    pass\n"


@pytest.mark.parametrize(
    ("option", "state"),
    [
        ("'--use_amp', action='store_true'", State.OPTIONAL),
        ("'--use_amp', type=bool, default=False", State.OPTIONAL),
        ("'--use-amp', type=bool, default=True", State.ON),
        ("'--use_amp', action='store_false'", State.ON),
        ("'--other', default=True", State.OPTIONAL),
    ],
)
def test_the_default_of_an_option_counts(option: str, state: State) -> None:
    assert states(OPTION.format(option) + ENABLED) == [state]


@pytest.mark.parametrize(
    ("test", "state"),
    [
        ("config.get('use_amp', False)", State.OPTIONAL),
        ("config.get('use_amp', True)", State.ON),
        ("config['AMP']", State.OPTIONAL),
        ("getattr(args, 'fp16', False)", State.OPTIONAL),
        ("args.fp16", State.OPTIONAL),
        ("not config.get('no_amp', False)", State.ON),
        ("args.fp16 and False", State.OFF),
        ("precision == 'fp16'", State.OPTIONAL),
    ],
)
def test_a_test_around_it_counts(test: str, state: State) -> None:
    text = f"import paddle\ndef f(args, config, precision):\n    if {test}:\n        s = paddle.amp.GradScaler()\n"
    assert states(text) == [state][: state is not State.OFF]


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        ("train(model)", State.UNSET),
        ("train(model)\ntrain(model, precision='fp16')", State.ON),
        ("train(model, precision='fp16')", State.ON),
        ("train(model, 'fp32')", State.UNSET),
        ("train(model, args.precision)", State.OPTIONAL),
        ("train(model, **options)", State.OPTIONAL),
        ("", State.OPTIONAL),
    ],
)
def test_callers_decide_about_a_parameter(calls: str, state: State) -> None:
    text = (
        "import paddle\ndef train(model, precision='fp32'):\n"
        f"    if precision == 'fp16':\n        scaler = paddle.amp.GradScaler()\n{calls}\n"
    )
    assert states(text) == [state]


def test_an_attribute_is_what_it_was_assigned() -> None:
    text = """
    import paddle

    class Trainer:
        def __init__(self, config, use_amp=False):
            self.use_amp = use_amp
            self.always = True
            self.asked = config.get("amp", False)

        def train(self):
            with paddle.amp.auto_cast(enable=self.use_amp):
                pass
            with paddle.amp.auto_cast(enable=self.always):
                pass
            with paddle.amp.auto_cast(enable=self.asked):
                pass

    Trainer({})
    """
    assert states(text) == [State.UNSET, State.ON, State.OPTIONAL]


def test_the_test_around_the_call_counts_too() -> None:
    text = """
    import paddle

    class Model:
        def train_amp(self):
            with paddle.amp.auto_cast():
                pass

    class Trainer:
        def train(self, config):
            if config.amp:
                self.model.train_amp()
    """
    assert states(text) == [State.OPTIONAL]


MODEL = """
import paddle

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = paddle.nn.Linear(256, 625)MARK
        self.b = paddle.nn.Linear(625, 10)MARK

    def forward(self, x):
        return self.b(self.a(x))
"""
MARKED, CLEAN = MODEL.replace("MARK", "  #: PPF306"), MODEL.replace("MARK", "")
TRAIN = "import paddle\nfrom models.net import Net\nnet = Net()\nscaler = paddle.amp.GradScaler()\n"


def test_alignment_matters_only_where_amp_trains_the_file() -> None:
    expect_marked(
        {
            "seg/train.py": TRAIN,
            "seg/models/net.py": MARKED,
            "seg/models/old.py": CLEAN,
            "cls/train.py": "import paddle\nfrom models.net import Net\nNet()\n",
            "cls/models/net.py": CLEAN,
            "tests/test_amp.py": TRAIN,
        },
        "PPF306",
    )


def test_a_script_without_amp_beside_one_with_it() -> None:
    files = {
        "train.py": "import paddle\nfrom net import Net\nNet()\nscaler = paddle.amp.GradScaler()\n",
        "train_fp32.py": "import paddle\nfrom plain import Net\nNet()\n",
        "net.py": CLEAN,
        "plain.py": CLEAN,
    }
    assert driven(files) == {"train.py": HIGH, "net.py": HIGH}


ENGINE = """
import paddle

def train(model, loader, optimizer, use_amp=False):
    for x in loader:
        with paddle.amp.auto_cast(enable=use_amp):
            loss = model(x)
        loss.backward()
        optimizer.step()
"""


def test_the_program_that_hands_its_model_to_the_trainer_is_driven() -> None:
    files = {
        "core/__init__.py": "from .engine import train\n",
        "core/engine.py": ENGINE,
        "apps/one/main.py": "from core import train as run\nfrom net import Net\nrun(Net(), l, o, use_amp=args.amp)\n",
        "apps/one/net.py": CLEAN,
        "apps/two/main.py": "from net import Net\nNet()\n",
        "apps/two/net.py": CLEAN,
    }
    assert driven(files) == {
        "core/engine.py": MEDIUM,
        "core/__init__.py": MEDIUM,
        "apps/one/main.py": MEDIUM,
        "apps/one/net.py": MEDIUM,
    }


def test_a_registry_is_loaded_with_its_package() -> None:
    files = {
        "pkg/__init__.py": "from . import models\n",
        "pkg/models/__init__.py": "from .unet import UNet\nfrom .builder import build\n",
        "pkg/models/unet.py": CLEAN,
        "pkg/models/builder.py": "def build(cfg):\n    return REGISTRY[cfg.name]()\n",
        "pkg/engine.py": ENGINE + "\nfrom pkg.models.builder import build\n",
        "tools/train.py": "from pkg.engine import train\ntrain(m, l, o, use_amp=True)\n",
    }
    assert driven(files)["pkg/models/unet.py"] == HIGH


def test_a_module_loaded_by_its_name() -> None:
    files = {
        "train.py": "import importlib\nimport paddle\nm = importlib.import_module('zoo.' + name)\n"
        "scaler = paddle.amp.GradScaler()\n",
        "zoo/unet.py": CLEAN,
        "other/net.py": CLEAN,
    }
    assert driven(files) == {"train.py": HIGH, "zoo/unet.py": HIGH}


def test_a_wrapper_of_the_scaler_drives_who_makes_one() -> None:
    files = {
        "utils/misc.py": "import paddle\nclass Scaler:\n    def __init__(self):\n"
        "        self.s = paddle.amp.GradScaler()\n",
        "train.py": "from utils.misc import Scaler as NativeScaler\nfrom net import Net\nNet()\ns = NativeScaler()\n",
        "eval.py": "from other import Net\nNet()\n",
        "net.py": CLEAN,
        "other.py": CLEAN,
    }
    assert driven(files) == {"utils/misc.py": HIGH, "train.py": HIGH, "net.py": HIGH}


def test_amp_that_only_predicts_drives_nothing() -> None:
    files = {
        "synthesis.py": "import paddle\nfrom net import Net\nwith paddle.amp.auto_cast():\n    Net()(x)\n",
        "net.py": CLEAN,
    }
    assert driven(files) == {}


@pytest.mark.parametrize(
    ("call", "confidence"), [("use_amp=True", HIGH), ("use_amp=args.amp", MEDIUM), ("", LOW), ("use_amp=False", LOW)]
)
def test_how_sure_a_finding_is(call: str, confidence: Confidence) -> None:
    files = {
        "train.py": f"{ENGINE}\nfrom net import Net\ntrain(Net(), loader, optimizer, {call})\n",
        "net.py": CLEAN,
    }
    assert {item.confidence for item in check(files, "PPF306", min_confidence=LOW)} == {confidence}
