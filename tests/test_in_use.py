"""Which classes of a project are made by code that runs, and what is said of the others."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import Confidence
from perflint.index.in_use import InUse
from tests.support import check, project

NET = dedent("""
    import paddle
    from paddle import nn


    class Part(nn.Layer):
        def forward(self, x):
            return x * paddle.to_tensor(2.0)


    class Net(nn.Layer):
        def __init__(self):
            super(Net, self).__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(x)


    class Other(nn.Layer):
        def forward(self, x):
            return x
    """)
MAIN = "from net import Other\n\nif __name__ == '__main__':\n    Other()\n"


def is_used(files: dict[str, str], name: str, path: str = "net.py") -> bool:
    known = project(files)
    file = known.files[path]
    return InUse.of(known).is_used(file, file.scopes.classes[name])


@pytest.mark.parametrize(
    "text",
    [
        "net = Net()\n",
        "def build():\n    return Net()\n\nbuild()\n",
        "MODELS = {'a': Net}\n",
        "class Mine(Net): pass\n\nMine()\n",
        "@register\nclass Mine(Net): pass\n",
        "__all__ = ['Net']\n",
        "import net\n\nnet.Net()\n",
        "from net import Net as Model\n\nModel()\n",
        "from net import *\n\nNet()\n",
        "import net\n\ngetattr(net, name)()\n",
    ],
)
def test_what_uses_a_class(text: str) -> None:
    files = {"net.py": NET, "main.py": f"from net import Net\n{text}\nif __name__ == '__main__': pass\n"}
    assert is_used(files, "Net")
    assert is_used(files, "Part")
    assert is_used(files, "Other") == ("getattr" in text)


@pytest.mark.parametrize(
    "text",
    [
        "from net import Net\n",
        "from net import Net\n\nassert isinstance(1, int)\n",
        "from net import Net\n\ndef build():\n    return Net()\n",
        "from other import Net\n\nNet()\n",
        "import net\nimport other\n\nother.Net()\n",
        "from net import Net\n\nclass Mine(Net): pass\n",
    ],
)
def test_what_does_not(text: str) -> None:
    other = "from paddle import nn\n\nclass Net(nn.Layer): pass\n"
    files = {"net.py": NET, "other.py": other, "use.py": text, "main.py": f"import use\n{MAIN}"}
    assert is_used(files, "Other")
    assert not is_used(files, "Net")
    assert not is_used(files, "Part")


def test_a_library_is_for_programs_that_are_not_to_be_seen() -> None:
    assert is_used({"net.py": NET}, "Net")
    assert is_used({"lib/__init__.py": "from .net import Other\n", "lib/net.py": NET}, "Net", "lib/net.py")
    tested = {"lib/net.py": NET, "tests/test_net.py": "from lib.net import Other\n\ndef test():\n    Other()\n"}
    assert is_used(tested, "Net", "lib/net.py")


def test_what_is_installed_is_for_other_programs_too() -> None:
    files = {"lib/__init__.py": "", "lib/net.py": NET, "lib/old.py": NET, "main.py": MAIN.replace("net", "lib.net")}
    assert not is_used(files, "Net", "lib/net.py")
    assert not is_used(files, "Net", "lib/old.py")
    files["setup.py"] = "setup(packages=find_packages())\n"
    assert is_used(files, "Net", "lib/net.py")
    assert is_used(files, "Net", "lib/old.py")
    loose = {"setup.py": files["setup.py"], "net.py": NET, "main.py": MAIN}
    assert not is_used(loose, "Net")


def test_settings_may_name_a_class() -> None:
    main = "from net import Other\n\ndef main(settings):\n    Other(instantiate(settings))\n\nmain(1)\n"
    assert is_used({"net.py": NET, "main.py": main}, "Net")
    assert is_used({"net.py": NET, "main.py": MAIN + "import_module(name)\n"}, "Net")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": "from lib.net import Net\n\nNet()\n"}, True),
        ({"main.py": "from lib.net import Net\n\nNet()\n", "lib/user.py": "from .old import Net\n"}, True),
        ({"main.py": "from lib.user import f\n\nf()\n", "lib/user.py": "from .old import Net\n"}, False),
        ({"main.py": "from lib.net import Net\n\nNet()\n", "tests/test_old.py": "from lib.old import Net\n"}, False),
        ({"main.py": "from lib.net import Net\nimport sys\n\nsys.path.append('lib')\nimport old\n"}, False),
        ({"main.py": "print()\n"}, False),
    ],
)
def test_a_module_that_no_program_loads_beside_one_that_some_does(files: dict[str, str], expected: bool) -> None:
    known = project({**files, "lib/__init__.py": "", "lib/net.py": NET, "lib/old.py": NET})
    assert InUse.of(known).is_left_over(known.files["lib/old.py"]) == expected


def test_nobody_is_shown_a_layer_that_nothing_makes() -> None:
    files = {"net.py": NET, "main.py": MAIN}
    (found,) = check(files, "PPF205", min_confidence=Confidence.LOW)
    assert found.confidence is Confidence.LOW
    (found,) = check({**files, "main.py": MAIN.replace("Other", "Net")}, "PPF205")
    assert found.confidence is Confidence.MEDIUM


def test_nobody_is_shown_a_training_loop_that_no_program_loads() -> None:
    train = """
        def train(net, loader, optimizer):
            for x in loader:
                loss = net(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                print(loss.item())
        """
    files = {"new.py": train, "main.py": "import paddle\nfrom new import train\n\ntrain(1, 2, 3)\n"}
    assert {finding.path for finding in check({**files, "old.py": train}, "PPF201")} == set()
    marked = {path: f"import paddle\n{dedent(text)}" for path, text in {**files, "old.py": train}.items()}
    assert {finding.path for finding in check(marked, "PPF2")} == {"new.py"}
    unsure = check(marked, "PPF2", min_confidence=Confidence.LOW)
    assert {finding.confidence for finding in unsure if finding.path == "old.py"} == {Confidence.LOW}


SCRIPT = """
    import paddle


    def evaluate(model, loader):
        model.eval()
        for x in loader:
            print(model(x))


    def train(model, loader, optimizer):
        for x in loader:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        # evaluate(model, loader)


    train(model, loader, optimizer)
    """


def test_nobody_is_shown_a_function_that_its_program_never_calls() -> None:
    assert check(SCRIPT, "PPF601") == []
    (found,) = check(SCRIPT, "PPF601", min_confidence=Confidence.LOW)
    assert found.confidence is Confidence.LOW
    (found,) = check(SCRIPT.replace("# evaluate", "evaluate"), "PPF601")
    assert found.confidence > Confidence.LOW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("train(model, loader, optimizer)\n    ", "TRAINERS = [train(model, loader, optimizer)]\n    "),
        ("def evaluate", "@paddle.jit.to_static\n    def evaluate"),
        ("# evaluate(model, loader)", "run('evaluate')"),
        ("# evaluate(model, loader)", "globals()[name](model, loader)"),
        ("import paddle", "import fire\n    import paddle"),
    ],
)
def test_a_function_that_something_else_may_call(old: str, new: str) -> None:
    assert old in SCRIPT
    (found,) = check(SCRIPT.replace(old, new), "PPF601")
    assert found.confidence > Confidence.LOW


def test_another_file_may_import_a_function_of_a_program() -> None:
    other = "from train import evaluate\n\nevaluate(model, loader)\n"
    (found,) = check({"train.py": SCRIPT, "other.py": other}, "PPF601")
    assert found.path == "train.py"


@pytest.mark.parametrize(
    ("line", "is_module"),
    [
        ("import sys\nsys.path.append('..')\n", True),
        ("import warnings\nwarnings.filterwarnings('ignore')\n", True),
        ("import numpy as np\nnp.random.seed(0)\n", True),
        ("import sys\nsys.stdout.write('made')\n", False),
    ],
)
def test_what_only_sets_something_up_is_no_program(line: str, is_module: bool) -> None:
    """A module that nothing imports is left over beside one that is imported; a program is not."""
    files = {"old.py": line + NET, "net.py": NET, "main.py": MAIN}
    known = project(files)
    assert InUse.of(known).is_left_over(known.files["old.py"]) is is_module


TRIAL = "\nif __name__ == '__main__':\n    net = Net()\n    {tried}\n"


@pytest.mark.parametrize(
    ("tried", "expected"),
    [
        ("print(net(paddle.randn([1, 3])).shape)", False),
        ("paddle.summary(net, (1, 3, 224, 224))", False),
        ("print(net(read()))", True),
        ("net(paddle.ones([1, 3])).backward()", True),
        ("paddle.save(net(paddle.zeros([1])), path)", True),
        ("main(net(paddle.ones([1])))", True),
        ("x = paddle.ones([1])\n    main()", True),
    ],
)
def test_who_tries_a_layer_with_an_input_that_is_made_up_does_not_use_it(tried: str, expected: bool) -> None:
    text = NET + "\n\ndef main():\n    pass\n" + TRIAL.format(tried=tried)
    main = "from net import Other\n\nOther()\n"
    assert is_used({"net.py": text, "main.py": main}, "Net") == expected
    assert is_used({"net.py": text, "main.py": main}, "Other")
    alone = {"net.py": NET, "old.py": text, "main.py": main}
    assert is_used(alone, "Net", "old.py") == expected
    known = project(alone)
    assert InUse.of(known).is_left_over(known.files["old.py"]) != expected


def test_a_layer_that_is_only_tried_is_still_for_programs_that_are_not_to_be_seen() -> None:
    assert is_used({"net.py": NET + TRIAL.format(tried="net(paddle.ones([1]))")}, "Net")


def test_a_program_may_import_under_one_name_what_it_was_asked_for() -> None:
    """``main`` loads both modules and uses each class, although the name is bound twice; nothing loads ``old``."""
    main = """
        def main(kind):
            if kind == "small":
                from small import Net as Model
            else:
                from large import Net as Model
            return Model()

        if __name__ == "__main__":
            main("small")
        """
    files = {"small.py": NET, "large.py": NET, "old.py": NET, "main.py": main}
    known = project(files)
    in_use = InUse.of(known)
    assert [path for path, file in known.files.items() if in_use.is_left_over(file)] == ["old.py"]
    assert [is_used(files, "Net", path) for path in ("small.py", "large.py", "old.py")] == [True, True, False]
