"""Which functions may train, and which files a step loop may stand in: by definition, not by name."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.flow.resolving import opened
from perflint.index.project import Project
from perflint.text.source import Source
from perflint.training.evidence import STEP_METHODS
from perflint.training.live import Live, live

_STEP = """
    def advance(model, optimizer, batch):
        model(batch).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def _live(**files: str) -> tuple[Live, Project]:
    sources = {f"src/{name}.py": Source(f"src/{name}.py", dedent(text)) for name, text in files.items()}
    project = opened(sources)
    return live(project), project


def _names(found: Live) -> frozenset[str]:
    return found.names - STEP_METHODS


def _files(found: Live) -> list[str]:
    return [file.module for file in found.files]


def test_a_caller_of_a_step_may_train_and_so_may_its_loops() -> None:
    found, _ = _live(
        steps=_STEP,
        fit="""
            from steps import advance
            def one_pass(model, optimizer, batch):
                advance(model, optimizer, batch)
            """,
        run="""
            import fit
            for batch in loader:
                fit.one_pass(model, optimizer, batch)
            """,
    )
    assert _names(found) == {"advance", "one_pass"}
    assert _files(found) == ["run"]


@pytest.mark.parametrize(
    "lookalike",
    [
        "def advance(clock): clock.tick()\nfor hour in day: advance(hour)",
        "for hour in day: hour.advance()",
        "def use(self): return self.advance\nfor part in parts: use(part)",
        "for part in parts: handle(part.advance, config.advance)",
    ],
)
def test_another_thing_of_the_same_name_does_not(lookalike: str) -> None:
    found, _ = _live(steps=_STEP, other=lookalike)
    assert _names(found) == {"advance"}
    assert _files(found) == []


def test_files_that_cannot_hold_a_step_loop_are_not_parsed() -> None:
    """``self.learn`` is a flag: what shares a name with it, or with a function around it, is left unread."""
    flags = {
        f"flag{i}": f"class Net{i}:\n    def forward(self, x):\n        return self.learn and x\n" for i in range(20)
    }
    users = {f"user{i}": f"for x in data:\n    Net{i}().forward(x)\n" for i in range(20)}
    found, project = _live(
        trainer="class T:\n    def learn(self, batch):\n        self.net(batch).backward()\n        self.o.step()\n",
        **flags,
        **users,
    )
    assert _names(found) == set()  # a name that always stands for a step
    assert _files(found) == []
    assert not any(project.files[f"src/user{i}.py"].is_parsed for i in range(20))


_HANDED = {
    "a parameter": "def run(step, loader):\n    for batch in loader:\n        step(m, o, batch)\n",
    "a parameter by keyword": "def run(loader, step=None):\n    for batch in loader:\n        step(m, o, batch)\n",
    "an attribute": """
        class Runner:
            def __init__(self, step, loader):
                self.act, self.loader = None, loader
                self.act = step
            def all(self):
                for batch in self.loader:
                    self.act(m, o, batch)
        run = Runner
        """,
}
_CALLS = {
    "a parameter": "from hold import run\nfrom steps import advance\nrun(advance, loader)\n",
    "a parameter by keyword": "from hold import run\nfrom steps import advance\nrun(loader, step=advance)\n",
    "an attribute": "from hold import Runner\nfrom steps import advance\nRunner(advance, loader).all()\n",
}


@pytest.mark.parametrize("way", _HANDED)
def test_a_step_is_followed_to_where_it_is_handed(way: str) -> None:
    found, _ = _live(steps=_STEP, hold=_HANDED[way], call=_CALLS[way])
    assert _files(found) == ["hold"]
    without, _ = _live(steps=_STEP, hold=_HANDED[way])
    assert _files(without) == []


def test_a_step_is_followed_through_variables_and_results() -> None:
    found, _ = _live(
        steps=_STEP,
        make="from steps import advance\ndef make(fast):\n    chosen = advance\n    return chosen\n",
        run="from make import make\nwork = make(True)\nfor batch in loader:\n    work(m, o, batch)\n",
    )
    assert _files(found) == ["run"]


def test_a_method_of_a_subclass_may_be_what_a_base_class_calls() -> None:
    found, _ = _live(
        base="""
            class Base:
                def one(self, batch):
                    raise NotImplementedError
                def all(self, loader):
                    for batch in loader:
                        self.one(batch)
            """,
        child="""
            from base import Base
            class Child(Base):
                def one(self, batch):
                    self.net(batch).backward()
                    self.optimizer.step()
            """,
    )
    assert _names(found) == {"one"}
    assert _files(found) == ["base"]
