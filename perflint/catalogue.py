"""The rule catalogue: ``rules/*.yaml``, one file a rule, read into plain frozen objects.

Everything there is to say about a rule is said in its file; documentation, ``perflint rule``, messages and the
tests read it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

from perflint.findings import Edit, Fix, ImpactLevel, Level

FILE_CODES = frozenset({"PPF001", "PPF003"})
"""Codes about the file itself: it could not be checked, so they have no bottleneck and cannot be suppressed."""

HOME = "https://github.com/perflint-paddle/perflint"
URL = HOME + "/blob/main/docs/rules/{code}.md"
EVENTS = "events.yaml"
"""The file in the rules directory with the cost of the events that rules are about."""
GROUPS = "groups.yaml"
"""The file in the rules directory that lists the groups of rules."""

NONZERO = "nonzero"
Kind = TypeVar("Kind")
ROLES = ("read", "tensor log", "plain log")
"""A host read of a tensor, a log line that reads one, and a log line that reads none."""
BOTTLENECKS = ("I/O", "CPU", "GPU", "sync", "memory", "communication", "input")

Device = Literal["cpu", "gpu", "stand-in-gpu"]
"""The devices on which fixes are measured; ``stand-in-gpu`` has PyTorch in place of Paddle (docs/measuring.md)."""

DEVICES: tuple[Device, ...] = ("cpu", "gpu", "stand-in-gpu")
PADDLE_DEVICES: tuple[Device, ...] = ("cpu", "gpu")
"""The devices on which Paddle itself is measured; only these show what a rule is worth."""

PHASES = (
    *("reader", "forward", "backward", "optimizer"),
    *("read", "sized", "wait", "copy", "save", "log", "collect", "sleep", "evaluate", "other"),
)
"""What the time of a step is spent on, in the words of ``perflint profile``: ``read`` is reading a tensor on the host,
``sized`` an operation whose result has a size that depends on values, ``copy`` a copy to the device, and ``other``
anything else.
"""

MEDIUM_FROM_MS = 0.1
HIGH_FROM_MS = 2.5
"""From how many milliseconds per step an impact is medium, or high: a thousandth, and a fortieth, of 100 ms."""


@dataclass(frozen=True)
class Event:
    """Something that costs time whenever it happens, such as a wait for the device: an entry of ``rules/events.yaml``.

    ``what``: in words, such as "a wait for the device". ``milliseconds``: a typical cost; ``forward``: the same within
    a forward pass. ``adds_up``: whether several in one step cost several times as much. ``level``: used instead of a
    time, for costs that are not time. ``source``: where the figure is from. ``medium_from``: from how many milliseconds
    per step the impact is medium; higher if the fix takes away something that people look at.
    """

    name: str
    what: str
    milliseconds: float
    forward: float
    level: ImpactLevel | None
    source: str
    adds_up: bool = True
    medium_from: float = MEDIUM_FROM_MS

    def level_of(self, milliseconds: float) -> ImpactLevel:
        """The level of an impact, given in milliseconds per step."""
        if self.level is not None:
            return self.level
        if milliseconds >= max(HIGH_FROM_MS, self.medium_from):
            return ImpactLevel.HIGH
        return ImpactLevel.MEDIUM if milliseconds >= self.medium_from else ImpactLevel.LOW


@dataclass(frozen=True)
class Measuring:
    """The key ``measuring`` of a rule's file; each reason is a clause without a capital and without a full stop.

    ``nowhere``: why the fix is not measured on any device, "" if it is measured on one; ``not_on``: the devices on
    which it is not measured, with the reason; ``no_gain_on``: those on which it was measured without showing a gain,
    with the explanation.
    """

    nowhere: str = ""
    not_on: Mapping[Device, str] = field(default_factory=dict)
    no_gain_on: Mapping[Device, str] = field(default_factory=dict)

    def why_not(self, device: Device) -> str:
        """Why the fix is not measured on a device, "" if it is."""
        return self.nowhere or self.not_on.get(device, "")

    def conflict(self) -> str:
        """What contradicts itself, such as a device that is both measured and not measured; "" if nothing does."""
        if self.nowhere and (self.not_on or self.no_gain_on):
            return "says nowhere, which leaves no device to speak of"
        both = sorted(set(self.not_on) & set(self.no_gain_on))
        return f"has {both[0]} in not_on and in no_gain_on" if both else ""


class CatalogueError(Exception):
    """A rule file is invalid; the message names the file and the key."""


@dataclass(frozen=True)
class ArgumentMatch:
    """A call that is costly: because of one argument, or because it runs at each training step.

    ``call`` is the canonical name (``paddle.io.DataLoader``). ``where`` is ``step`` for a call that is reported when it
    runs at each training step, whatever its arguments are; the fix then deletes it, unless there is a ``parameter`` to
    ``set``. ``paddle.optimizer.Optimizer.clear_grad`` stands for that method of any optimizer there. It is ``program``
    for a call that counts only in a program that trains, unless an option decides whether it runs, and ``epoch`` for
    one that is reported if each epoch makes it; its fix is only described. Else ``parameter`` may be passed by keyword
    or at ``position`` (from 0, None: keyword only); ``default`` is its value when it is absent; the call is reported
    when the value is one of ``bad`` (``nonzero``: any number but 0); ``set`` is the value the fix writes
    (``{default-workers}`` and the like are replaced from the settings; empty if the fix removes the keyword), and
    ``paddle`` is the earliest release that has the parameter.

    What makes such a call fine: ``needs`` names parameters one of which must be given, ``unless`` parameters that must
    not be given; ``unless_kind`` maps a parameter to the kinds of value that make it fine, ``unless_value`` to the
    values (literals, or names bound once to one); ``unless_comment`` is a pattern: a matching comment on the argument's
    row, or just above it, shows that the value was chosen on purpose; ``unless_test`` is a pattern for the test of an
    ``if`` around the call; ``unless_beside`` names calls, one of which is in the statement before or after (this lowers
    the confidence), ``unless_called`` calls anywhere in the file; ``unless_within`` is ``loop`` for a call that is fine
    in a loop inside the step; ``only_for`` is ``training`` for a loader that is reported only if a training loop is
    known to draw from it. ``positions`` gives the places of the other parameters named here.

    With ``holds`` in place of ``bad`` the argument is a list or set that contains one of these texts, which the fix
    removes; ``set`` is written if none is left.

    With ``entry`` the value is that of an entry with this key: of the dict that is passed for ``parameter``
    (``set_flags({"FLAGS_benchmark": True})``), or of the dict of variables ``item_of`` (``os.environ["FLAGS_benchmark"]
    = "1"``), where ``before_import`` names a package: what is set after its import comes too late. ``unless_test`` is
    then also a pattern for the name of the function.
    """

    call: str = ""
    item_of: str = ""
    entry: str = ""
    before_import: str = ""
    parameter: str = ""
    position: int | None = None
    default: Any = None
    bad: tuple[Any, ...] | str = ()
    holds: tuple[str, ...] = ()
    set: str = ""
    paddle: str = ""
    message: str = ""
    where: str = ""
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    unless_kind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unless_value: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unless_comment: str = ""
    unless_test: str = ""
    unless_beside: tuple[str, ...] = ()
    unless_called: tuple[str, ...] = ()
    unless_within: Annotated[str, ("loop",)] = ""
    only_for: Annotated[str, ("training",)] = ""
    positions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """Code that shows a rule. ``bad`` is reported (at the lines in ``lines``), ``fixed`` is ``bad`` after its fix
    (None if the fix is a suggestion), ``good`` is similar code that is not reported.
    """

    title: str
    bad: str | None = None
    fixed: str | None = None
    good: str | None = None
    lines: tuple[int, ...] = ()
    level: Level | None = None


@dataclass(frozen=True)
class Reference:
    """A source that a rule cites: its ``url``, and what it ``shows``, in a clause."""

    url: str
    shows: str


@dataclass(frozen=True)
class Group:
    """Rules that one word (``io``) selects: what they are ``about``, and the ``symptoms`` that a user sees.

    It contains the rules with its ``bottleneck``, and the rules whose file names it.
    """

    name: str
    about: str
    symptoms: tuple[str, ...]
    bottleneck: Annotated[str, BOTTLENECKS] = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, as read from its YAML file; see CONTRIBUTING.md for the keys."""

    code: str
    name: str
    summary: str
    bottleneck: Annotated[str, BOTTLENECKS]
    default: bool = True
    off: str = ""
    """Why the rule is off by default, with what was counted: it is left to the step, or it is advice."""
    why: str
    ignore_when: str
    message: str
    fix_level: Level
    fix_title: str
    fix_reason: str
    fixes: Mapping[str, Fix] = field(default_factory=dict)
    """Fixes in words for the cases in which that one does not apply, each under a word for its case."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Further sentences of its findings and clauses of their fixes, each under a word for what it is about."""
    calls: tuple[str, ...] = ()
    match: tuple[ArgumentMatch, ...]
    examples: tuple[Example, ...]
    references: tuple[Reference, ...]
    evidence: str = ""
    path: Path
    measuring: Measuring = field(default_factory=Measuring)
    event: Event | None = None
    """What costs the time; None for rules such as those about files that cannot be checked."""
    groups: tuple[str, ...] = ()
    """The groups that it belongs to, including that of its bottleneck."""
    before: tuple[str, ...] = ()
    """The rules with lower codes that come after this one where both could report the same place."""
    role: Annotated[str, ROLES] = ""
    """What its findings are among those of one step: a word of ``ROLES``; empty for most rules."""
    joint_fix: bool = False
    """Whether its fixes in one step loop only help together, and so are one fix."""
    same_cause: str = ""
    """What another place in the same loop does, if all of them have one cause and are reported once."""
    heeds_comments: bool = False
    """Whether a comment next to the code can excuse it, without a pattern in ``match``."""
    phase: tuple[str, ...] = ()
    """The phase of a step (a word of ``PHASES``) whose time in a profile limits what the fix can save."""
    beyond_phase: str = ""
    """Why the fix may save more than the whole time of that phase, in a clause; empty if it cannot."""
    beyond_line: str = ""
    """Why the fix may save more than the whole time of its line; empty if it cannot."""

    @property
    def url(self) -> str:
        """Where the rule can be read."""
        return URL.format(code=self.code)

    def words(self, case: str = "", **fields: str) -> Fix:
        """The fix in words for a case, or in general; ``fields`` fill its placeholders."""
        fix = self.fixes[case] if case else Fix(self.fix_title, (), Level.DISPLAY, self.fix_reason)
        if not fields:
            return fix
        return replace(fix, message=fix.message.format(**fields), reason=fix.reason.format(**fields))

    def fix(
        self, edits: Iterable[Edit], level: Level | None = None, reason: str = "", paddle: str = "", **fields: str
    ) -> Fix:
        """The fix with its edits; ``level``, ``reason``: what differs from the file here, ``fields``: for its title."""
        level = self.fix_level if level is None else level
        said = "" if level is Level.SAFE else reason or self.fix_reason
        title = self.fix_title.format(**fields) if fields else self.fix_title
        return Fix(title, tuple(edits), level, said, paddle=paddle)


