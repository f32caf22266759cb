"""Loads a script of the table."""

from __future__ import annotations

import sys
import types
from pathlib import Path


def load(script: Path) -> types.ModuleType:
    """Run the file of a script, without the part under ``if __name__ == "__main__"``."""
    module = types.ModuleType(script.stem)
    module.__file__ = str(script)
    sys.modules[script.stem] = module
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), vars(module))
    return module
