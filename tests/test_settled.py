"""Values that nobody in a project changes: what is certain about them, and everything that makes them uncertain."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from perflint.flow.constants import Constants
from perflint.index.project import Place
from tests.support import Files, expect_marked, in_step, project

HELPER = "def note(value, full=False):\n    return full\n"
CLASS = """\
class Stack(nn.Layer):
    def __init__(self, depth, is_decoder=False):
        super(Stack, self).__init__()
        self.depth = depth
        self.is_decoder = is_decoder

    def forward(self, x):
        return x
"""


def constant(files: Files, name: str, function: str = "note", path: str = "train.py") -> object:
    """The value of a name in a function, ``...`` where it is not settled."""
    given = project(files)
    file = given.files[path]
    scope = next(scope for scope in file.scopes.scopes if scope.qualname == function)
    found = Constants.of(given).certain(name, Place(file, scope))
    return found.value if isinstance(found, ast.Constant) else ...


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ("note(1)", False),
        ("note(1)\nnote(2)", False),
        ("note(1, True)\nnote(2, full=True)", True),
        ("note(1, None)", None),
        ("def outer(full=3):\n    note(1, full)\nouter()", 3),
        ("FULL = 2\nnote(1, FULL)", 2),
    ],
)
def test_parameter_that_every_call_leaves_alike(calls: str, value: object) -> None:
    assert constant(HELPER + calls + "\n", "full") == value


@pytest.mark.parametrize(
    "calls",
    [
        "",
        "note(1)\nnote(2, True)",
        "note(1)\nnote(2, 0)",
        "note(1)\nnote(2, args.full)",
        "note(1)\nnote(2, **options)",
        "note(1)\nnote(*everything)",
        "note(1)\nrun(note)",
        "note(1)\nhooks = {'note': note}",
        "note(1)\nglobals()[name](2, True)",
        "note(1)\nimport tools\ngetattr(tools, name)(2, note=3)",
    ],
)
def test_parameter_that_some_call_may_set(calls: str) -> None:
    assert constant(HELPER + calls + "\n", "full") is ...


BOTH = "if first:\n    full = make()\n    full = None\nelse:\n    full = None\n"


@pytest.mark.parametrize(
    ("before", "value"),
    [
        (BOTH, None),
        ("full = make()\n" + BOTH, None),
        ("full = make()\nfull = 3\n", 3),
        ("full = 3\nif first:\n    full = 3\n", 3),
        ("full = make()\nif first:\n    full = 3\nelif second:\n    full = 3\nelse:\n    full = 3\n", 3),
        ("full = make()\nif first:\n    if second:\n        full = make()\n    full = 3\nelse:\n    full = 3\n", 3),
        ("for one in many:\n    full = make()\n    full = 3\nfull = 3\n", 3),
    ],
)
def test_argument_that_is_the_same_constant_on_all_ways(before: str, value: object) -> None:
    caller = "def run(first, second, many):\n" + indent(before + "note(1, full)\n", "    ")
    assert constant(HELPER + caller, "full") is value


@pytest.mark.parametrize(
    "before",
    [
        "full = make()\nif first:\n    full = None\n",
        "full = None\nif first:\n    full = make()\n",
        "if first:\n    full = 3\nelse:\n    full = 4\n",
        "if first:\n    full = 1\nelse:\n    full = True\n",
        "full = make()\nif first:\n    full = None\nelif second:\n    full = None\n",
        "try:\n    full = make()\n    start(full)\n    full = None\nexcept OSError:\n    full.stop()\n",
        "full = None\nif first:\n    full = None\nwith make() as full:\n    full.start()\n",
        "full = 0\nfull += 1\n",
        "for full in many:\n    pass\n",
        "full = None\nfor one in many:\n    full = make()\n    if one:\n        break\n    full = None\n",
        "full = None\ndef change():\n    nonlocal full\n    full = make()\nfull = None\nchange()\n",
        "full = None\nif first:\n    def full(): pass\n    full = None\n",
    ],
)
def test_argument_that_some_way_may_give_another_value(before: str) -> None:
    caller = "def run(first, second, many):\n" + indent(before + "note(1, full)\n", "    ")
    assert constant(HELPER + caller, "full") is ...


def test_argument_that_a_loop_leads_back_with() -> None:
    caller = "def run(many):\n    full = make()\n    full = None\n    for one in many:\n        note(1, full)\n"
    assert constant(HELPER + caller, "full") is None
    assert constant(HELPER + caller + "        full = make()\n", "full") is ...
    assert constant(HELPER + caller + "        full = None\n", "full") is None


def test_module_that_binds_a_name_again_after_a_function_has_read_it() -> None:
    caller = "full = make()\ndef run():\n    note(1, full)\nrun()\nfull = None\n"
    assert constant(HELPER + caller, "full") is ...


def test_parameter_that_is_bound_again_or_decorated() -> None:
    assert constant("def note(full=False):\n    full = ask()\n    return full\nnote()\n", "full") is ...
    assert constant("@task\ndef note(full=False):\n    return full\nnote()\n", "full") is ...
    assert (
        constant("import paddle\n@paddle.no_grad()\ndef note(full=False):\n    return full\nnote()\n", "full") is False
    )


def test_calls_in_other_files_count() -> None:
    user = "from train import note\nnote(1, full={})\n"
    assert constant({"train.py": HELPER, "a.py": user.format("True"), "b.py": user.format("True")}, "full") is True
    assert constant({"train.py": HELPER, "a.py": user.format("True"), "b.py": user.format("False")}, "full") is ...
    assert (
        constant({"train.py": HELPER, "a.py": user.format("1"), "b.py": "from train import note\nrun(note)\n"}, "full")
        is ...
    )


def test_method_is_called_by_its_name_whatever_the_object() -> None:
    text = HELPER.replace("def note(", "class Meter:\n  def note(self, ") + "\n\ndef run(meter):\n    meter.note(1{})\n"
    assert constant(text.format(""), "full", "Meter.note") is False
    assert constant(text.format("") + "    other.note(2, full=True)\n", "full", "Meter.note") is ...
    assert constant(text.format("") + "    getattr(meter, name)(2)\n", "full", "Meter.note") is ...


def layer(rest: str, text: str = CLASS) -> str:
    return f"import paddle\nfrom paddle import nn\n\n\n{text}\n\n{dedent(rest)}"


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ("net = Stack(3)\n", False),
        ("net = Stack(3, True)\nother = Stack(4, is_decoder=True)\n", True),
        (
            "class Net(nn.Layer):\n    def __init__(self, deep=False):\n        self.net = Stack(3, deep)\nNet()\n",
            False,
        ),
    ],
)
def test_attribute_that_every_construction_gives_alike(made: str, value: object) -> None:
    assert constant(layer(made), "self.is_decoder", "Stack.forward") is value


@pytest.mark.parametrize(
    "made",
    [
        "",
        "net = Stack(3)\nother = Stack(4, is_decoder=True)\n",
        "net = Stack(3)\nnet.is_decoder = True\n",
        "net = Stack(3)\nnet.block, net.is_decoder = 1, True\n",
        "net = Stack(3)\nclass Decoder(Stack):\n    pass\n",
        "net = Stack(3)\nmodels = [Stack]\n",
        "net = Stack(3)\nother = eval(name)(3, True)\n",
        "net = Stack(3, **options)\n",
    ],
)
def test_attribute_that_may_differ(made: str) -> None:
    assert constant(layer(made), "self.is_decoder", "Stack.forward") is ...


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        return x\n", "        self.is_decoder = True\n        return x\n"),
        ("        return x\n", "        self.is_decoder += 1\n        return x\n"),
        ("        return x\n", "        a, self.is_decoder = x\n        return x\n"),
        ("        return x\n", "        setattr(self, name, True)\n        return x\n"),
        (
            "        return x\n",
            "        return x\n\n    @classmethod\n    def make(cls, c):\n        return cls(3, c)\n",
        ),
        ("class Stack(nn.Layer)", "@register\nclass Stack(nn.Layer)"),
        ("class Stack(nn.Layer)", "class Stack(Pretrained)"),
    ],
)
def test_attribute_of_a_class_that_changes_it_or_is_made_elsewhere(old: str, new: str) -> None:
    assert old in CLASS
    text = layer("net = Stack(3)\n", CLASS.replace(old, new))
    assert constant(text, "self.is_decoder", "Stack.forward") is ...


def test_constant_that_a_class_gives_itself() -> None:
    text = "class Trainer:\n  def __init__(self):\n    self.last = None\n\n  def run(self):\n    return self.last\n"
    assert constant(text, "self.last", "Trainer.run") is None
    assert constant(text + "\n\ndef go(trainer):\n    trainer.last = 3\n", "self.last", "Trainer.run") is ...
    child = "\n\nclass Child(Trainer):\n    def go(self):\n        self.last = 3\n"
    assert constant(text + child, "self.last", "Trainer.run") is ...


BLOCK = """\
import paddle
from paddle import nn


