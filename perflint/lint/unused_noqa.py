"""PPF002: codes in ``# noqa`` comments that silence nothing, or that no rule has.

It uses the findings of the rules before anything is silenced. Only comments count, and only perflint's own codes: how
other tools use theirs, or a ``# noqa`` without codes, is not known here.

A code that may be needed is not reported: the finding that it silences can depend on files that this run did not read,
on a file that does not parse, or on a rule that is not selected.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from perflint import catalogue
from perflint.catalogue import FILE_CODES, Rule
from perflint.configuration.settings import Settings, ignored_for
from perflint.findings import Edit, Finding, Fix
from perflint.suppress import noqa
from perflint.text.source import CodeLine, Source, code_lines

CODE = "PPF002"
_OWN = re.compile(r"PPF[0-9]+")
_CODE = re.compile(r"[A-Z]+[0-9]+")
_BLANKS = " \t\f"
_REASON = re.compile(r"[-:;,.(\u2013\u2014]")
"""How a reason after the codes begins; other words are an independent comment."""


def is_worth_a_look(source: Source) -> bool:
    """Whether a text may contain a ``# noqa`` with codes of perflint; a fast test for those that contain none."""
    return "PPF" in source.text and noqa.DIRECTIVE.search(source.text) is not None


def find(
    sources: Iterable[Source], found: Iterable[Finding], settings: Settings, codes: Collection[str], is_whole: bool
) -> list[Finding]:
    """The findings about the comments of some files.

    Args:
        sources: the files.
        found: all findings in them, before any is filtered out.
        settings: the settings of the check that found them.
        codes: the codes that it selected.
        is_whole: whether all files that findings may depend on were read and parsed. If not, only codes without a rule
            are reported.
    """
    worth = [source for source in sources if is_worth_a_look(source)] if CODE in codes else []
    if not worth:
        return []
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        by_path[finding.path].append(finding)
    rules = catalogue.shipped()
    result = []
    for source in worth:
        ignored = ignored_for(source.path, settings)
        judged = {code for code in codes if code not in ignored and code not in FILE_CODES} if is_whole else set()
        found_on = _by_row(by_path[source.path], source)
        for comment in _comments(source):
            about = _Judge(source, comment, rules, judged, found_on).finding()
            if about is not None:
                result.append(about)
    return result


def _by_row(found: Iterable[Finding], source: Source) -> Mapping[int, set[str]]:
    """The codes of the findings that a comment on a row may silence, by that row."""
    rows: dict[int, set[str]] = defaultdict(set)
    for finding in found:
        for row in noqa.rows_of(finding, source):
            rows[row].add(finding.code)
    return rows


@dataclass(frozen=True)
class _Comment:
    """A ``# noqa`` with codes, as offsets: of its ``#``, of each code, and of the end of the row.

    ``hash`` is the ``#`` of the comment that it is part of.
    """

    line: CodeLine
    hash: int
    start: int
    codes: tuple[tuple[str, int], ...]
    end: int


def _comments(source: Source) -> Iterator[_Comment]:
    """The comments whose codes both flake8 and perflint read; words may follow the codes."""
    if noqa.skips_file(source):
        return
    for line in code_lines(source) or ():
        if line.comment is None:
            continue
        text = noqa.joined_text(source, line)
        match = noqa.DIRECTIVE.search(text)
        # Only the last row can contain a comment, so offsets count from its start.
        shift = source.lines.line_start(line.last) - (len(text) - len(source.lines.line(line.last)) - 1)
        if match is None or match["codes"] is None or match.start() + shift < line.comment:
            continue
        words = [
            (word[0], shift + match.start("codes") + word.start()) for word in re.finditer(r"[^,\s]+", match["codes"])
        ]
        codes = list(takewhile(_is_code, words))
        if codes and not any(map(_is_code, words[len(codes) :])):
            yield _Comment(line, line.comment, match.start() + shift, tuple(codes), shift + len(text) - 1)


def _is_code(word: tuple[str, int]) -> bool:
    return _CODE.fullmatch(word[0]) is not None


