"""``perflint server``: the Language Server Protocol, so that editors show findings while code is written.

The event loop (``language_server``) talks to the editor; one thread (``scheduling``) holds the index of the workspace
and checks (``workspace``, ``folder``).  They exchange values that never change: the thread is given a ``View`` of what
the editor shows, and findings come back.  Only the modules of the event loop import pygls.
"""
