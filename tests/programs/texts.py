"""A made-up program as its files: their texts, encodings and line ends, and which of them is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from perflint.text.source import Source

START = "train.py"
"""The file that is started."""


@dataclass(frozen=True)
class Program:
    """The files of a program; the one that is started is called ``START``."""

    sources: tuple[Source, ...]

    @property
    def by_path(self) -> dict[str, Source]:
        """The files by their paths."""
        return {source.path: source for source in self.sources}

    @property
    def text(self) -> str:
        """The texts of all files, as a person reads them."""
        if len(self.sources) == 1 and not _remark(self.sources[0]):
            return self.sources[0].text
        return "\n".join(f"# {source.path}{_remark(source)}\n{_plain(source.text)}" for source in self.sources)

    def having(self, texts: Mapping[str, str]) -> Program:
        """The same files, some of them with other texts."""
        return Program(tuple(replace(item, text=texts.get(item.path, item.text)) for item in self.sources))

    def without(self, path: str) -> Program:
        """The same files but one."""
        return Program(tuple(source for source in self.sources if source.path != path))


def alone(text: str) -> Program:
    """A program of one file."""
    return Program((Source(START, text),))


def module_of(path: str) -> str:
    """The name by which a file is imported: ``lib.steps``."""
    parts = PurePath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def line_ends(text: str) -> set[str]:
    """The kinds of line ends in a text."""
    rest = text.replace("\r\n", "")
    kinds = (("\r\n", text), ("\r", rest), ("\n", rest))
    return {kind for kind, where in kinds if kind in where}


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _remark(source: Source) -> str:
    """What is unusual about how a file is written."""
    remarks = [source.encoding] if source.encoding != "utf-8" else []
    remarks += ["with a byte order mark"] if source.bom else []
    ends = line_ends(source.text) - {"\n"}
    remarks += [f"line ends {' '.join(map(repr, sorted(line_ends(source.text))))}"] if ends else []
    return f" ({', '.join(remarks)})" if remarks else ""