class Block(nn.Layer):
    def __init__(self, is_decoder):
        super().__init__()
        self.is_decoder = is_decoder

    def forward(self, x, memory=None):
        crosses = self.is_decoder and memory is not None
        if crosses:
            if paddle.isinf(x).any():{mark}
                x = x.clip(-1, 1)
        if paddle.isinf(x).all():  #: PPF203
            x = x.clip(-1, 1)
        return x


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.LayerList([Block(False) for _ in range(6)])
"""


def test_branch_of_a_forward_pass_that_no_construction_turns_on() -> None:
    expect_marked(BLOCK.format(mark=""), "PPF203")
    decoder = "\n\nclass Decoder(nn.Layer):\n    def __init__(self):\n        self.one = Block(True)\n"
    expect_marked(BLOCK.format(mark="  #: PPF203") + decoder, "PPF203")


def test_branch_of_a_step_that_no_caller_turns_on() -> None:
    """The function holds the loop itself, so no step calls it: its callers say what runs."""
    text = in_step("if note_all:\n    print(loss.item()){mark}").replace(
        "optimizer, args", "optimizer, args, note_all=False"
    )
    run = "\n\ndef main(args):\n    train(net, data, sgd, args{})\n"
    expect_marked(text.format(mark="") + run.format(""), "PPF202")
    expect_marked(text.format(mark="  #: PPF202") + run.format(", note_all=args.all"), "PPF202")
    expect_marked(text.format(mark="  #: PPF202"), "PPF202")
