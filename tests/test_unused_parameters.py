"""PPF801: where the search for unused parameters is on, and where somebody plainly wants it."""

from __future__ import annotations

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Level
from perflint.run import engine
from tests.support import check, expect_marked, fixed, sources

CODE = "PPF801"


def confidences(text: str) -> list[Confidence]:
    settings = Settings(join_lines=False, select=(CODE,), min_confidence=Confidence.LOW)
    return [item.confidence for item in engine.check(sources(text), settings)]


def test_spellings() -> None:
    expect_marked(
        """\
        import paddle
        import paddle.fluid as fluid
        from paddle import DataParallel as DP
        from paddle.distributed.parallel import DataParallel


        def one(model):
            return paddle.DataParallel(model, find_unused_parameters=True)  #: PPF801


        def two(model):
            return DP(model, None, 25, 1, True)  #: PPF801


        def three(model):
            return DataParallel(
                model,
                find_unused_parameters=True,  #: PPF801
            )


        def four(model, strategy):
            return fluid.dygraph.parallel.DataParallel(model, strategy, find_unused_parameters=True)  #: PPF801
        """,
        CODE,
    )


def test_strategies() -> None:
    expect_marked(
        """\
        import paddle.distributed.fleet as fleet
        from paddle.distributed.fleet import DistributedStrategy

        strategy = DistributedStrategy()
        strategy.find_unused_parameters = True  #: PPF801


        def later():
            strategy.find_unused_parameters = True  #: PPF801


        def given(strategy):
            strategy.find_unused_parameters = True


        def own(args):
            plan = make_strategy()
            plan.find_unused_parameters = True
            other = fleet.DistributedStrategy()
            other.find_unused_parameters = args.find
            other.find_unused_parameters = False
            other.fuse_all_reduce_ops = True


        class Engine:
            def __init__(self):
                self.strategy = fleet.DistributedStrategy()
                self.plan = None

            def prepare(self):
                self.strategy.find_unused_parameters = True  #: PPF801
                self.plan.find_unused_parameters = True
        """,
        CODE,
    )


@pytest.mark.parametrize(
    "line",
    [
        "paddle.DataParallel(model)",
        "paddle.DataParallel(model, find_unused_parameters=False)",
        "paddle.DataParallel(model, find_unused_parameters=args.unused)",
        "paddle.DataParallel(model, find_unused_parameters=1)",
        "paddle.DataParallel(model, **options)",
        "paddle.DataParallel(*parts, find_unused_parameters=True)",
        "mylib.DataParallel(model, find_unused_parameters=True)",
        "paddle.DataParallel(model, find_unused_parameters=True)  # needed: only one branch runs",
        "paddle.DataParallel(model, find_unused_parameters=True)  # 否则会报错",
    ],
)
def test_quiet(line: str) -> None:
    assert confidences(f"import paddle\n\nmodel = {line}\n") == []


def test_an_option_that_asks_for_it() -> None:
    text = """\
        import paddle

        if args.find_unused:
            model = paddle.DataParallel(model, find_unused_parameters=True)
        else:
            model = paddle.DataParallel(model)
        """
    assert confidences(text) == []


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("train(model)", [Confidence.MEDIUM]),
        ("teacher = paddle.DataParallel(teacher)", [Confidence.LOW]),
        ("model = paddle.DataParallel(model)", [Confidence.MEDIUM]),
        ("discriminator_loss(model)", [Confidence.LOW]),
        ("train(model, layerdrop=0.1)", [Confidence.LOW]),
        ("model.experts.route()", [Confidence.LOW]),
        ("train(model, expertise=1)", [Confidence.MEDIUM]),
    ],
)
def test_parts_that_take_turns_are_for_the_reader_to_judge(rest: str, expected: list[Confidence]) -> None:
    text = f"import paddle\n\nmodel = paddle.DataParallel(model, find_unused_parameters=True)\n{rest}\n"
    assert confidences(text) == expected


def test_networks_of_different_functions_are_apart() -> None:
    text = """\
        import paddle


        def one(model):
            return paddle.DataParallel(model, find_unused_parameters=True)


        def two(other):
            return paddle.DataParallel(other)
        """
    assert confidences(text) == [Confidence.MEDIUM]


def test_the_fix_has_a_reason_and_waits_to_be_asked_for() -> None:
    text = """\
        import paddle

        model = paddle.DataParallel(model, comm_buffer_size=32, find_unused_parameters=True)  # both
        """
    [finding] = check(text, CODE)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE
    assert "two GPUs" in finding.fix.reason
    assert "parameters=True)" in fixed(text, CODE)
    assert "comm_buffer_size=32, find_unused_parameters=False\n)  # both" in fixed(text, CODE, level=Level.UNSAFE)


def test_not_in_code_that_only_predicts() -> None:
    text = "import paddle\n\nmodel = paddle.DataParallel(model, find_unused_parameters=True)\n"
    assert check({"deploy/serve.py": text, "train.py": ""}, CODE) == []
    assert check({"tests/test_parallel.py": text, "train.py": ""}, CODE) == []
