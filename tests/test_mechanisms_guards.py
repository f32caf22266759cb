"""What keeps a statement off the hot path where it stands, and what only looks as if it did.

Each test writes a step as people write it, with the rows marked that run at each step.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.support import expect_reads

FIT = """\
import os
import time
from datetime import datetime

import paddle
import paddle.distributed as dist
import paddle.nn.functional as F

LOG_EVERY = 20
{globals}

def fit(model, loader, optimizer, args, cfg, logger, meter, rank=0):
    global_step = total = 0
    start = last_time = time.time()
    for epoch in range(args.epochs):
        for step, (images, labels) in enumerate(loader):
            global_step += 1
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
{body}
"""
READ = "meter.update(loss.item())"


def fit(body: str, globals_: str = "") -> str:
    """A training function whose step ends with ``body``."""
    return FIT.format(body=indent(dedent(body).strip("\n"), " " * 12), globals=dedent(globals_))


def expect_guard(condition: str, before: str = "", globals_: str = "") -> None:
    """A read under a condition is left alone; the one beside it and the one in its ``else`` are not."""
    expect_reads(fit(f"{before}\n{READ}  #: PPF201\nif {condition}:\n    {READ}", globals_))


def expect_no_guard(condition: str, before: str = "", globals_: str = "") -> None:
    """A read under a condition happens at each step, or nearly so."""
    expect_reads(fit(f"{before}\nif {condition}:\n    {READ}  #: PPF201", globals_))


# --- modulo


@pytest.mark.parametrize(
    "condition",
    [
        "step % 10 == 0",
        "step % 10 == 9",
        "step % args.log_interval == 0",
        "(step + 1) % args.log_interval == 0",
        "(1 + step) % args.log_interval == 0",
        "0 == step % args.log_interval",
        "not step % args.log_interval",
        "not (step % args.log_interval)",
        "not (step + 1) % cfg['log_iter']",
        "step % cfg.get('log_iter', 10) == 0",
        "step % max(1, args.log_interval) == 0",
        "step % (args.log_interval // 2) == 0",
        "step % LOG_EVERY == 0",
        "step % int(args.log_interval) == args.log_interval - 1",
        "global_step % 100 == 1",
        "step % 10 < 1",
        "divmod(step, 10)[1] == 0",
        "step // 10 * 10 == step",
        "(step & 63) == 0",
        "not step & 63",
        "step % 10 == 0 and step > 0",
        "step > 0 and step % 10 == 0",
        "step and not step % 10",
        "step % 10 == 0 or step == len(loader) - 1",
        "step % args.log_interval == 0 and rank == 0",
        "dist.get_rank() == 0 and step % args.log_interval == 0",
        "args.log_interval > 0 and step % args.log_interval == 0",
        "args.log_interval and not step % args.log_interval",
        "step % len(loader) == 0",
        "(epoch * len(loader) + step) % 50 == 0",
        "bool(step % 10 == 0)",
    ],
)
def test_every_so_many_steps(condition: str) -> None:
    expect_guard(condition)


@pytest.mark.parametrize(
    "body",
    [
        f"if step % 10:\n    pass\nelse:\n    {READ}",
        f"if step % 10 != 0:\n    pass\nelse:\n    {READ}",
        f"if step % 10 > 0:\n    pass\nelse:\n    {READ}",
        f"if rank != 0:\n    pass\nelif step % 10 == 0:\n    {READ}",
        f"if rank == 0:\n    if step % 10 == 0:\n        if args.meter:\n            {READ}",
        "value = loss.item() if step % 10 == 0 else None",
        f"step % 10 == 0 and {READ}",
        f"step % 10 or {READ}",
        f"if (due := step % 10 == 0):\n    {READ}\nif due:\n    {READ}",
        f"if step % 10 == 0: {READ}; {READ}",
    ],
)
def test_every_so_many_steps_by_other_statements(body: str) -> None:
    expect_reads(fit(body))


@pytest.mark.parametrize(
    "condition",
    [
        "step % 1 == 0",
        "not step % 1",
        "(step + 1) % 1 == 0",
        "step % EACH == 0",
        "step % 10 != 0",
        "step % 10",
        "not step % 10 == 0",
        "step % 10 == 0 or rank == 0",
        "step % 10 == 0 or True",
        "step >= 0",
        "step > args.warmup_steps",
        "1",
        "True",
        "loss is not None",
        "not (step % 10 == 0)",
    ],
)
def test_conditions_that_hold_at_nearly_each_step(condition: str) -> None:
    expect_no_guard(condition, globals_="EACH = 1\n")


@pytest.mark.parametrize(
    "condition",
    [
        "epoch % 10 == 0",
        "(epoch + 1) % args.save_interval == 0",
        "not epoch % 5",
        "epoch == 0",
        "epoch == args.epochs - 1",
        "epoch > args.warmup_epochs",
        "epoch % 10 == 0 and rank == 0",
    ],
)
def test_conditions_on_the_epoch_hold_for_a_whole_epoch(condition: str) -> None:
    expect_no_guard(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "rank == 0",
        "not rank",
        "dist.get_rank() == 0",
        "paddle.distributed.get_rank() == 0",
        "args.local_rank in (-1, 0)",
        "dist.ParallelEnv().local_rank == 0",
        "os.environ.get('PADDLE_TRAINER_ID', '0') == '0'",
        "is_main_process",
        "int(os.getenv('PADDLE_TRAINER_ID', 0)) == 0",
        "dist.get_world_size() > 1",
        "rank == 0 and meter is not None",
    ],
)
def test_ranks_are_no_guard(condition: str) -> None:
    expect_no_guard(condition, before="is_main_process = rank == 0")


@pytest.mark.parametrize(
    "condition",
    ["meter", "meter is not None", "args.use_visualdl", "cfg.use_ema", "model.training", "hasattr(model, 'loss')"],
)
def test_configuration_is_no_guard(condition: str) -> None:
    expect_no_guard(condition)


# --- guards with a name


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("due = step % 10 == 0", "due"),
        ("due = (step + 1) % args.log_interval == 0 and rank == 0", "due"),
        ("due = not step % 10\nshown = due and rank == 0", "shown"),
        ("skip = step % 10 != 0", "not skip"),
        ("rest = step % 10", "rest == 0"),
        ("whole, rest = divmod(step, 10)", "rest == 0"),
        ("rest = (step + 1) % args.log_interval", "not rest"),
        ("due = step % 10 == 0\nlast = step == len(loader) - 1", "due or last"),
        ("due = bool(step % 10 == 0)", "due"),
        ("due = True if step % 10 == 0 else False", "due"),
        ("due = False\nif step % 10 == 0:\n    due = True", "due"),
        ("due: bool = step % 10 == 0", "due"),
        ("every = args.log_interval or 10", "step % every == 0"),
        ("now, due = time.time(), step % 10 == 0", "due"),
        ("done = global_step % 100", "done == 0"),
    ],
)
def test_a_guard_computed_before(before: str, condition: str) -> None:
    expect_guard(condition, before)


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("due = rank == 0", "due"),
        ("due = step % 1 == 0", "due"),
        ("every = 1", "step % every == 0"),
        ("due = epoch % 2 == 0", "due"),
        ("due = True\nif step % 10 == 0:\n    due = False", "due"),
        ("due = step % 10 == 0 or rank == 0", "due"),
        ("due = step % 10 != 0", "due"),
        ("due = step % 10 == 0\ndue = rank == 0", "due"),
    ],
)
def test_a_name_that_is_no_guard(before: str, condition: str) -> None:
    expect_no_guard(condition, before)


# --- leaving early


@pytest.mark.parametrize(
    "body",
    [
        f"{READ}  #: PPF201\nif step % 10:\n    continue\n{READ}",
        f"if step % 10 != 0:\n    continue\n{READ}",
        f"if (step + 1) % args.log_interval:\n    continue\nif rank == 0:\n    {READ}",
        f"if not step % 10 == 0:\n    continue\n{READ}",
        f"if step % 10 > 0 or rank != 0:\n    continue\n{READ}",
        f"if rank != 0 or step % 10 != 0:\n    continue\n{READ}",
        f"due = step % 10 == 0\nif not due:\n    continue\n{READ}",
        f"if global_step % 10:\n    total += 1\n    continue\n{READ}",
        f"if step > 0:\n    continue\n{READ}",
        f"if step != 0:\n    continue\n{READ}",
    ],
)
def test_after_a_continue(body: str) -> None:
    expect_reads(fit(body))


@pytest.mark.parametrize(
    "body",
    [
        f"if step % 10 == 0:\n    continue\n{READ}  #: PPF201",
        f"if rank != 0:\n    continue\n{READ}  #: PPF201",
        f"if epoch % 10 != 0:\n    continue\n{READ}  #: PPF201",
        f"if step % 1 != 0:\n    continue\n{READ}  #: PPF201",
        f"if meter is None:\n    continue\n{READ}  #: PPF201",
        f"if args.skip and rank != 0:\n    continue\n{READ}  #: PPF201",
        f"for part in labels.shape:\n    if part % 10:\n        continue\n    total += part\n{READ}  #: PPF201",
    ],
)
def test_after_a_continue_that_skips_few_steps(body: str) -> None:
    expect_reads(fit(body))


# --- certain steps


@pytest.mark.parametrize(
    "condition",
    [
        "step == 0",
        "not step",
        "step == 1",
        "step == len(loader) - 1",
        "step + 1 == len(loader)",
        "step == last_step",
        "global_step == args.max_steps",
        "step in {0, 10, 100}",
        "step in (1, 2, 5)",
        "global_step in args.save_steps",
        "step in checkpoints",
        "step < 5",
        "global_step <= 10",
        "epoch == 0 and step == 0",
        "epoch == 0 and step < 3",
        "is_first_step",
        "is_last_batch",
        "step == 0 or step == len(loader) - 1",
    ],
)
def test_certain_steps(condition: str) -> None:
    expect_guard(condition, "last_step = len(loader) - 1\ncheckpoints = [100, 1000]")


@pytest.mark.parametrize(
    "condition",
    ["step not in {0, 10}", "step != 0", "step > 5", "step < 100000", "step < len(loader)", "step <= args.max_steps"],
)
def test_most_steps(condition: str) -> None:
    expect_no_guard(condition)


# --- time


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("", "time.time() - last_time > 30"),
        ("", "time.perf_counter() - start >= args.log_seconds"),
        ("now = time.time()", "now - last_time > 30"),
        ("elapsed = time.time() - last_time", "elapsed > 30"),
        ("", "time.time() > last_time + 30"),
        ("now = datetime.now()", "(now - args.logged).total_seconds() > 10"),
        ("due = time.monotonic() - last_time > 5", "due"),
    ],
)
def test_every_so_many_seconds(before: str, condition: str) -> None:
    expect_guard(condition, before)


@pytest.mark.parametrize(
    ("before", "condition"),
    [("spent = time.time() - start", "meter and spent is not None"), ("", "args.timeout > 30")],
)
def test_times_that_guard_nothing(before: str, condition: str) -> None:
    expect_no_guard(condition, before)


# --- flags


@pytest.mark.parametrize(
    "condition",
    [
        "args.debug",
        "args.verbose",
        "cfg['debug']",
        "cfg.get('verbose', False)",
        "self_debug",
        "DEBUG",
        "__debug__ and args.debug",
        "args.verbose and rank == 0",
        "args.verbose > 1",
        "logger.isEnabledFor(10)",
        "args.dry_run",
        "should_log(step)",
        "logger.should_log",
        "log_now",
        "os.environ.get('DEBUG')",
    ],
)
def test_flags_that_ask_for_more_output(condition: str) -> None:
    expect_guard(
        condition,
        "log_now = logger.is_due()\nself_debug = args.debug",
        "DEBUG = bool(os.environ.get('DEBUG'))\n\n\ndef should_log(step):\n    return step % LOG_EVERY == 0\n",
    )


@pytest.mark.parametrize("condition", ["not args.debug", "not args.verbose", "VERBOSE", "not args.quiet"])
def test_flags_that_are_mostly_on(condition: str) -> None:
    expect_no_guard(condition, globals_="VERBOSE = True\n")


# --- the last step, remainders by call, and tests that their own branch turns off


@pytest.mark.parametrize(
    "condition",
    [
        "(step > 0 and step % args.print_freq == 0) or step >= len(loader) - 1",
        "step % 10 == 0 or step >= last",
        "step % 10 == 0 or step + 1 >= len(loader)",
        "step + 1 >= len(loader)",
        "len(loader) - 1 <= step",
        "not step < len(loader) - 1",
        "not len(loader) > step",
        "step >= args.max_steps",
        "step > args.num_batches - 1",
        "step == iters_per_epoch - 1 or step >= args.iters",
        "np.mod(step, 100) == 0",
        "paddle.mod(step, 100) == 0",
        "not np.remainder(step, 10)",
        "divmod(step, 10)[1] == 0",
        "not divmod(step, args.log_interval)[1]",
        "time.perf_counter() - start > 30",
        "loss == float('inf')",
        "loss != loss",
        "loss == np.inf",
        "args.benchmark_flag",
    ],
)
def test_more_tests_that_hold_now_and_then(condition: str) -> None:
    expect_guard(condition, "last = len(loader) - 1\niters_per_epoch = 9", "import numpy as np\n")


@pytest.mark.parametrize(
    "condition",
    [
        "step < len(loader) - 1",
        "step + 1 < len(loader)",
        "step >= len(loader) // 2",
        "step >= warmup_steps",
        "step >= args.num_warmup_steps",
        "not step >= len(loader) - 1",
        "np.mod(step, 1) == 0",
        "np.mod(step, 10) != 0",
        "len(labels) >= 3",
        "loss != args.inf_norm",
    ],
)
def test_tests_that_only_look_like_them(condition: str) -> None:
    expect_no_guard(condition, globals_="import numpy as np\n")


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("warned = False", f"if not warned:\n    warned = True\n    {READ}"),
        ("first = True", f"if first:\n    first = False\n    {READ}"),
        ("first = True", f"if first and rank == 0:\n    {READ}\n    first = False"),
        ("table = None", f"if table is None:\n    table = make()\n    {READ}"),
        ("shown = -1", f"if shown != step // 100:\n    shown = step // 100\n    {READ}"),
        ("shown = -1", f"if shown != start + step // 9:\n    shown = start + step // 9\n    {READ}"),
        ("shown = -1", f"part = step // 100\nif part != shown:\n    shown = part\n    {READ}"),
        ("shown = -1", f"if epoch != shown:\n    shown = epoch\n    {READ}"),
        ("shown = -1", f"if shown == int(step / 100):\n    continue\nshown = int(step / 100)\n{READ}"),
        ("due = 100", f"if step >= due:\n    due += 100\n    {READ}"),
        ("due = 100", f"if step >= due:\n    due = step + 100\n    {READ}"),
        ("last = 0", f"if global_step - last >= args.n:\n    last = global_step\n    {READ}"),
        ("due = 1", f"if step // args.n >= due:\n    due += 1\n    {READ}"),
        ("due = 1", f"if step // 9 >= due:\n    while step // 9 >= due:\n        due += 1\n    {READ}"),
        ("seen = 0", f"seen += len(labels)\nif seen >= args.n:\n    seen = 0\n    {READ}"),
        ("kept = []", f"kept.append(labels)\nif len(kept) >= args.n:\n    {READ}\n    kept.clear()"),
        ("kept = []", f"kept.append(labels)\nif len(kept) == args.n:\n    {READ}\n    kept = []"),
        ("seen = set()", f"if labels.shape not in seen:\n    seen.add(labels.shape)\n    {READ}"),
        ("seen = set()", f"if labels.shape in seen:\n    continue\nseen.add(labels.shape)\n{READ}"),
        ("seen = {}", f"if epoch not in seen:\n    seen[epoch] = 1\n    {READ}"),
        ("top = 0", f"score = rate(labels)\nif score > top:\n    top = score\n    {READ}"),
        ("top = 0", f"score = rate(labels)\nif score <= top:\n    continue\ntop = score\n{READ}"),
        ("self.warned = False", f"if not self.warned:\n    self.warned = True\n    {READ}"),
        ("", f"if not hasattr(self, 'warned'):\n    self.warned = True\n    {READ}"),
        ("", f"if not getattr(self, 'warned', False):\n    self.warned = True\n    {READ}"),
        ("", f"if getattr(self, 'table', None) is None:\n    self.table = make(labels)\n    {READ}"),
        ("top = None", f"score = rate(labels)\nif top is None or score > top:\n    top = score\n    {READ}"),
        ("top = None", f"new = rate(labels)\nif top is not None and new <= top:\n    continue\ntop = new\n{READ}"),
        ("top = 1", f"score = rate(labels)\nif top is None or score > top:\n    top = score\n    {READ}"),
        ("table = None", f"if table is None:\n    table = labels\n    {READ}"),
        ("shown = ''", f"if shown != dataset:\n    shown = dataset\n    {READ}"),
        ("seen = set()", f"if labels.shape not in seen:\n    seen |= {{labels.shape}}\n    {READ}"),
    ],
)
def test_a_branch_that_turns_its_own_test_off(before: str, body: str) -> None:
    expect_reads(fit(body).replace("    global_step = total = 0\n", f"    global_step = total = 0\n    {before}\n"))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", f"first = True\nif first:\n    first = False\n    {READ}  #: PPF201"),
        ("", f"table = find()\nif table is None:\n    table = make()\n    {READ}  #: PPF201"),
        ("", f"if images is None:\n    images = make()\n    {READ}  #: PPF201"),
        ("", f"if labels.kind is None:\n    labels.kind = make()\n    {READ}  #: PPF201"),
        ("shown = -1", f"if shown != labels.shape:\n    shown = labels.shape\n    {READ}  #: PPF201"),
        ("due = 1", f"if step >= due:\n    due += 1\n    {READ}  #: PPF201"),
        ("last = 0", f"if labels.size - last >= args.n:\n    last = step\n    {READ}  #: PPF201"),
        ("due = 1", f"if labels.size >= due:\n    due += 1\n    {READ}  #: PPF201"),
        ("rate = 1.0", f"if rate > args.least:\n    rate -= 0.1\n    {READ}  #: PPF201"),
        ("", f"seen = set()\nif epoch not in seen:\n    seen.add(epoch)\n    {READ}  #: PPF201"),
        ("seen = set()", f"if epoch not in seen:\n    seen.add(step)\n    {READ}  #: PPF201"),
        ("total_loss = 1", f"if total_loss is not None:\n    total_loss = total_loss + 1\n    {READ}  #: PPF201"),
        ("on = True", f"if on:\n    on = True\n    {READ}  #: PPF201"),
        ("top = None", f"score = rate(labels)\nif top is None or score:\n    top = score\n    {READ}  #: PPF201"),
        ("top = 0", f"score = rate(labels)\nif labels.size or score > top:\n    top = score\n    {READ}  #: PPF201"),
        ("", f"if not hasattr(labels, 'seen'):\n    labels.seen = True\n    {READ}  #: PPF201"),
        ("shown = ''", f"kind = find(labels)\nif shown != kind:\n    shown = kind\n    {READ}  #: PPF201"),
        ("table = None", f"if table is None:\n    table = None\n    {READ}  #: PPF201"),
        ("top = 0", f"score = rate(labels)\nif score > top:\n    top = 3\n    {READ}  #: PPF201"),
        ("", f"top = rate(images)\nscore = rate(labels)\nif score > top:\n    top = score\n    {READ}  #: PPF201"),
        ("top = 0", f"if step > top:\n    top = step\n    {READ}  #: PPF201"),
    ],
)
def test_a_branch_that_may_run_again_at_the_next_step(before: str, body: str) -> None:
    expect_reads(fit(body).replace("    global_step = total = 0\n", f"    global_step = total = 0\n    {before}\n"))


def test_a_record_that_says_what_to_do_now() -> None:
    expect_reads(fit(f"status = scheduler.step()\nif status.save_checkpoint:\n    {READ}"))
    expect_reads(fit(f"status = scheduler.step()\nif status.checkpoint_dir:\n    {READ}"))
    expect_reads(fit(f"status = scheduler.step()\nif status.loss_scale:\n    {READ}  #: PPF201"))
    expect_reads(fit(f"if args.save_checkpoint:\n    {READ}  #: PPF201"))


def test_the_counter_of_the_loop_counts_whatever_it_is_called() -> None:
    renamed = fit(f"if b == n - 1:\n    {READ}").replace("for step, ", "for b, ")
    expect_reads(renamed)
    expect_reads(fit(f"if rank == n - 1:\n    {READ}  #: PPF201"))


HELPERS = """
import paddle


