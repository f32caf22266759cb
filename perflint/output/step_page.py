"""Steps as one self-contained HTML page: a time line of the modelled step, and its events as a tree to fold and filter.

The page is made from what ``--output-format json`` says, so both always show the same; without a script, folding is
that of ``details``, and filtering is CSS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from perflint.bench import web_page
from perflint.bench.figures import number, width
from perflint.flow.branches import Often
from perflint.output.step_text import OFTEN, as_json, batches, totals
from perflint.output.verdict_text import verdict_lines
from perflint.text.visible import counted
from perflint.trace.events import EventKind
from perflint.trace.modelled_step import ModelledStep, modelled
from perflint.trace.queues import SMALL_KERNELS, AdjacentWaits, HostWork, Stretch, Wait, stretches
from perflint.trace.step_trace import StepTrace
from perflint.trace.verdict import verdict

_PARTS = web_page.templates(Path(__file__).with_name("step_page.html"))
_STYLE = web_page.STYLE + Path(__file__).with_name("step_page.css").read_text(encoding="utf-8")
_WIDE, _LANE, _GAP, _LEFT = 1080.0, 28.0, 8.0, 56.0

_FILTERS = {
    "waits": "waits for the device",
    "copies": "copies",
    "logs": "log lines",
    "saves": "saves",
    "others": "other processes, pauses, evaluations",
    "step": "backward pass, optimizer",
    "unknown": "not followed",
}
"""What can be shown or hidden; an event belongs to one of them."""
_KINDS = {
    EventKind.COPY: "copies",
    EventKind.DEVICE_COPY: "copies",
    EventKind.LOG: "logs",
    EventKind.SAVE: "saves",
    EventKind.BACKWARD: "step",
    EventKind.OPTIMIZER: "step",
}
_LEGEND = {
    "host": "work of the host",
    "forward": "forward pass, launched and computed",
    "backward": "backward pass",
    "optimizer": "optimizer",
    "wait": "wait",
}


def step_page(steps: Sequence[StepTrace], names: Mapping[str, str]) -> str:
    """The whole page. All text from the code is escaped.

    Args:
        steps: the traces.
        names: how the files are named, by their paths.
    """
    data = [as_json(step, names) for step in steps]
    trees = [_Tree(at, each) for at, each in enumerate(data, 1)]
    sections = [_section(tree, step, names) for tree, step in zip(trees, steps, strict=True)]
    parts = [_opening(trees, steps), *sections] if steps else [_PARTS["none"].substitute()]
    return web_page.document(
        "perflint step", _STYLE, parts, "perflint-step", {"format": "perflint-step", "steps": data}
    )


def _opening(trees: Sequence[_Tree], steps: Sequence[StepTrace]) -> str:
    rows = [row for tree in trees for row in tree.rows()]
    waits = {(row["path"], row["row"], row["code"]) for row in rows if row.get("waits")}
    said = [next(iter(totals(step))) for step in steps]
    links = (
        _PARTS["link"].substitute(
            number=tree.number, where=web_page.markup(tree.place(tree.step)), totals=web_page.markup(words)
        )
        for tree, words in zip(trees, said, strict=True)
    )
    counts = sum((tree.counts for tree in trees), Counter[str]())
    filters = (
        _PARTS["filter"].substitute(kind=kind, words=words, count=counts[kind])
        for kind, words in _FILTERS.items()
        if counts[kind]
    )
    files = counted(len({path for path, _, _ in waits}), "file")
    return _PARTS["opening"].substitute(
        headline=f"{counted(len(steps), 'training step')}; the host waits for the device "
        + (f"at {counted(len(waits), 'place')} in {files}." if waits else "nowhere."),
        steps="".join(f"{link}\n" for link in links),
        filters="".join(f"{each}\n" for each in filters),
    )


def _section(tree: _Tree, step: StepTrace, names: Mapping[str, str]) -> str:
    facts = (
        f"<p>{web_page.markup(line)}</p>"
        for line in (*verdict_lines(verdict(step), names), *batches(step, names), *totals(step))
    )
    return _PARTS["step"].substitute(
        number=tree.number,
        path=web_page.markup(tree.step["path"]),
        row=tree.step["row"],
        function=web_page.markup(tree.step["function"] or "the module"),
        facts="\n".join(facts),
        picture=_timeline(tree, modelled(step)),
        rows=tree.markup(),
    )


# -- the tree ---------------------------------------------------------------------------------------------------------


class _Tree:
    """The events of one step, as rows of HTML."""

    def __init__(self, number: int, step: dict[str, Any]) -> None:
        self.number, self.step = number, step
        self.counts: Counter[str] = Counter(_kind_of(row) for row in self.rows())
        self._first: dict[str, list[dict[str, Any]]] = {}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The events and the calls that could not be followed."""
        return (each for each in _all(self.step["nodes"]) if each["type"] in ("event", "unknown"))

    def place(self, node: Mapping[str, Any]) -> str:
        """Where something is: ``train.py:12``."""
        return f"{node['path']}:{node['row']}"

    def markup(self) -> str:
        """All rows."""
        return "".join(self._of(self.step["nodes"]))

    def _of(self, nodes: Iterable[dict[str, Any]]) -> Iterator[str]:
        for node in nodes:
            yield from {
                "event": self._event,
                "unknown": self._event,
                "call": self._call,
                "loop": self._loop,
                "choice": self._choice,
            }[node["type"]](node)

    def _event(self, node: dict[str, Any]) -> Iterator[str]:
        code = node["code"] if node["type"] == "event" else f"? {node['code']}"
        yield self._row("event", node, code, node.get("what") or node["why"], kind=_kind_of(node))

    def _call(self, node: dict[str, Any]) -> Iterator[str]:
        for run in node["runs"]:
            key, name = self.place(run), ("" if node["sure"] else "perhaps ") + run["function"]
            nodes = run.get("nodes", self._first.get(key, []))
            said = name if run["path"] == node["path"] else f"{name} of {run['path']}"
            if nodes and run["as_above"]:
                yield self._row("above", node, node["code"], said, kinds=_kinds(nodes), to=self._anchor(key))
            elif nodes:
                yield self._branch(node, node["code"], said, run)

    def _anchor(self, key: str) -> str:
        """The name in the page of a function, by its place."""
        return f"step{self.number}-{[*self._first].index(key) + 1}"

    def _loop(self, node: dict[str, Any]) -> Iterator[str]:
        yield self._branch(node, f"for each of {node['over']}", "again in each pass", node)

    def _choice(self, node: dict[str, Any]) -> Iterator[str]:
        for at, arm in enumerate(node["arms"]):
            if arm["nodes"]:
                said = f"{'elif' if at else 'if'} {arm['test']}" if arm["test"] else "else"
                yield self._branch(node, said, "", arm)

    def _branch(self, node: dict[str, Any], code: str, said: str, below: dict[str, Any]) -> str:
        """A call, a loop or an alternative, with what is below it; open if something waits there."""
        kinds, anchor = _kinds(below["nodes"]), ""
        if "function" in below and self.place(below) not in self._first:  # with other arguments it may come again
            self._first[self.place(below)] = below["nodes"]
            anchor = f' id="{self._anchor(self.place(below))}"'
        is_open = " open" if {"waits", "copies"} & set(kinds.split()) else ""
        inner = "".join(self._of(below["nodes"]))
        return self._row("branch", node, code, said, kinds=kinds, open=f"{anchor}{is_open}", rows=inner)

    def _row(self, part: str, node: dict[str, Any], code: str, said: str, **known: str) -> str:
        often = OFTEN.get(Often[node["every"].upper()], "") if "every" in node else ""
        here = node["path"] == self.step["path"]
        row = _PARTS[part].substitute(
            place=web_page.markup(self.place(node)),
            at=web_page.markup(str(node["row"]) if here else f"{PurePosixPath(node['path']).name}:{node['row']}"),
            code=web_page.markup(" ".join(code.split())),
            what=web_page.markup(said),
            often=_PARTS["often"].substitute(words=often) if often else "",
            **known,
        )
        return f"{row}\n"


