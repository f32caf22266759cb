"""How far a forward pass is followed: through several calls, into objects it makes, and not into decoding."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence, Finding
from tests.support import check

NET = """\
import paddle
from paddle import nn
from parts import Circuit, first


class Net(nn.Layer):
    def __init__(self, assigner):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.assigner = assigner

    def forward(self, x):
        scores = self.head(x)
        {call}
        return scores
"""
PARTS = """\
import paddle


def first(scores):
    return second(scores)


def second(scores):
    return third(scores)


def third(scores):
    return paddle.exp(scores).numpy()


def generate(scores):
    return second(scores)


def back(scores):
    return forth(scores)


def forth(scores):
    return back(scores)


class State:
    def __init__(self, scores):
        self.norm = paddle.exp(scores).item()


class Circuit:
    def measure(self, scores):
        return State(scores)


class Assigner:
    def assign_boxes(self, scores):
        return paddle.exp(scores).tolist()
"""


def found(call: str, rule: str = "PPF210") -> list[Finding]:
    return check({"net.py": NET.format(call=call), "parts.py": PARTS}, rule, min_confidence=Confidence.LOW)


def _rows(findings: list[Finding], text: str) -> bool:
    row = next(at for at, line in enumerate(PARTS.splitlines()) if text in line)
    start = sum(len(line) + 1 for line in PARTS.splitlines()[:row])
    return [item.path for item in findings] == ["parts.py"] and start < findings[0].start < start + 80


def test_read_three_calls_below_a_forward_pass() -> None:
    findings = found("first(scores)")
    assert _rows(findings, ".numpy()")
    assert findings[0].confidence is Confidence.MEDIUM
    assert [place.line for place in findings[0].related] == [9, 5, 14]


def test_read_many_calls_below_a_forward_pass() -> None:
    between = "".join(f"def step{at}(scores):\n    return step{at + 1}(scores)\n\n\n" for at in range(12))
    parts = between.replace("step12", "first") + PARTS
    text = NET.replace("import Circuit, first", "import Circuit, step0").format(call="step0(scores)")
    [finding] = check({"net.py": text, "parts.py": parts}, "PPF210", min_confidence=Confidence.LOW)
    assert parts[finding.start :].startswith("paddle.exp(scores).numpy()")


def test_object_that_a_forward_pass_makes() -> None:
    findings = found("Circuit().measure(scores)")
    assert _rows(findings, ".item()")
    assert findings[0].confidence is Confidence.LOW


def test_method_that_is_known_by_its_name_alone() -> None:
    findings = found("self.assigner.assign_boxes(scores)")
    assert _rows(findings, ".tolist()")
    assert findings[0].confidence is Confidence.LOW


def test_assigner_runs_in_training_without_gradients() -> None:
    text = NET.format(call="first(scores)").replace("    def forward", "    @paddle.no_grad()\n    def forward")
    files = {"net.py": text, "parts.py": PARTS}
    assert check(files, "PPF210", min_confidence=Confidence.LOW) == []
    files["net.py"] = text.replace("class Net", "class BoxAssigner")
    [finding] = check(files, "PPF210", min_confidence=Confidence.LOW)
    assert finding.confidence is Confidence.LOW


def test_decoding_is_left_alone() -> None:
    text = NET.replace("import Circuit, first", "import generate")
    assert check({"net.py": text.format(call="generate(scores)"), "parts.py": PARTS}, "PPF210") == []


def test_functions_that_call_one_another_end() -> None:
    text = NET.replace("import Circuit, first", "import back")
    assert check({"net.py": text.format(call="back(scores)"), "parts.py": PARTS}, "PPF210") == []


STEP = """\
import paddle
from meters import keep


def train(net, loader, optimizer):
    for x in loader:
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        keep(loss)
"""
HELD = """\
from paddle import nn


def keep(value):
    return float(value)


class Net(nn.Layer):
    def forward(self, x):
        return keep(len(x))
