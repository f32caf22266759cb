"""Which share of a step a finding is matched with, how, and the order of findings that follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perflint import catalogue
from perflint.findings import Finding, Impact, ImpactLevel
from perflint.ranking import profile_files
from perflint.ranking.ranked import Bound, Grade, Ranking, percent, rank
from perflint.ranking.shares import LineShare, Profiled
from perflint.text.source import Source
from tests.ranking_samples import TRAIN, event, recorded, write_json

SOURCES = {"train.py": Source("train.py", TRAIN)}
CPU = {"reader": 0.2, "forward": 0.3, "gap": 0.1, "other": 0.15}


def at(code: str, part: str, path: str = "train.py", text: str = TRAIN, **more: Any) -> Finding:
    assert text.count(part) == 1
    start = text.index(part)
    return Finding(code, path, start, start + len(part), "It costs time.", **more)


SAVE = at("PPF401", "paddle.save(model.state_dict()")
READ = at("PPF201", "loss.item()")
OTHER_READ = at("PPF201", "loss.numpy()")
IN_LAYER = at("PPF210", "float(x.max())")
LOADER = at("PPF101", "DataLoader(dataset")
NO_PHASE = at("PPF301", "model: nn.Layer")


def own(tmp_path: Path, *events: Mapping[str, Any], **keys: Any) -> Profiled:
    path = write_json(tmp_path / "own.json", recorded(*events, **keys))
    return profile_files.read_recorded(path.read_bytes(), "own.json")


def ranked(*findings: Finding, profile: Profiled, least: float = 0.0, sources: Any = SOURCES) -> Ranking:
    return rank([profile], findings, sources, catalogue.shipped(), least)


def texts(ranking: Ranking) -> list[tuple[str, str]]:
    return [(finding.code, ranking.of(finding).text) for finding in ranking.in_order()]


def test_lines_of_the_recorder(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.01), event("paddle.save", "save", 0.2))
    assert texts(ranked(NO_PHASE, READ, SAVE, profile=profile)) == [
        ("PPF401", "20.0 % of the step (exact): at most 1.25x"),
        ("PPF201", "1.0 % of the step (exact): at most 1.01x"),
        ("PPF301", ""),
    ]


def test_a_line_counts_only_for_what_its_rule_is_about(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.125), event("loss.item", "forward", 0.5))
    assert texts(ranked(READ, profile=profile)) == [("PPF201", "12.5 % of the step (exact): at most 1.14x")]
    assert ranked(at("PPF704", "loss.item()"), profile=profile).of(READ) == Bound()


def test_findings_on_one_line_share_what_it_costs(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.5))
    ranking = ranked(READ, at("PPF203", "total = loss.item()"), profile=profile)
    assert texts(ranking) == [
        ("PPF203", "50.0 % of the step (exact, shared by 2 findings): at most 2.00x"),
        ("PPF201", "50.0 % of the step (exact, shared by 2 findings): at most 2.00x"),
    ]


def test_a_statement_of_several_rows_is_matched_by_any_of_them(tmp_path: Path) -> None:
    start, end = TRAIN.index("total = "), TRAIN.index("        paddle.save")
    finding = at("PPF201", "total", statement=(start, end))
    profile = own(tmp_path, event("loss.numpy", "read", 0.25))
    assert ranked(finding, profile=profile).of(finding).share == 0.25
    neighbours = at("PPF201", "total", places=((start, start + 5), (end - 5, end)))
    assert ranked(neighbours, profile=profile).of(neighbours).share == 0.25


def test_what_is_left_of_a_phase_bounds_the_findings_that_no_line_is_known_of(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.25), phases={"read": 0.5})
    assert texts(ranked(READ, OTHER_READ, IN_LAYER, profile=profile)) == [
        ("PPF201", "25.0 % of the step (exact): at most 1.33x"),
        ("PPF210", "25.0 % of the step (phase read, shared by 2 findings): at most 1.33x"),
        ("PPF201", "25.0 % of the step (phase read, shared by 2 findings): at most 1.33x"),
    ]
    spent = own(tmp_path, event("loss.item", "read", 0.25), phases={"read": 0.2501})
    assert ranked(READ, OTHER_READ, profile=spent).of(OTHER_READ) == Bound()


def test_a_phase_that_the_recorder_has_not_seen_bounds_nothing(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.25))
    assert ranked(at("PPF705", "loss.backward()"), profile=profile, least=0.5).hidden == 0


def test_a_changed_file_is_matched_by_phase_and_told(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.25), files={"train.py": TRAIN + "\n"})
    ranking = ranked(READ, NO_PHASE, profile=profile)
    assert ranking.of(READ).text == "25.0 % of the step (phase read): at most 1.33x"
    assert ranking.notes == [
        "own.json was made with another text of this file, so its lines are not matched, and the phases of a step "
        "stand in for them: train.py; profile again"
    ]
    unknown = own(tmp_path, event("loss.item", "read", 0.25), files={})
    assert ranked(READ, profile=unknown).of(READ).grade is Grade.PHASE


def test_the_root_of_a_profile_is_where_most_of_its_files_are_as_they_were(tmp_path: Path) -> None:
    paths = [str(tmp_path / part) for part in ("old/tools/train.py", "new/tools/train.py", "new/tools/my_train.py")]
    sources = {path: Source(path, TRAIN + "\n" * ("old" in path)) for path in paths}
    profile = own(tmp_path, event("loss.item", "read", 0.25, path="tools/train.py"), files={"tools/train.py": TRAIN})
    found = ranked(*(at("PPF201", "loss.item()", path) for path in paths), profile=profile, sources=sources)
    assert [bound.grade for bound in found.bounds.values()] == [Grade.NONE, Grade.EXACT, Grade.NONE]


@pytest.mark.parametrize("path", ["../train.py", "/etc/passwd", "", "train.py/", "x/../train.py"])
def test_paths_that_lead_elsewhere_match_nothing(tmp_path: Path, path: str) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.25, path=path), files={path: TRAIN})
    assert ranked(READ, profile=profile).of(READ).grade is Grade.PHASE


def test_layers_and_ranges_around_a_finding() -> None:
    text = TRAIN.replace(
        "        best = loss.numpy()", '        with profiler.RecordEvent("best"):\n            best = loss.numpy()'
    )
    sources = {"train.py": Source("train.py", text)}
    layer, named = (
        at(code, part, text=text) for code, part in (("PPF210", "float(x.max())"), ("PPF201", "loss.numpy()"))
    )
    profile = Profiled("trace.json", "Paddle Profiler", 9, "cpu", CPU, classes={"Head": 0.5}, names={"best": 0.25})
    assert texts(ranked(layer, named, profile=profile, sources=sources)) == [
        ("PPF210", "50.0 % of the step (class Head): at most 2.00x"),
        ("PPF201", "25.0 % of the step (range best): at most 1.33x"),
    ]
    with_reads = Profiled("trace.json", "Paddle Profiler", 9, "gpu", {"read": 0.125}, classes={"Head": 0.5})
    assert ranked(layer, profile=with_reads, sources=sources).of(layer).by == "phase read"  # the tighter bound


def test_only_what_forward_leads_to_runs_in_a_layer() -> None:
    text = (
        "class Head(nn.Layer):\n    def forward(self, x):\n        return self.scaled(x)\n\n    def scaled(self, x):\n"
        "        return x * x.max().item()\n\n    def loss(self, x):\n        return x.sum().item()\n"
    )
    inside, outside = (at("PPF201", part, text=text) for part in ("x.max().item()", "x.sum().item()"))
    profile = Profiled("trace.json", "Paddle Profiler", 9, "cpu", classes={"Head": 0.5})
    ranking = ranked(inside, outside, profile=profile, sources={"train.py": Source("train.py", text)})
    assert [ranking.of(each).grade for each in (inside, outside)] == [Grade.CLASS, Grade.NONE]


def test_a_trace_bounds_a_save_by_the_gap_and_says_what_that_leaves_out() -> None:
    profile = Profiled("trace.json", "Paddle Profiler", 9, "cpu", CPU)
    bound = ranked(SAVE, profile=profile, least=0.5).of(SAVE)  # and does not hide it
    assert bound.text == (
        "10.0 % of the step (phase gap), and it may gain more: a save may be outside of the profiled steps"
    )
    assert bound.at_most is None


def test_little_reading_does_not_acquit_a_loader_without_workers() -> None:
    log = Profiled("train.log", "training log", 9, phases={"reader": 0.001})
    ranking = ranked(LOADER, at("PPF107", "enumerate(loader)"), profile=log, least=0.01)
    assert ranking.hidden == 1  # the loader that is made again: its time is all in the reader's
    assert ranking.of(LOADER).text == (
        "0.1 % of the step (phase reader, shared by 2 findings), and it may gain more: a thread loads ahead while the "
        "step runs, and holds the interpreter lock that the step needs"
    )


def test_on_a_gpu_the_hosts_time_bounds_no_kernels_and_a_read_is_a_wait() -> None:
    phases = {"optimizer": 0.25, "read": 0.25}
    optimizer = at("PPF502", "optimizer.step()")
    on_cpu = Profiled("t", "Paddle Profiler", 9, "cpu", phases)
    on_gpu = Profiled("t", "Paddle Profiler", 9, "gpu", phases)
    assert ranked(optimizer, profile=on_cpu).of(optimizer).share == 0.25
    assert ranked(optimizer, profile=on_gpu).of(optimizer) == Bound()
    assert ranked(optimizer, READ, OTHER_READ, profile=on_cpu).notes == []
    (note,) = ranked(optimizer, READ, OTHER_READ, profile=on_gpu).notes
    assert note.startswith("on a GPU the time of a read or a copy is mostly a wait")


def test_a_sum_of_phases_needs_all_of_them() -> None:
    printed = at("PPF202", "total = loss.item()")
    both = Profiled("t", "nsys", 9, "gpu", {"read": 0.25, "gap": 0.25})
    assert ranked(printed, profile=both).of(printed).text == "50.0 % of the step (phase read and gap): at most 2.00x"
    one = Profiled("t", "nsys", 9, "gpu", {"gap": 0.25})
    assert ranked(printed, profile=one).of(printed) == Bound()


def test_several_profiles(tmp_path: Path) -> None:
    lines = own(tmp_path, event("loss.item", "read", 0.01))
    trace = Profiled("trace.json", "Paddle Profiler", 9, "gpu", {"read": 0.25, "reader": 0.125})
    log = Profiled("train.log", "training log", 9, phases={"reader": 0.5}, notes=("a note",))
    ranking = rank([trace, lines, log], [READ, OTHER_READ, LOADER], SOURCES, catalogue.shipped())
    found = {finding: (bound.profile, bound.grade, bound.share) for finding, bound in ranking.bounds.items()}
    assert found == {
        READ: ("own.json", Grade.EXACT, 0.01),
        OTHER_READ: ("trace.json", Grade.PHASE, 0.25),
        LOADER: ("train.log", Grade.PHASE, 0.5),
    }
    assert "a note" in ranking.notes


def test_ties_are_broken_by_grade_then_impact_then_place(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.25), phases={"read": 0.5, "copy": 0.25})
    high = at("PPF205", "loss.backward()", impact=Impact(ImpactLevel.HIGH, "a copy", 2.0))
    low = at("PPF205", "return x", impact=Impact(ImpactLevel.LOW, "a copy", 2.0))
    files = [at(code, "import paddle\n") for code in ("PPF301", "PPF003")]
    ranking = ranked(*files, OTHER_READ, low, high, READ, profile=profile)
    assert ranking.in_order() == [READ, high, low, OTHER_READ, files[1], files[0]]


def test_findings_below_a_share_are_hidden_and_counted(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "read", 0.004), event("paddle.save", "save", 0.01))
    ranking = ranked(READ, SAVE, NO_PHASE, LOADER, profile=profile, least=0.01)
    assert ranking.in_order() == [SAVE, NO_PHASE, LOADER]
    assert ranking.closing() == (
        " The profile does not show what 2 findings can gain. --min-share hides 1 that can gain less than 1.0 % of the "
        "step."
    )
    assert ranking.most_to_win(SOURCES) == " By the profile, start with: train.py:20 PPF401 (1.0 %, exact)."


def test_three_findings_are_named_and_one_of_a_rule_in_a_file() -> None:
    text = "a = b = c = d = e\n"
    profile = Profiled("t", "nsys", 9, "cpu", {"read": 0.25, "wait": 0.125, "copy": 0.5, "collect": 0.0625})
    findings = [
        at(code, part, text=text)
        for code, part in zip(("PPF201", "PPF201", "PPF204", "PPF205", "PPF704"), "abcde", strict=True)
    ]
    ranking = ranked(*findings, profile=profile, sources={"train.py": Source("train.py", text)})
    assert ranking.most_to_win({"train.py": Source("train.py", text)}) == (
        " By the profile, start with: train.py:1 PPF205 (50.0 %, phase), train.py:1 PPF201 (25.0 %, phase), "
        "train.py:1 PPF204 (12.5 %, phase)."
    )


@pytest.mark.parametrize(
    ("share", "at_most", "shown"),
    [(0.0, 1.0, "0.0 %"), (0.5, 2.0, "50.0 %"), (0.0004, 1.0004, "under 0.1 %"), (1.0, None, "100.0 %")],
)
def test_bounds(share: float, at_most: float | None, shown: str) -> None:
    bound = Bound(Grade.PHASE, share, "phase read")
    assert bound.at_most == (None if at_most is None else pytest.approx(at_most, abs=1e-5))
    assert percent(share) == shown
    assert bound.text.startswith(f"{shown} of the step (phase read)")
    assert ("at most" in bound.text) == (at_most is not None)


def test_every_rule_about_a_wait_or_the_disk_names_its_phase() -> None:
    rules = catalogue.shipped()
    waiting = {
        code for code, rule in rules.items() if rule.event and rule.event.name in ("wait", "save", "copy", "batch")
    }
    without = {code for code in waiting if not rules[code].phase}
    assert without == {"PPF304", "PPF305"}  # whose waits are Paddle's own, within the scaler's step


def test_a_file_that_cannot_be_parsed_has_no_blocks() -> None:
    broken = {"train.py": Source("train.py", TRAIN + "(\n")}
    profile = Profiled("t", "Paddle Profiler", 9, "cpu", classes={"Head": 0.5})
    assert ranked(IN_LAYER, profile=profile, sources=broken).of(IN_LAYER) == Bound()


def test_lines_of_one_place_are_added_up() -> None:
    line = LineShare("train.py", 18, "read", "read", "Tensor.item", 0.6)
    other = LineShare("train.py", 18, "wait", "read", "synchronize", 0.6)
    profile = own_lines(line, other)
    bound = ranked(READ, profile=profile).of(READ)
    assert (bound.share, bound.by) == (1.0, "Tensor.item in line 18 and synchronize in line 18")


def own_lines(*lines: LineShare) -> Profiled:
    data = recorded()
    files = {path: entry["sha256"] for path, entry in data["files"].items()}
    return Profiled("own.json", "perflint profile", 9, "cpu", lines=lines, files=files, tells_all=True)


def test_emptied_memory_costs_more_than_its_line(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.item", "wait", 0.25), phases={"read": 0.5, "wait": 0.375})
    emptied, elsewhere = at("PPF703", "loss.item()"), at("PPF703", "loss.numpy()")
    more = "and it may gain more: the next step asks the driver for each block of memory again"
    assert texts(ranked(emptied, elsewhere, profile=profile)) == [
        ("PPF703", f"25.0 % of the step (exact), {more}"),
        ("PPF703", f"12.5 % of the step (phase wait), {more}"),
    ]


def test_the_first_and_the_last_row_of_a_layers_forward_belong_to_it() -> None:
    text = "class Head(nn.Layer):\n    def forward(self, x, n=float(y)):\n        x = 1\n        return float(x)\n"
    profile = Profiled("t", "a trace", 9, "cpu", classes={"Head": 0.5})
    sources = {"train.py": Source("train.py", text)}
    for part, grade in (("float(y)", Grade.CLASS), ("float(x)", Grade.CLASS), ("class Head", Grade.NONE)):
        finding = at("PPF210", part, text=text)
        assert ranked(finding, profile=profile, sources=sources).of(finding).grade is grade


def test_rows_between_the_places_of_a_finding_are_not_its_own(tmp_path: Path) -> None:
    start, end = TRAIN.index("loss.backward"), TRAIN.index("total = ")
    finding = at("PPF201", "loss.backward()\n", places=((start, start + 4), (end, end + 5)))
    between = {**event("optimizer.step", "read", 0.5)}
    last = event("total = ", "read", 0.25)
    assert ranked(finding, profile=own(tmp_path, between, last)).of(finding).share == 0.25


def test_a_loader_on_whose_line_time_is_spent_leaves_the_phase_to_the_others(tmp_path: Path) -> None:
    profile = own(tmp_path, event("enumerate(loader)", "reader", 0.5))
    again = at("PPF107", "enumerate(loader)")
    ranking = ranked(again, LOADER, profile=profile)
    assert (ranking.of(again).grade, ranking.of(again).share) == (Grade.EXACT, 0.5)
    assert (ranking.of(LOADER).grade, ranking.of(LOADER).share) == (Grade.PHASE, 0.5)


def test_code_that_was_sampled_is_matched_by_its_phase(tmp_path: Path) -> None:
    profile = own(tmp_path, event("loss.backward", "other", 0.125), phases={"other": 0.25})
    averaged = at("PPF505", "loss.backward()")
    assert ranked(averaged, profile=profile).of(averaged).text == "25.0 % of the step (phase other): at most 1.33x"
