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


def internal_error(error: Exception) -> str:
    """What to tell a person about an error that nobody has foreseen, and its cause and file where it names them."""
    path = getattr(error, "path", None)
    place = f" in {path}" if path else ""
    cause = error.__cause__ if path and error.__cause__ else error
    what = " ".join(f"{type(cause).__name__}: {cause}".split())
    return (
        f"perflint: internal error{place}: {what}. This is a bug in perflint: please report it at {REPORT_TO} "
        "(with PERFLINT_DEBUG=1 in the environment the run shows where it happened)"
    )
