"""Each point of the documents that perflint comes from has its rules, or the reason why it has none."""

from __future__ import annotations

import rule_table
import yaml

from perflint import catalogue


def test_each_point_has_rules_that_exist_or_a_reason() -> None:
    documents = yaml.safe_load(rule_table.DOCUMENTS.read_text(encoding="utf-8"))
    for each in documents.values():
        for point in each["points"]:
            assert set(point) <= {"where", "says", "rules", "left_out"}
            assert point.get("rules") or point.get("left_out"), point
            assert set(point.get("rules", ())) <= set(catalogue.shipped()), point


def test_the_page_is_what_the_command_writes() -> None:
    assert rule_table.PAGE.read_text(encoding="utf-8") == rule_table.page()


def test_findings_are_counted_by_confidence_and_impact_and_what_can_be_applied() -> None:
    edits = {"applicability": "unsafe", "edits": [{}]}
    shown = {"code": "A", "confidence": "medium", "impact": {"level": "high", "reason": ""}, "fix": edits}
    words = {**shown, "fix": {"applicability": "display", "edits": []}}
    drawn = {**shown, "fix": {"applicability": "display", "edits": [{}]}}
    unsure = {**shown, "confidence": "low"}
    small = {**shown, "impact": {"level": "low", "reason": ""}}
    counts = rule_table.counted([[shown, words], [drawn, unsure, small]])
    assert counts == {"A": {"all": 5, "applicable": 2, "edit": 3, "high": 3, "low": 1, "sure": 4}}
