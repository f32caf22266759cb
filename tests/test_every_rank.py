"""Checkpoints that every rank writes: which tests keep one to rank 0, and how far calls are followed."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from perflint.findings import Confidence, Level
from perflint.rules.every_rank import every_rank
from tests.support import Files, check, expect_marked, fixed, project

HEAD = """\
import os

import paddle
import paddle.distributed as dist
from paddle.distributed import fleet


def main(args, model, optimizer):
    dist.init_parallel_env()
    model = paddle.DataParallel(model)
    local_rank = dist.get_rank()
    for epoch in range(args.epochs):
        train_one_epoch(model, optimizer)
"""


def after_epoch(body: str) -> str:
    """A distributed program that does this after each epoch."""
    return HEAD + indent(dedent(body).strip("\n") + "\n", " " * 8)


def lines(files: Files) -> list[tuple[str, int, Confidence]]:
    """Path, row and confidence of each save that every rank makes."""
    return [
        (path, call.lineno, entry.path.confidence)
        for path, saves in every_rank(project(files)).items()
        for call, entry in saves.items()
    ]


@pytest.mark.parametrize(
    "body",
    [
        "paddle.save(model.state_dict(), 'a')  #: PPF403",
        "if epoch % 5 == 0:\n    paddle.save(model.state_dict(), args.path)  #: PPF403",
        "if best > 0.9 and args.save:\n    paddle.save(model.state_dict(), path='a')  #: PPF403",
        "if dist.get_world_size() > 1:\n    paddle.save(model._layers.state_dict(), 'a')  #: PPF403",
        "try:\n    paddle.save(model.state_dict(), 'a')  #: PPF403\nexcept OSError:\n    raise",
        "with open(args.log) as log:\n    paddle.save(model.state_dict(), 'a')  #: PPF403",
        "paddle.save(model.state_dict(), 'a')  #: PPF403\npaddle.save(optimizer.state_dict(), 'b')",
    ],
)
def test_a_save_without_a_rank_test(body: str) -> None:
    expect_marked(after_epoch(body), "PPF403")


@pytest.mark.parametrize(
    "test",
    [
        "dist.get_rank() == 0",
        "paddle.distributed.get_rank() == 0 and epoch % 2 == 0",
        "dist.ParallelEnv().local_rank == 0",
        "local_rank == 0",
        "not local_rank",
        "args.local_rank in [-1, 0]",
        "args.rank in (-1, 0)",
        "is_main_process()",
        "utils.is_master()",
        "accelerator.is_main_process",
        "fleet.is_first_worker()",
        "fleet.worker_index() == 0",
        "int(os.environ['PADDLE_TRAINER_ID']) == 0",
        "os.getenv('PADDLE_TRAINER_ID', '0') == '0'",
        "dist.get_world_size() == 1",
        "dist.ParallelEnv().nranks < 2",
        "args.trainer_id == 0",
    ],
)
def test_a_rank_test_in_each_spelling(test: str) -> None:
    expect_marked(after_epoch(f"if {test}:\n    paddle.save(model.state_dict(), 'a')"), "PPF403")


@pytest.mark.parametrize(
    "body",
    [
        "if local_rank != 0:\n    continue\npaddle.save(model.state_dict(), 'a')",
        "if local_rank > 0:\n    pass\nelse:\n    paddle.save(model.state_dict(), 'a')",
        "local_rank == 0 and paddle.save(model.state_dict(), 'a')",
        "paddle.save(model.state_dict(), 'a') if local_rank == 0 else None",
        "chief = local_rank == 0\nif chief:\n    paddle.save(model.state_dict(), 'a')",
        "number = dist.get_rank()\nif number == 0:\n    paddle.save(model.state_dict(), 'a')",
        "save = args.save and local_rank == 0\nif save and epoch % 5 == 0:\n    paddle.save(model.state_dict(), 'a')",
        "with main_process_only():\n    paddle.save(model.state_dict(), 'a')",
        "if args.parallel:\n    assert local_rank == 0\nif dist.get_world_size() > 1:\n    pass\nelse:\n"
        "    paddle.save(model.state_dict(), 'a')",
    ],
)
def test_other_ways_to_keep_a_save_to_one_rank(body: str) -> None:
    expect_marked(after_epoch(body), "PPF403")


def test_a_value_that_was_handed_the_rank_is_no_rank_test() -> None:
    body = """
    count = make_reader(args, local_rank)
    if count > 5:
        paddle.save(model.state_dict(), 'a')  #: PPF403
    """
    expect_marked(after_epoch(body), "PPF403")


@pytest.mark.parametrize(
    "path",
    [
        "f'{args.path}/rank_{local_rank}'",
        "os.path.join(args.path, 'mp_%02d' % number)",
        "'shard-{}'.format(number)",
        "f'model.{os.getpid()}'",
        "folder",
        "os.path.join(folder, 'a')",
    ],
)
def test_a_file_for_each_rank(path: str) -> None:
    body = f"folder = os.path.join(args.path, str(local_rank))\npaddle.save(model.state_dict(), {path})"
    expect_marked(after_epoch(body), "PPF403")


@pytest.mark.parametrize(
    "start",
    [
        "paddle.distributed.init_parallel_env()",
        "dist.init_parallel_env()",
        "if args.parallel:\n        init_parallel_env()",
        "fleet.init(is_collective=True)",
        "setup(args)",
    ],
)
def test_what_makes_a_program_distributed(start: str) -> None:
    text = f"""\
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet, init_parallel_env


