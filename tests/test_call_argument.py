"""Declarative rules: calls that should not run at each step, arguments that depend on another, and what excuses them.

The edits are compared with what a person would have written; ``fixed_body`` also makes sure that the result parses and
that a second run leaves it alone.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from perflint import catalogue
from perflint.catalogue import CatalogueError
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source
from tests.support import check, expect_marked, expect_marked_in_step, fixed, fixed_body, in_step, sources

STEP_CALLS = ("PPF204", "PPF703", "PPF704", "PPF705")
CLEANING = ("PPF703", "PPF704")


def unsafe(body: str, *select: str) -> str:
    return fixed_body(body, *(select or STEP_CALLS), level=Level.UNSAFE)


def confidences(files: dict[str, str] | str, *select: str) -> list[Confidence]:
    settings = Settings(join_lines=False, select=select, min_confidence=Confidence.LOW)
    return [item.confidence for item in engine.check(sources(files), settings)]


# --- deleting an argument

WITHOUT = [
    pytest.param("(data, persistent_workers=True)", "(data)", id="the last one"),
    pytest.param("(data, persistent_workers=True, num_workers=2)", "(data, num_workers=2)", id="one in the middle"),
    pytest.param("(persistent_workers=True, dataset=data)", "(dataset=data)", id="the first one"),
    pytest.param("(data, persistent_workers=True,)", "(data,)", id="a comma at the end stays"),
    pytest.param("(**given, persistent_workers=True)", "(**given, persistent_workers=True)", id="what hides arguments"),
    pytest.param(
        "(\n    data,\n    persistent_workers=True,  # stay\n    num_workers=2,\n)",
        "(\n    data,\n    # stay\n    num_workers=2,\n)",
        id="its comment stays",
    ),
    pytest.param(
        "(\n    data,\n    num_workers=2,  # two\n    persistent_workers=True,\n)",
        "(\n    data,\n    num_workers=2,  # two\n)",
        id="the comment above stays",
    ),
]


@pytest.mark.parametrize(("before", "after"), WITHOUT)
def test_an_argument_is_taken_out(before: str, after: str) -> None:
    text = "import paddle\n\nloader = paddle.io.DataLoader{}\n"
    assert fixed(text.format(before), "PPF104", level=Level.UNSAFE) == text.format(after)


# --- deleting a statement


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            """
            import gc
            gc.collect()
            x = 1
            """,
            """
            x = 1
            """,
            id="a row of its own",
        ),
        pytest.param(
            """
            import gc
            gc.collect()  # free what is left
            x = 1
            """,
            """
            # free what is left
            x = 1
            """,
            id="its comment keeps the row",
        ),
        pytest.param(
            """
            import gc
            del y

            gc.collect()

            x = 1
            """,
            """
            del y

            x = 1
            """,
            id="one of two blank rows goes with it",
        ),
        pytest.param(
            """
            import gc
            if x.any_condition:
                gc.collect()
            """,
            """
            if x.any_condition:
                pass
            """,
            id="the only statement of a block",
        ),
        pytest.param(
            """
            import gc
            with context():
                # nothing is needed any more
                gc.collect()
                paddle.device.cuda.empty_cache()  # and this
            x = paddle.ones([1])
            """,
            """
            with context():
                # nothing is needed any more
                pass  # and this
            x = paddle.ones([1])
            """,
            id="two that are the whole block",
        ),
        pytest.param(
            """
            import gc
            if x.any_condition: gc.collect()
            """,
            """
            if x.any_condition: pass
            """,
            id="a block on the row of its header",
        ),
        pytest.param(
            """
            import gc
            del y; gc.collect(); x = 1
            """,
            """
            del y; x = 1
            """,
            id="between semicolons",
        ),
        pytest.param(
            """
            import gc
            del y; gc.collect()  # both
            """,
            """
            del y  # both
            """,
            id="after a semicolon",
        ),
        pytest.param(
            """
            import gc
            gc.collect(); del y
            """,
            """
            del y
            """,
            id="before a semicolon",
        ),
        pytest.param(
            """
            import gc
            gc.collect(); optimizer.clear_grad()
            """,
            """
            optimizer.clear_grad()
            """,
            id="beside a part of the step",
        ),
        pytest.param(
            """
            import gc
            gc.collect(); ...
            """,
            """
            ...
            """,
            id="beside what is no call",
        ),
        pytest.param(
            """
            import gc
            if x.any_condition: del y; gc.collect()
            """,
            """
            if x.any_condition: del y
            """,
            id="the last on the row of its header",
        ),
        pytest.param(
            """
            import gc
            if x.any_condition: gc.collect(); paddle.device.cuda.empty_cache()
            x = paddle.ones([1])
            """,
            """
            if x.any_condition: pass
            x = paddle.ones([1])
            """,
            id="two on the row of their header",
        ),
        pytest.param(
            """
            import gc
            with context():
                if x.any_condition:
                    del y
                gc.collect()
            """,
            """
            with context():
                if x.any_condition:
                    del y
            """,
            id="below a block in its block",
        ),
        pytest.param(
            """
            import gc
            del y
            gc.collect()

            x = 1
            """,
            """
            del y

            x = 1
            """,
            id="the blank row below stays where there is none above",
        ),
        pytest.param(
            """
            import gc
            if x.any_condition:
                gc.collect()

                del y
            """,
            """
            if x.any_condition:
                del y
            """,
            id="no blank row is left under a header",
        ),
        pytest.param(
            """
            import gc
            gc.collect(); paddle.device.cuda.empty_cache()
            x = paddle.ones([1])
            """,
            """
            x = paddle.ones([1])
            """,
            id="a row of nothing else",
        ),
        pytest.param(
            """
            from gc import collect
            collect(
                2
            )
            x = 1
            """,
            """
            x = 1
            """,
            id="several rows",
        ),
    ],
)
def test_statement_is_deleted_as_a_person_would(body: str, expected: str) -> None:
    assert unsafe(body, *CLEANING) == dedent(expected).lstrip("\n")


def test_a_row_of_blanks_is_a_blank_row() -> None:
    before = in_step("y = 1") + "  \n        paddle.device.cuda.empty_cache()\n\t \n        z = paddle.ones([1])\n"
    after = in_step("y = 1") + "  \n        z = paddle.ones([1])\n"
    given = {"train.py": Source("train.py", before)}
    outcome = fixer.fix_all(
        given, lambda now: engine.check(now, Settings(join_lines=False, select=CLEANING)), Level.UNSAFE
    )
    assert outcome.changed["train.py"].text == after


@pytest.mark.parametrize(
    "body",
    [
        "import gc\nfreed = gc.collect()",
        "import gc\ngc.collect(); record(x)",
        "import gc\nrecord(gc.collect())",
        "import gc\nx.flag and gc.collect()",
        "import gc\ngc.collect(\n    2  # all generations\n)",
    ],
)
def test_what_is_more_than_the_call_is_left_to_a_person(body: str) -> None:
    [finding] = check(in_step(body), "PPF704")
    assert finding.fix is not None
    assert (finding.fix.level, finding.fix.edits) == (Level.DISPLAY, ())
    assert "by hand" in finding.fix.reason


def test_fix_waits_to_be_asked_for() -> None:
    body = "paddle.device.synchronize()\npaddle.device.cuda.empty_cache()\n"
    assert fixed_body(body, *STEP_CALLS) == body


def test_kept_neighbour_does_not_make_the_block_empty() -> None:
    body = """
        import gc
        if x.any_condition:
            gc.collect()
            paddle.device.cuda.empty_cache()  # noqa: PPF703
        """
    expected = """
        if x.any_condition:
            paddle.device.cuda.empty_cache()  # noqa: PPF703
        """
    assert unsafe(body, *CLEANING) == dedent(expected).lstrip("\n")


COLLECT = """\
import os
{imported}

