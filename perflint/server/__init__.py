"""``perflint server``: the Language Server Protocol, so that editors show findings while code is written."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import signal
import sys

from perflint.commands import CommandError
from perflint.output.console import Console


def run(options: argparse.Namespace, _: Console) -> int:
    """Serve one editor until it disconnects; return the exit status.

    Raises:
        CommandError: pygls is not installed, or the port cannot be used.
    """
    if importlib.util.find_spec("pygls") is None:
        raise CommandError('the server needs pygls: install it with pip install "perflint-paddle[lsp]"')
    # Nothing that is printed may get between the messages.
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    from perflint.server.client import log_to_stderr
    from perflint.server.language_server import make

    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))  # otherwise it would wait for input
    log_to_stderr()
    server = make()
    if options.tcp is not None:
        logging.getLogger("pygls.server").setLevel(logging.INFO)  # it logs the port
        try:
            server.start_tcp("127.0.0.1", options.tcp)
        except (OSError, OverflowError) as error:
            raise CommandError(f"--tcp {options.tcp}: the port cannot be used: {error}") from error
    else:
        if sys.stdin.isatty():
            print("perflint server waits for an editor on standard input; press Ctrl-C to stop.", file=sys.stderr)
        server.start_io(stdout=os.fdopen(out, "wb"))
    server.state.checking.stop()
    sys.stderr.flush()
    os._exit(0)  # a running check would delay the end