def rules_directory() -> Path:
    """The directory of the rule files: inside the installed package, or next to it in a checkout.

    Raises:
        CatalogueError: neither place has one (a broken installation).
    """
    installed = Path(__file__).resolve().parent / "rules"
    checkout = Path(__file__).resolve().parents[1] / "rules"
    for place in (installed, checkout):
        if place.is_dir() and any(place.glob("PPF*.yaml")):
            return place
    raise CatalogueError(f"no rule files in {installed} or {checkout}: install perflint-paddle again")


def load(directory: Path) -> dict[str, Rule]:
    """All rules of a directory by code, in order of code.

    Raises:
        CatalogueError: a file is not valid, two files define the same code, or a rule names an unknown event.
    """
    rules: dict[str, Rule] = {}
    events, groups = read_events(directory / EVENTS), read_groups(directory / GROUPS)
    for path in sorted(directory.glob("PPF*.yaml")):
        rule = _in_groups(_read_rule(path, events), groups)
        if rule.code in rules:
            raise CatalogueError(f"{path}: {rule.code} is also defined in {rules[rule.code].path}")
        rules[rule.code] = rule
    for rule in rules.values():
        for later in rule.before:
            if later not in rules or later >= rule.code:
                raise CatalogueError(f"{rule.path}: before holds {later!r}, expected a rule with a lower code")
    return rules


