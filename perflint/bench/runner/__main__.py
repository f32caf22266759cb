"""Makes this directory a package, in an interpreter without perflint, and runs a plan with it."""

import importlib
import importlib.util
import sys
from pathlib import Path

_NAME = "_perflint_runner"


def _run(plan: str) -> None:
    here = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(_NAME, here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec is not None
    sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    importlib.import_module(_NAME + ".running").run(plan)


if __name__ == "__main__":
    sys.path.pop(0)  # this directory
    _run(sys.argv[1])