"""


def test_what_a_step_hands_over_is_not_forgotten_for_a_forward_pass() -> None:
    found = check({"train.py": STEP, "meters.py": HELD}, "PPF201")
    assert [item.path for item in found] == ["meters.py", "train.py"]


LOOKED_UP = """\
import paddle
import evaluation


class Engine:
    def __init__(self, model, mode):
        self.model = model
        self.eval_func = getattr(evaluation, mode + "_eval")

    @paddle.no_grad()
    def eval(self, loader):
        self.model.eval()
        return self.eval_func(self, loader)
"""
EVALUATION = """\
import paddle


def plain_eval(engine, loader):
    for x in loader:
        engine.model(x)
"""


def test_caller_that_looks_a_function_up_by_a_part_of_its_name() -> None:
    model = "from paddle import nn\n\n\nclass Net(nn.Layer):\n    def forward(self, x):\n        return x\n"
    main = "from engine import Engine\nfrom net import Net\n\nEngine(Net(), 'plain').eval([])\n"
    files = {"engine.py": LOOKED_UP, "evaluation.py": EVALUATION, "net.py": model, "main.py": main}
    assert check(files, "PPF601") == []
    other = LOOKED_UP.replace('mode + "_eval"', 'mode + "_test"')
    without = {**files, "engine.py": other.replace("self.eval_func(self, loader)", "None")}
    assert [item.path for item in check(without, "PPF601")] == ["evaluation.py"]


DEEP = """\
import paddle


def outer(scores):
    return middle(scores)


def middle(scores):
    {body}
    return scores


def inner(scores):
    return paddle.exp(scores) * paddle.to_tensor([0.5])
"""


def _deep(body: str, *select: str, **options: int) -> list[Finding]:
    net = NET.replace("from parts import Circuit, first", "from deep import outer").format(
        call="scores = outer(scores)"
    )
    return check({"net.py": net, "deep.py": DEEP.replace("{body}", body)}, *select, **options)


def test_constants_are_no_reason_to_follow_a_forward_pass() -> None:
    assert _deep("scores = inner(scores)", "PPF205") == []


def test_constant_on_the_way_to_a_wait_pays_off_together_with_it() -> None:
    wait = "if paddle.exp(scores).sum() > 0:\n        scores = scores * paddle.to_tensor([0.5])"
    [finding] = [item for item in _deep(wait, "PPF203", "PPF205") if item.code == "PPF205"]
    assert finding.impact is not None
    assert finding.impact.reason.endswith("which pays off together with line 9")


def test_ways_that_are_not_sure_change_nothing_of_what_is_shown() -> None:
    net = NET.format(call="self.assigner.assign_boxes(first(scores))")
    files = {"net.py": net, "parts.py": PARTS}
    shown = check(files, "PPF210")
    asked = check(files, "PPF210", min_confidence=Confidence.LOW)
    assert len(shown) == 1
    assert len(asked) == 2
    assert shown == [item for item in asked if item.confidence >= Confidence.MEDIUM]


BUILDER = """\
import losses


def build_loss(cfg):
    options = {key: cfg[key] for key in cfg if key != "type"}
    return MAKE(**options)
"""
LOSSES = """\
import paddle
from paddle import nn


class Dice(nn.Layer):
    def measure(self, scores):
        return paddle.exp(scores).item()


class Focal(nn.Layer):
    def measure(self, scores):
        return paddle.exp(scores).tolist()


TABLE = {"dice": Dice, "focal": Focal}
"""
CHOSEN = """\
import paddle
from paddle import nn
from builder import build_loss


class Net(nn.Layer):
    def __init__(self, cfg):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.loss = build_loss(cfg)

    def forward(self, x):
        return self.loss.measure(self.head(x))
