"""Says whether a program still does what it did before a fix, or differs only as the fix admits.

A ``safe`` fix may change nothing that ``runner.Observation`` holds.  An ``unsafe`` one may change what its reason
says, and ``ADMITTED`` holds the reasons with what each of them allows.  Any other reason
allows nothing.
"""

from __future__ import annotations

import enum
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyflakes.api
import pyflakes.reporter

from perflint.findings import Level
from perflint.text.source import Source
from tests.programs.runner import Interruption, Observation, compiled
from tests.programs.texts import Program, line_ends
from tests.programs.variants import Variant


class May(enum.Enum):
    """What a reason can allow."""

    LOSE_LINES = enum.auto()
    """Lines are missing, but not those that were rare already, and never all of many; the next three likewise."""
    LOSE_POINTS = enum.auto()
    """Points of curves."""
    LOSE_BARS = enum.auto()
    """What progress bars show."""
    LOSE_SAVES = enum.auto()
    """Files that are written once more."""
    OTHER_NUMBERS = enum.auto()
    """Numbers that are printed or returned differ; as many lines, in the same words."""
    OTHER_TYPES = enum.auto()
    """The same numbers, but to float32's last bit, and of another type."""
    OTHER_WEIGHTS = enum.auto()
    """The training itself is another one."""
    OTHER_SHAPES = enum.auto()
    """What is saved or printed holds more numbers, or fewer, under the same names."""
    TENSORS = enum.auto()
    """A tensor stands where a number stood, or the other way round."""
    FAIL = enum.auto()
    """A TypeError or an AttributeError that was not there."""
    UNBOUND = enum.auto()
    """A NameError that was not there, or an AttributeError of what the name stands for instead."""


_TENSORS = frozenset({May.TENSORS, May.OTHER_TYPES, May.FAIL})
_ALL_NUMBERS = frozenset({May.OTHER_NUMBERS, May.OTHER_WEIGHTS})
ADMITTED: tuple[tuple[str, frozenset[May]], ...] = (
    (r"lines (is|are) no longer printed", frozenset({May.LOSE_LINES})),
    (r"points (is|are) no longer recorded", frozenset({May.LOSE_POINTS})),
    (r"the progress bar shows only every \w+ value", frozenset({May.LOSE_BARS})),
    (r"saves (is|are) no longer made", frozenset({May.LOSE_SAVES})),
    (r"the metric covers only every \w+ batch", frozenset({May.OTHER_NUMBERS, May.OTHER_TYPES})),
    (r"Python float where it was a NumPy array|a count, becomes a float", frozenset({May.OTHER_TYPES})),
    (r"must be a plain number", frozenset({May.OTHER_TYPES, May.TENSORS, May.FAIL})),
    (r"0\.0 is printed instead of 0", frozenset({May.OTHER_TYPES})),
    (r"the list still contains tensors|finds (a tensor|tensors) in it", _TENSORS),
    (r"`float\(\)` fails with NumPy", frozenset({May.FAIL, May.OTHER_WEIGHTS, May.OTHER_NUMBERS})),
    (r"shuffle order", _ALL_NUMBERS),
    (r"the loop then sees all batches in turn", _ALL_NUMBERS),
    (r"training starts from other values", frozenset({*_ALL_NUMBERS, May.OTHER_SHAPES})),
    (r"plain number at some steps", frozenset({May.FAIL})),
    (r"only if what is read is a Paddle tensor", frozenset({May.FAIL, May.OTHER_TYPES})),
    (r"have another memory order|rounded differently|converted differently", frozenset({May.OTHER_TYPES})),
    (r"says `stop_gradient=True` then", frozenset({May.OTHER_TYPES})),
    (r"is False under no_grad", frozenset({May.OTHER_TYPES})),
    (r"may ask for its graph", frozenset({May.OTHER_TYPES, May.FAIL})),
    (r"may not be bound when this line runs", frozenset({May.UNBOUND})),
    (r"without a gradient is another one, or fails", frozenset({May.OTHER_TYPES, May.OTHER_WEIGHTS, May.FAIL})),
    (r"would no longer run at each step", frozenset({May.OTHER_NUMBERS, May.OTHER_SHAPES, May.LOSE_LINES})),
    (r"has no gradient then", frozenset({May.OTHER_TYPES, May.OTHER_WEIGHTS, May.FAIL})),
    (r"may go into a backward pass|computes gradients in its forward pass", frozenset({May.FAIL})),
)
"""Patterns of reasons, each with what it allows."""

