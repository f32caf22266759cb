"""Which files import a file, and which files a program loads with it."""

from __future__ import annotations

import pytest

from perflint.index.imports import Imports
from tests.support import project


def importers(files: dict[str, str], path: str) -> list[str]:
    known = project(files)
    return [file.path for file in Imports.of(known).importers(known.files[path])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import lib.engine\n", True),
        ("from lib import engine\n", True),
        ("from lib.engine import train as run\n", True),
        ("a = 1  # of a file that ends its rows as old Macs did\rfrom lib.engine import train\r", True),
        ("from engine.other import train\n", False),
        ("# from lib import engine\n", False),
        ("engine = 1\nimport lib\n", False),
        ("def engine(): pass\n", False),
        ("from importlib import import_module\nimport_module('lib.engine')\n", False),
    ],
)
def test_only_a_statement_imports(text: str, expected: bool) -> None:
    files = {"lib/__init__.py": "", "lib/engine.py": "def train(): pass\n", "main.py": text}
    assert importers(files, "lib/engine.py") == ["main.py"] * expected


def test_who_imports_a_module_imports_its_package() -> None:
    files = {"lib/__init__.py": "", "lib/a.py": "def f(): pass\n", "lib/b.py": "from .a import f\n"}
    assert importers({**files, "main.py": "import lib.a\n"}, "lib/__init__.py") == ["lib/b.py", "main.py"]


def test_scripts_come_first() -> None:
    files = {"a.py": "import net\n", "b.py": "import net\nif __name__ == '__main__': pass\n", "net.py": ""}
    assert importers(files, "net.py") == ["b.py", "a.py"]


def test_a_module_of_the_name_of_a_package_is_not_on_the_way() -> None:
    files = {"net/__init__.py": "", "net/part.py": "", "tools/net.py": "", "tools/main.py": "from net.part import f\n"}
    assert importers(files, "tools/net.py") == []
    assert importers(files, "net/part.py") == ["tools/main.py"]


def test_users_load_by_a_name_that_is_put_together_too() -> None:
    known = project(
        {"lib/a.py": "", "lib/b.py": "", "main.py": "import pick\n", "pick.py": "import_module('lib.' + name)\n"}
    )
    assert {file.path for file in Imports.of(known).users([known.files["lib/a.py"]])} == {
        "lib/a.py",
        "pick.py",
        "main.py",
    }


LOADED_BY_NAME = """\
from importlib import import_module

def load(package, name):
    if package:
        path = package + "." + name
    else:
        path = name
    return import_module(path)
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("load('heads', 'new')", ["heads/new.py"]),
        ("load(package='heads', name='new')", ["heads/new.py"]),
        ("load('', 'other')", ["other.py"]),
        ("load('heads', args.head)", []),
        ("read('heads', 'new')", []),
    ],
)
def test_functions_that_import_what_they_are_told(call: str, found: list[str]) -> None:
    main = f"from lib.tools import load, read\n{call}\n"
    files = {"lib/tools.py": LOADED_BY_NAME, "main.py": main, "heads/old.py": "", "heads/new.py": "", "other.py": ""}
    known = project(files)
    direct = sorted(file.path for file in Imports.of(known).direct(known.files["main.py"]))
    assert direct == sorted([*found, "lib/tools.py"])
    loading = [[file.path for file in Imports.of(known).loaders(known.files[path])] for path in found]
    assert loading == [["main.py"]] * len(found)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": "from heads.new import Head\n"}, False),
        ({"main.py": "from heads.old import Head\n"}, True),
        ({"main.py": "import sys\nsys.path.append('heads')\nfrom old import Head\n"}, True),
        ({"main.py": "from importlib import import_module\nimport_module('heads.' + name)\n"}, True),
        ({"main.py": "from importlib import import_module\nimport_module('tails.' + name)\n"}, False),
        ({"main.py": "SourceFileLoader(name, path).load_module()\n"}, True),
    ],
)
def test_what_may_be_loaded(files: dict[str, str], expected: bool) -> None:
    known = project({"heads/old.py": "class Head: pass\n", "heads/new.py": "class Head: pass\n", **files})
    assert Imports.of(known).may_be_loaded(known.files["heads/old.py"]) is expected