import paddle


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("imported", "call", "left"),
    [
        ("import gc", "gc.collect()", ""),
        ("import gc  # to free memory", "gc.collect()", "# to free memory"),
        ("import gc, sys", "gc.collect()", "import sys"),
        ("import sys, gc", "gc.collect()", "import sys"),
        ("import gc as cleaner", "cleaner.collect()", ""),
        ("from gc import collect", "collect()", ""),
        ("from gc import (\n    collect,\n    freeze,\n)", "collect()", "from gc import (\n    freeze,\n)"),
        ("from gc import collect, freeze", "collect()", "from gc import freeze"),
        ("try:\n    import gc\nexcept ImportError:\n    gc = None", "gc.collect()", None),
        ("import gc\n\ngc.freeze()", "gc.collect()", None),
        ("import gc\n\n__all__ = ['gc']", "gc.collect()", None),
    ],
)
def test_an_import_goes_with_its_last_use(imported: str, call: str, left: str | None) -> None:
    text = COLLECT.format(imported=imported, call=call)
    result = fixed(text, "PPF704", level=Level.UNSAFE)
    kept = imported if left is None else left
    expected = COLLECT.format(imported=kept, call=call).replace(f"        {call}\n", "")
    assert result == (expected.replace("import os\n\n\n", "import os\n\n") if not kept else expected)


