"""Time and memory grow at most like n log n: what a program twice as long costs, counted and not measured.

Calls are counted, of Python functions and of built-in ones, which are the same in each run.  Twice as much may make
2.4 times as many: 2 and what a logarithm adds.  What looks at all for each would make 4 times as many.
"""

from __future__ import annotations

import cProfile
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Edit, Finding, Fix, ImpactLevel, Level
from perflint.fix import trial
from perflint.fix.fixer import apply, fix_all
from perflint.lint import context
from perflint.output import formats
from perflint.output.report import Report
from perflint.run import engine
from perflint.suppress import baseline, noqa
from perflint.text.source import LineTable, Source
from tests.growth_shapes import CHAINS, SHAPES
from tests.support import STEP

ALL = Settings(join_lines=False, select=("ALL",), min_confidence=Confidence.LOW)
_MOST = 2.4
_SIZES = {"a long chain of methods": 300, "nested subscripts": 400}
"""Shapes whose growth ends at a limit of their own, which is higher than the usual number of their parts."""


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried only so often for one function is tried less often, so that small programs show the growth."""
    monkeypatch.setattr(trial, "_BUDGET", 0)
    monkeypatch.setattr(context, "_MOST_LOOKS", 500)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """What is read and compiled once for each process."""
    for shape in ("reads in a step", "layers", "options of a program"):
        check_all(shape, 3)


def calls(run: Callable[[], object]) -> int:
    """How many functions a run calls."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        run()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def memory(run: Callable[[], object]) -> int:
    """The most memory that a run holds at a time, in bytes.

    The lesser of two runs counts: the first may load modules and fill caches.
    """
    return min(_peak(run), _peak(run))


def _peak(run: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def characters(text: str) -> tuple[str, list[int]]:
    """A text that notes how many characters are taken out of it at a time, and these numbers."""
    taken: list[int] = []

    class Text(str):
        __slots__ = ()

        def __getitem__(self, key: object) -> str:
            found = str.__getitem__(self, key)  # type: ignore[index]
            taken.append(len(found))
            return found

    return Text(text), taken


def sources(shape: str, n: int) -> dict[str, Source]:
    """The files of a shape."""
    return {path: Source(path, text) for path, text in {**SHAPES, **CHAINS}[shape](n).items()}


def check_all(shape: str, n: int) -> list[Finding]:
    """All findings in the files of a shape."""
    return engine.check(sources(shape, n), ALL)


def expect_growth(
    run: Callable[[int], object],
    n: int,
    cost: Callable[[Callable[[], object]], int] = calls,
    most: float = _MOST,
) -> None:
    """Twice as much costs little more than twice as much.

    Raises:
        AssertionError: it costs far more.
    """
    once, twice = cost(lambda: run(n)), cost(lambda: run(2 * n))
    assert twice <= most * once, f"{once} for {n}, {twice} for {2 * n}"


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.slow) if at % 3 else shape for at, shape in enumerate(SHAPES)]
)
def test_a_program_twice_as_long(shape: str) -> None:
    expect_growth(lambda n: check_all(shape, n), _SIZES.get(shape, 100))


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.slow) if at % 5 else shape for at, shape in enumerate(CHAINS)]
)
def test_a_value_that_is_used_twice_in_each_row(shape: str) -> None:
    """Following both uses separately would take a thousand times as long for ten more rows."""
    expect_growth(lambda n: check_all(shape, n), 10, most=4)


def test_integers_do_not_grow() -> None:
    for row in (
        "v = 9 ** 9 ** 9 ** 9\n",
        "v = 7\n" + "".join(f"v{i} = {9**i} ** {9**i}\nv = v{i}\n" for i in range(9)),
    ):
        text = STEP + "".join(f"        {line}\n" for line in f"{row}if v > 3: print(loss)".splitlines())
        assert calls(lambda text=text: engine.check({"train.py": Source("train.py", text)}, ALL)) < 1_000_000  # type: ignore[misc]


@pytest.mark.parametrize(
    "shape",
    [
        "a chain of names in a step",
        "new constants in the module",
        "new names in branches",
        "items of a dict",
        "attributes of self set in a step",
        "nested tuples",
        "a row of statements in the module",
        "reads in a step",
    ],
)
def test_the_memory_that_it_takes(shape: str) -> None:
    expect_growth(lambda n: check_all(shape, n), 800, memory)


def test_thirty_pairs_of_pairs() -> None:
    ten, thirty = (calls(lambda n=n: check_all("nested tuples", n)) for n in (10, 30))  # type: ignore[misc]
    assert thirty < 3 * ten


@pytest.mark.parametrize("inside", ["v = [{}]\n", "f({})\n", "({},)\n"])
def test_findings_on_one_row_are_all_reported(inside: str) -> None:
    text = STEP + " " * 8 + inside.format(", ".join(["loss.item()"] * 500))
    assert (
        len(
            engine.check(
                {"train.py": Source("train.py", text)},
                Settings(join_lines=False, select=("PPF201",), min_impact=ImpactLevel.LOW),
            )
        )
        == 500
    )


