"""Runs a program with Paddle or the stand-in, and notes everything that a user could see of it."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import importlib.abc
import importlib.machinery
import io
import logging
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from perflint.text.source import Source
from tests.programs import companions
from tests.programs.texts import START, Program, module_of
from tests.programs.values import describe

MOST_STEPS = 1000
"""Backward passes after which a program is stopped: it runs for ever."""
LONGEST_S = 60.0
"""Seconds after which one is stopped that makes no steps and does not end either."""

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class RanTooLong(BaseException):
    """A program did not come to its end."""


@dataclass(frozen=True)
class Interruption:
    """An error that is raised at the ``at``-th backward pass (from 1): Ctrl-C, or what a real error does there.

    At 0 it is raised wherever the program imports Paddle, as if that were not installed.
    """

    at: int
    error: type[BaseException]

    def __str__(self) -> str:
        return f"{self.error.__name__} at {f'backward pass {self.at}' if self.at else 'the import of Paddle'}"


@dataclass(frozen=True)
class Observation:
    """What a program did.  Texts are as ``values.describe`` and ``repr`` give them.

    ``steps`` counts backward passes, ``waits`` reads by the host that had to wait for the device (0 with Paddle).
    """

    weights: tuple[str, ...]
    error: str
    result: str
    printed: tuple[str, ...]
    logged: tuple[str, ...]
    points: tuple[str, ...]
    bars: tuple[str, ...]
    files: tuple[str, ...]
    saves: tuple[str, ...]
    steps: int = field(compare=False)
    waits: int = field(compare=False)


class Framework(Protocol):
    """Paddle, or what stands in for it."""

    def modules(self) -> Mapping[str, ModuleType]:
        """The modules that a program may import, by their whole names; empty where the real ones are imported."""
        ...

    def running(
        self, on_backward: Callable[[], None], saved: Callable[[str], None]
    ) -> contextlib.AbstractContextManager[Callable[[], int]]:
        """Be ready for one run; gives what counts the waits so far."""
        ...

    def imported(self) -> None:
        """Do what Paddle does when a program first imports it: take its flags from the environment."""
        ...

    def load(self, path: str) -> Any:
        """What a program has saved."""
        ...


@dataclass
class _Backwards:
    """Counts backward passes, and interrupts at one of them."""

    interruption: Interruption | None
    seen: int = 0

    def __call__(self) -> None:
        self.seen += 1
        if self.seen > MOST_STEPS:
            raise RanTooLong
        if self.interruption is not None and self.seen == self.interruption.at:
            raise self.interruption.error("stopped from outside")


class _Files:
    """Text files that a program opens, kept in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}

    def open(self, path: str, mode: str = "r", **_: Any) -> _File:
        """Stands in for ``open``: ``"w"`` begins anew, ``"a"`` goes on."""
        if "w" in mode or path not in self.texts:
            self.texts[path] = []
        return _File(self.texts[path])


class _File:
    def __init__(self, parts: list[str]) -> None:
        self._parts = parts

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        return None

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def run(program: Program, framework: Framework, interruption: Interruption | None = None) -> Observation:
    """Run a program from its first line to its last, or to the error that ends it.

    The program's weights are those of its global ``model``, its result the value of its global ``result``.
    """
    bars: companions.Shown = []
    points: companions.Shown = []
    saves: list[str] = []
    files, backwards, output = _Files(), _Backwards(interruption), io.StringIO()
    modules = {**framework.modules(), **companions.modules(bars, points)}
    error = ""
    with _scratch() as folder, _random(), framework.running(backwards, saves.append) as waits:
        finder = _Finder(program, _builtins(modules, files, framework, interruption))
        with _logging() as logged, _environment(), _importing(finder) as main, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                try:
                    with _limited():
                        finder.exec_module(main)
                except BaseException as raised:
                    error = f"{type(raised).__name__}: {str(raised).strip().splitlines()[:1]}"
        waited = waits()
        written = tuple(f"{path.name}: {describe(framework.load(str(path)))}" for path in sorted(folder.iterdir()))
        weights = tuple(f"{name}: {describe(value)}" for name, value in _state(vars(main).get("model")).items())
        result = describe(vars(main).get("result"))
    texts = tuple(f"{path}: {line}" for path, parts in files.texts.items() for line in "".join(parts).splitlines())
    return Observation(
        weights,
        error,
        result,
        _lines(output.getvalue().splitlines()),
        _lines(logged),
        _lines(map(str, points)),
        _lines(map(str, bars)),
        (*written, *texts),
        tuple(saves),
        backwards.seen,
        waited,
    )


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines without the addresses of objects, which differ from run to run."""
    return tuple(_ADDRESS.sub("", line) for line in lines)


def _state(model: Any) -> dict[str, Any]:
    """The weights of a model; none where the program has no model, or one that was never made whole."""
    try:
        state: dict[str, Any] = model.state_dict()
    except AttributeError:
        return {}
    return state


def _builtins(
    modules: Mapping[str, ModuleType], files: _Files, framework: Framework, interruption: Interruption | None
) -> dict[str, Any]:
    tops = {name.partition(".")[0] for name in modules}
    is_there = interruption is None or interruption.at > 0
    first = iter([framework.imported])

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        top = name.partition(".")[0]
        if level:
            return builtins.__import__(name, globals, locals, fromlist, level)
        if top == "paddle":
            if not is_there:
                raise ModuleNotFoundError("No module named 'paddle'")
            for begin in first:
                begin()
        if top not in tops:
            return builtins.__import__(name, globals, locals, fromlist, level)
        if name not in modules:
            raise ModuleNotFoundError(f"{name} is not in the stand-in for Paddle")
        return modules[name if fromlist else top]

    return {**vars(builtins), "__import__": imported, "open": files.open}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the files of a program as modules, without writing them to a disk."""

    def __init__(self, program: Program, names: Mapping[str, Any]) -> None:
        self._names = names
        self._sources = {module_of(source.path): source for source in program.sources}

    @property
    def modules(self) -> Iterable[str]:
        return self._sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        source = self._sources.get(fullname)
        if source is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, self, origin=source.path, is_package=source.path.endswith("__init__.py")
        )

    def exec_module(self, module: ModuleType) -> None:
        source = self._sources[module_of(START) if module.__name__ == "__main__" else module.__name__]
        vars(module).update(__builtins__=self._names, __file__=source.path)
        exec(compiled(source), vars(module))


def compiled(source: Source) -> Any:
    """A file as Python reads it: with its encoding, byte order mark and line ends."""
    return compile(source.encode(source.text), source.path, "exec", dont_inherit=True)


@contextlib.contextmanager
def _importing(finder: _Finder) -> Iterator[ModuleType]:
    """Let the files of a program be imported; gives the module that is to be started."""
    main = ModuleType("__main__")
    names = {"__main__", *finder.modules}
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.modules["__main__"] = main
    sys.meta_path.insert(0, finder)
    try:
        yield main
    finally:
        sys.meta_path.remove(finder)
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Take back what a program writes into the environment."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """An empty folder to work in."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="program-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


@contextlib.contextmanager
def _random() -> Iterator[None]:
    """The same random numbers of numpy for each run; Paddle's loaders shuffle with them."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextlib.contextmanager
def _logging() -> Iterator[list[str]]:
    """Take in what is logged, from the level INFO on; the handlers of the process get nothing of it."""
    root, handler = logging.getLogger(), _Lines()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    try:
        yield handler.lines
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise ``RanTooLong`` in this thread when the time is up."""
    thread = ctypes.c_ulong(threading.get_ident())
    timer = threading.Timer(
        LONGEST_S, lambda: ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(RanTooLong))
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
