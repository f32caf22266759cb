"""``perflint server``: the Language Server Protocol, so that editors show findings while code is written.

The event loop (``language_server``) talks to the editor; one thread (``scheduling``) holds the index of the workspace
and checks (``workspace``, ``folder``).  What passes between them are frozen: a ``View`` of what the editor shows goes
one way, findings come back.  The modules that need pygls are those that the event loop uses; the others do without.
"""