def fit(self, model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        helper(loss)


seen = set()
told = False


def helper(loss, kept=[], fresh=None):
{body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if loss.name in seen:\n    return\nseen.add(loss.name)\nprint(loss.item())",
        "global told\nif told:\n    return\ntold = True\nprint(loss.item())",
        "if loss.name in kept:\n    return\nkept.append(loss.name)\nprint(loss.item())",
        "text = 'odd'\nprint(text, loss.item())\nraise ValueError(text)",
        "if loss.name:\n    return\nprint(loss.item())\nraise ValueError(loss)",
    ],
)
def test_a_helper_that_speaks_once(body: str) -> None:
    expect_reads(HELPERS.format(body=indent(body, "    ")))


@pytest.mark.parametrize(
    "body",
    [
        "told = False\nif told:\n    return\ntold = True\nprint(loss.item())  #: PPF202",
        "if loss.name not in fresh:\n    fresh = {loss.name}\n    print(loss.item())  #: PPF202",
        "print(loss.item())  #: PPF202\nif loss.name:\n    return\nraise ValueError(loss)",
        "if loss.name:\n    print(loss.item())  #: PPF202\n    return\nraise ValueError(loss)",
    ],
)
def test_a_helper_that_speaks_at_each_step(body: str) -> None:
    expect_reads(HELPERS.format(body=indent(body, "    ")))


def test_a_scaler_that_is_called_makes_the_backward_pass_of_a_branch() -> None:
    expect_reads("""
        import paddle


        def train(model, loader, optimizer, loss_scaler, meter):
            for x, y in loader:
                loss = paddle.nn.functional.cross_entropy(model(x), y)
                if loss_scaler is None:
                    loss.backward()
                    optimizer.step()
                else:
                    loss_scaler(loss, optimizer, parameters=model.parameters())
                    meter.update(loss.item())  #: PPF201
    """)


@pytest.mark.parametrize(
    ("decorator", "parameter", "mark"),
    [
        ("functools.lru_cache(maxsize=None)", "", ""),
        ("functools.cache", "", ""),
        ("functools.cache", "loss", "  #: PPF202"),
        ("functools.wraps(print)", "", "  #: PPF202"),
    ],
)
def test_a_function_that_remembers_its_result_runs_once(decorator: str, parameter: str, mark: str) -> None:
    expect_reads(
        f"""
        import functools

        import paddle

        weights = paddle.ones([4])


        @{decorator}
        def report({parameter}):
            print(weights.sum().item()){mark}


        def train(model, loader, optimizer):
            for images in loader:
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                report({parameter})
        """
    )
