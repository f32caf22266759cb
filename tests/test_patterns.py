"""Gitignore patterns: what git says of them, and how much work they make."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from perflint.inputs.patterns import Glob, Patterns, is_valid, parse

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CURIOUS = (
    *(
        "[z-a]",
        "[z-a]x",
        "[[a]",
        "[]]",
        "[]-a]",
        "[!]a]",
        "[^]a]",
        "[a-]",
        "[-a]",
        "[a",
        "[",
        "[]",
        "[!]",
        "a[",
        "[a]]",
    ),
    *(
        "[[:alpha:]]",
        "[[:digit:][:space:]]x",
        "[[:nothing:]]",
        "[[:alpha:]",
        "[[:a]",
        "[[::]]",
        "[[:]a]",
        "[[:upper:]-b]",
    ),
    *(
        "[a-\\c]",
        "[\\]]",
        "[\\a-b]",
        "[a\\]",
        "\\",
        "a\\",
        "\\a",
        "\\*",
        "\\\\",
        "\\[a]",
        "\\!a",
        "\\#a",
        "#a",
        "!",
        "!a",
    ),
    *("/", "//", "/a", "a/", "/a/", "a//b", "a/b", "/a/b/", "*/b", "*/", "**", "**/", "/**", "**/b", "a/**", "a/**/"),
    *(
        "a/**/b",
        "**/a/**",
        "a/**/**/b",
        "**/**",
        "a**b",
        "a/**b",
        "***/b",
        "**\\/b",
        "a/*\\/b",
        "[a/]b",
        "a[/]b",
        "a?b",
    ),
    *(
        "?",
        "??",
        "*?",
        "?*",
        "*a*b",
        "a*",
        "*a",
        "a b",
        "a ",
        "a\\ ",
        "a\\  ",
        "a \\ ",
        " a",
        "a\t",
        "*a*a*b",
        "損*",
        "?b",
        "[損]b",
    ),
)
NAMES = (
    "a",
    "b",
    "ab",
    "aab",
    "abab",
    "]",
    "[",
    "-",
    "\\",
    "*",
    "!a",
    "#a",
    "a b",
    "a ",
    " a",
    "a\t",
    "1x",
    "A",
    "z",
    "zx",
    "損",
    "損b",
    ":",
)


def paths_of(rng: random.Random, number: int) -> list[str]:
    """Paths of one to three names."""
    found = list(NAMES)
    found += ["/".join(rng.choices(NAMES, k=rng.randint(2, 3))) for _ in range(number)]
    return list(dict.fromkeys(found))


def made_up(rng: random.Random) -> str:
    """A line of a few characters that mean something to git, and a few that do not."""
    pieces = (
        "a",
        "b",
        "*",
        "?",
        "/",
        "**/",
        "/**",
        "[a-b]",
        "[!a]",
        "[",
        "]",
        "-",
        "!",
        "\\",
        "[[:alpha:]",
        "]",
        "損",
        "#",
        " ",
    )
    return "".join(rng.choices(pieces, k=rng.randint(1, 6)))


def ignored_by_git(place: Path, lists: Sequence[Sequence[str]], paths: Sequence[str]) -> list[set[str]]:
    """Which paths git ignores in directories with these ignore files, for each of them."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    for number, lines in enumerate(lists):
        (place / str(number)).mkdir()
        (place / str(number) / ".gitignore").write_bytes("".join(f"{line}\n" for line in lines).encode())
    asked = b"".join(f"{number}/{path}\0".encode() for number in range(len(lists)) for path in paths)
    command = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin", "-z"]
    said = subprocess.run(command, cwd=place, input=asked, capture_output=True, check=True).stdout.decode()
    found: list[set[str]] = [set() for _ in lists]
    for name in said.split("\0")[:-1]:
        folder, _, rest = name.partition("/")
        found[int(folder)].add(rest)
    return found


def ignored(lines: Sequence[str], paths: Sequence[str]) -> set[str]:
    patterns = Patterns(lines)
    return {path for path in paths if patterns.covers(path)}


@needs_git
def test_git_reads_each_pattern_alike(tmp_path: Path) -> None:
    paths = paths_of(random.Random(1), 150)
    expected = ignored_by_git(tmp_path, [[line] for line in CURIOUS], paths)
    assert sum(map(len, expected)) > 1000
    for line, by_git in zip(CURIOUS, expected, strict=True):
        assert ignored([line], paths) == by_git, line


