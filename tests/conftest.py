"""No test reads or leaves anything in the user's own cache."""

from __future__ import annotations

import os

os.environ["PERFLINT_CACHE_DIR"] = ""
