"""Why a check of single files may have found nothing: the files that call them were not read.

``perflint check meter.py`` reads what meter.py imports, but not train.py, which imports it and has the step loop.
"""

from __future__ import annotations

from pathlib import Path

from perflint.commands.reading import STDIN, Batch, reads_imports_only
from perflint.inputs.projects import importer_of
from perflint.run.discovery import first_python_files
from perflint.text.visible import visible_path

_MOST = 5000
"""How many files are looked at: a check of one file should not take as long as one of a large repository."""


def remark(paths: list[Path], batch: Batch) -> str:
    """A sentence for the end of a report without findings, after a space; empty if no such file is found.

    They are searched for in the current directory, because that is the one to name.

    Args:
        paths: those on the command line.
        batch: what was read for them.

    Example: ``" train.py imports it and was not read: add --context ."``
    """
    here = Path.cwd()
    named = [Path(path) for path in batch.shown().sources]
    if not paths or STDIN in paths or not reads_imports_only(paths, batch.settings):
        return ""
    if here in (Path.home(), Path(here.anchor)) or not all(path.absolute().is_relative_to(here) for path in named):
        return ""
    others = [path for path in first_python_files(Path(), batch.settings, _MOST) if str(path) not in batch.sources]
    found = importer_of(named, others, here)
    if found is None:
        return ""
    what = "it" if len(named) == 1 else "one of them"
    return f" {visible_path(str(found))} imports {what} and was not read: add --context ."
