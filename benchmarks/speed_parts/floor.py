"""The least that a linter on ``ast`` has to do: read the files of a tree, and parse them, in one process.

    python benchmarks/speed_parts/floor.py TREE

Prints CPU seconds of either as JSON.  The garbage collector is off, and no tree outlives its file.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import sys
import time
import warnings


def main() -> None:
    gc.disable()
    warnings.simplefilter("ignore")
    paths = [
        os.path.join(place, name)  # noqa: PTH118
        for place, _, names in os.walk(sys.argv[1])
        for name in names
        if name.endswith(".py")
    ]
    started = time.process_time()
    contents = [_content(path) for path in paths]
    read = time.process_time()
    for content in contents:
        with contextlib.suppress(SyntaxError, ValueError):
            ast.parse(content)
    parsed = time.process_time()
    print(json.dumps({"read": read - started, "parse": parsed - read}))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


if __name__ == "__main__":
    main()
