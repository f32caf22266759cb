"""When a script that is measured counts as hanging, and what is said of it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from perflint.bench import supervised
from perflint.bench.runner import recorder
from perflint.bench.runner.recorder import Beat, Heartbeat
from perflint.bench.runner.supervisor import Process
from perflint.bench.script_run import Plan, stall_message
from perflint.bench.supervised import Call, StallWatch

PLAN = Plan(Path("/project"), Path("train.py"), Path(), [], "python", warmup=2, steps=6)


def test_before_the_first_step_a_script_has_more_time() -> None:
    watch = StallWatch(None, since=1000.0)
    watch.look([Beat(pid=1, batches=1)], 1010.0)
    assert not watch.hangs(1010.0 + 119)
    assert watch.hangs(1010.0 + 120)


@pytest.mark.parametrize(("longest", "patience"), [(0.2, 30), (1.5, 30), (4.0, 80)])
def test_after_it_the_longest_step_decides(longest: float, patience: float) -> None:
    watch = StallWatch(None, since=0.0)
    watch.look([Beat(pid=1, steps=3, longest=longest)], 50.0)
    assert not watch.hangs(50.0 + patience - 0.1)
    assert watch.hangs(50.0 + patience)


def test_the_user_may_allow_more_or_less() -> None:
    watch = StallWatch(600.0, since=0.0)
    assert not watch.hangs(599.0)
    watch.look([Beat(pid=1, steps=1)], 599.0)
    assert not watch.hangs(599.0 + 599)
    watch = StallWatch(5.0, since=0.0)
    watch.look([Beat(pid=1, steps=2, longest=1.0)], 1.0)
    assert not watch.hangs(1.0 + 19)  # a step that takes long is no reason
    assert watch.hangs(1.0 + 20)


def test_whatever_happens_on_any_rank_counts() -> None:
    watch = StallWatch(30.0, since=0.0)
    one, other = Beat(pid=1, batches=1), Beat(pid=2)
    for now, beats in ((20.0, [one, other]), (40.0, [one, Beat(pid=2, batches=1)]), (60.0, [one, Beat(2, backward=1)])):
        watch.look(beats, now)
        assert not watch.hangs(now + 29)
    watch.look([one, Beat(2, backward=1)], 80.0)
    assert watch.hangs(90.0)


def test_a_person_who_waits_is_told_more_and_more_seldom() -> None:
    watch = StallWatch(None, since=0.0)
    told = [now for now in range(119) if watch.news(float(now))]
    assert told == [30, 60]
    watch.look([Beat(pid=1, batches=3, backward=2, steps=1)], 200.0)
    assert watch.news(215.0) == (
        "1 steps, 3 batches, 2 calls of backward so far, nothing for 15 s (stopped after 30 s: --stall-limit)"
    )


STACKS = """\
Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/tmp/copy/p/other.py", line 1 in never_shown

Current thread 0x00007f00000000aa (most recent call first):
  File "/venv/lib/python3.11/site-packages/paddle/io/loader.py", line 852 in __next__
  File "{runner}/watched_calls.py", line 77 in step
  File "/tmp/copy/p/lib/loop.py", line 12 in train
  File "/tmp/copy/p/train.py", line 3 in <module>
  File "<frozen runpy>", line 291 in run_path
  File "{runner}/running.py", line 60 in run_as_main
"""


def calls() -> list[Call]:
    text = STACKS.format(runner=Path(recorder.__file__).parent)
    return supervised.frames(text, 0x7F00000000AA, "/tmp/copy/p")


def test_the_stack_is_that_of_the_main_thread_as_the_project_has_it() -> None:
    assert [str(call) for call in calls()] == [
        "paddle/io/loader.py:852 (__next__)",
        "lib/loop.py:12 (train)",
        "train.py:3 (<module>)",
    ]
    assert supervised.where(calls()) == "lib/loop.py:12 (train), in paddle/io/loader.py:852 (__next__)"
    assert supervised.where(calls()[1:]) == "lib/loop.py:12 (train)"
    assert supervised.where(calls()[:1]) == "paddle/io/loader.py:852 (__next__)"


def test_what_is_said_of_a_script_that_hangs() -> None:
    watch = StallWatch(None, since=0.0)
    watch.look([Beat(pid=1, batches=4, backward=3, steps=3, longest=0.25)], 10.0)
    processes = [Process(7, 1, "Z", 1 << 8), Process(8, 1, "Z", 9), Process(9, 1, "Z", 0), Process(10, 1, "S", 0)]
    lines = stall_message(PLAN, watch, 40.0, [calls()], processes, ["ValueError: no picture 60"]).splitlines()
    assert lines[0] == (
        "train.py was stopped, because nothing happened for 30 s after 3 steps, 4 batches, 3 calls of backward "
        "(a step took up to 0.25 s): it hangs at lib/loop.py:12 (train), in paddle/io/loader.py:852 (__next__); "
        "if it only needs more time, raise --stall-limit"
    )
    assert lines[1:3] == [
        "process 7 that it had started ended with exit status 1",
        "process 8 that it had started ended by SIGKILL",
    ]
    assert "  lib/loop.py:12 (train)" in lines
    assert lines[-1] == "  ValueError: no picture 60"


def test_of_several_ranks_each_is_named() -> None:
    one, other = calls(), calls()[2:]
    assert supervised.where_all([one, other, [], one]) == (
        "lib/loop.py:12 (train), in paddle/io/loader.py:852 (__next__) (rank 0, 3); train.py:3 (<module>) (rank 1)"
    )
    lines = stall_message(PLAN, StallWatch(None, 0.0), 120.0, [one, other, [], one], [], []).splitlines()
    assert [line for line in lines if line.startswith("what")] == [
        "what the main thread of rank 0 was doing, the innermost call first:",
        "what the main thread of rank 1 was doing, the innermost call first:",
    ]


def test_a_training_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "beat-0.bin"
    beat = Heartbeat(path)
    assert recorder.read_beat(path)[:5] == (os.getpid(), threading.main_thread().ident, 0, 0, 0)
    beat.note(3, 2, 1)
    beat.note(3, 2, 2)
    found = recorder.read_beat(path)
    assert (found.batches, found.backward, found.steps) == (3, 2, 2)
    assert found.longest > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that are forked")
def test_processes_that_it_forks_tell_nothing(tmp_path: Path) -> None:
    beat = Heartbeat(tmp_path / "beat-0.bin")
    worker = os.fork()
    if not worker:
        beat.note(9, 9, 9)
        os._exit(0)
    os.waitpid(worker, 0)
    assert recorder.read_beat(tmp_path / "beat-0.bin").batches == 0


def waiting_here(path: Path) -> list[Call]:
    return supervised.stack(path, Path(__file__).parent)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_the_stack_of_a_process_can_be_had(tmp_path: Path) -> None:
    Heartbeat(tmp_path / "beat-0.bin")
    names = [call.name for call in waiting_here(tmp_path / "beat-0.bin")]
    assert names[:3] == ["stack", "waiting_here", "test_the_stack_of_a_process_can_be_had"]
