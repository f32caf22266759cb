"""A training function to put something into or around, meters for it, and its loop as messages name it."""

from __future__ import annotations

from textwrap import dedent, indent

from tests.support import check, sources

SCRIPT = """\
import paddle
import paddle.nn.functional as F
{imports}

def train(model, loader, optimizer, args):
{before}
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{inside}
{after}
"""
METERS = """\
class LossMeter:
    def add(self, value):
        self.last = value.item(){mark}


class OtherMeter:
    def add(self, value):
        self.last = value.item()
"""


def script(before: str, inside: str, after: str = "return None", imports: str = "") -> str:
    """A training function with something before its step loop, at the end of a step, and after the loop."""
    parts = {"before": (before, 4), "inside": (inside, 8), "after": (after, 4)}
    placed = {name: indent(dedent(text).strip("\n"), " " * depth) for name, (text, depth) in parts.items()}
    return SCRIPT.format(imports=dedent(imports), **placed)


def train(inside: str, imports: str = "") -> str:
    """A training function with something at the end of a step, and what that asks for above the function."""
    return script("", inside, "", imports)


def meters(mark: bool) -> str:
    """Two meters that read what they are handed; where it is marked, the first does so at each step."""
    return METERS.format(mark="  #: PPF201" if mark else "")


def loop_row(text: str) -> int:
    """The row of a text's first loop over batches."""
    rows = dedent(text).splitlines()
    return next(row for row, line in enumerate(rows, 1) if line.lstrip().startswith(("for ", "while ")))


def expect_loop_named(files: dict[str, str], helper: str, trainer: str) -> None:
    """Every finding in ``helper`` names the loop in ``trainer`` by path and row."""
    found = [item for item in check(files, "PPF201", "PPF202", "PPF405") if item.path == helper]
    row = loop_row(sources(files)[trainer].text)
    named = [(item.related[-1].path, item.related[-1].line, item.related[-1].message) for item in found]
    assert named
    assert set(named) == {(trainer, row, "the step loop")}, found
