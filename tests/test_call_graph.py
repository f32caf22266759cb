"""The call graph: which calls reach a function, how sure that is, what they hand over, and who else may call it."""

from __future__ import annotations

import ast

import pytest

from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.resolving import opened
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.syntax.scopes import Scope
from tests import corpus
from tests.support import Files, places, sources

HOME = """\
class Base:
    def __init__(self, size):
        self.size = size
    def run(self, x=0):
        pass
    def start(self):
        self.run(1)

class Heir(Base):
    def run(self, x=0):
        super().run(x)

def make(size):
    pass
"""


def _function(files: Files, qualname: str) -> tuple[Project, FileIndex, Scope]:
    project = opened(sources(files))
    home = project.files["home.py"]
    return project, home, next(scope for scope in home.scopes.scopes if scope.qualname == qualname)


def calling(text: str, qualname: str) -> dict[str, Certainty]:
    """The calls of ``a.py`` that reach a function of ``home.py`` or may reach it, as they are written."""
    project, home, scope = _function({"a.py": text, "home.py": HOME}, qualname)
    sites = CallGraph.of(project).callers(Place(home, scope), Certainty.NAME)
    return {ast.unparse(site.call): site.certainty for site in sites if site.file is not home}


@pytest.mark.parametrize(
    ("text", "qualname", "found"),
    [
        ("from home import make\nmake(1)", "make", {"make(1)": Certainty.SURE}),
        ("from home import make as made\nmade(1)", "make", {"made(1)": Certainty.SURE}),
        ("import home\nhome.make(1)", "make", {"home.make(1)": Certainty.SURE}),
        ("from lib.home import make\nmake(1)", "make", {"make(1)": Certainty.NAME}),
        ("from lib import make\nmake(1)", "make", {}),
        ("def call(make):\n    make(1)", "make", {}),
        ("from home import Base\nBase(1)", "Base.__init__", {"Base(1)": Certainty.SURE}),
        ("from home import Heir\nHeir(1)", "Base.__init__", {"Heir(1)": Certainty.SURE}),
        ("from home import Heir\nHeir(1).run()", "Heir.run", {"Heir(1).run()": Certainty.SURE}),
        ("from home import Heir\nHeir(1).run()", "Base.run", {}),
        ("from home import Heir\nheir = Heir(1)\nheir.run()", "Heir.run", {"heir.run()": Certainty.SURE}),
        ("from home import Heir\nheir = Heir(1)\nheir.run()", "Base.run", {}),
        ("from home import Base\nbase = Base(1)\nbase.run()", "Heir.run", {"base.run()": Certainty.OVERRIDE}),
        ("def go(x):\n    x.run(2)", "Base.run", {"x.run(2)": Certainty.NAME}),
        ("def go(x):\n    x.run(2, 3)", "Base.run", {}),
        ("import subprocess\nsubprocess.run(2)", "Base.run", {}),
        ("class Other:\n    def go(self):\n        self.run(2)", "Base.run", {}),
    ],
)
def test_calls_and_how_sure_they_are(text: str, qualname: str, found: dict[str, Certainty]) -> None:
    assert calling(text, qualname) == found


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("from home import make", "make", "make"),
        ("from home import *", "make", "make"),
        ("from home import Base", "Base", None),
        ("from home import Heir\nheir = Heir(1)", "heir.run", "Heir.run"),
        ("from home import make\ndef call(make):\n    pass", "make", "make"),
        ("from home import Base, Heir\nstep = Heir(1).run", "step", "Heir.run"),
        ("import subprocess", "subprocess.run", None),
    ],
)
def test_the_function_that_a_name_refers_to(text: str, name: str, found: str | None) -> None:
    project = opened(sources({"a.py": text, "home.py": HOME}))
    file = project.files["a.py"]
    called = CallGraph.of(project).called(Place(file, file.scopes.module), name)
    assert (called.scope.qualname if called is not None else None) == found


def test_a_method_of_an_object_that_may_be_of_several_classes_is_one_of_each() -> None:
    text = "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\n"
    project = opened(sources({"a.py": text}))
    value = Modules.of(project).method_value("a.A or a.B", "run")
    assert value is not None
    assert [place.scope.qualname for place in Modules.of(project).functions_of_kind(value)] == ["A.run", "B.run"]


