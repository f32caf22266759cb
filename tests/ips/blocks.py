"""Parts of the suite that fit into a short time on a borrowed machine, and one file with all that they have written."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

_BLOCK = re.compile(r"(\d+)/(\d+)")


def part(items: Sequence[Item], block: str) -> list[Item]:
    """The items of one block: ``2/4`` has each fourth, from the second on.

    Raises:
        ValueError: the block is not written so, or there is no such block.
    """
    found = _BLOCK.fullmatch(block)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"{block!r} is no block: write 1/4 for the first of four")
    return list(items[number - 1 :: count])


def pack(archive: Path, files: Sequence[Path], root: Path) -> list[str]:
    """Write files into one tar archive by their paths from ``root``; those names.

    A file that was written twice is packed once.  With ``.gz`` at the end the archive is compressed.
    """
    names = sorted({path.relative_to(root).as_posix() for path in files})
    beside = archive.with_name(f"{archive.name}.part")
    with tarfile.open(beside, "w:gz" if archive.suffix in (".gz", ".tgz") else "w") as tar:
        for name in names:
            tar.add(root / name, name)
    beside.replace(archive)
    return names
