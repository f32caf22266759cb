"""Guards: what keeps a statement off the hot path, and what only looks as if it did."""

from __future__ import annotations

import ast

import pytest

from perflint.syntax import vocabulary
from perflint.training import outcomes
from tests.support import expect_marked, expect_marked_in_step


def rare(test: str, value: bool = True, **definitions: str) -> bool:
    expression = ast.parse(test, mode="eval").body
    known = {name: ast.parse(text, mode="eval").body for name, text in definitions.items()}
    return outcomes.often(expression, value, known).is_rare


@pytest.mark.parametrize(
    "test",
    [
        "step % 10 == 0",
        "(step + 1) % args.log_freq == 0",
        "0 == step % 10",
        "not step % 10",
        "not (step % 10)",
        "step % 10 == 9",
        "step % 10 < 1",
        "step and step % 10 == 0",
        "step % 10 == 0 and rank == 0",
        "step % 10 == 0 or step == last_step",
        "(self.step + 1) % len(loader) == 0",
        "step == 0",
        "batch_id == len(loader) - 1",
        "step in (0, 10, 100)",
        "step in checkpoints",
        "step < 3",
        "global_step <= 5",
        "iter_num < args.skip_batches",
        "step <= self.start_iter",
        "step < cfg['warmup_steps']",
        "time.time() - last > 30",
        "loss < best_loss",
        "args.debug",
        "self.should_log",
        "self.should_log()",
        "need_save",
        "False",
        "0",
        "None",
        "paddle.isnan(loss)",
        "paddle.isnan(loss).any()",
        "not paddle.isfinite(loss)",
        "not bool(paddle.isfinite(loss).all())",
        "(due := step % 10 == 0)",
    ],
)
def test_rarely_true(test: str) -> None:
    assert rare(test)


@pytest.mark.parametrize(
    "test",
    [
        "step % 10",
        "step % 10 != 0",
        "step % 10 > 0",
        "step != 0",
        "step not in (0, 10)",
        "iter_num >= args.skip_batches",
        "True",
        "paddle.isfinite(loss)",
        "self.training",
        "self._is_training",
        "args.is_train",
        "train_mode",
    ],
)
def test_rarely_false(test: str) -> None:
    assert rare(test, False)
    assert not rare(test, True)


@pytest.mark.parametrize(
    "test",
    [
        "step % 1 == 0",
        "epoch % 10 == 0",
        "(epoch + 1) % args.save_epoch == 0",
        "step % args.gradient_accumulation == 0",
        "rank == 0",
        "paddle.distributed.get_rank() == 0",
        "args.local_rank == 0",
        "ParallelEnv().local_rank == 0",
        "args.use_amp",
        "use_visualdl",
        "writer is not None",
        "writer",
        "step % 10 == 0 or rank == 0",
        "not step == 0",
        "step > 100",
        "loss < 1.0",
        "len(losses) > 0",
        "args.num_classes == 2",
        "args.batch_size == 1",
        "self.num_workers == 0",
        "index_type == 'int'",
        "step < max_steps",
        "step < len(loader)",
        "step > warmup_steps",
        "width < args.start",
        "not self.trainable",
        "not pretrained",
        "not train_loader",
        "self.is_training",
    ],
)
def test_not_rare(test: str) -> None:
    assert not rare(test)


def test_a_guard_may_have_been_given_a_name() -> None:
    assert rare("due", due="step % 10 == 0")
    assert rare("not skip", skip="step % 10 != 0")
    assert rare("rest == 0", rest="step % 10")
    assert rare("step % every == 0", every="50")
    assert not rare("step % every == 0", every="1")
    assert not rare("due", due="rank == 0")
    assert not rare("enabled", enabled="True")
    assert rare("enabled", enabled="False")
    assert rare("margin > 0", margin="0.0")
    assert not rare("margin > 0", margin="0.3")
    assert rare("margin <= 0", margin="0.3")
    assert not rare("margin > 0", margin="'0'")


def test_names_that_stand_for_each_other_come_to_an_end() -> None:
    assert not rare("a", a="b", b="a")


@pytest.mark.parametrize(
    ("name", "epochs"),
    [
        ("epoch", True),
        ("epoch_id", True),
        ("start_epoch", True),
        ("ep", True),
        ("pass_id", True),
        ("step", False),
        ("iters_per_epoch", False),
        ("epoch_step", False),
        ("depth", False),
        ("rep", False),
    ],
)
def test_names_that_count_epochs(name: str, epochs: bool) -> None:
    assert vocabulary.means_epoch(name) is epochs


