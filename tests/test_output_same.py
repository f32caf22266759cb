"""All formats report the same findings of a run, at the same places, in files that can be found again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from perflint.output.formats import FORMATS
from tests.reported import Place, Run

Found = Iterator[tuple[Path, Place]]


def _people(run: Run, text: str) -> Found:
    for line in text.splitlines():
        match = re.match(r"(\S.*\.py):(\d+):(\d+):? (PPF\d+) ", line)
        if match:
            yield run.folder / match[1], Place(match[4], int(match[2]), int(match[3]))


def _json(run: Run, text: str) -> Found:
    for item in json.loads(text):
        yield Path(item["filename"]), Place(item["code"], item["location"]["row"], item["location"]["column"])


def _json_lines(run: Run, text: str) -> Found:
    return _json(run, f"[{','.join(text.splitlines())}]")


def _github(run: Run, text: str) -> Found:
    for line in text.splitlines():
        match = re.fullmatch(r"::\w+ title=perflint \((PPF\d+)\),file=(.*?),line=(\d+),col=(\d+),.*", line)
        assert match, line
        path = match[2].replace("%2C", ",").replace("%3A", ":").replace("%25", "%")
        yield run.root / path, Place(match[1], int(match[3]), int(match[4]))


def _gitlab(run: Run, text: str) -> Found:
    for issue in json.loads(text):
        begin = issue["location"]["positions"]["begin"]
        yield run.root / issue["location"]["path"], Place(issue["check_name"], begin["line"], begin["column"])


def _junit(run: Run, text: str) -> Found:
    for case in ElementTree.fromstring(text).iter("testcase"):
        match = re.fullmatch(r"(PPF\d+) [\w-]+ \((\d+):(\d+)\)", case.attrib["name"])
        assert match, case.attrib
        assert case.attrib["line"] == match[2]
        yield run.root / case.attrib["file"], Place(match[1], int(match[2]), int(match[3]))


def _rdjson(run: Run, text: str) -> Found:
    for item in json.loads(text)["diagnostics"]:
        path = run.folder / item["location"]["path"]
        start = item["location"]["range"]["start"]
        line = _utf8_lines(path)[start["line"] - 1]
        column = len(line[: start["column"] - 1].decode().removeprefix("\ufeff")) + 1
        yield path, Place(item["code"]["value"], start["line"], column)


def _sarif(run: Run, text: str) -> Found:
    log = json.loads(text)["runs"][0]
    for result in log["results"]:
        location = result["locations"][0]["physicalLocation"]
        region = location["region"]
        assert location["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert log["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        path = run.root / unquote(location["artifactLocation"]["uri"])
        yield path, Place(result["ruleId"], region["startLine"], region["startColumn"])


def _utf8_lines(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if path.name == "gbk.py":
        data = data.decode("gbk").encode()
    return re.split(rb"\r\n|\r|\n", data)


READERS: dict[str, Callable[[Run, str], Found]] = {
    "full": _people,
    "concise": _people,
    "json": _json,
    "json-lines": _json_lines,
    "github": _github,
    "gitlab": _gitlab,
    "junit": _junit,
    "rdjson": _rdjson,
    "sarif": _sarif,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_findings_of_the_run(name: str, awkward_run: Run) -> None:
    found = [(path.resolve(), place) for path, place in READERS[name](awkward_run, awkward_run.texts[name])]
    assert len(found) == len(awkward_run.places)
    assert dict(found) == {path.resolve(): place for path, place in awkward_run.places.items()}
