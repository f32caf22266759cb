"""Edits a workspace at random through the server's view of it, and compares what is shown with a check of the files.

    python -m tests.fuzz.editing --seed 1 --seconds 300

Documents are opened, edited, saved, renamed and deleted, with texts that do not parse among them.  Once the server is
at rest, each open document must show what ``perflint check`` finds when everything is saved, and nothing may have been
logged as a mistake.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import Campaign, arguments
from tests.test_server_random import Editor, checked


def attempt(seed: int, edits: int = 60, every: int = 20) -> str:
    """What is wrong after some edits; empty where nothing is."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        editor = Editor(place / "workspace", seed)
        for number in range(edits):
            editor.act()
            if number % every == every - 1 and editor.is_shown() != checked(editor, place / "mirror"):
                return f"after {number + 1} edits the documents show something else than a check finds"
        return "; ".join(editor.complaints)


def main() -> int:
    options = arguments(__doc__).parse_args()
    campaign = Campaign("editing")
    campaign.run(attempt, options.seed, options.seconds, options.count)
    print(campaign.summary())
    return int(bool(campaign.failures))


if __name__ == "__main__":
    sys.exit(main())
