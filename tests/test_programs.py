"""Fixes judged by execution: made-up programs do after a fix what they did before, or differ as the fix admits."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from perflint.findings import Level
from perflint.text.source import Source
from tests.programs import judge
from tests.programs.campaign import judge_program
from tests.programs.frameworks import Paddle, StandIn
from tests.programs.generator import program
from tests.programs.judge import Failure
from tests.programs.runner import Framework, Interruption, Observation, run
from tests.programs.shrink import shrink, shrink_program
from tests.programs.texts import START, Program, alone, line_ends
from tests.programs.variants import Variant
from tests.seeds import some

WITH_STAND_IN = 200
WITH_PADDLE = 20
PIECE = 20
"""Programs of one test, so that a failure names few of them."""

KNOWN = sorted((Path(__file__).parent / "programs" / "known").glob("*.txt"))
"""Programs that a fix has changed once, each with what it shows in its first line."""


@functools.cache
def frameworks() -> dict[str, Framework]:
    """The stand-in and Paddle itself, which takes seconds to import."""
    return {"stand-in": StandIn(), "Paddle": Paddle()}


def said(failures: tuple[Failure, ...]) -> str:
    """The failures with the texts that a fix has made."""
    return "\n\n".join(
        f"{item.variant.name} ({item.variant.level}): {item.kind}: {item.what} ({item.cut})\n"
        f"admits to: {item.variant.reasons}\n{item.variant.program.text}"
        for item in failures
    )


@pytest.mark.parametrize("first", some(range(1, WITH_STAND_IN, PIECE), always=6))
def test_fixes_change_what_they_admit_to(first: int) -> None:
    fixed = 0
    for seed in range(first, first + PIECE):
        judged = judge_program(program(seed), StandIn(), seed)
        assert not judged.failures, f"python -m tests.programs --seed {seed} --count 1\n{said(judged.failures)}"
        fixed += judged.fixed
    assert fixed >= PIECE, "hardly any of the programs has a fix"


@pytest.mark.parametrize("first", some(range(1001, 1001 + WITH_PADDLE, PIECE // 4), always=2))
def test_fixes_change_what_they_admit_to_with_paddle(first: int) -> None:
    for seed in range(first, first + PIECE // 4):
        judged = judge_program(program(seed), frameworks()["Paddle"], seed)
        assert not judged.failures, (
            f"python -m tests.programs --paddle --seed {seed} --count 1\n{said(judged.failures)}"
        )


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_programs_that_a_fix_has_changed_once(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert run(alone(text), StandIn()).steps > 10
    judged = judge_program(alone(text), StandIn(), each_step=True)
    assert not judged.failures, said(judged.failures)


# The judge, with fixes that are wrong on purpose

TEXT = """\
import logging

import numpy as np
import paddle
import paddle.nn.functional as F

logger = logging.getLogger("train")


def train(model, loader, optimizer):
    total, losses = 0.0, []
    try:
        for step, (x, y) in enumerate(loader):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += loss.item()  # the sum
            losses.append(loss.item())
            loss.scale_(2.0)
            print("step", step, loss.item())
            if step % 10 == 5:
                logger.info("now and then %d", step)
    except KeyboardInterrupt:
        print("stopped")
    return total, losses


