"""A training function to put something into or around, and its loop as messages name it."""

from __future__ import annotations

from textwrap import dedent, indent

from tests.support import check, sources

TRAIN = """\
import paddle
import paddle.nn.functional as F
{imports}

def train(model, loader, optimizer):
{before}
    for step, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{inside}
{after}
"""


def train(inside: str, imports: str = "", before: str = "", after: str = "") -> str:
    """A training function with something in its step, before its step loop (in row 9 at the latest) and after it."""

    def part(text: str, depth: int) -> str:
        return indent(dedent(text).strip("\n"), " " * depth)

    return TRAIN.format(imports=dedent(imports), before=part(before, 4), inside=part(inside, 8), after=part(after, 4))


def loop_row(text: str) -> int:
    """The row of a text's first loop over batches."""
    rows = dedent(text).splitlines()
    return next(row for row, line in enumerate(rows, 1) if line.lstrip().startswith(("for ", "while ")))


def expect_loop_named(files: dict[str, str], helper: str, trainer: str) -> None:
    """Every finding in ``helper`` names the loop in ``trainer`` by path and row."""
    found = [item.message for item in check(files, "PPF201", "PPF202", "PPF405") if item.path == helper]
    place = f"{trainer}:{loop_row(sources(files)[trainer].text)}"
    assert found
    assert all(place in message for message in found), found