@cache
def events() -> Mapping[str, Event]:
    """The events that perflint's own rules are about, by name."""
    return read_events(rules_directory() / EVENTS)


@cache
def shipped() -> Mapping[str, Rule]:
    """The rules that come with perflint."""
    return load(rules_directory())


@cache
def order() -> tuple[str, ...]:
    """The codes of perflint's own rules in the order in which they may report a place: by number, and ``before``."""
    found: dict[str, None] = {}

    def put(code: str) -> None:
        for rule in shipped().values():
            if code in rule.before:
                put(rule.code)
        found.setdefault(code)

    for code in shipped():
        put(code)
    return tuple(found)


@cache
def groups() -> Mapping[str, Group]:
    """The groups of the rules that come with perflint, by name."""
    return read_groups(rules_directory() / GROUPS)


def selectors(rules: Mapping[str, Rule]) -> dict[str, tuple[str, ...]]:
    """The words that select each rule besides its code, by code: its name and its groups."""
    return {code: (rule.name, *rule.groups) for code, rule in rules.items()}


def read_groups(path: Path) -> dict[str, Group]:
    """The groups of a directory's rules, by name; none if there is no such file.

    Raises:
        CatalogueError: the file is not valid.
    """
    return {name: keys.read(Group, name=name) for name, keys in _entries(path)}