def test_a_branch_under_a_guard_is_off_the_hot_path() -> None:
    expect_marked_in_step(
        """
        if step % 10 == 0:
            meter.update(loss.item())
        else:
            meter.update(loss.item())  #: PPF201
        if step % 10:
            meter.update(loss.item())  #: PPF201
        elif args.verbose_eval:
            meter.update(loss.item())
        if args.rank == 0:
            meter.update(loss.item())  #: PPF201
        if step % 10 == 0 and args.rank == 0:
            with paddle.no_grad():
                try:
                    meter.update(loss.item())
                finally:
                    meter.update(loss.item())
        """
    )


def test_after_a_test_that_skips_most_steps() -> None:
    expect_marked_in_step(
        """
        meter.update(loss.item())  #: PPF201
        if step % 10:
            continue
        meter.update(loss.item())
        if args.plain:
            meter.update(loss.item())
        """
    )


def test_after_a_test_that_skips_few_steps() -> None:
    expect_marked_in_step(
        """
        if step % 10 == 0:
            continue
        meter.update(loss.item())  #: PPF201
        """
    )


def test_a_branch_that_ends_the_loop_runs_once() -> None:
    expect_marked_in_step(
        """
        if args.limit < step:
            print(loss)
            break
        if args.other < step:
            print(loss)
            return loss
        if not model.training:
            raise RuntimeError(f"not in training: {loss}")
        if args.strange:
            print("stop at", loss.item())
            sys.exit(1)
        for part in args.parts:
            if part.found:
                meter.update(loss.item())  #: PPF201
                break
        """
    )


def test_handlers_and_the_else_of_a_loop_are_off_the_hot_path() -> None:
    expect_marked(
        """
        import paddle

        def train(model, loader, optimizer):
            for x in loader:
                loss = model(x).mean()
                try:
                    loss.backward()
                    print(loss.item())  #: PPF202
                except RuntimeError:
                    print(loss.item())
                finally:
                    print(loss.item())  #: PPF202
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
            else:
                print(loss.item())
            print(loss.item())
        """
    )


def test_a_guard_outside_the_step_loop_is_none() -> None:
    expect_marked(
        """
        import paddle

        def train(model, loader, optimizer, epochs):
            for epoch in range(epochs):
                if epoch % 5 == 0:
                    for x in loader:
                        loss = model(x).mean()
                        loss.backward()
                        optimizer.step()
                        print(loss.item())  #: PPF202
                        if epoch % 5 == 0:
                            print(loss.item())  #: PPF202
        """
    )


def test_guards_within_an_expression() -> None:
    expect_marked_in_step(
        """
        value = loss.item() if step % 10 == 0 else None
        value = None if step % 10 == 0 else loss.item()  #: PPF201
        value = None if step % 10 else loss.item()
        step % 10 == 0 and meter.update(loss.item())
        args.rank == 0 and meter.update(loss.item())  #: PPF201
        step % 10 or meter.update(loss.item())
        value = [loss.item() if step % 10 == 0 else 0.0]
        value = 0 if loss.item() > 1 else 2  #: PPF201
        """
    )


def test_a_lambda_runs_elsewhere() -> None:
    expect_marked_in_step(
        """
        callbacks.append(lambda: loss.item())
        meter.update(key=lambda value: float(loss) + value)
        meter.update(loss.item(), key=lambda value: value)  #: PPF201
        """
    )


def test_match_is_no_guard() -> None:
    expect_marked_in_step(
        """
        match args.mode:
            case "full":
                meter.update(loss.item())  #: PPF201
            case _ if step % 10 == 0:
                meter.update(loss.shape[0])
        """
    )


def test_a_parameter_that_one_branch_sets_may_keep_what_it_was_handed() -> None:
    text = """
        import paddle


        def train(model, loader, optimizer, verbose, every=200):
            {line}
            for step, (x, y) in enumerate(loader):
                loss = model(x, y).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                if step % every == 0:
                    print(float(loss)){mark}
        """
    expect_marked(text.format(line="if verbose:\n                every = 1", mark=""), "PPF202")
    expect_marked(text.format(line="every = 1", mark="  #: PPF202"), "PPF202")


@pytest.mark.parametrize("test", ["self._is_training", "self.is_train"])
def test_what_a_flag_leaves_to_prediction_is_off_the_hot_path(test: str) -> None:
    expect_marked(
        f"""
        import paddle


        class Head:
            def __init__(self, phase):
                {test} = phase == "train"
                self.values = []

            def after(self, logits):
                if not {test}:
                    self.values.extend(logits.tolist())
                else:
                    self.values.append(logits.mean().item())  #: PPF201


        def train(model, head: Head, loader, optimizer):
            head = Head("train")
            for x, y in loader:
                logits = model(x)
                loss = paddle.nn.functional.cross_entropy(logits, y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                head.after(logits)
        """,
        "PPF201",
    )
