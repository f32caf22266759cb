"""``perflint bench``: measures what the fixes of a project gain by running its script without and with them.

``measure`` is the engine; ``results`` and ``statistics`` compute its figures, ``runner`` runs the script. Everything
except for ``runner`` runs in perflint's own process, with the standard library; Paddle is imported only in the script's
process.
"""
