"""How the files of a program are written: encodings, line ends, blank rows, and what stands at their ends."""

from __future__ import annotations

import re

from perflint.text.source import Source
from tests.programs.draft import Draft

_ENDS = ("\r\n", "\r\n", "\r", "mixed")
_WORDS = ("Verluste über alle Schritte", "la précision à chaque étape", "größer")


def written(draft: Draft, texts: dict[str, str]) -> tuple[Source, ...]:
    """The files; most of them are plain, and those of one program are written alike."""
    if draft.often(0.7):
        return tuple(Source(path, text) for path, text in texts.items())
    ends = draft.one(_ENDS) if draft.often(0.6) else "\n"
    return tuple(_written(draft, path, text, ends) for path, text in texts.items())


def _written(draft: Draft, path: str, text: str, ends: str) -> Source:
    encoding, bom = "utf-8", False
    if draft.often(0.25):
        encoding = "iso-8859-1"
        text = f"# -*- coding: latin-1 -*-\n# {draft.one(_WORDS)}\n{text}"
    elif draft.often(0.2):
        bom = True
        text = f"# {draft.one(_WORDS)}\n{text}"
    if draft.often(0.2):
        text = re.sub(r"(?m)^(?=def |class )", "\f", text, count=2)
    if draft.often(0.15):
        text = re.sub(r"(?m)^( +)", lambda found: "\t" * (len(found[1]) // 4) + " " * (len(found[1]) % 4), text)
    if draft.often(0.2):
        text = re.sub(r"(?m)$", draft.one(("", " ", "  ")), text, count=20) if "\\\n" not in text else text
    if draft.often(0.3):
        text = text.rstrip("\n")
    if ends == "mixed":
        text = "".join(row + draft.one(("\n", "\r\n", "\r")) for row in text.split("\n"))
    return Source(path, text.replace("\n", ends) if ends not in ("mixed", "\n") else text, encoding, bom)
