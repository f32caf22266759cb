"""PPF001 in Python 2: only where a file has to do with Paddle, or something imports it."""

from __future__ import annotations

import pytest

from tests.support import check

OLD = {
    "print": 'def f():\n    print "done"\n',
    "except": "try:\n    f()\nexcept ValueError, error:\n    pass\n",
    "shebang": "#!/usr/bin/env python2\nexec f in g\n",
}


def codes(files: dict[str, str]) -> list[str]:
    return [finding.code for finding in check(files, "PPF001")]


@pytest.mark.parametrize("text", OLD.values(), ids=OLD)
def test_a_left_over_file_is_silent(text: str) -> None:
    assert codes({"old.py": text, "train.py": "import paddle\n"}) == []
    assert codes({"old.py": text, "train.py": "import old\n"}) == ["PPF001"]
    assert codes({"old.py": f"{text}import paddle\n"}) == ["PPF001"]


def test_another_error_is_reported() -> None:
    assert codes({"new.py": "f(1\n"}) == ["PPF001"]
