"""The project index: where step-time code lives, what the names in it mean, where AMP is in use.

It is built from ``ast`` alone, which parses many times faster than LibCST, and it is the only place that gives
meaning: names (``names``), places and loops (``scopes``, ``training``), guards (``guards``), values (``kinds``,
``evaluate``, ``flow``), calls between functions and files (``project``),
what runs at each step (``hot``), AMP (``amp``).
"""
