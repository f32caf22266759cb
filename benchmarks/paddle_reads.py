"""Which functions of Paddle read tensors themselves: the examples of its documentation, under the recorder.

    python benchmarks/paddle_reads.py

Each example runs in a process of its own.  A read counts if Paddle's own code makes it.  For each function that reads,
this prints the examples that reached it, and "?" if no entry of ``perflint/paddle/inside.py`` names the function: that
is what to look at for a new release of Paddle.  Many of them are fine: shapes that are tensors, readers of data.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import multiprocessing
import os
import pkgutil
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perflint.bench.runner.watched_calls import WatchedCall, Watcher, watch

RESULT = Path(__file__).resolve().parent / "results" / "paddle_reads.json"
READS = ["item", "numpy", "tolist", "cpu", "__float__", "__int__", "__bool__", "__index__", "__array__", "__str__"]
SKIPPED = (
    *("enable_static", "distributed", "spawn", "download", "MNIST", "Cifar", "pretrained=True", "hub."),
    *("Flowers", "VOC2012", "paddle.text", "paddle.dataset"),
)
"""Words of examples that need a network or other processes, or make a static graph."""
SECONDS = 20
EXAMPLE = "<example>"


class Reading(Watcher):
    """Notes the function of Paddle that makes a read, if an example did not make it itself."""

    readers: set[str]
    is_inside = False

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Note a call, and make it; what it does itself is not noted."""
        if self.is_inside or call.kind != "read":
            return function(*arguments, **keywords)
        self.is_inside = True
        try:
            self._note()
            return function(*arguments, **keywords)
        finally:
            self.is_inside = False

    def _note(self) -> None:
        frame = sys._getframe(3)
        module = frame.f_globals.get("__name__", "")
        if module.startswith("paddle.") and frame.f_code.co_filename != EXAMPLE:
            code: Any = frame.f_code  # its `co_qualname` came with Python 3.11
            self.readers.add(f"{module}.{code.co_qualname}")


def examples(paddle: Any) -> Iterator[tuple[str, str]]:
    """The public functions and classes of Paddle with the code of their examples."""
    seen = set[int]()
    modules = [each.name for each in pkgutil.walk_packages(paddle.__path__, "paddle.") if not _is_private(each.name)]
    for name in ["paddle", *sorted(modules, key=len)]:
        module = sys.modules.get(name)
        for public in getattr(module, "__all__", None) or ():
            owner = getattr(module, public, None)
            parts = [owner, *vars(owner).values()] if inspect.isclass(owner) else [owner]
            for part in parts:
                text = getattr(part, "__doc__", None)
                if isinstance(text, str) and ">>>" in text and id(part) not in seen:
                    seen.add(id(part))
                    yield f"{name}.{public}", text


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split(".")) or "test" in name


def readers(text: str) -> list[str]:
    """The functions of Paddle that read while an example runs; run this in a process of its own."""
    import paddle

    warnings.simplefilter("ignore")
    reading = Reading({"copy": str(Path.cwd())})
    reading.readers = set()
    watch(paddle, reading, READS)
    names: dict[str, Any] = types.ModuleType("example").__dict__
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        for example in doctest.DocTestParser().get_examples(text):
            exec(compile(example.source, EXAMPLE, "exec"), names)
    return sorted(reading.readers)


def main() -> None:
    """Run all examples, print what reads, and keep it for this release of Paddle."""
    paddle = importlib.import_module("paddle")
    inside = importlib.import_module("perflint.paddle.inside")
    known = {entry.source for entry in inside.TABLE}
    found: dict[str, list[str]] = {}
    os.chdir(tempfile.mkdtemp())
    context = multiprocessing.get_context("fork")
    for name, text in examples(paddle):
        if any(word in name or word in text for word in SKIPPED):
            continue
        with context.Pool(1) as pool, contextlib.suppress(multiprocessing.TimeoutError):
            for reader in pool.apply_async(readers, [text]).get(SECONDS):
                found.setdefault(reader, []).append(name)
    for reader, names in sorted(found.items()):
        print(" " if reader in known else "?", reader, "from", ", ".join(sorted(set(names))[:3]))
    results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    results[paddle.__version__] = {reader: sorted(set(names)) for reader, names in sorted(found.items())}
    RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
