"""The index answers alike whatever it was asked before: one process, two, and an editor ask in different orders."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from textwrap import dedent

import pytest

from perflint.facts.gradient_graphs import NoGrad
from perflint.flow.branches import Switches
from perflint.flow.constant_values import Value
from perflint.flow.constants import Constants
from perflint.flow.resolving import opened
from perflint.flow.values import Values
from perflint.index.kinds import TENSOR_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.rules.no_grad import Gradients
from perflint.syntax.scopes import Scope
from perflint.text.source import Source
from perflint.training.training_calls import TrainingCalls
from tests import corpus


def _values(project: Project, file: FileIndex, scope: Scope, name: str) -> list[Value]:
    """The constants that a parameter may be."""
    found = Constants.of(project).possible(ast.Name(name, ast.Load()), Place(file, scope))
    return [value for value in found if value.is_constant]


Answer = Callable[[Project, FileIndex, Scope], object]

QUESTIONS: dict[str, Answer] = {
    "trains": lambda project, file, scope: TrainingCalls.of(project).trains(Place(file, scope)),
    "asks for gradients": lambda project, file, scope: Gradients.of(project).wanted_in(Place(file, scope)),
    "without gradients": lambda project, file, scope: NoGrad.of(project).over_scope(Place(file, scope)),
    "gives": lambda project, file, scope: Values.of(project).result(Place(file, scope), "", [], {}),
    "is on": lambda project, file, scope: Switches.of(project).state_of_calls(Place(file, scope)),
    "is settled": lambda project, file, scope: [
        constant and constant.value
        for name in scope.parameters
        for constant in [Constants.of(project).certain(name, Place(file, scope))]
    ],
    "may be": lambda project, file, scope: [
        [(value.value, value.setter, len(value.calls)) for value in _values(project, file, scope, name)]
        for name in scope.parameters
    ],
}

CIRCLE = """
    import paddle

    def f(x, opt):
        if x:
            g(x, opt)
        loss = x.mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    def g(x, opt):
        return f([x], opt)
    """
CHAIN = (
    "import paddle\n\n"
    + "".join(f"def h{at}(flag):\n    return h{at + 1}(flag)\n\n" for at in range(9))
    + "def h9(flag):\n    return paddle.ones([1])\n\nh0(False)\n"
)


def _asked(project: Project, what: str, order: list[tuple[str, int]]) -> dict[tuple[str, int], object]:
    answers = {}
    for path, at in order:
        file = project.files[path]
        answers[path, at] = QUESTIONS[what](project, file, file.scopes.scopes[at])
    return answers


def _functions(project: Project) -> list[tuple[str, int]]:
    return [(path, at) for path, file in project.files.items() for at in range(len(file.scopes.scopes))]


@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.parametrize("text", [CIRCLE, CHAIN], ids=["circle", "chain"])
def test_small_programs(text: str, what: str) -> None:
    sources = {"a/t.py": Source("a/t.py", dedent(text)), "a/u.py": Source("a/u.py", "")}
    functions = _functions(opened(sources))
    alone = {one: _asked(opened(sources), what, [one])[one] for one in functions}
    for seed in range(20):
        order = random.Random(seed).sample(functions, len(functions))
        assert _asked(opened(sources), what, order) == alone


def test_what_a_chain_of_functions_gives() -> None:
    project = opened({"a/t.py": Source("a/t.py", dedent(CHAIN)), "a/u.py": Source("a/u.py", "")})
    answers = _asked(project, "gives", [one for one in _functions(project) if one[1] > 0 and one[0] == "a/t.py"])
    assert {getattr(kind, "tag", None) for kind in answers.values()} == {TENSOR_TAG}


def test_a_constant_at_the_end_of_a_chain_of_calls_in_a_circle() -> None:
    text = CHAIN.replace("return paddle.ones([1])", "return h0(flag)")
    project = opened({"a/t.py": Source("a/t.py", text)})
    file = project.files["a/t.py"]
    for scope in file.scopes.scopes[1:]:
        constant = Constants.of(project).certain("flag", Place(file, scope))
        assert constant is not None and constant.value is False
        ways = [len(value.calls) for value in _values(project, file, scope, "flag")]
        assert ways == ([1, 11] if scope.name == "h0" else [1 + int(scope.name[1:])])  # no way goes around twice


REEXPORTS = {
    "a/__init__.py": "from a.one import f, g\nimport a.b as c\nfrom c import q as b\n",
    "a/one.py": "from a.two import *\nfrom a.three import g\n",
    "a/two.py": "def f():\n    pass\n",
    "a/three.py": "from a import g\n",
    "main.py": "import a\n",
    **{f"m{at}.py": f"from m{at + 1} import f\n" for at in range(9)},
    "m9.py": "def f():\n    pass\n",
}


def test_names_that_are_imported_again_and_again() -> None:
    def find(project: Project, name: str, path: str) -> str | None:
        found = Modules.of(project).find(name, project.files[path])
        return found and found[0].path

    sources = {path: Source(path, text) for path, text in REEXPORTS.items()}
    names = ("a.f", "a.one.f", "a.two.f", "a.g", "a.one.g", "f", "a.b.z", "a.c.z", *(f"m{at}.f" for at in range(10)))
    asked = [(name, path) for name in names for path in REEXPORTS]
    alone = {one: find(opened(sources), *one) for one in asked}
    assert {alone[name, "main.py"] for name in ("a.f", "a.one.f", "a.two.f")} == {"a/two.py"}
    assert alone["f", "a/one.py"] == "a/two.py"
    assert {alone[f"m{at}.f", "main.py"] for at in range(10)} == {"m9.py"}
    assert {path for (name, path), there in alone.items() if name in ("a.g", "a.b.z") and there} == set()
    for seed in range(20):
        project = opened(sources)
        order = random.Random(seed).sample(asked, len(asked))
        assert {one: find(project, *one) for one in order} == alone


@pytest.mark.slow
@pytest.mark.parametrize("what", QUESTIONS)
def test_published_code(what: str) -> None:
    """Each question is asked of the same functions in several orders, among all the others of a published suite."""
    sources = {path: source for path, source in corpus.sources().items() if path.startswith("paddledet")}
    chance = random.Random(what)
    functions = chance.sample(_functions(opened(sources)), 250)
    expected = _asked(opened(sources), what, functions)
    for _ in range(2):
        chance.shuffle(functions)
        assert _asked(opened(sources), what, functions) == expected
