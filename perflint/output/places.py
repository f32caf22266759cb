"""Paths in reports for other programs: relative to the top of the repository, where CI looks for them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote_from_bytes

from perflint.files.plain_files import absolute
from perflint.files.plain_files import repository as git_top

STDIN = "-"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Places:
    """Paths relative to one directory."""

    def __init__(self, root: str) -> None:
        """``root`` is an absolute path."""
        self.root = root
        self._bases = [(of, _ended(of(root))) for of in (absolute, os.path.realpath)]

    @property
    def root_uri(self) -> str:
        """The root as a ``file`` URI that ends in a slash."""
        return Path(self.root).as_uri().rstrip("/") + "/"

    def inside(self, path: str) -> str | None:
        """``path`` relative to the root, with ``/`` between its parts; None if it lies outside.

        Links are followed only if the path as written lies outside.
        """
        if path == STDIN:
            return STDIN
        for whole, base in self._bases:
            place = whole(path)
            if place.startswith(base):
                return place[len(base) :].replace(os.sep, "/")
            if place + os.sep == base:
                return "."
        return None

    def shown(self, path: str) -> str:
        """``path`` relative to the root, or the absolute path if it lies outside, as valid text."""
        inside = self.inside(path)
        return valid(absolute(path).replace(os.sep, "/") if inside is None else inside)

    def uri(self, path: str) -> tuple[str, bool]:
        """The URI of a file, and whether it is relative to the root; any bytes of a path are percent-encoded."""
        inside = self.inside(path)
        if inside is None:
            return Path(absolute(path)).as_uri(), False
        return quote_from_bytes(os.fsencode(inside)), True


def repository(start: Path, otherwise: Path) -> str:
    """The top of the git repository around ``start``; if there is none, ``otherwise``, as an absolute path.

    A work tree and a submodule have a file ``.git`` instead of the directory.
    """
    top = git_top(Path(absolute(start))) or git_top(Path(os.path.realpath(start)))
    return str(top) if top is not None else absolute(otherwise)


def valid(text: str) -> str:
    r"""``text`` with undecodable bytes escaped: the byte 0xFF of a path becomes the four characters ``\xff``."""
    return _SURROGATE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _ended(path: str) -> str:
    return path if path.endswith(os.sep) else path + os.sep
