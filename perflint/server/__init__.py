"""``perflint server``: the Language Server Protocol, so that editors show findings while code is written.

The event loop (``language_server``) talks to the editor; one thread (``scheduling``) keeps the index of the workspace
and checks files (``workspace``, ``folder``). They exchange immutable values: the thread gets a ``View`` of what the
editor shows, and returns findings. Only the modules of the event loop import pygls.
"""
