"""PPF101 where the 0 stands elsewhere than at the loader, in small projects."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent, indent

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Level, Related
from perflint.run import engine
from tests.support import Files, expect_marked, fixed, sources

CODE = "PPF101"


def found(files: Files, least: Confidence = Confidence.MEDIUM) -> list[Finding]:
    """The findings with and without the gates, which are the same."""
    given = sources(files)
    settings = Settings(join_lines=False, select=(CODE,), min_confidence=least)
    return engine.check(given, settings)


def expect(files: Files) -> None:
    """Findings stand on the marked rows, with the gates and without."""
    expect_marked(files, CODE)
    found(files)


# --- argparse

OPTION = """\
    import argparse

    import paddle


    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument({option})
        {parse}
        train_set = Images("train")
        train_loader = paddle.io.DataLoader(train_set, batch_size=8, shuffle=True, num_workers={workers})
        train(train_loader)
    """


@pytest.mark.parametrize(
    ("option", "workers"),
    [
        ("'--num_workers', type=int, default=0", "args.num_workers"),
        ("'--num-workers', default=0", "args.num_workers"),
        ("'-j', '--workers', default=0, type=int", "int(args.workers)"),
        ("'--threads', dest='workers', default=0", "args.workers"),
    ],
)
def test_an_option_is_known_by_its_destination(option: str, workers: str) -> None:
    text = OPTION.format(option=option, parse="args = parser.parse_args()", workers=workers)
    (finding,) = found(text)
    source = sources(text)["train.py"]
    assert source.text[finding.start : finding.end] == "default=0"
    assert finding.confidence is Confidence.MEDIUM
    assert finding.related == (Related("train.py", 11, "feeds `paddle.io.DataLoader` here"),)
    assert finding.message.startswith("The default `default=0` gives the loader at line 11 no workers")
    assert "default=4" in fixed(text, CODE, level=Level.UNSAFE)


def test_known_arguments_are_parsed_arguments_too() -> None:
    parse = "args, rest = parser.parse_known_args()"
    assert len(found(OPTION.format(option="'--num_workers', default=0", parse=parse, workers="args.num_workers"))) == 1


@pytest.mark.parametrize(
    ("option", "parse", "workers"),
    [
        ("'--num_workers', type=int, default=4", "args = parser.parse_args()", "args.num_workers"),
        # None: the loader would fail, so something else must set it.
        ("'--num_workers', type=int", "args = parser.parse_args()", "args.num_workers"),
        ("'--num_workers', type=int, default=0", "args = parser.parse_args()", "8"),
        ("'--num_workers', type=int, default=0", "args = parser.parse_args()", "args.num_workers or 4"),
        ("'--num_workers', type=int, default=0", "args = parser.parse_args()", "0 if args.debug else args.num_workers"),
        ("'--num_workers', default=0, help='must be 0 on Windows'", "args = parser.parse_args()", "args.num_workers"),
        (
            "'--num_workers', default=0",
            "args = parser.parse_args()\n        args.num_workers = args.num_workers or cores()",
            "args.num_workers",
        ),
        (
            "'--num_workers', default=0",
            "parser.set_defaults(**settings)\n        args = parser.parse_args()",
            "args.num_workers",
        ),
        ("'--num_workers', default=0", "args = other.parse()", "args.num_workers"),
    ],
)
def test_an_option_that_may_be_something_else_is_left_alone(option: str, parse: str, workers: str) -> None:
    assert found(OPTION.format(option=option, parse=parse, workers=workers)) == []


def test_an_option_is_followed_through_files_functions_and_objects() -> None:
    files = {
        "options.py": """\
            import argparse


            def get_parser():
                parser = argparse.ArgumentParser()
                parser.add_argument("--lr", default=0.1)
                parser.add_argument("--num_workers", type=int, default=0)  #: PPF101
                return parser


            def get_args():
                return get_parser().parse_args()
            """,
        "trainer.py": """\
            import paddle


            class Trainer:
                def __init__(self, args, train_set):
                    self.args = args
                    self.train_set = train_set

                def loader(self):
                    return paddle.io.DataLoader(
                        self.train_set, batch_size=8, shuffle=True, num_workers=self.args.num_workers)
            """,
        "main.py": """\
            from options import get_args
            from trainer import Trainer

            if __name__ == "__main__":
                args = get_args()
                Trainer(args, make_train_set()).loader()
            """,
    }
    expect(files)


def test_an_option_that_a_helper_adds() -> None:
    expect(
        """\
        import argparse

        import paddle


        def add_data_options(parser):
            parser.add_argument("--num-workers", type=int, default=0)  #: PPF101


        parser = argparse.ArgumentParser()
        add_data_options(parser)
        opt = parser.parse_args()
        train_loader = paddle.io.DataLoader(train_set, batch_size=8, num_workers=opt.num_workers)
        """
    )


def test_an_option_of_evaluation_is_left_alone() -> None:
    expect(
        {
            "tools/val.py": """\
                import argparse

                from lib.core import evaluate

                parser = argparse.ArgumentParser()
                parser.add_argument("--num_workers", type=int, default=0)
                args = parser.parse_args()
                evaluate(model, dataset, args.num_workers)
                """,
            "tools/train.py": """\
                import argparse

                from lib.core import train

                parser = argparse.ArgumentParser()
                parser.add_argument("--num_workers", type=int, default=0)  #: PPF101
                args = parser.parse_args()
                train(model, dataset, num_workers=args.num_workers)
                """,
            "lib/__init__.py": "",
            "lib/core/__init__.py": "from .loops import evaluate, train\n",
            "lib/core/loops.py": """\
                import paddle


                def evaluate(model, dataset, num_workers=0):
                    loader = paddle.io.DataLoader(dataset, batch_size=1, num_workers=num_workers)
                    for batch in loader:
                        model(batch)


                def train(model, dataset, iters=100, num_workers=0):
                    loader = paddle.io.DataLoader(dataset, batch_size=8, num_workers=num_workers)
                    for step, batch in enumerate(loader):
                        loss = model(batch)
                        loss.backward()
                        if step % 1000 == 0:
                            num_workers = 1 if num_workers > 0 else 0
                            evaluate(model, dataset, num_workers)
                """,
        }
    )


# --- parameters


def test_a_parameter_default_counts_where_the_training_call_leaves_it() -> None:
    expect(
        """\
        from paddle.io import DataLoader


        def build(dataset, batch_size, workers=0):  #: PPF101
            loader = DataLoader(dataset, batch_size=batch_size, num_workers=workers)
            return loader


        def build_for_evaluation(dataset, workers=0):
            return DataLoader(dataset, batch_size=1, num_workers=workers)


        def build_always_with_workers(dataset, *, workers=0):
            return DataLoader(dataset, batch_size=1, num_workers=workers)


        def build_sometimes(dataset, workers=0):
            if workers == 0:
                workers = cores()
            return DataLoader(dataset, batch_size=1, num_workers=workers)


        def build_for_nobody(train_set, workers=0):
            return DataLoader(train_set, batch_size=1, num_workers=workers)


        train_loader = build(images, 8)
        other_train_loader = build(images, 8, 4)
        val_loader = build_for_evaluation(images)
        third_train_loader = build_always_with_workers(images, workers=4)
        fourth_train_loader = build_sometimes(images)
        """
    )


def test_a_default_that_training_overrules_is_left_alone() -> None:
    text = """\
        import paddle


        def build(dataset, num_workers=0):{mark}
            train_loader = paddle.io.DataLoader(dataset, batch_size=8, shuffle=True, num_workers=num_workers)
            val_loader = paddle.io.DataLoader(dataset, batch_size=8)
            return train_loader, val_loader


        def train(model, optimizer):
            train_loader, _ = build(Images(), num_workers=4)
            for x in train_loader:
                loss = model(x)
                loss.backward()
                optimizer.step()


        def other(model, optimizer):
            first, _ = build(Images())
            for x in first:
                {body}
        """
    expect(text.format(mark="", body="print(x.shape)\n                break"))
    loop = "loss = model(x)\n                loss.backward()\n                optimizer.step()"
    expect(text.format(mark="  #: PPF101", body=loop))


def test_an_argument_written_at_the_call_is_reported_there() -> None:
    expect(
        """\
        from paddle.io import DataLoader


        def build(dataset, batch_size, workers):
            return DataLoader(dataset, batch_size=batch_size, num_workers=workers)


        train_loader = build(images, 8, 0)  #: PPF101
        val_loader = build(images, 8, 0)
        other_train_loader = build(images, 8, workers=0)  #: PPF101
        """
    )


def test_the_loop_tells_what_a_loader_is_for() -> None:
    text = """\
        import paddle


        def build(dataset, workers=0):
            return paddle.io.DataLoader(dataset, batch_size=2, num_workers=workers)


        def run(model, dataset, optimizer):
            batches = build(dataset)
            for x in batches:
                loss = model(x)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    assert len(found(text)) == 1
    assert found(dedent(text).replace("loss.backward()", "print(loss.shape)").replace("optimizer.step()", "")) == []


