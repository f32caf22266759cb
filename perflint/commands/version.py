"""``perflint --version``, and the check that this is the only perflint in the environment.

PyPI's distribution ``perflint`` (a Pylint plugin) has the same import package and the same command. pip installs both
without a warning; the later one overwrites files of the earlier one, and removing either also removes files of the
other.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from perflint.commands import CommandError

_REPAIR = ("    python -m pip uninstall -y perflint perflint-paddle", "    python -m pip install perflint-paddle")


def run(_: argparse.Namespace) -> int:
    """Print the version.

    Raises:
        CommandError: the other perflint is installed too, or has left this one damaged.
    """
    print(f"perflint {version()}")
    return 0


def version() -> str:
    """The version of this perflint.

    Raises:
        CommandError: as in `run`.
    """
    other = _other_version() if _other_may_be_there() else None
    if other is None:
        return _own_version()
    raise CommandError(
        f'another distribution named "perflint" ({other}, the Pylint plugin) is installed in this environment. It has '
        "the same import package and command as perflint-paddle, and each overwrites files of the other. "
        "Keep perflint-paddle with:",
        (*_REPAIR, "To use both, install each in its own environment (for example: pipx install perflint-paddle)."),
    )


def _other_may_be_there() -> bool:
    """Whether a directory of installed packages seems to contain a distribution ``perflint``.

    ``importlib.metadata`` is more reliable, but importing it takes half of the time that ``perflint --version`` may
    take.
    """
    for place in sys.path:
        try:
            names = [path.name.lower() for path in Path(place).iterdir()]
        except OSError:
            continue
        if any(name.startswith("perflint-") and name.endswith(("-info", ".egg")) for name in names):
            return True
    return False


def _other_version() -> str | None:
    from importlib import metadata

    try:
        return metadata.version("perflint")
    except metadata.PackageNotFoundError:
        return None


def _own_version() -> str:
    try:
        from perflint import __version__
    except ImportError as error:
        raise CommandError(
            "files of perflint-paddle are missing (was another perflint removed?). Install it again:", _REPAIR
        ) from error
    return __version__
