"""URIs and paths.

pygls' own functions treat the part of a file name after a semicolon as parameters, and drop it.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname


def path_of(uri: str) -> str | None:
    """The path of a file; None if the URI is not that of a file.

    >>> path_of("file:///tmp/a%20b%3Bc.py")
    '/tmp/a b;c.py'
    >>> path_of("untitled:Untitled-1") is None
    True
    >>> path_of("file:///tmp/a%00b.py") is None  # no file has such a name
    True
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or not parts.path or "\0" in unquote(parts.path):
        return None
    if os.name == "nt":
        path = url2pathname(parts.path)
        return os.path.normpath(rf"\\{parts.netloc}{path}" if parts.netloc else path)
    # As Python represents file names: bytes that are not UTF-8 become surrogates.
    return os.path.normpath(unquote(parts.path, errors="surrogateescape"))


def uri_of(path: str) -> str:
    """The URI of an absolute path.

    >>> uri_of("/tmp/a b.py")
    'file:///tmp/a%20b.py'
    """
    return Path(path).absolute().as_uri()
