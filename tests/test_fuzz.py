"""A moment of each fuzzer of Python files and editors; ``python -m tests.fuzz.NAME`` runs them for longer."""

from __future__ import annotations

from tests.fuzz import python_files
from tests.fuzz.campaign import Campaign


def test_changed_python_files_do_no_harm() -> None:
    campaign, texts = Campaign("python files"), python_files.examples()
    campaign.run(lambda seed: python_files.attempt(seed, texts, campaign.counts), seed=1, seconds=600, count=60)
    assert campaign.tried == 60
    assert campaign.failures == []
    assert campaign.counts["fixes made"] > 30


def test_a_campaign_counts_what_fails_and_goes_on() -> None:
    campaign = Campaign("made up")

    def attempt(seed: int) -> str:
        if seed == 2:
            raise ValueError("odd")
        return "wrong" if seed == 4 else ""

    campaign.run(attempt, seed=1, seconds=600, count=5)
    assert campaign.failures == [(2, "ValueError: odd"), (4, "wrong")]
    assert campaign.summary().startswith("made up: 5 inputs, in ")
