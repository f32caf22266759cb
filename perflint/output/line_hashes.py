"""The hashes by which GitHub code scanning recognizes lines.

The upload action of GitHub computes these as well, and warns about each result with a different hash.
https://github.com/github/codeql-action/blob/main/src/fingerprints.ts defines them: for a line and those after it, the
first 100 UTF-16 code units that are neither blank nor tab, taken as digits to the base 37, modulo 2 to the 64th; every
line end counts as one line feed, and the file ends with 65535.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from itertools import accumulate

_SPAN = 100
_BASE = 37
_MASK = 2**64 - 1
_END = 0xFFFF
_LINE_FEED = ord("\n")


def line_hashes(data: bytes) -> list[str]:
    """The hash of each line of a file, numbered among equal ones: ``c129715d7a2bc9a3:1``."""
    units = [*_code_units(data), _END, *([0] * _SPAN)]
    heads = list(accumulate(units, lambda value, unit: (value * _BASE + unit) & _MASK, initial=0))
    above = pow(_BASE, _SPAN, _MASK + 1)
    starts = [0, *(place + 1 for place, unit in enumerate(units) if unit == _LINE_FEED)]
    seen: Counter[int] = Counter()
    hashes = []
    for start in starts:
        value = (heads[start + _SPAN] - heads[start] * above) & _MASK
        seen[value] += 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes


def _code_units(data: bytes) -> array[int]:
    # The action reads every file as UTF-8, and treats a byte order mark as a character.
    text = re.sub("[ \t]", "", re.sub("\r\n?", "\n", data.decode("utf-8", "replace")))
    return array("H", text.encode(f"utf-16-{sys.byteorder[0]}e"))
