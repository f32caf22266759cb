"""What the editor shows while nothing is known of a document yet."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from perflint.server.checking import Checking
from perflint.server.documents import Document, Result
from perflint.server.state import EditorState, Waiting

DOCUMENT = Document("file:///a.py", "/a.py", "", 1)


class NoChecks:
    def show(self, *_: object) -> None:
        return


class Shown:
    """An editor's progress, as it is told."""

    def __init__(self, can_show: bool = True) -> None:
        self.told: list[str] = []
        self._can_show = can_show

    async def create_async(self, _: str) -> None:
        if not self._can_show:
            raise ConnectionError
        self.told.append("create")

    def begin(self, _: str, __: object) -> None:
        self.told.append("begin")

    def end(self, _: str, __: object) -> None:
        self.told.append("end")


async def all_that_can_be_done() -> None:
    """Nothing waits for a moment of the clock here, so some turns of the loop are enough, however long they take."""
    for _ in range(20):
        await asyncio.sleep(0)


async def told(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, is_known: bool = False, closes: bool = False
) -> list[str]:
    """What is told of two documents that are opened together, and checked a moment later."""
    monkeypatch.setattr("perflint.server.state.PATIENCE", 0.0)
    state = EditorState(cast("Checking", NoChecks()))
    state.open(DOCUMENT, looks=False)
    if is_known:
        state.enter([Result(DOCUMENT, ())])
    watching = Waiting(cast("Any", shown))
    watching.watch(state, DOCUMENT.uri)
    watching.watch(state, DOCUMENT.uri)
    await all_that_can_be_done()
    before = list(shown.told)
    if closes:
        state.close(DOCUMENT.uri)
    state.enter([Result(DOCUMENT, ())])
    await all_that_can_be_done()
    return [*before, "|", *shown.told[len(before) :]]


@pytest.mark.asyncio
async def test_it_is_shown_once_until_there_is_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await told(Shown(), monkeypatch) == ["create", "begin", "|", "end"]
    assert await told(Shown(), monkeypatch, closes=True) == ["create", "begin", "|", "end"]


@pytest.mark.asyncio
async def test_it_is_not_shown_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await told(Shown(), monkeypatch, is_known=True) == ["|"]
    assert await told(Shown(can_show=False), monkeypatch) == ["|"]
