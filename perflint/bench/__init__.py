"""``perflint bench``: what the fixes of a project win, measured by running its script before and after.

``measure`` is the engine; ``results`` and ``statistics`` are its figures, ``runner`` is what runs the script.  All but
``runner`` run in perflint's own process, with the standard library; Paddle is imported in the script's process alone.
"""
