"""The messages: one sentence a finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from perflint.catalogue import Rule
from perflint.context import Draft
from perflint.findings import Finding, Related
from perflint.index.file import Step
from perflint.settings import Settings

HOST_READS = frozenset({"PPF201", "PPF202", "PPF203", "PPF206", "PPF208", "PPF209"})
_MOST_LINES = 6
_MOST_TRAILS = 500
"""Ways from one loop to its reads that are compared with each other; where there are more, all are taken to run in one
program."""
_Place = tuple[str, int]
_Trail = tuple[_Place, ...]
"""The way from a loop to a place: path and line of each call, then of the place."""


def write(drafts: list[Draft], rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: a loop's host reads name each other, since they pay off only together."""
    trails: dict[tuple[str, int, str], dict[_Trail, None]] = defaultdict(dict)
    for draft in drafts:
        if draft.step is not None and _is_read(draft):
            trails[_loop(draft.step)][_trail(draft, draft.step)] = None
    reads = {loop: _Reads(list(found)) for loop, found in trails.items()}
    return [_finding(draft, rules[draft.code], reads, settings) for draft in drafts]


def _is_read(draft: Draft) -> bool:
    return draft.code in HOST_READS and "place" not in draft.fields


def _loop(step: Step) -> tuple[str, int, str]:
    return step.path, step.line, step.function


def _trail(draft: Draft, step: Step) -> _Trail:
    return (*step.via, (draft.path, draft.line))


def _may_meet(first: _Trail, second: _Trail) -> bool:
    """Whether two places run in one program: a call that leads to two files reaches one of two implementations."""
    for (path, line), (other_path, other_line) in zip(first, second, strict=False):
        if path != other_path or line != other_line:
            return path == other_path
    return True


class _Reads:
    """The host reads of one loop."""

    def __init__(self, trails: list[_Trail]) -> None:
        self._trails = trails
        self._places: dict[tuple[object, ...], _Places] = {}
        self._files: dict[_Trail, set[str]] = defaultdict(set)
        """Where the same calls lead next."""
        for trail in trails if len(trails) <= _MOST_TRAILS else ():
            for at, (path, _) in enumerate(trail):
                self._files[trail[:at]].add(path)

    def beside(self, trail: _Trail, path: str) -> str:
        """The other host reads that a program pays for together with one of them, in words; ``path`` goes without."""
        # Which ones those are depends on nothing but the calls that lead to several files, and where this one goes.
        forks = [at for at in range(len(trail)) if len(self._files.get(trail[:at], ())) > 1]
        way = tuple((trail[:at], trail[at][0]) for at in forks)
        if way not in self._places:
            met = self._trails if not way else [other for other in self._trails if _may_meet(trail, other)]
            self._places[way] = _Places({other[-1] for other in met})
        return self._places[way].without(trail[-1], path)


class _Places:
    """Places in files, in order; a few of them are named."""

    def __init__(self, places: set[_Place]) -> None:
        self._all = places
        self._lines: dict[str, list[int]] = defaultdict(list)
        for path, line in sorted(places):
            self._lines[path].append(line)

    def without(self, own: _Place, path: str) -> str:
        """All places but one, in words, those of one file first and without its name."""
        count = len(self._all) - (own in self._all)
        if not count:
            return ""
        here = (str(line) for line in self._lines.get(path, ()) if (path, line) != own)
        there = (f"{where}:{line}" for where, line in self._elsewhere(path) if (where, line) != own)
        shown = ", ".join(islice(chain(here, there), _MOST_LINES)) + (", ..." if count > _MOST_LINES else "")
        plural = "s" if count > 1 else ""
        return f" ({count} more host read{plural} there: line{plural} {shown})"

    def _elsewhere(self, path: str) -> Iterator[_Place]:
        return ((where, line) for where, lines in self._lines.items() if where != path for line in lines)


def _finding(draft: Draft, rule: Rule, reads: Mapping[tuple[str, int, str], _Reads], settings: Settings) -> Finding:
    fields = {
        "workers": str(settings.default_workers),
        "interval": str(settings.log_interval),
        "where": "",
        **draft.fields,
    }
    related = draft.related
    if draft.step is not None:
        beside = reads[_loop(draft.step)].beside(_trail(draft, draft.step), draft.path) if _is_read(draft) else ""
        fields["where"] = _where(draft.step, draft.path) + beside
        related = (*related, *_related(draft.step))
    message = fields.pop("message", "") or rule.message
    return Finding(
        draft.code,
        draft.path,
        draft.start,
        draft.end,
        " ".join(message.format(**fields).split()),
        draft.fix,
        related,
        draft.statement,
        draft.confidence,
    )


def _where(step: Step, path: str) -> str:
    if not step.line:
        return f"each call of {'' if step.forward else 'the training step '}{step.function}"
    loop = f"line {step.line}" if step.path == path else f"{step.path}:{step.line}"
    text = f"each step of the loop at {loop}"
    if step.via:
        caller, line = step.via[-1]
        text += f", called from {f'line {line}' if caller == path else f'{caller}:{line}'}"
    return text


def _related(step: Step) -> tuple[Related, ...]:
    calls = [Related(path, line, "called here at each step") for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