@needs_git
@pytest.mark.parametrize("seed", range(3))
def test_git_reads_made_up_lists_alike(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    paths = paths_of(rng, 60)
    lists = [[made_up(rng) for _ in range(rng.randint(1, 3))] for _ in range(500)]
    # Versions of git differ about stars that only look like a directory once the text before them is taken off.
    lists = [[line for line in lines if not re.search(r"[^/*]\*\*+/", line)] for lines in lists]
    expected = ignored_by_git(tmp_path, lists, paths)
    for lines, by_git in zip(lists, expected, strict=True):
        assert ignored(lines, paths) == by_git, lines


def test_stars_behind_a_name_are_one_star() -> None:
    assert ignored(["foo**/bar"], ["foox/bar", "foox/y/bar", "foo/bar"]) == {"foox/bar", "foo/bar"}


def test_a_null_byte_ends_a_line_as_in_git() -> None:
    assert ignored(["a.py\0b"], ["a.py", "a.pyb", "b"]) == {"a.py"}
    assert not is_valid("a.py\0b")


@pytest.mark.parametrize("line", ["[", "a[", "\\", "!", "/", "//", "[[:nothing:]]"])
def test_what_git_never_finds_is_no_pattern(line: str) -> None:
    assert not is_valid(line)
    assert not Patterns([line])


@pytest.mark.parametrize("line", ["[z-a]", "[[a]", "", "   ", "# a", "*a*a*a*a*ab.py", "\\ "])
def test_what_git_reads_is_valid(line: str) -> None:
    assert is_valid(line)


def test_lines_that_cover_a_path_are_told_apart() -> None:
    patterns = Patterns(["a/", "*.py", "/a/b.py", "!b.py", "c.py"])
    assert patterns.each_covering("a/b.py") == {"a/", "*.py", "/a/b.py"}
    assert patterns.each_covering("b.py") == {"*.py"}


# --- how much work it is


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*" + "a*" * 50 + "b.py", "a" * 250 + ".py"),
        ("*" + "[ab]*" * 50 + "c.py", "a" * 250 + ".py"),
        ("*" + "?*" * 50 + "b.py", "a" * 250 + ".py"),
        ("**/" + "a/**/" * 50 + "b.py", "a/" * 200 + "a.py"),
        ("**/" + "*a*/**/" * 30 + "b.py", "aaaa/" * 200 + "a.py"),
        ("a" * 5000 + "*", "a" * 4999),
    ],
)
@pytest.mark.timeout(30)
def test_stars_are_not_tried_in_all_ways(pattern: str, path: str) -> None:
    """What tries all ways would not end here."""
    glob = parse(pattern.encode())
    assert glob is not None
    assert not glob.fits(path.encode())


@pytest.mark.parametrize(
    "line", ["*" * 300_000, "[[:" * 100_000 + "x]", "[" * 300_000, "a*" * 30_000, "**/" * 30_000, "\\" * 100_001]
)
@pytest.mark.timeout(30)
def test_a_long_line_is_read_in_one_go(line: str) -> None:
    """What looks for an end from each place again would take minutes here."""
    Patterns([line]).covers("a/b/c.py")


@pytest.mark.parametrize(
    "line",
    [
        "name{}.py",
        "/dir{}/name.py",
        "*.ext{}",
        "name{}*",
        "*name{}*",
        "dir{}/",
        "**/dir{}/*.py",
        "a[b]{}",
        "a?{}x",
        "!n{}",
    ],
)
def test_patterns_are_looked_up_and_not_gone_through(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many patterns, a path is compared with those alone that have a piece of text in common with it."""
    asked: list[Glob] = []
    fits = Glob.fits

    def counted(glob: Glob, path: bytes) -> bool:
        asked.append(glob)
        return fits(glob, path)

    patterns = Patterns(line.format(1_000_000 + number) for number in range(20_000))
    monkeypatch.setattr(Glob, "fits", counted)
    for path in ("a/b/train.py", "train.py", "a/b/", "name1000000.py"):
        patterns.verdict(path)
    assert len(asked) <= 4
