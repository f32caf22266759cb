"""A file that is edited: what is cached about it is that of its new text."""

from __future__ import annotations

import inspect
from functools import cached_property

import pytest

from perflint.configuration.settings import Settings
from perflint.incremental.kept_project import KeptFile, KeptProject
from perflint.index.project import FileIndex, Project
from perflint.syntax.file_text import FileText
from perflint.text.source import Source

BEFORE = """\
import torch
from layers import *


def train(loader):
    for batch in loader:
        step(batch)
"""
AFTER = """\
import paddle
from paddle import amp as mixed

paddle.enable_static()
scaler = mixed.GradScaler()


class Net(paddle.nn.Layer):
    def forward(self, x):
        value = self.step
        again = value
        return again(x)
"""
CACHED = sorted(
    name for name, member in (vars(FileText) | vars(FileIndex)).items() if isinstance(member, cached_property)
)
STATE = ("_known", "_uses", "scopes", "tree")
"""Those that have no equal in another index of the same text, or are not used by a kept file."""
ASKED = {
    "has": "Net",
    "has_words": "scaler",
    "may_assign": "value",
    "may_be_member": "step",
    "may_call": "step",
    "may_derive": "Layer",
    "may_hold": "x",
    "renamings": "amp",
}
"""Methods that say something about the text, each with a question whose answer the edit changes."""


def edited() -> tuple[KeptFile, FileIndex]:
    """A file after an edit, everything that is cached about it having been used before; and another with that text."""
    project = KeptProject({"net.py": Source("net.py", BEFORE)}, Settings(), frozenset({"net.py"}))
    file = project.files["net.py"]
    assert isinstance(file, KeptFile)
    before = {name: getattr(file, name) for name in CACHED}
    assert before.keys() == set(CACHED)
    for name, word in ASKED.items():
        getattr(file, name)(word)
    project.memory.rest()
    assert project.put("net.py", AFTER) is None
    return file, Project({"net.py": Source("net.py", AFTER)}).files["net.py"]


@pytest.mark.parametrize("name", CACHED)
def test_nothing_is_cached_that_an_edit_does_not_reach(name: str) -> None:
    assert not isinstance(inspect.getattr_static(KeptFile, name), cached_property)


@pytest.mark.parametrize("name", [name for name in CACHED if name not in STATE])
def test_what_is_cached_is_that_of_the_new_text(name: str) -> None:
    file, fresh = edited()
    now, expected = getattr(file, name), getattr(fresh, name)
    assert (list(now) if isinstance(now, dict) else now) == (list(expected) if isinstance(now, dict) else expected)


@pytest.mark.parametrize("name", ASKED)
def test_answers_are_those_of_the_new_text(name: str) -> None:
    file, fresh = edited()
    before = Project({"net.py": Source("net.py", BEFORE)}).files["net.py"]
    answers = [getattr(each, name)(ASKED[name]) for each in (before, file, fresh)]
    assert answers[1] == answers[2] != answers[0]