def _kind_of(node: Mapping[str, Any]) -> str:
    """Which filter an event belongs to."""
    if node["type"] == "unknown":
        return "unknown"
    return _KINDS.get(EventKind(node["kind"])) or ("waits" if node["waits"] else "others")


def _kinds(nodes: Iterable[dict[str, Any]]) -> str:
    """The filters of all that is below some nodes."""
    found = (_kind_of(each) for each in _all(nodes) if each["type"] in ("event", "unknown"))
    return " ".join(dict.fromkeys(found))


def _all(nodes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Some nodes, and all below them; of a function that was shown before, nothing."""
    for node in nodes:
        yield node
        parts = [*node.get("runs", []), *node.get("arms", []), node]
        yield from _all(each for part in parts for each in part.get("nodes", []))


# -- the time line ----------------------------------------------------------------------------------------------------


def _timeline(tree: _Tree, step: ModelledStep) -> str:
    """Both queues of the modelled step; empty if nothing waits, since then only assumptions are left to show."""
    if not step.waits:
        return ""
    now, without = step.milliseconds(), step.milliseconds(without=step.waits)
    words = f"{number(now)} ms, and {number(without)} ms without any of its waits."
    name = f"step{tree.number}-time"
    legend = (_PARTS["legend"].substitute(kind=kind, words=said) for kind, said in _LEGEND.items())
    draw: Callable[[float], web_page.Picture | None] = partial(_lanes, step)
    return _PARTS["timeline"].substitute(
        words=words,
        legend="".join(f"{each}\n" for each in legend),
        pictures=web_page.two_widths(draw, name, _WIDE),
    )


def _lanes(step: ModelledStep, room: float) -> web_page.Picture | None:
    """What the host does, and below it what the device does, from left to right, in the first typical training."""
    found = stretches(step.parts[0])
    ends = [max(each.host[1], each.device[1] if each.device else 0.0) for each in found]
    scale = web_page.Scale(0.0, max(ends), _LEFT, room)
    lanes = (0.0, _LANE + _GAP)
    parts = [web_page.text(0, top + _LANE / 2 + 4, name) for top, name in zip(lanes, ("host", "device"), strict=True)]
    for each in found:
        words = _words(step, each)
        parts += _bar(scale, each.host, lanes[0], (_class_of(each), words))
        if isinstance(each.part, Wait):
            parts += _mark(scale, each.host, str(step.events[each.part.key].event.row))
        if each.device is not None:
            parts += _bar(scale, each.device, lanes[1], (_class_of(each), words))
    bottom = lanes[1] + _LANE
    for at in web_page.ticks(max(ends)):
        parts += [web_page.line(scale(at), bottom + 4, scale(at), bottom + 9, "axis")]
        parts += [web_page.text(scale(at), bottom + 22, f"{at:g} ms" if at else "0", "label dim", "middle")]
    said = "; ".join(f"{_words(step, each)}: {number(each.host[0])} to {number(each.host[1])} ms" for each in found)
    return web_page.Picture("The modelled step: the host above, the device below", said, (room, bottom + 28), parts)


def _bar(scale: web_page.Scale, span: tuple[float, float], top: float, look: tuple[str, str]) -> list[str]:
    """One part in a lane, with a title; what is too short to be seen is a pixel wide."""
    start, end = scale(max(0.0, span[0])), scale(max(0.0, span[1]))
    if span[1] <= 0 or span[1] <= span[0]:
        return []
    class_, words = look
    title = web_page.element("title", web_page.markup(f"{words}, {number(span[1] - span[0])} ms"))
    return [web_page.box(start, top, max(1.0, end - start - 0.5), _LANE, f"bar {class_}", title)]


def _mark(scale: web_page.Scale, span: tuple[float, float], row: str) -> list[str]:
    """The row of a wait, in its bar; nothing if there is no room."""
    start, end = map(scale, span)
    if width(row) * web_page.CHARACTER + 8 > end - start:
        return []
    return [web_page.text((start + end) / 2, _LANE / 2 + 4, row, "inside", "middle")]


def _class_of(stretch: Stretch) -> str:
    part = stretch.part
    if isinstance(part, Wait | AdjacentWaits):
        return "wait"
    if isinstance(part, HostWork):
        return "host"
    alike = {SMALL_KERNELS.backward[1:]: "backward", SMALL_KERNELS.optimizer[1:]: "optimizer"}
    return alike.get(part[1:], "forward")


def _words(step: ModelledStep, stretch: Stretch) -> str:
    """What a part of the step is; of a wait, where it is."""
    if isinstance(stretch.part, Wait):
        event, _ = step.events[stretch.part.key]
        return f"wait at {PurePosixPath(event.point.file.path).name}:{event.row}"
    return _LEGEND[_class_of(stretch)]