def test_names_are_followed_through_2000_assignments() -> None:
    """The depth of Python's stack has no part in what is known at the end of them."""
    rows = "".join(f"        v{i + 1} = v{i}\n" for i in range(2000))
    text = f"{STEP}        v0 = loss\n{rows}        print(float(v2000))\n"
    found = engine.check({"train.py": Source("train.py", text)}, Settings(join_lines=False, select=("PPF202",)))
    assert [text[item.start : item.end] for item in found] == ["print(float(v2000))"]


# -- fixes --------------------------------------------------------------------------------------------------------


def replacements(n: int) -> tuple[str, list[Fix]]:
    """Edits beside each other on one row, each in a fix of its own."""
    fixes = [Fix("", (Edit(4 * i, 4 * i + 2, "b"),), Level.SAFE) for i in range(n)]
    return "aa, " * n, fixes


def rows_at_one_place(n: int) -> tuple[str, list[Fix]]:
    """Fixes that also insert a row each, all behind the same loop."""
    text = "aa, " * n + "\n"
    row = Edit(len(text), len(text), "total = 1\n")
    return text, [
        Fix("", (Edit(4 * i, 4 * i + 2, "b"), Edit(row.start, row.end, f"total{i} = 1\n")), Level.SAFE)
        for i in range(n)
    ]


def with_imports(n: int) -> tuple[str, list[Fix]]:
    """Fixes that need an import which the file lacks."""
    text, fixes = replacements(n)
    return f"import os\n{text[:-2]}\n", [
        Fix(
            "",
            tuple(Edit(item.start + 10, item.end + 10, item.content) for item in fix.edits),
            Level.SAFE,
            "",
            ("import gc",),
        )
        for fix in fixes
    ]


@pytest.mark.parametrize("made", [replacements, rows_at_one_place, with_imports])
def test_fixes_of_one_row(made: Callable[[int], tuple[str, list[Fix]]]) -> None:
    text, fixes = made(50)
    assert len(apply(text, fixes).fixes) == 50
    expect_growth(lambda n: apply(*made(n)), 500)


@pytest.mark.parametrize(
    "shape", ["reads on one row", "prints in a step", "lists that keep the loss", "one sum added to"]
)
def test_rounds_of_fixes(shape: str) -> None:
    def fixed(n: int) -> object:
        return fix_all(sources(shape, n), lambda given: engine.check(given, ALL), Level.UNSAFE)

    expect_growth(fixed, 100)


# -- comments and baselines ---------------------------------------------------------------------------------------


def findings_on_one_row(n: int, end: str = "") -> tuple[list[Finding], Source]:
    """Made-up findings, each in four characters of a row."""
    source = Source("train.py", "aa, " * n + end)
    return [Finding("PPF201", "train.py", 4 * i, 4 * i + 2, "") for i in range(n)], source


def test_a_row_is_searched_for_a_comment_once() -> None:
    found, source = findings_on_one_row(2000, "1  # noqa: PPF201")
    text, taken = characters(source.text)
    source = Source("train.py", text)
    assert all(noqa.suppressed(item, source) for item in found)
    assert sum(taken) < 10 * len(text)


def test_fingerprints_of_one_row_read_it_once() -> None:
    found, source = findings_on_one_row(2000)
    text, taken = characters(source.text)
    source = Source("train.py", text)
    entries = baseline.entries(found, {"train.py": source}, ".")
    assert len({entry.fingerprint for entry in entries}) == 2000
    assert sum(taken) < 10 * len(text)


def test_a_baseline_of_many_findings(tmp_path: Path) -> None:
    def split(n: int) -> object:
        found, source = findings_on_one_row(n)
        listed = {entry.fingerprint: entry for entry in baseline.entries(found, {"train.py": source}, str(tmp_path))}
        return baseline.Baseline(tmp_path / "baseline.json", listed).split(found, {"train.py": source})

    expect_growth(split, 500)


@pytest.mark.parametrize("row", ["a = 1, ", "\u00e4 = 1, ", "\u4e16\u754c, \U0001f600 = 1, "])
def test_positions_on_a_long_row_do_not_read_all_of_it(row: str) -> None:
    text, taken = characters("# first\n" + row * 2000 + "\n# last \u00e4\n")
    table, line = LineTable(text), row * 2000
    for column in range(0, len(line), 97):
        assert table.offset(2, len(line[:column].encode())) == 8 + column
    assert sum(taken) < 10 * len(text)


# -- reports ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("shape", ["reads on one row", "reads in a step", "prints in a step"])
def test_reports(name: str, shape: str) -> None:
    found = {n: Report(check_all(shape, n), sources(shape, n)) for n in (200, 400)}

    def written(n: int) -> Iterator[str]:
        return formats.renderer(name)(found[n])

    expect_growth(lambda n: sum(map(len, written(n))), 200)


def test_a_row_of_megabytes_is_shown_in_part() -> None:
    found, source = findings_on_one_row(300_000)
    report = Report(found[150_000:150_001], {"train.py": source})
    text = "".join(formats.renderer("full")(report))
    assert text.count("\u2026") == 2
    assert len(text) < 2000
    assert calls(lambda: "".join(formats.renderer("full")(report))) < 20_000
