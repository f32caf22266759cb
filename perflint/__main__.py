"""``python -m perflint``."""

import sys

from perflint.cli import main

if __name__ == "__main__":
    sys.exit(main())