def setup(args):
    if args.world_size > 1:
        dist.init_parallel_env()


def main(args, model):
    {start}
    paddle.save(model.state_dict(), "a")  #: PPF403
"""
    expect_marked(text, "PPF403")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("main", "train(model)\n    paddle.save(model.state_dict(), 'a')"),
        ("main", "torch.distributed.init_process_group()\n    torch.save(1, 'a')"),
        ("main", "paddle.distributed.init_parallel_env()\n    paddle.Model(model).save('a')"),
        ("main", "paddle.distributed.init_parallel_env()\n    np.save('a', 1)"),
        ("evaluate", "paddle.distributed.init_parallel_env()\n    paddle.save(1, 'a')"),
        ("export_model", "paddle.distributed.init_parallel_env()\n    paddle.save(1, 'a')"),
    ],
)
def test_what_is_none_of_the_rules_business(name: str, body: str) -> None:
    expect_marked(f"import numpy as np\nimport paddle\nimport torch\n\n\ndef {name}(model):\n    {body}\n", "PPF403")


def test_a_helper_in_another_file() -> None:
    expect_marked(
        {
            "utils/io.py": """\
import paddle

def save_model(model, path):
    paddle.save(model.state_dict(), path)  #: PPF403

def save_guarded(model, path):
    if paddle.distributed.get_rank() == 0:
        write(model, path)

def write(model, path):
    paddle.save(model.state_dict(), path)

def save_per_rank(model, path):
    paddle.save(model.state_dict(), path)

def never_called(model, path):
    paddle.save(model.state_dict(), path)
""",
            "train.py": """\
import paddle
from utils.io import save_guarded, save_model, save_per_rank

def main(model, args):
    paddle.distributed.init_parallel_env()
    rank = paddle.distributed.get_rank()
    fit(model, args.path)
    save_guarded(model, args.path)
    save_per_rank(model, f"{args.path}/{rank}")

def fit(model, path):
    for epoch in range(10):
        save_model(model, f"{path}/{epoch}")
""",
            "single.py": """\
from utils.io import never_called

def main(model):
    never_called(model, "a")
""",
            "tests/test_train.py": "import paddle\npaddle.distributed.init_parallel_env()\npaddle.save({}, 'a')\n",
        },
        "PPF403",
    )


def test_the_calls_that_lead_there_are_named() -> None:
    files = {
        "io_utils.py": "import paddle\n\n\ndef save(model, path):\n    paddle.save(model.state_dict(), path)\n",
        "train.py": "import paddle\nfrom io_utils import save\n\n\ndef main(model):\n"
        "    paddle.distributed.init_parallel_env()\n    save(model, 'a')\n",
    }
    (found,) = check(files, "PPF403")
    assert "train.py:6" in found.message
    assert [(item.path, item.line) for item in found.related] == [("train.py", 6), ("train.py", 7)]


def test_a_helper_behind_a_flag_from_its_callers() -> None:
    text = """\