def test_a_base_class_calls_the_method_of_an_heir_and_super_that_of_the_base() -> None:
    for qualname, found in (
        ("Base.run", {("Base.start", Certainty.SURE), ("Heir.run", Certainty.SURE)}),
        ("Heir.run", {("Base.start", Certainty.OVERRIDE)}),
    ):
        project, home, scope = _function({"home.py": HOME}, qualname)
        sites = CallGraph.of(project).callers(Place(home, scope), Certainty.NAME)
        assert {(site.scope.qualname, site.certainty) for site in sites} == found


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("Base(3)", "3"),
        ("Base(size=3)", "3"),
        ("Base()", None),
        ("Base(*sizes)", None),
        ("class Own(Base):\n    def __init__(self):\n        super().__init__(3)", "3"),
        ("class Own(Base):\n    def __init__(self):\n        Base.__init__(self, 3)", "3"),
    ],
)
def test_what_a_call_hands_over(call: str, argument: str | None) -> None:
    project, home, scope = _function({"a.py": f"from home import Base\n{call}", "home.py": HOME}, "Base.__init__")
    (site,) = CallGraph.of(project).callers(Place(home, scope))
    given = site.argument(scope, "size")
    assert (given and ast.unparse(given)) == argument


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("from home import make\nmake(1)", Certainty.NO),
        ("from home import make\nisinstance(make, type)", Certainty.NO),
        ("from home import make\nmakers = [make]", Certainty.SURE),
        ("from home import make\nglobals()['ma' + 'ke']", Certainty.NAME),
        ("from home import make\nmake(1)\n" * 101, Certainty.SURE),
    ],
)
def test_whether_something_else_calls_a_function(text: str, others: Certainty) -> None:
    files = {"home.py": HOME, "a.py": text, "b.py": text}
    project, home, scope = _function(files, "make")
    assert CallGraph.of(project).others(Place(home, scope)) is others


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("class Base:\n    def __init__(self): pass\n\nBase()", Certainty.NO),
        ("@register\nclass Base:\n    def __init__(self): pass\n\nBase()", Certainty.SURE),
        ("class Base(external.Thing):\n    def __init__(self): pass\n\nBase()", Certainty.NAME),
        ("class Base:\n    def __init__(self): pass\n    def copy(self): return self.__class__()", Certainty.SURE),
        ("class Base:\n    def __init__(self): pass\n\nclass Heir(Base): pass\n\nBase()", Certainty.NAME),
        ("class Base:\n    def __init__(self): pass\n\nclass Heir(Base): pass\n\nBase()\nHeir()", Certainty.NO),
    ],
)
def test_whether_something_else_makes_objects(text: str, others: Certainty) -> None:
    project, home, scope = _function({"home.py": text}, "Base.__init__")
    assert CallGraph.of(project).others(Place(home, scope)) is others


def _unlisted(project: Project) -> list[str]:
    """The calls that may reach a function whose callers do not list them, although nothing else is said to call it."""
    graph, listed, found = CallGraph.of(project), dict[tuple[Scope, Certainty], set[ast.Call]](), list[str]()
    files = (file for file in project.files.values() if not (file.is_quiet or file.is_foreign))
    scopes = ((file, scope) for file in files for scope in file.scopes.scopes)
    for file, scope, call in ((*place, call) for place in scopes for call in place[1].calls):
        for callee in graph.callees(Place(file, scope), call):
            key = callee.scope, callee.certainty
            if key not in listed:
                listed[key] = {site.call for site in graph.callers(Place(callee.file, callee.scope), callee.certainty)}
            if (
                call not in listed[key]
                and callee.bound
                and graph.others(Place(callee.file, callee.scope)) is Certainty.NO
            ):
                found.append(f"{file.path}:{call.lineno} {ast.unparse(call.func)} -> {callee.scope.qualname}")
    return found


def test_the_callers_of_what_a_call_reaches_list_the_call_in_real_code() -> None:
    texts = {path: source for path, source in corpus.sources().items() if path.startswith("paddleseg")}
    project = opened(texts)
    assert len(texts) > 100
    assert _unlisted(project) == []


@pytest.mark.parametrize(
    "text",
    [
        "from home import make as other\nother(1)",
        "from home import Base\nBase(1).start()",
        "from home import Base, Heir\none = Heir(1) if fast else Base(1)\none.run()",
        "import home\nclass Own(home.Heir):\n    def go(self):\n        super().run()\n        self.start()",
        "from home import Base\ndef go(one):\n    return one.start()\ngo(Base(1))",
    ],
)
def test_the_callers_of_what_a_call_reaches_list_the_call(text: str) -> None:
    project = opened(sources({"home.py": HOME, "a.py": text}))
    file = project.files["a.py"]
    calls = [(scope, call) for scope in file.scopes.scopes for call in scope.calls]
    assert any(CallGraph.of(project).callees(Place(file, scope), call) for scope, call in calls)
    assert _unlisted(project) == []


TRAINER = """\
import paddle


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = paddle.optimizer.Adam(parameters=model.parameters())

    def one(self, x):
        loss = self.model.loss(x)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.numpy()
"""


@pytest.mark.parametrize("line", ["", "    worker = trainer\n", "    worker: Trainer = trainer\n"])
def test_an_object_that_the_callers_hand_over(line: str) -> None:
    name = "worker" if line else "trainer"
    fit = f"def fit(loader, trainer):\n{line}    for x in loader:\n        total = {name}.one(x)\n"
    main = "from fit import fit\nfrom trainer import Trainer\n\ntrainer = Trainer(model)\nfit(loader, trainer)\n"
    files = {"trainer.py": TRAINER, "fit.py": f"import paddle\n\n\n{fit}", "main.py": main}
    assert places(files, "PPF201") == [("trainer.py", 14, "PPF201")]
    assert places({**files, "main.py": main.replace("trainer)", "other)")}, "PPF201") == []