# --- dicts, constants and classes


def test_a_look_up_falls_back_to_no_workers() -> None:
    text = """\
        import paddle


        def build(train_set, config):
            return paddle.io.DataLoader(train_set, batch_size=8, num_workers=config.get("num_workers", 0))
        """
    assert found(text) == []  # a configuration that nobody has read mostly says how many
    (finding,) = found(text, Confidence.LOW)
    assert '`config.get("num_workers", 0)`' in finding.message
    known = dedent(text) + 'build(images, {"batch_size": 8})\n'
    assert [item.confidence for item in found(known)] == [Confidence.MEDIUM]
    assert found(dedent(text) + 'build(images, {"num_workers": 8})\n') == []


def test_dicts_that_are_completed_elsewhere_are_left_alone() -> None:
    expect(
        """\
        import paddle

        PLAIN = dict(batch_size=8, shuffle=True)
        NESTED = {"train": {"batch_size": 8, "num_workers": 0}, "lr": 0.1}  #: PPF101
        SET_LATER = {"batch_size": 8, "num_workers": 0}
        SET_LATER["num_workers"] = 8
        UPDATED = {"batch_size": 8}
        UPDATED.update(settings)
        HANDED_ON = {"batch_size": 8}
        complete(HANDED_ON)
        SPREAD = {"batch_size": 8, **settings}

        train_loader = paddle.io.DataLoader(train_set, **PLAIN)  #: PPF101
        train_loader = paddle.io.DataLoader(train_set, **NESTED["train"])
        train_loader = paddle.io.DataLoader(train_set, **SET_LATER)
        train_loader = paddle.io.DataLoader(train_set, **UPDATED)
        train_loader = paddle.io.DataLoader(train_set, **HANDED_ON)
        train_loader = paddle.io.DataLoader(train_set, **SPREAD)
        train_loader = paddle.io.DataLoader(train_set, num_workers=2, **PLAIN)
        test_loader = paddle.io.DataLoader(test_set, **PLAIN)
        one_by_one = paddle.io.DataLoader(frames, **{"timeout": 3})
        """
    )