def test_a_call_goes_although_its_import_cannot() -> None:
    text = COLLECT.format(imported="import sys; import gc", call="gc.collect()")
    [finding] = check(text, "PPF704")
    assert finding.fix is not None
    assert [text[edit.start : edit.end].strip() for edit in finding.fix.edits] == ["gc.collect()"]


def test_an_import_stays_while_another_call_needs_it() -> None:
    text = COLLECT.format(imported="import gc", call="gc.collect()\n        gc.collect(2)")
    first, second = check(text, "PPF704")
    for finding in (first, second):
        assert finding.fix is not None
        assert [edit.content for edit in finding.fix.edits] == [""]


def test_last_row_without_a_line_end() -> None:
    text = in_step("import gc\ngc.collect()").rstrip("\n")
    assert fixed(text, "PPF704", level=Level.UNSAFE) == in_step("").rstrip("\n") + "\n"


# --- at each step


def test_spellings_of_waiting_for_the_device() -> None:
    expect_marked_in_step(
        """
        from paddle import device
        from paddle.fluid import core
        from paddle.device.cuda import synchronize as wait
        device.synchronize()  #: PPF204
        device.synchronize("gpu:0")  #: PPF204
        wait()  #: PPF204
        core._cuda_synchronize(place)  #: PPF204
        paddle.device.current_stream().synchronize()  #: PPF204
        device.cuda.current_stream().synchronize()  #: PPF204
        paddle.device.cuda.Stream().synchronize()
        event.synchronize()
        trainer.synchronize()
        torch.cuda.synchronize()
        """,
        *STEP_CALLS,
    )


def test_a_call_by_another_name() -> None:
    text = in_step("sweep()  #: PPF704")
    expect_marked(f"from gc import collect as sweep\n{text}", "PPF704")


def test_calls_are_followed_into_other_files_and_guards_respected() -> None:
    files = {
        "train.py": """\
            import paddle
            from tools.memory import clean, now


            def train(model, loader, optimizer, log_freq):
                for step, batch in enumerate(loader):
                    loss = model(batch)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    clean(step)
                    if step % log_freq == 0:
                        report(now())
            """,
        "tools/__init__.py": "",
        "tools/memory.py": """\
            import gc
            import time

            import paddle


            def clean(step):
                gc.collect()  #: PPF704
                if step % 100 == 0:
                    paddle.device.cuda.empty_cache()


            def now():
                paddle.device.synchronize()
                return time.time()


            def unused():
                gc.collect()
            """,
    }
    expect_marked(files, *STEP_CALLS)
    [finding] = check(files, *STEP_CALLS)
    assert "the loop at train.py:6 through train.py:11" in finding.message