_TEXTS = {
    "printed": May.LOSE_LINES,
    "logged": May.LOSE_LINES,
    "points": May.LOSE_POINTS,
    "bars": May.LOSE_BARS,
    "files": May.LOSE_LINES,
    "saves": May.LOSE_SAVES,
}
"""What of an observation is lists of texts, each with what allows that some are missing."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|\b(nan|inf)\b")
_TYPE_WORDS = re.compile(
    r",? dtype=\w+|\b(True|False)\b|\b(np\.|numpy\.)?(float(32|64)?|int(32|64)?|ndarray|array|tuple)\b"
    r"|[\[\]()]|stop_gradient=\w+"
)
_NOQA = re.compile(r"# *noqa(: *PPF\d+(, *PPF\d+)*)?$|PPF\d+, *|, *PPF\d+", re.IGNORECASE)
"""What perflint itself may take out of comments: its own codes."""
_CAUGHT = re.compile("only 0-dimensional arrays|one element|has no attribute|doesn't define|unsupported")
"""In what a program prints: one of the errors that ``FAIL`` allows, which its own handler has caught."""

_MANY = 20
"""Lines of one kind, of which at least one must stay."""
_RARE = 5
"""A line that comes at most once in so many steps is rare already."""
_CLOSE = 1e-4
"""Relative: the difference that float32 sums of some dozen numbers can make."""


@dataclass(frozen=True)
class Failure:
    """What a fix should not have changed.  ``kind`` is one word or two, the same for failures of one sort;
    ``cut`` is the interruption under which it shows, ``error`` the one that the program ends with
    before the fix, ``trained`` whether it makes a step at all.
    """

    variant: Variant
    kind: str
    what: str
    cut: Interruption | None = None
    error: str = ""
    trained: bool = True


def admitted(variant: Variant) -> frozenset[May]:
    """What the reasons of the fixes allow together; nothing where they are safe."""
    if variant.level is not Level.UNSAFE:
        return frozenset()
    return frozenset(
        may for reason in variant.reasons for pattern, ways in ADMITTED if re.search(pattern, reason) for may in ways
    )


def of_text(before: Program, variant: Variant) -> Iterator[Failure]:
    """Failures that are seen without running anything."""
    for complaint in variant.complaints:
        yield Failure(variant, "fixing", complaint)
    texts = before.by_path
    for source in variant.program.sources:
        if source.text != texts[source.path].text:
            yield from _of_file(texts[source.path], source, variant, is_alone=len(texts) == 1)


def _of_file(before: Source, after: Source, variant: Variant, is_alone: bool) -> Iterator[Failure]:
    try:
        compiled(after)
    except (SyntaxError, UnicodeEncodeError) as error:
        yield Failure(variant, "syntax", str(error))
        return
    new = flakes(after.text) - flakes(before.text)
    if not is_alone or _may_stay(_unused(after.text) - _unused(before.text), after.text):
        new = Counter({said: count for said, count in new.items() if "imported but unused" not in said})
    if new:
        yield Failure(variant, "pyflakes", "; ".join(sorted(new)))
    lost = _comments(before.text) - _comments(after.text)
    if lost and variant.level is Level.SAFE:
        yield Failure(variant, "comments", "; ".join(sorted(lost)))
    ends = line_ends(after.text) - line_ends(before.text)
    if ends:
        yield Failure(variant, "line ends", f"{', '.join(map(repr, sorted(ends)))} in {after.path}")


def of_runs(before: Observation, after: Observation, variant: Variant) -> Iterator[Failure]:
    """Failures that two runs show: the differences that the reasons of the fixes do not allow."""
    ways = admitted(variant)
    if before.error != after.error:
        # An error of the fix that the program keeps to itself ends the training early.
        is_kept_quiet = not after.error and after.steps < before.steps
        may_fail = is_kept_quiet or after.error.startswith(("TypeError", "AttributeError"))
        is_unbound = after.error.startswith(("NameError", "UnboundLocalError", "AttributeError"))
        if not ((May.FAIL in ways and may_fail) or (May.UNBOUND in ways and is_unbound)):
            yield Failure(variant, "error", f"{before.error or 'no error'} before, {after.error or 'no error'} after")
        return
    if May.FAIL in ways and (after.steps < before.steps or _CAUGHT.search("".join((*after.printed, *after.logged)))):
        return  # the program has kept an error of the fix to itself
    if before.weights != after.weights and May.OTHER_WEIGHTS not in ways:
        yield Failure(variant, "weights", _first(before.weights, after.weights))
    if not _same_text(before.result, after.result, ways):
        yield Failure(variant, "result", f"{before.result} before, {after.result} after")
    for name, loss in _TEXTS.items():
        yield from _of_lines(name, getattr(before, name), getattr(after, name), ways, loss in ways, variant)


def of_whole_runs(before: Observation, after: Observation, variant: Variant) -> Iterator[Failure]:
    """Logging that a fix has ended: lines that were rare already are rarer, or of many lines not one is left."""
    if before.error or after.error:
        return
    ways = admitted(variant)
    kind = _untyped if May.OTHER_TYPES in ways and May.OTHER_SHAPES not in ways else _without_shapes
    for name in (name for name, loss in _TEXTS.items() if loss in ways):
        if May.TENSORS in ways and any("Tensor" in line for line in (*getattr(before, name), *getattr(after, name))):
            continue  # it is printed in other words
        kept = Counter(map(kind, getattr(after, name)))
        for words, count in Counter(map(kind, getattr(before, name))).items():
            said = f"{count} times in {before.steps} steps before, {kept[words]} after: {words}"
            if kept[words] < count and count * _RARE <= before.steps:
                yield Failure(variant, f"{name} rare", said)
            elif not kept[words] and count >= _MANY:
                yield Failure(variant, f"{name} ended", said)


def of_waits(before: Observation, after: Observation, variant: Variant) -> Iterator[Failure]:
    """A fix of a host read after which the host waits as often as before."""
    if variant.name != "PPF201 alone" or before.error or any("no gain" in reason for reason in variant.reasons):
        return
    if after.waits >= before.waits > 0:
        yield Failure(variant, "no gain", f"{before.waits} waits before, {after.waits} after, in {before.steps} steps")


def _of_lines(
    name: str, before: tuple[str, ...], after: tuple[str, ...], ways: frozenset[May], fewer: bool, variant: Variant
) -> Iterator[Failure]:
    if May.TENSORS in ways and any("Tensor" in line for line in (*before, *after)):
        return  # a tensor takes more than one line
    if not fewer and not _same_lines(before, after, ways):
        yield Failure(variant, name, _first(before, after))
    elif fewer and not _within(iter(after), before, ways):
        yield Failure(variant, name, f"not only lines that are missing: {_first(before, after)}")


def _within(after: Iterator[str], before: tuple[str, ...], ways: frozenset[May]) -> bool:
    """Whether the lines after are some of those before, in their order."""
    wanted = next(after, None)
    for line in before:
        if wanted is not None and _same_lines((line,), (wanted,), ways):
            wanted = next(after, None)
    return wanted is None


def _same_lines(before: tuple[str, ...], after: tuple[str, ...], ways: frozenset[May]) -> bool:
    if len(before) != len(after):
        return False
    return all(_same_text(one, other, ways) for one, other in zip(before, after, strict=True))


def _same_text(before: str, after: str, ways: frozenset[May]) -> bool:
    if before == after or (May.TENSORS in ways and "Tensor" in before + after):
        return True
    if May.OTHER_SHAPES in ways and _without_shapes(before) == _without_shapes(after):
        return True
    if ways & {May.OTHER_NUMBERS, May.OTHER_WEIGHTS}:
        return _words(before) == _words(after) or (May.OTHER_TYPES in ways and _untyped(before) == _untyped(after))
    if May.OTHER_TYPES not in ways or _untyped(before) != _untyped(after):
        return False
    pairs = zip(_numbers(before), _numbers(after), strict=False)
    return all(one == other or abs(one - other) <= _CLOSE * max(abs(one), abs(other)) for one, other in pairs)


def _words(line: str) -> str:
    """A line without its numbers: the same for all lines that one statement prints."""
    return _NUMBER.sub("#", line)


def _without_shapes(line: str) -> str:
    """A line that does not say how many numbers there are, nor how long a list is."""
    return re.sub(r"#(?:[x, ]+#)*|(?<=\[)(?=\])", "#", _words(line))


def _untyped(line: str) -> str:
    return "".join(_words(_TYPE_WORDS.sub(" ", line)).split())


def _numbers(line: str) -> list[float]:
    return [float(found.group()) for found in _NUMBER.finditer(_TYPE_WORDS.sub(" ", line))]


def _first(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """The first place where two lists differ."""
    for number, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return f"entry {number}: {one!r} before, {other!r} after"
    number = min(len(before), len(after))
    here, there = ((*texts[number:], "nothing")[0] for texts in (before, after))
    return f"entry {number} of {len(before)}: {here!r} before, {there!r} after"


_FINDS_NAMES = re.compile(r"\b(?:globals|locals|vars|eval|exec|__dict__|modules)\b")


def _may_stay(unused: set[str], text: str) -> bool:
    """Whether imports may stay that an edit leaves unused: a string may name them, or Paddle would be loaded later."""
    return unused <= {"paddle"} or _FINDS_NAMES.search(text) is not None


def _unused(text: str) -> set[str]:
    """The packages whose imports are not used, as pyflakes says."""
    said, wrong = io.StringIO(), io.StringIO()
    pyflakes.api.check(text, "train.py", pyflakes.reporter.Reporter(said, wrong))
    return set(re.findall(r"'(\w+)\b[^']*' imported but unused", said.getvalue()))


@lru_cache(maxsize=64)
def flakes(text: str) -> Counter[str]:
    """What pyflakes says of a text, without the places."""
    said, wrong = io.StringIO(), io.StringIO()
    pyflakes.api.check(text, "train.py", pyflakes.reporter.Reporter(said, wrong))
    return Counter(
        re.sub(r" from line \d+", "", line.split(": ", 1)[-1].split(" ", 1)[-1])
        for line in said.getvalue().splitlines()
    )


def _comments(text: str) -> Counter[str]:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = tokenize.generate_tokens(io.StringIO(plain).readline)
    comments = (_NOQA.sub("", token.string) for token in tokens if token.type == tokenize.COMMENT)
    return Counter(comment for comment in comments if comment)