paddle.seed(3)
model = paddle.nn.Linear(2, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
x = np.array([[0.1, 0.2], [0.3, 0.4]], dtype="float32")
loader = [(paddle.to_tensor(x * n), paddle.to_tensor([[0.5], [0.1]])) for n in range(22)]
result = train(model, loader, optimizer)
paddle.save(model.state_dict(), "last.pdparams")
"""
PROGRAM = alone(TEXT)
FEWER = "9 of 10 lines are no longer printed"

WRONG: dict[str, tuple[str, str, str, str]] = {
    "weights": ("optimizer.step()", "optimizer.step(); model.bias.set_value(model.bias * 0)", "", "weights"),
    "a line": ('print("step", step, loss.item())', "pass", "", "printed"),
    "an admitted line changed": ('print("step", step,', 'print("step", step + 1,', FEWER, "printed"),
    "lines out of order": ('print("step", step,', 'print("step", 21 - step,', FEWER, "printed"),
    "all lines": ('            print("step", step, loss.item())\n', "", FEWER, "printed ended"),
    "rare lines": ("if step % 10 == 5:", "if step % 10 == 5 and step % 10 == 0:", FEWER, "logged rare"),
    "type": ("return total,", "return np.float64(total),", "", "result"),
    "shared storage": ("losses.append(loss.item())", "losses.append(loss.detach())", "a NumPy array", "result"),
    "a new error": ("return total,", "return total[0],", "", "error"),
    "an error fewer": ("except KeyboardInterrupt", "except (KeyboardInterrupt, RuntimeError)", "", "error"),
    "a file": ('"last.pdparams"', '"first.pdparams"', "", "saves"),
    "a name": ("return total,", "return totl,", "", "pyflakes"),
    "a comment": ("  # the sum", "", "", "comments"),
    "no Python": ("return total,", "return total,)", "", "syntax"),
    "a reason of another kind": ('print("step", step, loss.item())', "pass", "more memory stays reserved", "printed"),
}
"""What a fix would replace by what, what it would admit to, and what the judge has to complain of."""


def judged(old: str, new: str, reason: str, framework: Framework, cut: Interruption | None = None) -> set[str]:
    """The kinds of failures of one fix of ``PROGRAM``."""
    assert old in TEXT
    level = Level.UNSAFE if reason else Level.SAFE
    variant = Variant("PPF000 alone", alone(TEXT.replace(old, new)), level, (reason,) if reason else ())
    found = list(judge.of_text(PROGRAM, variant))
    if not any(failure.kind == "syntax" for failure in found):
        before, after = run(PROGRAM, framework, cut), run(variant.program, framework, cut)
        found += judge.of_runs(before, after, variant)
        found += judge.of_whole_runs(before, after, variant)
    return {failure.kind for failure in found}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("framework", ["stand-in", "Paddle"])
def test_wrong_fixes_are_found(name: str, framework: str) -> None:
    old, new, reason, kind = WRONG[name]
    cut = Interruption(4, RuntimeError) if name == "an error fewer" else None
    assert kind in judged(old, new, reason, frameworks()[framework], cut)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("total += loss.item()", "total += float(loss)", ""),
        ('print("step",', 'if step % 10 == 0: print("step",', FEWER),
        ("return total,", "return np.float64(total),", "the value becomes a Python float where it was a NumPy array"),
    ],
)
def test_admitted_differences_are_none(old: str, new: str, reason: str) -> None:
    assert judged(old, new, reason, StandIn()) == set()


# Programs of several files

SEVERAL = {
    "train.py": (
        "import os\nimport metrics\nos.environ['FLAGS_benchmark'] = '7'\nimport steps\n"
        "from metrics import evaluate, np\n\n"
        "model = steps.model\nresult = evaluate(model), np.float32(0.5)\n"
        "print(steps.paddle.get_flags(['FLAGS_benchmark']))\n"
    ),
    "metrics.py": (
        "import numpy as np\nimport os\n\n\ndef evaluate(model):\n    import paddle\n\n"
        "    return model(paddle.to_tensor([[0.5]])).item()\n"
    ),
    "steps.py": (
        "try:\n    import paddle\nexcept ImportError:\n    raise SystemExit('no Paddle') from None\n\nprint('loaded')\n"
        "model = paddle.nn.Linear(1, 1)\nmodel(paddle.to_tensor([[2.0]])).mean().backward()\n"
    ),
}
WRONG_ELSEWHERE = {
    "a name that another file takes": ("metrics.py", "import numpy as np\n", "", "error", None),
    "an import too early": ("metrics.py", "import os\n", "import paddle\n", "printed", None),
    "an import without Paddle": ("metrics.py", "import os\n", "import paddle\n", "error", 0),
    "a line of another file": ("steps.py", "print('loaded')\n", "", "printed", None),
    "another line end": ("metrics.py", "import os\n", "import os\r\n", "line ends", None),
    "no Python elsewhere": ("steps.py", "print('loaded')", "print('loaded'", "syntax", None),
}
"""The file, what a fix would replace by what, what the judge has to complain of, and 0 if Paddle is not to be found."""


def several(texts: Mapping[str, str]) -> Program:
    return Program(tuple(Source(path, text) for path, text in texts.items()))


@pytest.mark.parametrize("name", WRONG_ELSEWHERE)
def test_wrong_fixes_of_other_files_are_found(name: str) -> None:
    path, old, new, kind, at = WRONG_ELSEWHERE[name]
    before = several(SEVERAL)
    cut = None if at is None else Interruption(at, ImportError)
    assert old in before.by_path[path].text
    variant = Variant(
        "PPF000 alone", before.having({path: before.by_path[path].text.replace(old, new)}), Level.SAFE, ()
    )
    found = list(judge.of_text(before, variant))
    if "syntax" not in {failure.kind for failure in found}:
        found += judge.of_runs(run(before, StandIn(), cut), run(variant.program, StandIn(), cut), variant)
    assert kind in {failure.kind for failure in found}


@pytest.mark.parametrize(
    ("encoding", "bom", "end"),
    [("utf-8", False, "\n"), ("iso-8859-1", False, "\r"), ("utf-8", True, "\r\n"), ("utf-8", False, "\r")],
)
def test_files_run_as_python_reads_them(encoding: str, bom: bool, end: str) -> None:
    cookie = "# -*- coding: latin-1 -*-" if encoding == "iso-8859-1" else "# plain"
    helper = Source("lib/words.py", end.join([cookie, "WORD = 'größer'", "\fKEPT = [WORD]"]), encoding, bom)
    texts = {START: "from lib import words\nfrom lib import *\nresult = words.WORD, KEPT\n"}
    package = Source("lib/__init__.py", "from .words import KEPT\n")
    assert (
        run(Program((*several(texts).sources, package, helper)), StandIn()).result
        == "tuple [str 'größer', list [str 'größer']]"
    )
    assert line_ends(helper.text) == {end}


def test_nothing_of_a_program_stays() -> None:
    before = dict(sys.modules), dict(os.environ), list(sys.meta_path)
    assert run(several(SEVERAL), StandIn()).printed == ("loaded", "{'FLAGS_benchmark': '7'}")
    assert (dict(sys.modules), dict(os.environ), list(sys.meta_path)) == before


def test_a_program_of_several_files_is_cut_down_to_what_fails() -> None:
    texts = {**SEVERAL, "metrics.py": SEVERAL["metrics.py"].replace("\n", "\r\n")}
    smaller = shrink_program(several(texts), lambda made: "print('loaded')" in made.text)
    assert smaller.by_path.keys() == {START, "steps.py"}
    assert smaller.by_path["steps.py"].text == "print('loaded')\n"


# The stand-in, beside Paddle

SHARING = {
    "detach shares": "a = paddle.to_tensor([1.0, 2.0])\nb = a.detach()\na.scale_(3.0)\nresult = b.tolist()",
    "clone copies": "a = paddle.to_tensor([1.0, 2.0])\nb = a.clone()\na.zero_()\nresult = b.tolist()",
    "numpy copies": "a = paddle.to_tensor([1.0])\nb = a.numpy()\na.zero_()\nresult = b.tolist()",
    "the same dtype": "a = paddle.to_tensor(1.0)\nb = a.astype('float32')\na.fill_(4.0)\nresult = b.item(), b is a",
    "another dtype": "a = paddle.to_tensor(1.0)\nb = a.astype('float64')\na.zero_()\nresult = b.item()",
    "a slice": "a = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])\nb = a[0]\nb.zero_()\nresult = a.tolist()",
    "reshape": "a = paddle.to_tensor([[1.0], [2.0]])\nb = a.reshape([2])\nb.zero_()\nresult = a.tolist()",
    "to_tensor": "a = paddle.to_tensor([1.0])\nb = paddle.to_tensor(a)\na.zero_()\nresult = b.tolist()",
    "added to": "a = paddle.to_tensor([1.0])\nb = a\na += 1\nresult = b.tolist(), a is b",
    "set_value": "a = paddle.to_tensor([1.0])\nb = a.detach()\na.set_value(a * 2)\nresult = b.tolist()",
    "clip": "a = paddle.to_tensor(3.0)\nb = a.detach()\na.clip_(0.0, 1.0)\nresult = b.item()",
    "state_dict": "m = paddle.nn.Linear(1, 1)\ns = m.state_dict()\nm.bias.fill_(2.0)\nresult = s['bias'].tolist()",
    "kinds": "a = 0.0 + paddle.to_tensor(2.0).astype('float64')\nresult = a.dtype == paddle.float64, float(a)",
    "halves": "a = paddle.to_tensor([1, 2])\nresult = str((a / 2).dtype), (a * 0.5).tolist(), a.sum().item()",
    "format": "a = paddle.to_tensor(0.5)\nresult = f'{a:.3f}', '%.2f' % a, str(float(a)), bool(a > 0.2)",
    "round": "result = round(paddle.to_tensor(0.5), 2)",
    "json": "import json\nresult = json.dumps({'a': paddle.to_tensor(0.5)})",
    "float of a row": "result = float(paddle.to_tensor([0.5, 0.25]))",
    "truth of a row": "result = bool(paddle.to_tensor([0.5, 0.25]))",
    "item of a row": "result = paddle.to_tensor([0.5, 0.25]).item()",
    "format of one": "result = f'{paddle.to_tensor([0.5]):.3f}'",
    "float of one": "result = float(paddle.to_tensor([0.5]))",
    "item of one": "result = paddle.to_tensor([0.5]).item(), type(paddle.to_tensor(1).item()).__name__",
    "numpy number": "import numpy as np\nresult = (np.float64(3.0) * paddle.to_tensor(2.0)).item()",
    "sum and mean": "import numpy as np\na = [paddle.to_tensor(1.0)] * 2\nresult = float(sum(a)), float(np.mean(a))",
    "gradient": (
        "w = paddle.to_tensor(2.0, stop_gradient=False)\nl = w * w\nl.backward()\nl.zero_()\n"
        "result = w.grad.item(), l.item()"
    ),
    "no_grad": (
        "w = paddle.to_tensor(2.0, stop_gradient=False)\nwith paddle.no_grad():\n    l = w * w\n"
        "result = l.stop_gradient, (w * w).stop_gradient"
    ),
    "full": "a = paddle.full([], 1)\nb = paddle.to_tensor(1)\nresult = str(a.dtype) == str(b.dtype), a.item()",
    "bool": "a = paddle.full([2], True)\nresult = a.tolist(), paddle.to_tensor([True, True]).tolist()",
    "a save later": (
        "m = paddle.nn.Linear(1, 1)\npaddle.async_save(m.state_dict(), 'a.pdparams')\n"
        "paddle.clear_async_save_task_queue()\nresult = sorted(paddle.load('a.pdparams'))"
    ),
    "a leaf": "a = paddle.to_tensor(1.0, stop_gradient=False)\na.zero_()",
    "a leaf's value": "a = paddle.to_tensor(1.0, stop_gradient=False)\na.set_value(a * 2)\nresult = a.item()",
    "a leaf without gradients": (
        "a = paddle.to_tensor(1.0, stop_gradient=False)\nwith paddle.no_grad():\n    a.zero_()\nresult = a.item()"
    ),
    "synchronize": "paddle.device.synchronize()",
}


@pytest.mark.parametrize("name", SHARING)
def test_the_stand_in_shares_and_copies_as_paddle_does(name: str) -> None:
    made = alone("import paddle\n" + SHARING[name] + "\n")
    ours, theirs = (run(made, framework) for framework in frameworks().values())
    assert ours.result == theirs.result
    assert ours.error.partition(":")[0] == theirs.error.partition(":")[0]
    assert ours.error or ours.result != "NoneType None"


def test_what_the_stand_in_does_not_have_says_so() -> None:
    assert "paddle.histogram is not in the stand-in" in run(alone("import paddle\npaddle.histogram"), StandIn()).error


@pytest.mark.parametrize("seed", range(1, 9))
def test_both_say_the_same_of_a_program(seed: int) -> None:
    kinds = [
        {(failure.variant.name, failure.kind) for failure in judge_program(program(seed), framework, seed).failures}
        for framework in frameworks().values()
    ]
    assert kinds[0] == kinds[1]


# The generator and the rest


def test_the_same_seed_makes_the_same_program() -> None:
    assert program(5) == program(5)
    assert len({program(seed) for seed in range(50)}) == 50


KINDS: dict[str, Callable[[Program], bool]] = {
    "several files": lambda made: len(made.sources) > 1,
    "a package": lambda made: any("/" in path for path in made.by_path),
    "carriage returns": lambda made: any(line_ends(source.text) == {"\r"} for source in made.sources),
    "mixed line ends": lambda made: any(len(line_ends(source.text)) > 1 for source in made.sources),
    "latin-1": lambda made: any(source.encoding != "utf-8" for source in made.sources),
    "a byte order mark": lambda made: any(source.bom for source in made.sources),
    "no last line end": lambda made: any(source.text[-1:] not in ("\n", "\r", "") for source in made.sources),
    "an import for types": lambda made: "if TYPE_CHECKING:" in made.text,
    "an import that may fail": lambda made: "except ImportError:" in made.text,
    "an import in a function": lambda made: re.search(r"(?m)^\s+import paddle$", made.text) is not None,
    "an environment": lambda made: "get_flags" in made.text,
    "a star": lambda made: re.search(r"import \*", made.text) is not None,
    "a backslash": lambda made: re.search(r"\\$", made.text, re.MULTILINE) is not None,
    "a module by another name": lambda made: re.search(r"(?m)^import \S+ as S\b", made.text) is not None,
    "a parameter with the name of a package": lambda made: re.search(r"def .*\b(paddle|np|F)\b", made.text) is not None,
    "a chain of targets": lambda made: re.search(r"\w = \w+ = \[\]", made.text) is not None,
    "a look from another file": lambda made: "hooks.py" in made.by_path,
    "a helper of two kinds": lambda made: "def penalty" in made.text,
    "a factor that is rebound": lambda made: re.search(r"(as|for) (weight|ratio|share)\b", made.text) is not None,
    "a log line with an effect": lambda made: re.search(r"print\(.*(next\(|:=)", made.text) is not None,
    "a look at stop_gradient": lambda made: ".stop_gradient" in made.text,
}
"""What the generator is there to make, each with what tells it."""


def test_programs_of_all_kinds_are_made() -> None:
    made = [program(seed) for seed in range(200)]
    assert [kind for kind, is_there in KINDS.items() if sum(map(is_there, made)) < 2] == []


def test_programs_run_to_their_end_or_to_an_error_of_their_own() -> None:
    own = re.compile(
        r"|(RuntimeError|ValueError|KeyboardInterrupt): \['batch \d+ cannot be read'\]|TypeError: \['only 0-dim.*"
    )
    for seed in range(60):
        error = run(program(seed), StandIn()).error
        assert own.fullmatch(error), f"seed {seed}: {error}"


def test_what_an_interrupted_program_has_done_is_kept() -> None:
    whole, cut = run(PROGRAM, StandIn()), run(PROGRAM, StandIn(), Interruption(4, KeyboardInterrupt))
    assert cut.printed == (*whole.printed[:3], "stopped")
    assert whole.error == cut.error == ""
    assert whole.files[0].startswith("last.pdparams: ")
    assert run(PROGRAM, StandIn(), Interruption(4, RuntimeError)).error == "RuntimeError: ['stopped from outside']"


def test_two_runs_are_alike() -> None:
    for framework in frameworks().values():
        first: Observation = run(PROGRAM, framework)
        assert first == run(PROGRAM, framework)
        assert first.steps == 22


def test_a_program_is_cut_down_to_what_fails() -> None:
    text = (
        "import os\n\n\ndef f():\n    a = 1\n    try:\n        for i in range(3):\n            b = a\n"
        "            print(b)\n    finally:\n        a = 2\n\n\nf()\n"
    )
    assert shrink(text, lambda smaller: "print(b)" in smaller) == "print(b)\n"
