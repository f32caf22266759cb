from __future__ import annotations

import pytest

from perflint.findings import Finding
from perflint.suppress.baseline import fingerprints
from perflint.text.source import Source

TEXT = "for x in loader:\n    a = x.item()\n    b = x.item()\n    a = x.item()\n"


def _findings(text: str, path: str = "a.py", code: str = "PPF201") -> list[Finding]:
    places = []
    at = text.find("x.item()")
    while at >= 0:
        places.append(Finding(code, path, at, at + len("x.item()"), f"row {text[:at].count(chr(10))}"))
        at = text.find("x.item()", at + 1)
    return places


def _prints(text: str, path: str = "a.py", code: str = "PPF201", root: str = "/r") -> list[str]:
    return fingerprints(_findings(text, path, code), {path: Source(path, text)}, root)


@pytest.mark.parametrize(
    "moved",
    [
        "import paddle\n\n\n" + TEXT,
        TEXT.replace("\n    ", "\n        "),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("    b = x.item()\n", "    other()\n    b = x.item()\n"),
    ],
    ids=["lines before", "indented", "other line ends", "line between"],
)
def test_moved_lines_keep_their_fingerprints(moved: str) -> None:
    assert _prints(moved) == _prints(TEXT)


def test_findings_in_the_same_words_are_told_apart() -> None:
    assert len(set(_prints(TEXT))) == 3


def test_a_finding_that_goes_leaves_those_in_other_words_alone() -> None:
    first, second, _ = _prints(TEXT)
    assert _prints(TEXT.replace("    a = x.item()\n", "", 1)) == [second, first]


@pytest.mark.parametrize("other", [{"path": "b.py"}, {"code": "PPF202"}])
def test_rule_and_file_are_part_of_it(other: dict[str, str]) -> None:
    assert not set(_prints(TEXT, **other)) & set(_prints(TEXT))


def test_a_checkout_elsewhere_gives_the_same() -> None:
    assert _prints(TEXT, path="/one/src/a.py", root="/one") == _prints(TEXT, path="/two/src/a.py", root="/two")


def test_a_file_that_could_not_be_read_has_one_too() -> None:
    (found,) = fingerprints([Finding("PPF003", "a.py", 0, 0, "gone")], {}, "/r")
    assert len(found) == 32


def test_a_path_of_any_bytes_and_a_lone_surrogate_do() -> None:
    assert len(set(_prints(TEXT, path="\udcff.py"))) == 3