import paddle

def main(model):
    paddle.distributed.init_parallel_env()
    rank = paddle.distributed.get_rank()
    finish(model, rank == 0)

def finish(model, write):
    if write:
        paddle.save(model.state_dict(), "a")
"""
    expect_marked(text, "PPF403")


@pytest.mark.parametrize("decorator", ["@master_only", "@utils.rank_zero_only", "@once()", "@dist.main"])
def test_a_decorated_helper_may_look_at_the_rank(decorator: str) -> None:
    text = f"""\
import paddle

def main(model):
    paddle.distributed.init_parallel_env()
    write(model)

{decorator}
def write(model):
    paddle.save(model.state_dict(), "a")
"""
    expect_marked(text, "PPF403")


def test_branches_that_exclude_each_other() -> None:
    text = """\
import paddle
from paddle.distributed import fleet

def main(model, args):
    if args.parallel:
        fleet.init(is_collective=True)
    if not args.parallel:
        paddle.save(model.state_dict(), "a")
    if args.parallel:
        fleet.save_persistables(None, "a")
    else:
        write(model)
    paddle.save(model.state_dict(), "b")  #: PPF403

def write(model):
    paddle.save(model.state_dict(), "a")
"""
    expect_marked(text, "PPF403")


def test_what_spawn_runs_and_what_it_leaves_alone() -> None:
    text = """\
import paddle
import paddle.distributed as dist

def worker(model):
    model = paddle.DataParallel(model)
    paddle.save(model.state_dict(), "a")  #: PPF403

def launch(model):
    dist.spawn(worker, args=(model,))

def main(model):
    launch(model)
    paddle.save(model.state_dict(), "b")
"""
    expect_marked(text, "PPF403")


CLASS = """\
import paddle


class Trainer:
    def __init__(self, model):
        paddle.distributed.init_parallel_env()
        self.model = paddle.DataParallel(model)
        self.rank = paddle.distributed.get_rank()

    def train(self):
        for epoch in range(10):
            {call}

    def save(self):
        paddle.save(self.model.state_dict(), "a")
"""


@pytest.mark.parametrize(
    ("call", "confidence"),
    [
        ("self.save()", [Confidence.HIGH]),
        ("self.rank == 0 and self.save()", []),
        ("pass", [Confidence.LOW]),
    ],
)
def test_a_trainer_that_distributes_when_it_is_built(call: str, confidence: list[Confidence]) -> None:
    assert [found for _, _, found in lines(CLASS.format(call=call))] == confidence


def test_a_guard_in_the_class_itself() -> None:
    text = CLASS.format(call="self.save()").replace(
        "def save(self):", "def save(self):\n        if self.rank:\n            return"
    )
    assert lines(text) == []


def test_a_wrapped_model_in_a_program_that_nothing_distributes() -> None:
    wrapped = "import paddle\ndef main(model):\n    model = paddle.DataParallel(model)\n    paddle.save(model, 'a')\n"
    start = "import paddle\ndef start():\n    paddle.distributed.init_parallel_env()\n"
    assert lines({"one/train.py": wrapped, "two/run.py": start}) == [("one/train.py", 4, Confidence.LOW)]
    both = {"train.py": wrapped, "run.py": "from train import main\n" + start}
    assert lines(both) == [("train.py", 4, Confidence.HIGH)]


@pytest.mark.parametrize(
    "word",
    [
        "hcg = fleet.get_hybrid_communicate_group()",
        "model = group_sharded_parallel(model, optimizer, 'os')",
        "fleet.init_server()",
        "dist.save_state_dict(model.state_dict(), args.path)",
    ],
)
def test_processes_that_hold_different_parts(word: str) -> None:
    expect_marked(after_epoch(f"{word}\npaddle.save(model.state_dict(), args.path)"), "PPF403")


def test_a_step_comes_first() -> None:
    text = """\