def test_nothing_outside_training_steps() -> None:
    expect_marked(
        """\
        import gc
        import time

        import paddle


        class Net(paddle.nn.Layer):
            def forward(self, x):
                gc.collect()
                return x


        def train(model, loader, optimizer, epochs):
            for epoch in range(epochs):
                gc.collect()
                for batch in loader:
                    loss = model(batch)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                paddle.device.cuda.empty_cache()
                paddle.device.synchronize()
                time.sleep(1)


        def evaluate(model, loader):
            for batch in loader:
                model(batch)
                paddle.device.synchronize()
                paddle.device.cuda.empty_cache()
        """,
        *STEP_CALLS,
    )


def test_a_run_on_the_cpu_waits_for_nothing_but_collects() -> None:
    text = 'import gc\nimport paddle\n\npaddle.set_device("cpu")\n' + in_step(
        "paddle.device.synchronize()\npaddle.device.cuda.empty_cache()\ngc.collect()  #: PPF704"
    )
    expect_marked(text, *STEP_CALLS)


# --- excuses


@pytest.mark.parametrize("clock", ["time.time()", "time.perf_counter()", "time.monotonic()"])
@pytest.mark.parametrize(
    "body",
    [
        "paddle.device.synchronize()\nstart = {clock}",
        "spent = {clock} - start\npaddle.device.synchronize()",
        "paddle.device.synchronize()\ntimes.append({clock} - start)",
        "if on_gpu:\n    paddle.device.synchronize()\n    start = {clock}",
    ],
)
def test_a_clock_beside_the_wait_leaves_the_judgement_to_the_reader(body: str, clock: str) -> None:
    text = "import time\n" + in_step(body.format(clock=clock))
    assert confidences(text, "PPF204") == [Confidence.LOW]
    assert check(text, "PPF204") == []


@pytest.mark.parametrize(
    "body",
    [
        "start = time.time()\nmeter.add(1)\npaddle.device.synchronize()\nmeter.show()\nspent = time.time() - start",
        "if flag:\n    paddle.device.synchronize()\nspent = time.time() - start",
        "paddle.device.synchronize()\nspent = model.time()",
    ],
)
def test_a_clock_elsewhere_in_the_step_is_no_reason(body: str) -> None:
    assert confidences("import time\n" + in_step(body), "PPF204") == [Confidence.HIGH]


