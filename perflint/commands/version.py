"""``perflint --version``, and the check that this is the only perflint in the environment.

PyPI's distribution ``perflint`` (a Pylint plugin) has the same import package and the same command.  pip installs
both without a word; the later one overwrites files of the earlier, and removing either takes the other's with it.
"""

from __future__ import annotations

from importlib import metadata

from perflint.commands import CommandError

_REPAIR = """\
    python -m pip uninstall -y perflint perflint-paddle
    python -m pip install perflint-paddle"""


def run() -> int:
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
    try:
        other = metadata.version("perflint")
    except metadata.PackageNotFoundError:
        return _own_version()
    raise CommandError(
        f'another distribution named "perflint" ({other}, the Pylint plugin) is installed in this environment. It has '
        "the same import package and command as perflint-paddle, and each overwrites files of the other. "
        f"Keep perflint-paddle with:\n{_REPAIR}\n"
        "To use both, give each an environment of its own (for example: pipx install perflint-paddle)."
    )


def _own_version() -> str:
    try:
        from perflint import __version__
    except ImportError as error:
        raise CommandError(
            f"files of perflint-paddle are missing (was another perflint removed?). Install it again:\n{_REPAIR}"
        ) from error
    return __version__
