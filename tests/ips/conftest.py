"""Picks a block of the measurements, and packs what they have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ips import blocks, evidence
from tests.ips.places import Place

_HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the measurements of a block, of those that are made at this place."""
    block = config.getoption("--block")
    if not block:
        return
    place = Place(config.getoption("--device"), config.getoption("--stand-in"))
    mine = [item for item in items if _HERE in item.path.parents and _is_measured(item, place)]
    try:
        kept = set(blocks.part(mine, block))
    except ValueError as error:
        raise pytest.UsageError(f"--block: {error}") from error
    left_out = [item for item in items if _HERE in item.path.parents and item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Pack what was written, if an archive was asked for, also where a measurement has failed."""
    out = config.getoption("--out")
    if out:
        names = blocks.pack(Path(out), evidence.WRITTEN, evidence.EVIDENCE.parent)
        terminalreporter.write_line(f"{out} has {len(names)} files: {', '.join(names) or 'nothing was measured'}")


def _is_measured(item: pytest.Item, place: Place) -> bool:
    """Whether a test measures anything at this place, and is not just skipped there with a reason."""
    code = item.callspec.params.get("code") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    return not code or not place.reason(str(code))
