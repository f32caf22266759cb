"""Writes JSON that is safe to print, for all reports."""

from __future__ import annotations

import json


def json_text(value: object, indent: int | None = None) -> str:
    r"""``value`` as JSON in ASCII, because a pipe may have any encoding, and a path may contain any bytes.

    It contains no control characters except for line ends, and nothing that CI systems would take for a command (see
    ``visible``).

    >>> print(json_text("##vso[\x1b"))
    "#\u0023vso[\u001b"
    """
    return json.dumps(value, indent=indent).replace("\x7f", r"\u007f").replace("##", r"#\u0023")
