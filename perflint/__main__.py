"""``python -m perflint``."""

import sys

from perflint import leave_out_current_directory

if __name__ == "__main__":
    leave_out_current_directory()

    from perflint.cli import main

    sys.exit(main())
