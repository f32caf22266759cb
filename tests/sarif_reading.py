"""SARIF read by its definition: which characters a region means, and what a fix makes of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def meant(text: str, region: Mapping[str, int], newlines: list[str]) -> slice:
    """The characters of a region: rows end at ``newlineSequences``, columns count code points from 1."""
    pattern = "|".join(map(re.escape, newlines))
    starts = [0, *(match.end() for match in re.finditer(pattern, text))]
    start = starts[region["startLine"] - 1] + region["startColumn"] - 1
    return slice(start, starts[region["endLine"] - 1] + region["endColumn"] - 1)


def applied(text: str, fix: Mapping[str, Any], newlines: list[str]) -> str:
    """The text after all replacements of a fix of one file; each region is one of the text before."""
    (change,) = fix["artifactChanges"]
    spans = [(meant(text, each["deletedRegion"], newlines), each) for each in change["replacements"]]
    for span, replacement in sorted(spans, key=lambda pair: (pair[0].start, pair[0].stop), reverse=True):
        text = text[: span.start] + replacement["insertedContent"]["text"] + text[span.stop :]
    return text
