"""The rule catalogue: ``rules/*.yaml``, one file a rule, read into plain frozen objects.

Everything there is to say about a rule is said in its file; documentation, ``perflint rule``, messages and the
tests read it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from perflint.findings import Level
from perflint.measuring import DEVICES, Device, Measuring

FILE_CODES = frozenset({"PPF001", "PPF003"})
"""Codes about the file itself: it could not be checked, so there is no bottleneck and nothing to suppress."""

URL = "https://github.com/perflint-paddle/perflint/blob/main/rules/{code}.yaml"
NONZERO = "nonzero"
BOTTLENECKS = ("I/O", "CPU", "GPU", "sync", "memory", "communication", "input")


class CatalogueError(Exception):
    """A rule file that does not say what it must; the message names the file and the key."""


@dataclass(frozen=True)
class ArgumentMatch:
    """A call that is costly: because of one argument, or because it runs at each training step.

    ``call`` is the canonical name (``paddle.io.DataLoader``).  ``where`` is ``step`` for a call that is reported when
    it runs at each training step, whatever its arguments; the fix then deletes it.  Else ``parameter`` may be passed
    by keyword or at ``position`` (from 0, None: keyword only); ``default`` is its value when it is absent; the call is
    reported when the value is one of ``bad`` (``nonzero``: any number but 0); ``set`` is the value the fix writes
    (``{default-workers}`` and the like are replaced from the settings).

    What makes such a call fine: ``needs`` names parameters of which one has to be given, ``unless`` names parameters
    that must not be; ``unless_kind`` maps a parameter to the kinds of value that do so, ``unless_value`` to the values
    (literals, or names bound once to one); ``unless_comment`` is a pattern: a comment on the argument's row, or on
    the rows just above it, that matches shows that the value was chosen; ``unless_test`` is a pattern for the test of
    an ``if`` around the call; ``unless_beside`` names calls of which the statement before or after makes one (then the
    confidence drops), ``unless_called`` calls that the file makes anywhere; ``unless_within`` is ``loop`` for a call
    that is fine in a loop inside the step.  ``positions`` gives the places of the other parameters named here.
    """

    call: str
    parameter: str = ""
    position: int | None = None
    default: Any = None
    bad: tuple[Any, ...] | str = ()
    set: str = ""
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
    unless_within: str = ""
    positions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """Code that shows a rule.  ``bad`` is reported (at the lines in ``lines``), ``fixed`` is ``bad`` after its fix
    (None where the fix is display only), ``good`` is a lookalike that is not reported."""

    title: str
    bad: str | None
    fixed: str | None
    good: str | None
    lines: tuple[int, ...]
    level: Level | None


@dataclass(frozen=True)
class Reference:
    """A source that a rule cites: where it can be read (``url``), and in a clause what it ``shows``."""

    url: str
    shows: str


@dataclass(frozen=True)
class Rule:
    """One rule as its YAML file states it; see CONTRIBUTING.md for the keys."""

    code: str
    name: str
    summary: str
    bottleneck: str
    default: bool
    why: str
    ignore_when: str
    message: str
    fix_level: Level
    fix_title: str
    fix_reason: str
    calls: tuple[str, ...]
    match: tuple[ArgumentMatch, ...]
    examples: tuple[Example, ...]
    references: tuple[Reference, ...]
    evidence: str
    path: Path
    measuring: Measuring = field(default_factory=Measuring)

    @property
    def url(self) -> str:
        """Where the rule can be read."""
        return URL.format(code=self.code)


def rules_directory() -> Path:
    """The directory of the rule files: inside the installed package, or beside it in a checkout.

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
        CatalogueError: a file is not valid, or two files claim one code.
    """
    rules: dict[str, Rule] = {}
    for path in sorted(directory.glob("*.yaml")):
        rule = _read_rule(path)
        if rule.code in rules:
            raise CatalogueError(f"{path}: {rule.code} is also defined in {rules[rule.code].path}")
        rules[rule.code] = rule
    return rules


@cache
def shipped() -> Mapping[str, Rule]:
    """The rules that come with perflint."""
    return load(rules_directory())


def _read_rule(path: Path) -> Rule:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as error:
        raise CatalogueError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise CatalogueError(f"{path}: a rule file is a mapping")
    fields = _Fields(path, data)
    fix = _Fields(path, fields.take("fix", dict))
    rule = Rule(
        code=fields.take("code", str),
        name=fields.take("name", str),
        summary=fields.take("summary", str),
        bottleneck=fields.choice("bottleneck", BOTTLENECKS),
        default=fields.take("default", bool, True),
        why=fields.take("why", str),
        ignore_when=fields.take("ignore_when", str),
        message=fields.take("message", str),
        fix_level=Level[fix.choice("level", [str(level) for level in Level]).upper()],
        fix_title=fix.take("title", str),
        fix_reason=fix.take("reason", str, ""),
        calls=tuple(fields.take("calls", list, [])),
        match=tuple(match for item in fields.take("match", list, []) for match in _read_match(path, item)),
        examples=tuple(_read_example(path, item) for item in fields.take("examples", list)),
        references=tuple(_read_reference(path, item) for item in fields.take("references", list)),
        evidence=fields.take("evidence", str, ""),
        path=path,
        measuring=_read_measuring(path, fields.take("measuring", dict, {})),
    )
    fix.finish()
    fields.finish()
    if path.stem != rule.code:
        raise CatalogueError(f"{path}: holds {rule.code}; name the file {rule.code}.yaml")
    return rule


def _read_measuring(path: Path, data: dict[str, Any]) -> Measuring:
    fields = _Fields(path, data)
    measuring = Measuring(
        fields.take("nowhere", str, ""),
        _read_reasons(path, fields.take("not_on", dict, {})),
        _read_reasons(path, fields.take("no_gain_on", dict, {})),
    )
    fields.finish()
    if conflict := measuring.conflict():
        raise CatalogueError(f"{path}: measuring {conflict}")
    return measuring


def _read_reasons(path: Path, data: dict[str, Any]) -> dict[Device, str]:
    fields = _Fields(path, data)
    reasons = {device: fields.take(device, str, "") for device in DEVICES}
    fields.finish()
    return {device: reason for device, reason in reasons.items() if reason}


def _read_match(path: Path, data: dict[str, Any]) -> list[ArgumentMatch]:
    """The matches of one entry: ``call`` may be a list of calls that are treated alike."""
    fields = _Fields(path, data)
    calls = fields.take("call", (str, list))
    where = fields.choice("where", ("step",), "")
    no_word, no_list = ("", []) if where else (_REQUIRED, _REQUIRED)
    match = ArgumentMatch(
        call="",
        where=where,
        parameter=fields.take("parameter", str, no_word),
        position=fields.take("position", int, None),
        default=fields.any("default"),
        bad=_values(fields.take("bad", (list, str), no_list)),
        set=fields.take("set", str, no_word),
        message=fields.take("message", str, ""),
        needs=tuple(fields.take("needs", list, [])),
        unless=tuple(fields.take("unless", list, [])),
        unless_kind={key: tuple(value) for key, value in fields.take("unless_kind", dict, {}).items()},
        unless_value={key: tuple(value) for key, value in fields.take("unless_value", dict, {}).items()},
        unless_comment=fields.take("unless_comment", str, ""),
        unless_test=fields.take("unless_test", str, ""),
        unless_beside=tuple(fields.take("unless_beside", list, [])),
        unless_called=tuple(fields.take("unless_called", list, [])),
        unless_within=fields.choice("unless_within", ("loop",), ""),
        positions=dict(fields.take("positions", dict, {})),
    )
    fields.finish()
    if isinstance(match.bad, str) and match.bad != NONZERO:
        raise CatalogueError(f"{path}: bad is {match.bad!r}, expected a list of values or {NONZERO}")
    return [replace(match, call=call) for call in ([calls] if isinstance(calls, str) else calls)]


def _values(bad: list[Any] | str) -> tuple[Any, ...] | str:
    return bad if isinstance(bad, str) else tuple(bad)


def _read_example(path: Path, data: dict[str, Any]) -> Example:
    fields = _Fields(path, data)
    level = fields.take("level", str, None)
    example = Example(
        title=fields.take("title", str),
        bad=fields.take("bad", str, None),
        fixed=fields.take("fixed", str, None),
        good=fields.take("good", str, None),
        lines=tuple(fields.take("lines", list, [])),
        level=Level[level.upper()] if level else None,
    )
    fields.finish()
    return example


def _read_reference(path: Path, data: Any) -> Reference:
    fields = _Fields(path, data)
    reference = Reference(fields.take("url", str), fields.take("shows", str))
    fields.finish()
    return reference


_REQUIRED = object()


class _Fields:
    """Takes typed keys out of one mapping, and objects to those nobody took."""

    def __init__(self, path: Path, data: Any) -> None:
        if not isinstance(data, dict):
            raise CatalogueError(f"{path}: expected a mapping, found {data!r}")
        self._path = path
        self._left = dict(data)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = _REQUIRED) -> Any:
        if key not in self._left:
            if default is _REQUIRED:
                raise CatalogueError(f"{self._path}: {key} is missing")
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(one.__name__ for one in kinds)
            raise CatalogueError(f"{self._path}: {key} is {value!r}, expected {expected}")
        return value.strip() if isinstance(value, str) and "\n" not in value.strip() else value

    def any(self, key: str) -> Any:
        return self._left.pop(key, None)

    def choice(self, key: str, allowed: Any, default: Any = _REQUIRED) -> str:
        """One of the allowed words, or the default where the key is absent."""
        if default is not _REQUIRED and key not in self._left:
            return str(default)
        value: str = self.take(key, str)
        if value not in allowed:
            raise CatalogueError(f"{self._path}: {key} is {value!r}, expected one of {', '.join(allowed)}")
        return value

    def finish(self) -> None:
        if self._left:
            raise CatalogueError(f"{self._path}: unknown key {sorted(self._left)[0]!r}")
