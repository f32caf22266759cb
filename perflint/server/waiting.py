"""Shows progress in the editor while the first check of a workspace takes long."""

from __future__ import annotations

import asyncio
import logging
from itertools import count

from lsprotocol import types
from pygls.progress import Progress

from perflint.server.state import EditorState

PATIENCE = 1.0
"""Seconds before progress is shown."""

log = logging.getLogger(__name__)


class Waiting:
    """Shows that the workspace is being read, in editors that can show progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_shown = False

    def watch(self, state: EditorState, uri: str) -> None:
        """Show progress until a document has been checked, if that takes longer than ``PATIENCE``."""
        task = asyncio.ensure_future(self._watch(state, uri))
        self._tasks.add(task)  # otherwise the task would be garbage collected
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, state: EditorState, uri: str) -> None:
        await asyncio.sleep(PATIENCE)
        if self._is_shown or state.known(uri) is not None or uri not in state.view.documents:
            return
        self._is_shown = True
        try:
            await self._show(state, uri)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # some editors claim that they can, but cannot
            log.debug("the editor does not show progress: %s", error)
        finally:
            self._is_shown = False

    async def _show(self, state: EditorState, uri: str) -> None:
        name = f"perflint-{next(self._numbers)}"
        await self._progress.create_async(name)
        self._progress.begin(name, types.WorkDoneProgressBegin(title="perflint: reading the workspace"))
        try:
            await state.current(uri)
        finally:
            self._progress.end(name, types.WorkDoneProgressEnd())