def _in_groups(rule: Rule, groups: Mapping[str, Group]) -> Rule:
    """A rule with the group of its bottleneck added to those that its file names."""
    _insist_on(rule.path, "groups", rule.groups, groups)
    own = [name for name, group in groups.items() if group.bottleneck == rule.bottleneck]
    return replace(rule, groups=(*own, *rule.groups))


def read_events(path: Path) -> dict[str, Event]:
    """The events that the rules of a directory are about, by name; none if there is no such file.

    Raises:
        CatalogueError: the file is not valid.
    """
    return {name: _read_event(name, keys) for name, keys in _entries(path)}


def _entries(path: Path) -> Iterator[tuple[str, _Keys]]:
    """The entries of a file by name; none if there is no such file."""
    if path.exists():
        yield from ((name, _Keys(path, data)) for name, data in _read_mapping(path).items())


def _read_event(name: str, keys: _Keys) -> Event:
    level = keys.typed("level", ImpactLevel) if "level" in keys.left else None
    milliseconds = keys.take("milliseconds", float, _REQUIRED if level is None else 0.0)
    forward = keys.take("forward", float, milliseconds)
    return keys.read(Event, name=name, level=level, milliseconds=milliseconds, forward=forward)


def _read_mapping(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as error:
        raise CatalogueError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise CatalogueError(f"{path}: it does not contain a mapping")
    return data


def _read_rule(path: Path, events: Mapping[str, Event]) -> Rule:
    keys = _Keys(path, _read_mapping(path))
    fix = _Keys(path, keys.take("fix", dict))
    title = fix.take("title", str)
    rule = keys.read(
        Rule,
        fix_level=fix.typed("level", Level),
        fix_title=title,
        fix_reason=fix.take("reason", str, ""),
        fixes={case: _read_fix(path, title, item) for case, item in keys.take("fixes", dict, {}).items()},
        match=tuple(match for item in keys.take("match", list, []) for match in _read_match(path, item)),
        path=path,
        references=keys.typed("references", tuple[Reference, ...]),
        event=events.get(keys.choice("event", [*events], "")),
        phase=tuple(_listed(keys.take("phase", (str, list), []))),
    )
    fix.finish()
    _insist_on(path, "phase", rule.phase, PHASES)
    if conflict := rule.measuring.conflict():
        raise CatalogueError(f"{path}: measuring {conflict}")
    if (rule.beyond_phase or rule.beyond_line) and not rule.phase:
        raise CatalogueError(f"{path}: phase is missing, but beyond_phase and beyond_line need it")
    if path.stem != rule.code:
        raise CatalogueError(f"{path}: holds {rule.code}; name the file {rule.code}.yaml")
    return rule


def _insist_on(path: Path, key: str, words: Iterable[str], allowed: Collection[str]) -> None:
    for word in words:
        if word not in allowed:
            raise CatalogueError(f"{path}: {key} holds {word!r}, expected one of {', '.join(allowed)}")


def _read_fix(path: Path, title: str, data: dict[str, Any]) -> Fix:
    """A fix in words; its title is the usual one unless it has its own."""
    keys = _Keys(path, data)
    fix = Fix(keys.take("title", str, title), (), Level.DISPLAY, keys.take("reason", str, ""))
    keys.finish()
    return fix


def _read_match(path: Path, data: dict[str, Any]) -> list[ArgumentMatch]:
    """The matches of one entry: ``call`` may be a list of calls that are treated alike, and so may ``entry``."""
    keys = _Keys(path, data)
    item_of = keys.take("item_of", str, "")
    calls = _listed(keys.take("call", (str, list), "" if item_of else _REQUIRED))
    entries = _listed(keys.take("entry", (str, list), _REQUIRED if item_of else ""))
    where = keys.choice("where", ("step", "epoch", "program"), "")
    named = () if where in ("step", "epoch") else ("set",) if item_of else ("parameter", "set")
    required = {key: keys.take(key, str) for key in named}
    holds = tuple(keys.take("holds", list, []))
    bad = keys.take("bad", (list, str), [] if where in ("step", "epoch") or holds else _REQUIRED)
    if isinstance(bad, str) and bad != NONZERO:
        raise CatalogueError(f"{path}: bad is {bad!r}, expected a list of values or {NONZERO}")
    if required.get("set") == "" and "position" in data:
        raise CatalogueError(f"{path}: set is empty, which removes a keyword: position cannot be given with it")
    match = keys.read(
        ArgumentMatch,
        call="",
        item_of=item_of,
        entry="",
        where=where,
        bad=bad if isinstance(bad, str) else tuple(bad),
        holds=holds,
        **required,
    )
    return [replace(match, call=call, entry=entry) for call in calls for entry in entries]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


_REQUIRED = object()
_KINDS: Mapping[Any, type] = {tuple: list, Mapping: dict, Any: object}
"""What YAML has for these types."""
_hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


class _Keys:
    """Takes typed keys out of one mapping, and reports keys that nobody has taken; ``left`` are the others."""

    def __init__(self, path: Path, data: Any) -> None:
        if not isinstance(data, dict):
            raise CatalogueError(f"{path}: expected a mapping, found {data!r}")
        self._path = path
        self.left = dict(data)

    def read(self, kind: type[Kind], **known: Any) -> Kind:
        """Build a dataclass from the keys named like its fields; only fields with a default may be left out."""
        for each in fields(kind):  # type: ignore[arg-type]  # any dataclass
            is_optional = each.default is not MISSING or each.default_factory is not MISSING
            if each.name in known or (is_optional and each.name not in self.left):
                continue
            known[each.name] = self.typed(each.name, _hints(kind)[each.name])
        self.finish()
        return kind(**known)

    def typed(self, key: str, hint: Any) -> Any:
        """The value of a key, as a type hint says; ``Annotated`` names the words that are allowed."""
        kind, inner = get_origin(hint) or hint, get_args(hint)
        if NoneType in inner:
            return self.typed(key, inner[0])
        if kind is Annotated:
            return self.choice(key, inner[1])
        if kind in (Level, ImpactLevel):
            words = {str(level): level for level in kind}
            return words[self.choice(key, words)]
        if isinstance(kind, type) and is_dataclass(kind):
            return _Keys(self._path, self.take(key, dict)).read(kind)
        value = self.take(key, _KINDS.get(kind, kind))
        if isinstance(value, list):
            is_plain = not (inner and is_dataclass(inner[0]))
            return tuple(value if is_plain else (_Keys(self._path, item).read(inner[0]) for item in value))
        if isinstance(value, dict) and inner[0] is Device:
            keys = _Keys(self._path, value)
            value = {device: keys.take(device, str) for device in DEVICES if device in value}
            keys.finish()
        elif isinstance(value, dict):
            value = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
        return value

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = _REQUIRED) -> Any:
        if key not in self.left:
            if default is _REQUIRED:
                raise CatalogueError(f"{self._path}: {key} is missing")
            return default
        value = self.left.pop(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(one.__name__ for one in kinds)
            raise CatalogueError(f"{self._path}: {key} is {value!r}, expected {expected}")
        return value.strip() if isinstance(value, str) and "\n" not in value.strip() else value

    def choice(self, key: str, allowed: Any, default: Any = _REQUIRED) -> str:
        """One of the allowed words, or the default if the key is missing."""
        if default is not _REQUIRED and key not in self.left:
            return str(default)
        value: str = self.take(key, str)
        if value not in allowed:
            raise CatalogueError(f"{self._path}: {key} is {value!r}, expected one of {', '.join(allowed)}")
        return value

    def finish(self) -> None:
        if self.left:
            raise CatalogueError(f"{self._path}: unknown key {sorted(self.left)[0]!r}")