def test_a_constant_of_another_file() -> None:
    expect(
        {
            "config.py": "BATCH = 8\nNUM_WORKERS = 0  #: PPF101\nVALID_WORKERS = 0\nCHOSEN = 0 if WINDOWS else 4\n",
            "train.py": """\
                import config
                import paddle
                from config import CHOSEN, NUM_WORKERS

                train_loader = paddle.io.DataLoader(train_set, batch_size=config.BATCH, num_workers=NUM_WORKERS)
                train_loader = paddle.io.DataLoader(train_set, batch_size=config.BATCH, num_workers=CHOSEN)
                valid_loader = paddle.io.DataLoader(valid_set, batch_size=8, num_workers=config.VALID_WORKERS)
                """,
        }
    )


def test_settings_in_classes() -> None:
    expect(
        """\
        from dataclasses import dataclass

        import paddle


        @dataclass
        class Config:
            batch_size: int = 8
            num_workers: int = 0  #: PPF101


        class Experiment:
            def __init__(self):
                self.workers = 0  #: PPF101
                self.batch_size = 8

            def train_loader(self):
                return paddle.io.DataLoader(self.data, batch_size=self.batch_size, num_workers=self.workers)


        class Chosen:
            def __init__(self, fast):
                self.threads = 0
                if fast:
                    self.threads = 8

            def train_loader(self):
                return paddle.io.DataLoader(self.data, batch_size=8, num_workers=self.threads)


        config = Config(batch_size=4)
        train_loader = paddle.io.DataLoader(images, batch_size=config.batch_size, num_workers=config.num_workers)
        other = Config(num_workers=8)
        train_loader = paddle.io.DataLoader(images, batch_size=other.batch_size, num_workers=other.num_workers)
        """
    )


def test_a_setting_that_a_subclass_changes_is_left_alone() -> None:
    expect(
        """\
        import paddle


        class Base:
            workers = 0

            def train_loader(self):
                return paddle.io.DataLoader(self.data, batch_size=8, num_workers=self.workers)


        class Fast(Base):
            workers = 8
        """
    )


# --- wrappers and subclasses


