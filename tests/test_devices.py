"""Which files run on the CPU alone: those that nothing but scripts on the CPU bring in, however they are imported."""

from __future__ import annotations

import pytest

from perflint.facts.programs import Devices
from tests.support import project

CPU = 'import paddle\npaddle.set_device("cpu")\n'
GPU = 'import paddle\npaddle.set_device("gpu")\n'


def on_cpu(files: dict[str, str], path: str = "lib/engine.py") -> bool:
    known = project({"lib/__init__.py": "", "lib/engine.py": "def train(): pass\n", **files})
    return Devices.of(known).runs_on_cpu(known.files[path])


@pytest.mark.parametrize(
    "imports",
    [
        "from lib.engine import train\n",
        "from lib import engine\n",
        "import lib.engine\n",
        "import lib.engine as run\n",
        "from lib.engine import *\n",
        "from lib.engine import (\n    train,\n)\n",
        "from lib import (\n    engine,\n)\n",
        "if True: from lib import engine\n",
        "def main():\n    from lib.engine import train  # late\n",
    ],
)
@pytest.mark.parametrize(("device", "expected"), [(CPU, True), (GPU, False), ("", False)])
def test_every_way_to_import(imports: str, device: str, expected: bool) -> None:
    assert on_cpu({"cpu.py": CPU + "from lib.engine import train\n", "main.py": device + imports}) is expected


def test_a_file_that_nobody_imports_is_not_known_to_run_on_the_cpu() -> None:
    assert not on_cpu({"cpu.py": CPU})


@pytest.mark.parametrize(("device", "expected"), [(CPU, True), (GPU, False)])
def test_a_package_brings_its_files_in(device: str, expected: bool) -> None:
    files = {"lib/__init__.py": "from .engine import *\nfrom . import engine\n"}
    assert on_cpu({**files, "main.py": device + "from lib import train\n"}) is expected


def test_a_sibling_imports_its_package_by_dots_alone() -> None:
    files = {"lib/__init__.py": "from .engine import train\n", "cpu.py": CPU + "import lib\n"}
    assert on_cpu(files)
    assert not on_cpu({**files, "lib/tool.py": GPU + "from . import train\n"})


def test_files_that_import_each_other_run_where_they_are_brought_in() -> None:
    files = {"lib/engine.py": "import lib.other\n", "lib/other.py": "import lib.engine\n"}
    assert on_cpu({**files, "cpu.py": CPU + "import lib.engine\n"})
    assert not on_cpu({**files, "cpu.py": CPU + "import lib.engine\n", "main.py": "import lib.other\n"})
    assert not on_cpu({**files, "cpu.py": CPU})


def test_the_name_of_a_file_in_other_places_is_no_import() -> None:
    main = "# from lib import engine\nengine = 'import engine'\nfrom engine.lib import train\n"
    assert on_cpu({"cpu.py": CPU + "import lib.engine\n", "main.py": main})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Somebody else trains on the GPU, whose name is put together.
        (
            'if args.cuda == -1:\n    paddle.set_device("cpu")\nelse:\n    paddle.set_device(f"gpu:{args.cuda}")\n',
            False,
        ),
        ('if args.cpu:\n    paddle.set_device("cpu")\n', False),
        ('for _ in range(2):\n    paddle.set_device("cpu")\n', False),
        ('def main(cpu=False):\n    if cpu:\n        paddle.set_device("cpu")\n', False),
        # Constants decide.
        ('ON_CPU = True\nif ON_CPU:\n    paddle.set_device("cpu")\nelse:\n    paddle.set_device("gpu")\n', True),
        ('ON_CPU = False\nif ON_CPU:\n    paddle.set_device("cpu")\nelse:\n    paddle.set_device("gpu")\n', False),
        ('DEVICE = "cpu"\npaddle.set_device(DEVICE)\n', True),
        ('def main():\n    paddle.set_device("cpu")\n', True),
        # The default of an option is no decision.
        ('parser.add_argument("--device", default="cpu")\npaddle.set_device(parser.parse_args().device)\n', False),
    ],
)
def test_a_choice_that_a_test_makes(text: str, expected: bool) -> None:
    setup = "import argparse\nimport paddle\n\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\n"
    assert on_cpu({"lib/engine.py": setup + text}) is expected