import paddle
import paddle.nn.functional as F

def train(model, loader, optimizer):
    paddle.distributed.init_parallel_env()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        paddle.save(model.state_dict(), "a")  #: PPF401
"""
    expect_marked(text, "PPF401", "PPF403")


def test_a_save_in_the_background_is_no_save_on_rank_0() -> None:
    text = """\
import paddle
import paddle.nn.functional as F
from paddle.framework.io import async_save

def train(model, loader, optimizer, epochs):
    paddle.distributed.init_parallel_env()
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            paddle.async_save(model.state_dict(), "latest", sync_other_task=True)  #: PPF403
            if step % 1000 == 0:
                async_save(model.state_dict(), f"{epoch}-{step}")  #: PPF403
        paddle.async_save(model.state_dict(), f"rank{paddle.distributed.get_rank()}-{epoch}")
        if paddle.distributed.get_rank() == 0:
            paddle.async_save(model.state_dict(), f"{epoch}")
"""
    expect_marked(text, "PPF401", "PPF402", "PPF403")


def level(body: str) -> Level:
    (found,) = check(after_epoch(body), "PPF403")
    assert found.fix is not None
    return found.fix.level


def test_the_fix_takes_the_saves_that_follow() -> None:
    body = """
    paddle.save(model.state_dict(), os.path.join(args.path, 'a'))
    paddle.save(optimizer.state_dict(), 'b')  # and the optimizer
    print(epoch)
    """
    expected = """
    if paddle.distributed.get_rank() == 0:
        paddle.save(model.state_dict(), os.path.join(args.path, 'a'))
        paddle.save(optimizer.state_dict(), 'b')  # and the optimizer
    print(epoch)
    """
    assert fixed(after_epoch(body), "PPF403", level=Level.UNSAFE) == after_epoch(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("paddle.save(model.state_dict(), 'a')", Level.UNSAFE),
        ("paddle.save(gather(model), 'a')", Level.DISPLAY),
        ("paddle.save(model.state_dict(), 'a')\nprint(epoch)\npaddle.save(optimizer.state_dict(), 'b')", Level.DISPLAY),
        ("done = paddle.save(model.state_dict(), 'a')", Level.DISPLAY),
        ("paddle.save(model.state_dict(), path := 'a')", Level.DISPLAY),
        ("paddle.save(model.state_dict(), 'a')\nmodel.set_state_dict(paddle.load('a'))", Level.DISPLAY),
        ("model.set_state_dict(paddle.load('a'))\npaddle.save(model.state_dict(), 'a')", Level.DISPLAY),
        ("paddle.save(model.state_dict(), 'a')\nmodel.set_state_dict(paddle.load('b'))", Level.UNSAFE),
        ("paddle.save(model.state_dict(), 'a')\nmodel.set_state_dict(paddle.load(path='a'))", Level.DISPLAY),
        ("paddle.static.save(args.main, model_path='a')\npaddle.static.load(args.main, model_path='a')", Level.DISPLAY),
        ("paddle.save(model.state_dict(), args.dir + '/a')\nshutil.copytree(args.dir, 'b')", Level.DISPLAY),
        ("folder = 'b'\npaddle.save(model.state_dict(), folder + '/a')\nshutil.copytree(folder, 'c')", Level.DISPLAY),
        ("folder = 'b'\npaddle.save(model.state_dict(), folder + '/a')\nprint(folder)", Level.UNSAFE),
    ],
)
def test_how_far_the_fix_may_be_trusted(body: str, expected: Level) -> None:
    assert level(body) is expected


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("paddle.save(gather(model), 'a')", "make that call before the test of the rank"),
        ("paddle.save(model.state_dict(), 'a')\nmodel.set_state_dict(paddle.load('a'))", "at a barrier"),
    ],
)
def test_what_would_leave_ranks_waiting_or_reading_too_soon_is_said_in_words(body: str, said: str) -> None:
    (finding,) = check(after_epoch(body), "PPF403")
    assert finding.fix is not None
    assert finding.fix.edits == ()
    assert said in finding.fix.reason


def test_the_reason_says_what_the_other_ranks_lack() -> None:
    (finding,) = check(after_epoch("paddle.save(model.state_dict(), 'a')"), "PPF403")
    assert finding.fix is not None
    for said in (
        "no longer write or wait",
        "they need a barrier before they read the file",
        "on several machines only the first",
    ):
        assert said in finding.fix.reason


def test_the_fix_imports_paddle_where_only_save_is() -> None:
    text = """\
