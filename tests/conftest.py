"""No test reads or leaves anything in the user's own cache; the command line gets a place to run in."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needed  # first: it says in a sentence what the imports below would fail for

needed.check()

from perflint import catalogue  # noqa: E402
from perflint.run import engine  # noqa: E402
from tests import fake_rules, reported  # noqa: E402

os.environ["PERFLINT_CACHE_DIR"] = ""
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker of the tests for each core leaves none for more threads
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts jobs in the background so, and programs inherit it: those that the tests send SIGINT would go on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest.register_assert_rewrite("tests.evaluation_samples", "tests.step_loops", "tests.support")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite in tests/ips; pytest reads those of this file only, before it knows the others."""
    parser.addoption("--device", choices=("cpu", "gpu"), default="cpu", help="where -m ips measures (default: cpu)")
    parser.addoption(
        "--stand-in", action="store_true", help="measure with the stand-in for Paddle on PyTorch (docs/measuring.md)"
    )
    parser.addoption("--rounds", type=int, default=10, help="rounds of each measurement of -m ips (default: 10)")
    parser.addoption("--block", default="", help="measure a part only: 1/4 is the first of four")
    parser.addoption("--out", default="", help="pack all that -m ips has measured into this tar file")
    parser.addoption("--why", default="", help="what rules are measured again for; the evidence keeps it")


_LEFT_OUT = {
    "slow": "look at more published code, or more shapes of it",
    "ips": "measure what fixes gain (docs/measuring.md)",
}
"""Marks of tests that are left out unless -m names them."""


_LONG = 1800
"""Seconds that a slow test may take."""
_FIRST = {"test_real_code.py"}
"""Files whose tests share what takes a minute to prepare: they begin early, so that one worker keeps all of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests the time that they need, and bring those forward that would keep all others waiting."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(_LONG))
    items.sort(key=lambda item: item.path.name not in _FIRST)


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: some tests wait for what they have started, and leave a core idle."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a worker that has nothing left take over tests of another one, unless ``--dist`` says how to share them."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which tests were left out, and how to run them."""
    for mark, what in _LEFT_OUT.items():
        if f"not {mark}" in terminalreporter.config.option.markexpr:
            terminalreporter.write_line(f"left out are tests that {what}: python -m pytest -m {mark}")


@pytest.fixture(scope="session")
def awkward_run(tmp_path_factory: pytest.TempPathFactory) -> reported.Run:
    """What perflint writes, in every format, about files that are hard to report on."""
    return reported.make(tmp_path_factory.mktemp("awkward"))


@pytest.fixture
def heeds_sighup() -> Iterator[None]:
    """SIGHUP as it usually is: ``nohup`` has the tests ignore it, and what they start inherits that.

    Not for the whole run, as SIGINT above: it should outlive the terminal that it was started from.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def fake_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake rules in place of those that are shipped."""
    monkeypatch.setattr(catalogue, "shipped", lambda: fake_rules.RULES)


@pytest.fixture
def cli_workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_catalogue: None) -> None:
    """An empty project as the current directory, the fake rules, and no colour from outside."""
    monkeypatch.setattr(engine, "check", fake_rules.check)
    monkeypatch.setattr(engine, "check_projects", fake_rules.check_projects)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PERFLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "perflint.toml").touch()
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def real_workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the rules and the engine that people get."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PERFLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "perflint.toml").touch()
    monkeypatch.chdir(tmp_path)