@dataclass(frozen=True)
class _Judge:
    """Decides about one comment.

    ``judged`` are the codes whose findings are all known, ``found`` the codes that are found on each row.
    """

    source: Source
    comment: _Comment
    rules: Mapping[str, Rule]
    judged: Collection[str]
    found: Mapping[int, set[str]]

    def finding(self) -> Finding | None:
        """The finding about the unused codes, if there are any."""
        unknown = [item for item in self._own() if not self._meant(item[0])]
        unused = [item for item in self._own() if self._meant(item[0]) and self._is_unused(item[0])]
        useless = sorted([*unknown, *unused], key=lambda item: item[1])
        if not useless:
            return None
        rule = self.rules[CODE]
        what = " and ".join(filter(None, (_unused(unused), _unknown(unknown))))
        last, start = useless[-1]
        edits = self._edits({start for _, start in useless})
        fix = Fix(rule.fix_title, edits, rule.fix_level) if edits else None
        return Finding(CODE, self.source.path, useless[0][1], start + len(last), rule.message.format(what=what), fix)

    def _own(self) -> Iterator[tuple[str, int]]:
        return (item for item in self.comment.codes if _OWN.fullmatch(item[0]))

    def _meant(self, listed: str) -> list[str]:
        return [code for code in self.rules if code.startswith(listed)]

    def _is_unused(self, listed: str) -> bool:
        """Whether it is certain that nothing is silenced: every rule that it names ran, and found nothing here."""
        meant = self._meant(listed)
        if CODE in meant or not all(code in self.judged for code in meant) or self._is_explained(meant):
            return False
        return not any(code.startswith(listed) for row in self._rows for code in self.found.get(row, ()))

    @property
    def _rows(self) -> range:
        return range(self.comment.line.first, self.comment.line.last + 1)

    def _is_explained(self, codes: Iterable[str]) -> bool:
        """Whether the comment has words that may be the reason why a rule found nothing."""
        comment, text = self.comment, self.source.text
        last, start = comment.codes[-1]
        words = text[comment.hash : comment.start] + text[start + len(last) : comment.end]
        return re.search(r"\w", words) is not None and any(
            rule.heeds_comments or any(match.unless_comment for match in rule.match)
            for rule in map(self.rules.__getitem__, codes)
        )

    def _edits(self, useless: Collection[int]) -> tuple[Edit, ...]:
        """The edits that remove these codes; none if something else would then be silenced."""
        codes, text = self.comment.codes, self.source.text
        kept = [index for index, (_, start) in enumerate(codes) if start not in useless]
        first, end = codes[0][1], codes[-1][1] + len(codes[-1][0])
        if not kept:
            return self._removal(end)
        listed = codes[kept[0]][0]
        for index in kept[1:]:
            before, start = codes[index - 1]
            listed += text[start + len(before) : codes[index][1]] + codes[index][0]
        return (Edit(first, end, listed),)

    def _removal(self, end: int) -> tuple[Edit, ...]:
        """The edit that removes the ``# noqa`` whose codes end at ``end``, and its reason, not its other words."""
        text, comment = self.source.text, self.comment
        behind = text[end : comment.end]
        if noqa.DIRECTIVE.search(behind):
            return ()  # no tool reads it as long as this one precedes it
        words, other = behind.partition("#")[0].strip(_BLANKS + ","), behind.partition("#")[2]
        rest = f"# {words}" if words and not _REASON.match(words) else ""
        if other:
            rest += ("  " if rest else "") + "#" + other
        start = comment.start
        if rest:
            return (Edit(start, comment.end, rest.rstrip(_BLANKS)),)
        row = self.source.lines.position(start)[0]
        row_start = self.source.lines.line_start(row)
        if not text[row_start:start].strip(_BLANKS):
            return (Edit(row_start, self.source.lines.line_end(row), ""),)
        return (Edit(row_start + len(text[row_start:start].rstrip(_BLANKS)), comment.end, ""),)


def _unused(codes: list[tuple[str, int]]) -> str:
    return f"{_listed(codes)}, which {'silence' if len(codes) > 1 else 'silences'} nothing here" if codes else ""


def _unknown(codes: list[tuple[str, int]]) -> str:
    return f"{_listed(codes)}, which {'are codes' if len(codes) > 1 else 'is the code'} of no rule" if codes else ""


def _listed(codes: list[tuple[str, int]]) -> str:
    *first, last = dict.fromkeys(code for code, _ in codes)
    return f"{', '.join(first)} and {last}" if first else last
