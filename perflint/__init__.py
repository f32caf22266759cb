"""perflint: find the lines of PaddlePaddle training code that cost ips, and the edit that fixes each.

Nothing heavy is imported here: editors and other linters import this package on every start.
"""

__version__ = "0.1.0"

REPORT_TO = "https://github.com/perflint-paddle/perflint/issues"