def test_a_clock_that_waits_hides_the_wait_from_the_loop() -> None:
    text = """\
        import time
        import paddle


        def now():
            paddle.device.synchronize()
            return time.time()


        def train(model, loader, optimizer):
            for batch in loader:
                start = now()
                loss = model(batch)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    assert confidences(text, "PPF204") == [Confidence.MEDIUM]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("gc.collect()  # the loader leaks memory", False),
        ("# runs out of memory otherwise\ngc.collect()", False),
        ("# OOM without it,\n# in version 2 at least\ngc.collect()", False),
        ("gc.collect()  # zoom out", True),
        ("# the leak is elsewhere\n\ngc.collect()", True),
        ("x = 1  # the loader leaks memory\ngc.collect()", True),
        ("if used_memory() > limit:\n    gc.collect()", False),
        ("if is_oom:\n    gc.collect()", False),
        ("if room.members:\n    gc.collect()", True),
    ],
)
def test_reasons_for_collecting(body: str, found: bool) -> None:
    assert bool(check("import gc\n" + in_step(body), "PPF704")) is found


def test_sleeping_is_reported_for_numbers_outside_of_inner_loops() -> None:
    expect_marked_in_step(
        """
        import time
        PAUSE = 1
        time.sleep(0.5)  #: PPF705
        time.sleep(secs=2)  #: PPF705
        time.sleep(0)
        time.sleep(0.0)
        time.sleep(args.pause)
        time.sleep(True)
        while not ready():
            time.sleep(1)
        for attempt in range(3):
            time.sleep(1)
        try:
            send(loss)
        except OSError:
            time.sleep(1)
        time.sleep(1)  # rate limit of the server
        time.sleep(1)  # generated
        """.replace("# generated", "#: PPF705"),
        "PPF705",
    )


def test_sleeping_in_a_while_loop_that_trains() -> None:
    expect_marked(
        """\
        from time import sleep
        import paddle


        def train(model, batches, optimizer, steps):
            step = 0
            while step < steps:
                loss = model(next(batches))
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                sleep(0.1)  #: PPF705
                step += 1
        """,
        "PPF705",
    )


# --- an argument that depends on another


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("num_workers=4, use_shared_memory=False", True),
        ("num_workers=args.workers, use_shared_memory=False", True),
        ("num_workers=WORKERS, use_shared_memory=False", True),
        ("None, None, True, None, 8, True, False, None, 4, use_shared_memory=False", True),
        ("use_shared_memory=False", False),
        ("num_workers=0, use_shared_memory=False", False),
        ("num_workers=NONE, use_shared_memory=False", False),
        ("None, None, True, None, 8, True, False, None, 0, use_shared_memory=False", False),
        ("num_workers=4, use_shared_memory=True", False),
        ("num_workers=4, use_shared_memory=0", False),
        ("num_workers=4, use_shared_memory=args.shared", False),
        ("num_workers=4", False),
        ("num_workers=4, use_shared_memory=False, **extra", False),
        ("num_workers=4, use_shared_memory=False)  # /dev/shm is too small (", False),
    ],
)
def test_shared_memory_matters_with_workers(arguments: str, found: bool) -> None:
    text = f"import paddle\n\nWORKERS, NONE = 8, 0\nNONE = 0\nloader = paddle.io.DataLoader(dataset, {arguments})\n"
    if arguments.endswith("("):
        text = text.replace(" ()", "")
    text = text.replace("WORKERS, NONE = 8, 0\n", "WORKERS = 8\n")
    assert bool(check(text, "PPF102")) is found


def test_a_loader_without_workers_is_told_about_workers_only() -> None:
    text = """\
        import paddle

        loader = paddle.io.DataLoader(dataset, batch_size=8, num_workers=0, use_shared_memory=False)
        """
    assert [item.code for item in check(text, "PPF101", "PPF102")] == ["PPF101"]


# --- reading rule files

RULE = """\
code: PPF900
name: some-thing
summary: A summary.
bottleneck: CPU
why: Because.
ignore_when: Never.
message: '`{{what}}` is slow.'
fix: {{level: suggestion, title: change it, reason: by hand}}
examples: []
references: []
evidence: None.
match:
  - {match}
"""


def read(match: str, folder: Path) -> tuple[catalogue.ArgumentMatch, ...]:
    (folder / "PPF900.yaml").write_text(RULE.format(match=match), encoding="utf-8")
    return catalogue.load(folder)["PPF900"].match


def test_several_calls_share_an_entry(tmp_path: Path) -> None:
    found = read("{call: [a.b, a.c], where: step, unless_beside: [time.time]}", tmp_path)
    assert [(match.call, match.where, match.unless_beside) for match in found] == [
        ("a.b", "step", ("time.time",)),
        ("a.c", "step", ("time.time",)),
    ]


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ("{call: a.b, where: loop}", "where is 'loop', expected one of step"),
        ("{call: a.b, bad: [0], set: '1'}", "parameter is missing"),
        ("{call: a.b, parameter: x, set: '1'}", "bad is missing"),
        ("{call: a.b, parameter: x, bad: [0]}", "set is missing"),
        ("{call: a.b, where: step, bad: positive}", "bad is 'positive', expected a list of values or nonzero"),
        ("{call: a.b, parameter: x, position: 1, bad: [0], set: ''}", "set is empty"),
        ("{call: 3, where: step}", "call is 3, expected str or list"),
        ("{call: a.b, where: step, unless_within: branch}", "unless_within is 'branch', expected one of loop"),
        ("{call: a.b, where: step, unless_bed: x}", "unknown key 'unless_bed'"),
    ],
)
def test_a_wrong_entry_is_named(match: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=message):
        read(match, tmp_path)
