"""Fixes: each is tried before it is offered (``trial``), and applied to whole files (``fixer``)."""
