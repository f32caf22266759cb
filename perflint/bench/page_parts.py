"""The parts that all pages share: a head with a policy, and the figures for programs."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

from perflint.bench.labels import markup


def head(title: str, style: str) -> Iterator[str]:
    """The head of a page that loads nothing: its policy allows only this style, by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{markup(title)}</title>"
    yield f"<style>{style}</style></head>"


def data_block(name: str, data: Any) -> str:
    """A block of JSON, which browsers do not run.

    ``<`` is written as an escape, so that no text can end the block.

    Args:
        name: the id of the block.
        data: a value for ``json.dumps``.
    """
    written = json.dumps(_finite(data), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{written}</script>'


def _finite(value: Any) -> Any:
    """A value with NaN and infinity replaced by None, since JSON has neither."""
    if isinstance(value, dict):
        return {key: _finite(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(child) for child in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
