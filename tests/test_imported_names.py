"""Whether anything besides the code of a file needs a name that it imports."""

from __future__ import annotations

import pytest

from perflint.index.imports import is_needed
from tests.support import project

STEPS = "import numpy as np\n\n\ndef step(x):\n    return np.mean(x)\n"


def needed(files: dict[str, str], path: str = "steps.py") -> bool:
    return is_needed(project(files).files[path], "np")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from steps import np\n", True),
        ("from steps import step, \\\n    np as other\n", True),
        ("from steps import (  # (step)\n    step,  # :)\n    np,\n)\n", True),
        ("def f():\n    from steps import np\n", True),
        ("from steps import *\n", True),
        ("import steps\nsteps.np.zeros(3)\n", True),
        ("import steps as S\nS.np.zeros(3)\n", True),
        ("import steps\ngetattr(steps, 'np')\n", True),
        ("import steps\ngetattr(steps, name)\n", True),
        ("import steps\nS = steps\n", True),
        ("import steps\nsteps.__dict__[name]\n", True),
        ("from unittest import mock\nmock.patch('steps.np')\n", True),
        ("import importlib\nimportlib.import_module('steps').step(1)\n", True),
        ("import steps, sys\nsys.modules['steps']\n", True),
        ("from steps import step\nexec('from steps import np')\n", True),
        ("from steps import step\nexec('from steps import step')\n", False),
        ("import steps\nsteps.step(1)\n", False),
        ("from steps import step\nimport numpy as np\nnp.zeros(step(1))\n", False),
        ("from steps import step\nimport mxnet as mx\nmx.np.zeros(step(1))\n", False),
        ("from other import np\n", False),
        ("import steps\n# np\n", False),
        ("from steps import step\n__all__ = ['steps']\n", False),
    ],
)
def test_another_file_takes_a_name(text: str, expected: bool) -> None:
    assert needed({"steps.py": STEPS, "main.py": text}) is expected


@pytest.mark.parametrize(
    ("package", "main"),
    [
        ("from . import steps as training\n", "import lib\nlib.training.np\n"),
        ("from .steps import *\n", "from lib import np\n"),
        ("", "from lib import steps\nsteps.np\n"),
        ("", "import lib.steps\nlib.steps.np\n"),
    ],
)
def test_a_name_is_taken_through_a_package(package: str, main: str) -> None:
    assert needed({"lib/__init__.py": package, "lib/steps.py": STEPS, "main.py": main}, "lib/steps.py")


def test_a_name_is_taken_from_a_directory_that_the_program_adds() -> None:
    main = "import sys\nsys.path.insert(0, 'tools')\nimport steps as S\nS.np\n"
    assert needed({"tools/steps.py": STEPS, "main.py": main}, "tools/steps.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STEPS, False),
        (STEPS.replace("as np\n", "as np  # noqa: F401\n"), True),
        (STEPS.replace("as np\n", "as np  # pylint: disable=unused-import\n"), True),
        ("# has side effects\n" + STEPS, True),
        (STEPS.replace("as np\n", "as np  # arrays\n"), False),
        (STEPS + "\n\ndef f(name):\n    return eval(name)\n", True),
        (STEPS + "\n\ndef f(name):\n    return globals()[name]\n", True),
        (STEPS + "\n\ndef f(args):\n    return vars(args)\n", False),
        (STEPS + "\n\ndef f(name):\n    return vars()[name]\n", True),
        (STEPS + "\nnames = [name for name in dir() if name[0] != '_']\n", True),
        (STEPS + "\nimport sys\nthis = sys.modules[\n    __name__\n]\n", True),
        (STEPS + "\n\ndef f(name):\n    return getattr(import_module(__name__), name)\n", True),
        (STEPS + "\nlog = logging.getLogger(__name__)\nif __name__ == '__main__':\n    step(1)\n", False),
        (STEPS + "\n\ndef f():\n    import steps as me\n    return me.np\n", True),
        (STEPS + "\n\ndef f():\n    from steps import np as numpy\n", True),
        (STEPS + "\n\ndef f():\n    import steps as me\n    return me.step\n", False),
        (STEPS + "\nmodel.eval()\n", False),
        (STEPS + "\nx = run('np.zeros(3)')\n", True),
        (STEPS + "\nx = 'of np arrays'\n", False),
        (STEPS + '\n\ndef f():\n    """>>> np.zeros(1)"""\n', True),
        (STEPS + '\n\ndef f():\n    """An np.ndarray."""\n', False),
        (STEPS + "x = f()  # type: np.ndarray\n", True),
    ],
)
def test_the_file_itself_says_so_without_reading_the_name(text: str, expected: bool) -> None:
    assert needed({"steps.py": text}) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import __main__\nprint(__main__.np)\n", True),
        ("import sys\nprint(sys.modules['__main__'].np)\n", True),
        ("import sys\nprint(sys._getframe(1).f_globals['np'])\n", True),
        ("if __name__ == '__main__':\n    print('np')\n", False),
    ],
)
def test_a_file_that_is_loaded_looks_into_the_program(text: str, expected: bool) -> None:
    assert needed({"steps.py": STEPS + "\nimport helper\n", "helper.py": text}) is expected


def test_a_package_keeps_what_others_may_take_from_it() -> None:
    assert needed({"lib/__init__.py": STEPS}, "lib/__init__.py")
