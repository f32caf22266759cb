"""PPF701, and entries of dicts in general: which of them are reported; and when Paddle reads its variables."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from tests.support import STEP, check, expect_marked

TRAINS = STEP.removeprefix("import numpy as np\n")


def expect(text: str, **files: str) -> None:
    """Compare what is said about a file with the marks in it; ``train`` is another file that trains."""
    expect_marked(
        {"train.py": dedent(text) + TRAINS, **{f"{name}.py": dedent(body) for name, body in files.items()}}, "PPF701"
    )


@pytest.mark.parametrize(
    "setting",
    [
        'paddle.set_flags({"FLAGS_check_nan_inf": 1})  #: PPF701',
        'paddle.set_flags(flags={"FLAGS_benchmark": True})  #: PPF701',
        'flags = {"FLAGS_benchmark": True}  #: PPF701\npaddle.set_flags(flags)',
        'paddle.fluid.set_flags({"FLAGS_check_nan_inf": True})  #: PPF701',
        'os.environ["CUDA_LAUNCH_BLOCKING"] = "1"  #: PPF701',
        'if not args.cpu and cuda_is_there():\n    paddle.set_flags({"FLAGS_benchmark": True})  #: PPF701',
    ],
)
def test_a_flag_that_is_on(setting: str) -> None:
    expect("import os\nimport paddle\n" + setting + "\n")


@pytest.mark.parametrize(
    "setting",
    [
        'paddle.set_flags({"FLAGS_check_nan_inf": 0})',
        'paddle.set_flags({"FLAGS_check_nan_inf": args.check})',
        'print({"FLAGS_check_nan_inf": 1})',
        'paddle.set_flags({"nested": {"FLAGS_check_nan_inf": 1}})',
        'flags = {"FLAGS_benchmark": True}',
        'if args.slow:\n    paddle.set_flags({"FLAGS_benchmark": True})',
        'if debug:\n    paddle.set_flags({"FLAGS_check_nan_inf": True})',
        'paddle.set_flags({"FLAGS_check_nan_inf": True})  # find the inf of the loss',
        'os.environ["CUDA_LAUNCH_BLOCKING"] = "0"',
        'os.environ["CUDA_LAUNCH_BLOCKING"] = str(int(args.blocking))',
        'os.environ["FLAGS_benchmark"] = "1"',
        'settings["CUDA_LAUNCH_BLOCKING"] = "1"',
    ],
)
def test_a_flag_that_is_off_asked_for_or_set_too_late(setting: str) -> None:
    expect("import os\nimport paddle\n" + setting + "\n")


def test_a_variable_of_paddle_counts_in_the_program_before_the_first_import() -> None:
    early = 'import os\nos.environ["FLAGS_benchmark"] = "1"  #: PPF701\n'
    late = 'import os\nimport net\nos.environ["FLAGS_benchmark"] = "1"\n'
    expect(early + "import net\n", net="import paddle")
    expect(late, net="import paddle")
    expect(late.replace('"1"', '"1"  #: PPF701'), net="import numpy")
    expect("import flags\n", flags='import os\nos.environ["FLAGS_benchmark"] = "1"\n')


def test_a_function_that_is_called_by_an_option() -> None:
    function = 'import paddle\ndef slow():\n    paddle.set_flags({"FLAGS_benchmark": True})\n'
    expect(function + "if args.slow:\n    slow()\n")
    expect(function.replace("True})", "True})  #: PPF701") + "slow()\n")


@pytest.mark.parametrize(
    ("test", "is_found"),
    [('__name__ == "__main__"', True), ("args.do_train", True), ("args.slow", False), ("args.pretrained", False)],
)
def test_a_function_that_most_runs_call(test: str, is_found: bool) -> None:
    mark = "  #: PPF701" if is_found else ""
    expect(
        f'import paddle\ndef main():\n    paddle.set_flags({{"FLAGS_benchmark": 1}}){mark}\nif {test}:\n    main()\n'
    )


def test_a_flag_that_another_function_turns_off_is_still_on() -> None:
    off = 'import paddle\ndef seed(n):\n    paddle.set_flags({"FLAGS_benchmark": False})\n'
    expect(
        off
        + 'seed(3)\ntry:\n    paddle.set_flags({"FLAGS_benchmark": True})  #: PPF701\nexcept ValueError:\n    pass\n'
    )
    pair = """
        import paddle


        class Look:
            def begin(self):
                paddle.set_flags({"FLAGS_check_nan_inf": True})

            def end(self):
                paddle.set_flags({"FLAGS_check_nan_inf": False})


        """
    expect(dedent(pair))


def test_a_program_that_does_not_train() -> None:
    assert not check('import paddle\npaddle.set_flags({"FLAGS_check_nan_inf": 1})\n', "PPF701")


@pytest.mark.parametrize(("order", "expected"), [("vp", "True"), ("pv", "False")])
def test_paddle_reads_its_variables_when_it_is_imported(order: str, expected: str) -> None:
    lines = {"v": 'import os; os.environ["FLAGS_check_nan_inf"] = "1"', "p": "import paddle"}
    program = "\n".join([*(lines[each] for each in order), 'print(paddle.get_flags("FLAGS_check_nan_inf"))'])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"'FLAGS_check_nan_inf': {expected}" in done.stdout