"""


def chosen(make: str, package: str = LOSSES) -> list[tuple[str, Confidence]]:
    files = {"builder.py": BUILDER.replace("MAKE", make), "losses.py": package, "net.py": CHOSEN}
    return [(item.path, item.confidence) for item in check(files, "PPF210")]


@pytest.mark.parametrize(
    "make",
    [
        "losses.__dict__[cfg.type]",
        "getattr(losses, cfg.type)",
        "losses.TABLE[cfg.type]",
        "losses.TABLE.get(cfg['type'])",
    ],
)
def test_loss_that_a_configuration_chooses_is_any_of_them(make: str) -> None:
    assert chosen(make) == [("losses.py", Confidence.MEDIUM)] * 2


def test_choice_among_other_things_than_layers_is_not_known() -> None:
    assert chosen("getattr(losses, cfg.type)", LOSSES + "\n\nclass Options:\n    pass\n") == []


def test_choice_among_very_many_layers_is_not_known() -> None:
    more = "".join(f"\n\nclass Loss{number}(nn.Layer):\n    pass\n" for number in range(30))
    assert chosen("getattr(losses, cfg.type)", LOSSES + more) == []


TRAINED = """\
import paddle
from paddle import nn


class Embedding(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Embedding(9, 8)

    def forward(self, ids):
        return self.first(ids if ids[0][0] == 0 else ids + 1).sum(axis=1)


class Encoder(nn.Layer):
    def __init__(self, embedding):
        super().__init__()
        {keep}

    def forward(self, ids):
        return {run}


class Classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(Embedding())

    def forward(self, ids):
        return self.encoder(ids)


def train(loader, optimizer):
    model = {model}
    for ids in loader:
        loss = model(paddle.to_tensor(ids)).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("keep", "run"),
    [
        ("self.embedding = embedding", "self.embedding(ids)"),
        ("self.parts = nn.LayerList([Embedding()])", "self.parts[0](ids)"),
        (
            "self.parts = nn.LayerList()\n        for _ in range(2):\n            self.parts.append(Embedding())",
            "self.parts[0](ids)",
        ),
    ],
)
def test_a_step_is_followed_to_a_layer_inside_layers_where_nothing_waits(keep: str, run: str) -> None:
    text = TRAINED.format(keep=keep, run=run, model="Classifier()")
    found = [finding for finding in check(text) if finding.code == "PPF203"]
    assert [finding.confidence for finding in found] == [Confidence.MEDIUM]


def test_a_layer_that_no_step_is_known_to_train_shows_nothing_of_its_arguments() -> None:
    text = TRAINED.format(keep="self.embedding = embedding", run="self.embedding(ids)", model="make()")
    assert [finding for finding in check(text) if finding.code == "PPF203"] == []


UPDATER = """

class Updater:
    def __init__(self, models, optimizers):
        self.model, self.optimizer = models["net"], optimizers["net"]

    def fit(self, loader):
        for ids in loader:
            loss = self.model(paddle.to_tensor(ids)).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()


net = Classifier()
adam = paddle.optimizer.Adam(parameters=net.parameters())
Updater({passed}, optimizers={{"net": adam}}).fit(loader)
"""


@pytest.mark.parametrize(
    ("passed", "confidences"),
    [
        ('{"net": net}', [Confidence.MEDIUM]),
        ("models=dict(net=net)", [Confidence.MEDIUM]),
        ('{"net": make(), "other": net}', []),  # another entry
    ],
)
def test_a_network_among_several_that_a_trainer_gets_in_a_dict(passed: str, confidences: list[Confidence]) -> None:
    head = TRAINED[: TRAINED.index("def train(")].format(keep="self.embedding = embedding", run="self.embedding(ids)")
    found = check(head + UPDATER.format(passed=passed), "PPF203")
    assert [each.confidence for each in found] == confidences


CUT = """\
import paddle
from paddle import nn


def gated(x, width):
    at = width[0]
    return paddle.tanh(x[:, :at])


class Net(nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return gated(self.head(x), {width})
"""
STEPS = """\


net = Net(4)
for x, y in loader:
    loss = paddle.mean(net(x) - y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("width", "after", "count"), [("paddle.to_tensor([self.width])", STEPS, 1), ("[self.width]", STEPS, 0)]
)
def test_what_waits_in_a_step_is_looked_at_without_a_call_that_says_so(width: str, after: str, count: int) -> None:
    found = check({"net.py": CUT.format(width=width) + after}, "PPF207")
    assert ["pass the number itself" in finding.message for finding in found] == [True] * count
