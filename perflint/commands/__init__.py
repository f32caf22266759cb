"""The commands of ``perflint``: one module each, imported only when it is asked for."""

from __future__ import annotations

REPORT_TO = "https://github.com/perflint-paddle/perflint/issues"


class CommandError(Exception):
    """A command cannot do its work; ``str(error)`` tells a person what is wrong and what to do (exit status 2)."""


class InternalError(Exception):
    """perflint itself failed, for the reason in ``__cause__``; ``path`` is the file it failed on, where known."""

    def __init__(self, path: str | None) -> None:
        """Name the file."""
        super().__init__(path)
        self.path = path
