"""Why a line was missed or a finding was wrong, as read at the code: the mechanism, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MISSED: Mapping[tuple[str, str], str] = {}
"""By the script and ``file:line``."""

FALSE: Mapping[tuple[str, str], str] = {}
"""By the script and ``code file:line``."""

UNREAD = "not read yet"


def why_missed(script: str, line: Mapping[str, Any]) -> str:
    """Why no finding predicts a line."""
    return MISSED.get((script, f"{line['file']}:{line['line']}"), UNREAD)


def why_false(script: str, finding: Mapping[str, Any]) -> str:
    """Why a finding says what did not happen."""
    return FALSE.get((script, f"{finding['code']} {finding['file']}:{finding['line']}"), UNREAD)