def test_what_a_wrapper_hands_on() -> None:
    expect(
        """\
        import paddle


        def make(dataset, **kwargs):
            return paddle.io.DataLoader(dataset, **kwargs)


        def make_with_defaults(dataset, **options):
            options.setdefault("num_workers", 4)
            return paddle.io.DataLoader(dataset, **options)


        def make_twice(dataset, **kwargs):
            return make(dataset, drop_last=True, **kwargs)


        train_loader = make(train_set, batch_size=8)  #: PPF101
        train_loader = make(train_set, batch_size=8, num_workers=0)  #: PPF101
        train_loader = make(train_set, batch_size=8, num_workers=2)
        train_loader = make_with_defaults(train_set, batch_size=8)
        train_loader = make_twice(train_set, batch_size=8)  #: PPF101
        train_loader = make_twice(train_set, batch_size=8, num_workers=2)
        train_loader = make(train_set, **options)
        test_loader = make(test_set, batch_size=8)
        """
    )


def test_subclasses_of_the_loader() -> None:
    expect(
        """\
        import paddle


        class Plain(paddle.io.DataLoader):
            def first(self):
                return next(iter(self))


        class WithWorkers(paddle.io.DataLoader):
            def __init__(self, dataset, **kwargs):
                super().__init__(dataset, num_workers=4, **kwargs)


        class HandsOn(paddle.io.DataLoader):
            def __init__(self, dataset, batch_size=1, num_workers=0):
                super().__init__(dataset, batch_size=batch_size, num_workers=num_workers)


        class Other:
            def __init__(self, dataset, num_workers=0):
                self.dataset = dataset


        train_loader = Plain(train_set, batch_size=8)  #: PPF101
        train_loader = Plain(train_set, batch_size=8, num_workers=2)
        train_loader = WithWorkers(train_set, batch_size=8)
        train_loader = HandsOn(train_set, 8)  #: PPF101
        train_loader = HandsOn(train_set, 8, 0)  #: PPF101
        train_loader = HandsOn(train_set, 8, 2)
        train_loader = Other(train_set)
        """
    )


def test_an_iterable_dataset_is_left_alone() -> None:
    expect(
        """\
        import paddle

        WORKERS = 0


        class Stream(paddle.io.IterableDataset):
            def __iter__(self):
                yield from self.lines


        train_loader = paddle.io.DataLoader(Stream(), batch_size=8, num_workers=WORKERS)
        """
    )


def test_a_comment_beside_the_zero_gives_the_reason() -> None:
    expect(
        """\
        import paddle

        WORKERS = 0  # the database handle cannot be shared between processes
        train_loader = paddle.io.DataLoader(train_set, batch_size=8, num_workers=WORKERS)
        """
    )


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("if number == 'auto':\n    number = 2\nreturn number", True),
        ("if platform.system() != 'Linux':\n    return 0\nassert number is not None\nreturn number", True),
        ("if number <= 0:\n    number = 4\nreturn number", False),
        ("if not number:\n    return 4\nreturn number", False),
        ("if cores < 4:\n    number = cores\nreturn number", False),
        ("number = max(number, 1)\nreturn number", False),
        ("return number + 1", False),
    ],
)
def test_a_helper_that_may_rewrite_the_number(body: str, is_found: bool) -> None:
    text = f"""\
import paddle


def workers(number):
{indent(body, "    ")}


class Images(paddle.io.Dataset):
    def __init__(self, number="auto"):
        self.number = workers(number)


train_set = Images(number=0){" #: PPF101" if is_found else ""}
train_loader = paddle.io.DataLoader(train_set, batch_size=8, shuffle=True, num_workers=train_set.number)
"""
    expect(text)


@pytest.mark.parametrize(
    ("scripts", "expected"),
    [
        ({}, 1),
        ({"run.sh": "python train.py --num_workers 4\n"}, 0),
        ({"run.sh": "python train.py \\\n  --num-workers=4\n"}, 0),
        ({"run.sh": "python train.py --num_workers 4\n", "fast.sh": "python train.py --num_workers=0\n"}, 1),
        ({"run.sh": "python val.py --num_workers 4\n"}, 1),
        ({"README.md": "python train.py --num_workers 4\n"}, 1),  # an example, no script
        ({"scripts/run.sh": "python train.py --num_workers 4\n"}, 0),  # no other program has the name
    ],
)
def test_an_option_that_each_script_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scripts: dict[str, str], expected: int
) -> None:
    text = OPTION.format(
        option="'--num_workers', default=0", parse="args = parser.parse_args()", workers="args.num_workers"
    )
    started = dedent(text) + "\n\nif __name__ == '__main__':\n    main()\n"
    for name, written in {"train.py": started, "val.py": "print(1)\n", **scripts}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(written, encoding="utf-8")
    main(["check", "--select", "PPF101", "--no-cache", "--output-format", "json", str(tmp_path)])
    assert len(json.loads(capsys.readouterr().out)) == expected