from paddle import save
from paddle.distributed import init_parallel_env


def main(model):
    init_parallel_env()
    save(model.state_dict(), "a")
"""
    result = fixed(text, "PPF403", level=Level.UNSAFE)
    assert "import paddle\n" in result
    assert '    if paddle.distributed.get_rank() == 0:\n        save(model.state_dict(), "a")\n' in result


# --- ways that no rank takes

MODEL = """\
import paddle


class Net(paddle.nn.Layer):
    def train_model(self, x):
        return self(x).mean()
"""


@pytest.mark.parametrize(
    ("call", "saves"),
    [
        ("loss = model.train_model(batch)", False),  # AttributeError: 'DataParallel' object has no attribute ...
        ("loss = model(batch)", True),
        ("loss = model.load_dict(batch)", True),
        ("loss = model._layers.train_model(batch)", True),
        ("if dist.get_world_size() == 1:\n    loss = model.train_model(batch)", True),
        ("if isinstance(model, Net):\n    loss = model.train_model(batch)", True),
        ("loss = model.untold(batch)", True),  # no layer here has it, so the object may be something else
    ],
)
def test_a_wrapped_model_has_no_methods_of_its_own(call: str, saves: bool) -> None:
    body = f"{call}\npaddle.save(model.state_dict(), 'a')"
    found = lines({"net.py": MODEL, "train.py": after_epoch(body)})
    assert [path for path, _, _ in found] == ["train.py"] * saves


KEPT = """\
import paddle
import paddle.distributed as dist


class Trainer:
    def __init__(self, model):
        self.model = model
        self.rank = dist.get_rank()
        dist.init_parallel_env()

    def train(self, epochs, every=None):
        self.every = every
        if epochs < 2:
            self.every = None
        for epoch in range(epochs):
            self.step()
            {test}:
                self.keep()

    def keep(self):
        self.write("last")

    def write(self, path):
        paddle.save(self.model.state_dict(), path)
"""


SEARCH = """\
from trainer import Trainer


class Search:
    def __init__(self, model):
        self.trainer = Trainer(model)

    def keep_best(self):
        self.trainer.write("best")
"""


@pytest.mark.parametrize(("test", "saves"), [("if self.rank == 0", False), ("if epoch % 2 == 0", True)])
def test_all_calls_of_its_own_class_ask_for_the_rank(test: str, saves: bool) -> None:
    found = lines({"trainer.py": KEPT.format(test=test), "search.py": SEARCH})
    assert [confidence is not Confidence.LOW for _, _, confidence in found] == [
        saves
    ]  # nobody is seen to keep the best


@pytest.mark.parametrize(
    ("test", "call", "saves"),
    [
        ("if every is not None", "trainer.train(9)", False),
        ("if every is not None", "trainer.train(9, every=3)", True),
        ("if every is not None", "trainer.train(9, every=args.every)", True),
        ("if self.every is not None", "trainer.train(9)", False),
        ("if self.every is not None", "trainer.train(9, every=3)", True),
        ("if every is None", "trainer.train(9)", True),
        ("if epoch == 0", "trainer.train(9)", True),
    ],
)
def test_what_a_call_switches_off(test: str, call: str, saves: bool) -> None:
    trainer = KEPT.format(test=test).replace("        dist.init_parallel_env()\n", "")
    train = f"""\
import paddle.distributed as dist

from trainer import Trainer


def main(args, model):
    dist.init_parallel_env()
    trainer = Trainer(model)
    {call}
"""
    assert len(lines({"trainer.py": trainer, "train.py": train})) == saves
